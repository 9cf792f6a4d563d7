//! What a file can say that is not so: an error, never a read out of bounds.

mod support;

use migraphx::{Argument, Error, OnnxOptions, mxr};
use std::io::Read;
use support::{case, compiled, parse, refused};
use testkit::models;
use testkit::onnx::{Elem, Graph, fixed};

/// A slice of `x`, `[4, 4]`, along both axes; `starts` and `ends` are inputs
/// unless values are given.
fn slice(bounds: Option<([i64; 2], [i64; 2])>) -> Vec<u8> {
    let mut graph = Graph::new("g");
    graph.input("x", Elem::F32, &fixed(&[4, 4]));
    match bounds {
        Some((starts, ends)) => {
            graph.constant_i64("starts", &[2], &starts);
            graph.constant_i64("ends", &[2], &ends);
        }
        None => {
            graph.input("starts", Elem::I64, &fixed(&[2]));
            graph.input("ends", Elem::I64, &fixed(&[2]));
        }
    }
    graph.constant_i64("axes", &[2], &[0, 1]);
    graph.node("Slice", &["x", "starts", "ends", "axes"], &["y"], vec![]);
    graph.output("y", Elem::F32, &fixed(&[2, 2]));
    graph.into_bytes()
}

/// Starts behind ends: the library says `[2^64 - 3, 2^64 - 2]`, and 6 elements
/// in 24 bytes, since its products wrap. Along one axis, 2^64 - 2 bytes.
const IMPOSSIBLE: [([i64; 2], [i64; 2]); 2] = [([3, 3], [0, 1]), ([3, 0], [1, 1])];

#[test]
fn impossible_output_sizes_are_an_error() {
    let possible = parse(&slice(Some(([1, 0], [3, 2]))));
    assert_eq!(possible.output_shapes()[0].dims(), [2, 2]);
    for bounds in IMPOSSIBLE {
        let error = refused!(OnnxOptions::new().parse_bytes(&slice(Some(bounds))), _);
        let ours = !matches!(error, Error::Api { .. });
        assert!(ours, "the library takes it: {error}");
    }
}

/// The same, decided by the values of a run.
#[test]
fn impossible_sizes_of_a_run_are_an_error() {
    let mut program = compiled(&slice(None));
    let mut run = |(starts, ends): ([i64; 2], [i64; 2])| {
        let x = (0..16_u8).map(f32::from).collect::<Vec<_>>();
        let x = Argument::from_vec(x, &[4, 4])?;
        let starts = Argument::from_vec(starts.to_vec(), &[2])?;
        let ends = Argument::from_vec(ends.to_vec(), &[2])?;
        let outputs = program.run_once(&[("x", x), ("starts", starts), ("ends", ends)])?;
        outputs.get(0)?.to_vec::<f32>()
    };
    assert_eq!(run(([1, 0], [3, 2])).unwrap(), [4.0, 5.0, 8.0, 9.0]);
    for bounds in IMPOSSIBLE {
        refused!(run(bounds), Error::Output { .. }, "output 0", "impossible");
    }
}

/// Our own reader of headers meets every byte.
#[test]
fn damaged_headers_are_read_without_harm() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("damaged.mxr");
    let bytes = compiled(&models::relu(&[1])).to_bytes().unwrap();
    for at in 0..64 {
        for value in [0x00, 0x7f, 0x80, 0xc1, 0xc6, 0xdb, 0xdd, 0xdf, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            std::fs::write(&file, &damaged).unwrap();
            if let Ok(info) = mxr::inspect(&file) {
                let names = info.targets();
                let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
                assert!(names.iter().all(|name| name.bytes().all(plain)), "{info:?}");
            }
        }
    }
    std::fs::write(&file, "[".repeat(1 << 20)).unwrap();
    refused!(mxr::inspect(&file), Error::Mxr { .. }, "damaged.mxr");
    std::fs::write(&file, format!("{{\"targets\":{}", "[".repeat(1 << 20))).unwrap();
    refused!(mxr::inspect(&file), Error::Mxr { .. }, "damaged.mxr");
    let mut nested = bytes[..1].to_vec();
    nested.extend([0x91].repeat(1 << 20));
    std::fs::write(&file, nested).unwrap();
    refused!(mxr::inspect(&file), Error::Mxr { .. }, "damaged.mxr");
}

/// A reader may fail, and may never end.
#[test]
fn readers_that_misbehave_are_an_error() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the line went dead"))
        }
    }
    let model = std::fs::read(case("yolo_head.onnx")).unwrap();
    let onnx = OnnxOptions::new();
    assert!(onnx.parse_reader(&model[..]).is_ok());
    let broken = onnx.parse_reader((&model[..100]).chain(Broken));
    refused!(broken, Error::Io { .. }, "the line went dead");
}
