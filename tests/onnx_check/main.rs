//! The check of ONNX models: each kind that MIGraphX would not survive, or would
//! read as something else, is refused with words that help.

mod external;
mod kinds;
#[path = "../support/mod.rs"]
mod support;

use kinds::kinds;
use migraphx::{CompileOptions, Error, OnnxOptions, Target};
use support::{is_child, refused};

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

/// What the library does with each kind, unchecked: for people, who run
/// `cargo test --test onnx_check -- --ignored --nocapture`.
#[test]
#[ignore = "tells what the library does; there is nothing to assert"]
fn what_the_library_does_with_each_kind() {
    const TEST: &str = "what_the_library_does_with_each_kind";
    const WHICH: &str = "MIGRAPHX_TEST_KIND";
    if is_child(TEST) {
        let which: usize = std::env::var(WHICH).unwrap().parse().unwrap();
        match run_unchecked(&kinds()[which].model) {
            Ok(()) => println!("\nlibrary: takes it"),
            Err(error) => println!("\nlibrary: {error}"),
        }
        return;
    }
    for (which, kind) in kinds().iter().enumerate() {
        let output = support::child(TEST)
            .arg("--ignored")
            .env(WHICH, which.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let said = said.lines().find(|line| line.starts_with("library: "));
        println!(
            "{:40} {:?} {}",
            kind.name,
            output.status,
            said.unwrap_or("")
        );
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
