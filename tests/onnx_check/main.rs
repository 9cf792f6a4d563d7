//! The check of ONNX models: each kind that MIGraphX would not survive, or would
//! read as something else, is refused with words that help.

mod external;
mod kinds;
#[path = "../support/mod.rs"]
mod support;

use kinds::kinds;
use migraphx::{CompileOptions, Error, OnnxOptions, Target};
use std::os::unix::process::ExitStatusExt;
use support::{child, is_child, refused};

#[test]
fn every_kind_is_refused() {
    for kind in kinds() {
        let error = refused!(
            OnnxOptions::new().check_bytes(&kind.model),
            Error::Model { .. }
        );
        let text = error.to_string();
        for word in kind.words {
            assert!(
                text.contains(word),
                "{}: `{word}` is not in: {text}",
                kind.name
            );
        }
    }
}

/// The same models with the one thing put right.
#[test]
fn what_is_well_made_passes() {
    for kind in kinds() {
        let Some(right) = kind.right else { continue };
        let checked = OnnxOptions::new().check_bytes(&right);
        assert!(checked.is_ok(), "{}: {checked:?}", kind.name);
    }
}

/// Unchecked, these divide by zero, in every build of MIGraphX.
#[test]
fn what_is_refused_would_end_the_process() {
    const TEST: &str = "what_is_refused_would_end_the_process";
    const WHICH: &str = "MIGRAPHX_TEST_KIND";
    const FATAL: [&str; 6] = [
        "pool stride 0",
        "conv stride 0",
        "heads 0",
        "group 0",
        "step 0",
        "no parts",
    ];
    if is_child(TEST) {
        let which = std::env::var(WHICH).unwrap();
        let kind = kinds().into_iter().find(|kind| kind.name == which).unwrap();
        let _ = run_unchecked(&kind.model);
        return;
    }
    for name in FATAL {
        let output = child(TEST).env(WHICH, name).output().unwrap();
        let signal = output.status.signal();
        assert_eq!(signal, Some(libc::SIGFPE), "{name}: {output:?}");
    }
}

fn run_unchecked(model: &[u8]) -> migraphx::Result<()> {
    // SAFETY: this process is there to see what comes of it.
    let options = unsafe { OnnxOptions::new().without_check() };
    let program = options.parse_bytes(model)?;
    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    let mut inputs = program.inputs()?;
    program.run(&mut inputs).map(drop)
}
