//! What the rule tests share.

// Each test program uses a part of it.
#![allow(dead_code, unused_imports, unused_macros)]

use migraphx::{Argument, CompileOptions, CompiledProgram, OnnxOptions, Program, Target};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A file of `tests/cases`.
pub fn case(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(file)
}

pub fn parse(model: &[u8]) -> Program {
    OnnxOptions::new().parse_bytes(model).unwrap()
}

pub fn compile(program: Program) -> CompiledProgram {
    program
        .compile(&Target::reference().unwrap(), &CompileOptions::new())
        .unwrap()
}

pub fn compiled(model: &[u8]) -> CompiledProgram {
    compile(parse(model))
}

/// The first result of a run, as f32.
pub fn run(program: &mut CompiledProgram, inputs: &[(&str, &[f32], &[usize])]) -> Vec<f32> {
    let arguments: Vec<(&str, Argument)> = inputs
        .iter()
        .map(|(name, data, dims)| (*name, Argument::from_slice(data, dims).unwrap()))
        .collect();
    program
        .run_once(&arguments)
        .unwrap()
        .slice::<f32>(0)
        .unwrap()
        .to_vec()
}

/// Asserts that `$result` is the error `$variant` and that its text holds the
/// words a user needs.
macro_rules! refused {
    ($result:expr, $variant:pat $(, $word:expr)* $(,)?) => {{
        match $result {
            Err(error) => {
                assert!(matches!(error, $variant), "another error came: {error:?}");
                let words: &[&str] = &[$($word),*];
                for word in words {
                    let text = error.to_string();
                    assert!(text.contains(word), "`{word}` is not in: {text}");
                }
                error
            }
            Ok(_) => panic!("{} was not refused", stringify!($result)),
        }
    }};
}
pub(crate) use refused;

/// Set in a child of [`child`].
const CHILD: &str = "MIGRAPHX_TEST_CHILD";

/// Is this process the child for `test`?
pub fn is_child(test: &str) -> bool {
    std::env::var_os(CHILD).is_some_and(|name| name == test)
}

/// The command that runs the test named `test` of this test program again, in
/// a process of its own; there [`is_child`] holds.
pub fn child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test);
    command
}

#[track_caller]
pub fn succeeds(output: &Output) {
    assert!(
        output.status.success(),
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}

/// The names in a folder, sorted.
pub fn files(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
