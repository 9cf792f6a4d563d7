//! Tests of the tool itself.

use super::msgpack::{self, Msgpack};
use super::mutant::{Id, Kind, mutant};
use super::protobuf::Protobuf;
use super::seeds::Seed;
use super::tree::{Body, Format};
use super::victim::{self, Outcome};
use libtest_mimic::{Arguments, Trial};
use migraphx::Error;
use std::process::ExitCode;
use std::time::Duration;
use testkit::models;

pub fn run() -> ExitCode {
    let test = |name: &str, body: fn()| {
        Trial::test(name, move || {
            body();
            Ok(())
        })
    };
    let tests = vec![
        test("files_come_out_as_they_went_in", files_come_out),
        test("a_mutant_is_the_same_each_time", same_each_time),
        test("fields_change_places_and_lengths_stay_right", fields_move),
        test("every_end_of_a_process_is_told_apart", ends),
    ];
    let mut arguments = Arguments::from_args();
    // A fork is to have no other thread beside it.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn program() -> Vec<u8> {
    let model = models::matmul(2, 3, 4, &[0.5; 12]);
    let program = migraphx::OnnxOptions::new().parse_bytes(&model).unwrap();
    msgpack::without_mark(&program.to_bytes().unwrap()).unwrap()
}

fn files_come_out() {
    let mut signed = vec![0x9b, 0xff, 0xd0, 0xdf, 0xd1, 0xff, 0x7f];
    signed.extend([0xd2, 0xff, 0xff, 0x7f, 0xff]);
    signed.extend([0xd3, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    signed.extend([0xcc, 0x80, 0xcd, 1, 0, 0xc2, 0x7f, 0xc0]);
    signed.extend([0xca, 0, 0, 0, 1]);
    for file in [program(), signed] {
        let tree = Msgpack.decode(&file).unwrap();
        assert_eq!(Msgpack.encode(&tree), file);
    }
    let model = models::matmul(2, 3, 4, &[0.5; 12]);
    let tree = Protobuf.decode(&model).unwrap();
    assert_eq!(Protobuf.encode(&tree), model);
    assert!(tree.paths().len() > 30, "it was read to its depth");
}

fn same_each_time() {
    let seeds = |bytes| {
        let name = String::new();
        [Seed { name, bytes }]
    };
    let model = models::matmul(2, 3, 4, &[0.5; 12]);
    for (file, format) in [(program(), &Msgpack as &dyn Format), (model, &Protobuf)] {
        let seeds = seeds(file);
        for kind in Kind::ALL {
            let of = |index, seed| mutant(&seeds, format, Id { kind, index }, seed).1;
            let all: Vec<_> = (0..50).map(|index| of(index, 7)).collect();
            let again: Vec<_> = (0..50).map(|index| of(index, 7)).collect();
            assert_eq!(all, again);
            let distinct: std::collections::HashSet<_> = all.iter().collect();
            assert!(distinct.len() > 25, "{kind:?}: {}", distinct.len());
            let unchanged = all.iter().filter(|file| **file == seeds[0].bytes).count();
            assert!(unchanged < 5, "{kind:?}: {unchanged} are as before");
            assert_ne!(all, (0..50).map(|index| of(index, 8)).collect::<Vec<_>>());
        }
    }
}

fn fields_move() {
    let name = String::new();
    let seeds = [Seed {
        name,
        bytes: program(),
    }];
    for kind in [Kind::Swap, Kind::Repeat] {
        for index in 0..200 {
            let (_, file) = mutant(&seeds, &Msgpack, Id { kind, index }, 1);
            let tree = Msgpack.decode(&file).expect("whole again");
            assert!(matches!(tree.body, Body::List(_)));
        }
    }
}

fn ends() {
    let end = |attempt: fn() -> migraphx::Result<()>| {
        let limit = Duration::from_secs(1);
        victim::start(
            |say| {
                say("step");
                attempt()
            },
            limit,
        )
        .unwrap()
        .end()
    };
    assert_eq!(end(|| Ok(())), Outcome::Ran);
    let refused = end(|| Err(Error::InvalidArgument("no, never".into())));
    let text = "no, never".to_owned();
    assert_eq!(refused, Outcome::Refused { text });
    let api = || {
        let model = models::unknown_operator();
        migraphx::OnnxOptions::new().parse_bytes(&model).map(drop)
    };
    let step = "step".to_owned();
    assert_eq!(end(api), Outcome::Api { step: step.clone() });
    let panicked = end(|| panic!("oh"));
    assert!(matches!(panicked, Outcome::Panicked { reason } if reason.contains("oh")));
    let killed = end(|| std::process::abort());
    assert!(matches!(
        killed,
        Outcome::Killed {
            signal: libc::SIGABRT,
            ..
        }
    ));
    let fault = || {
        // SAFETY: none; the process is to die of it.
        unsafe { libc::raise(libc::SIGSEGV) };
        Ok(())
    };
    assert!(matches!(
        end(fault),
        Outcome::Killed {
            signal: libc::SIGSEGV,
            ..
        }
    ));
    let endless = || loop {
        std::thread::sleep(Duration::from_secs(1));
    };
    assert_eq!(end(endless), Outcome::TimedOut { step });
}
