//! Prints `bindings.rs` for a header: `xtask-codegen HEADER INCLUDE_DIR`. A program
//! of its own, so that bindgen is compiled for nothing else.

#[path = "../../../migraphx-sys/build/codegen.rs"]
mod codegen;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [header, include] = arguments.as_slice() else {
        eprintln!("usage: xtask-codegen HEADER INCLUDE_DIR");
        return ExitCode::FAILURE;
    };
    match codegen::generate(Path::new(header), Path::new(include)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
