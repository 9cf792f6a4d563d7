//! YOLO26 on MIGraphX: see the package in this folder, which this starts.
//!
//! ```text
//! cargo run --release --example yolo26 -- --help
//! ```

use std::process::ExitCode;

fn main() -> ExitCode {
    yolo26::main()
}
