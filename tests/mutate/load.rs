//! What is tried with a file: read it, compile it, run it with zeros.

use migraphx::mxr::{self, Buffers, FileFormat, Loaded};
use migraphx::{CompileOptions, CompiledProgram, OnnxOptions, Program, Result, Target};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;

/// What the files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Onnx,
    Mxr,
}

/// Whether the crate looks at a file before MIGraphX does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    On,
    Off,
}

pub fn onnx_options() -> OnnxOptions {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    // Loops of a mutant end all the same.
    OnnxOptions::new()
        .external_data_dir(cases)
        .limit_loop_iterations(100)
}

/// Tries it; `say` is told of each step before it is taken.
pub fn attempt(bytes: &[u8], kind: Kind, checks: Checks, say: &dyn Fn(&str)) -> Result<()> {
    say("read");
    let loaded = match (kind, checks) {
        (Kind::Onnx, Checks::On) => Loaded::Program(onnx_options().parse_bytes(bytes)?),
        (Kind::Onnx, Checks::Off) => Loaded::Program(unchecked_model(bytes)?),
        (Kind::Mxr, Checks::On) => mxr::load_bytes(bytes, FileFormat::Msgpack)?,
        (Kind::Mxr, Checks::Off) => unchecked_program(bytes)?,
    };
    let compiled = match loaded {
        Loaded::Program(program) => {
            say("compile");
            program.compile(&Target::reference()?, &CompileOptions::new())?
        }
        Loaded::Compiled(program) => program,
        _ => return Ok(()),
    };
    say("run");
    run(compiled)
}

fn unchecked_model(bytes: &[u8]) -> Result<Program> {
    // SAFETY: none: what comes of it is what is counted, in a process of its own.
    unsafe { onnx_options().without_check() }.parse_bytes(bytes)
}

fn unchecked_program(bytes: &[u8]) -> Result<Loaded> {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("room for a small file");
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // MIGraphX itself cannot be asked, and its own tools are told by the user.
    let compiled = mxr::inspect(&path).is_ok_and(|info| info.is_compiled());
    let compiled_for = compiled.then_some(("ref", Buffers::Host));
    // SAFETY: none: what comes of it is what is counted, in a process of its own.
    unsafe { mxr::load_unchecked(path, FileFormat::Msgpack, compiled_for) }
}

fn run(mut program: CompiledProgram) -> Result<()> {
    let mut inputs = program.inputs()?;
    for parameter in program.parameters() {
        let shape = parameter.shape();
        if shape.is_dynamic() {
            // The least sizes but 0; not what a range without an end would take.
            let least = |dim: &migraphx::DynamicDim| dim.min().max(1).min(dim.max());
            let dims: Vec<usize> = shape.dynamic_dims().iter().map(least).collect();
            inputs.resize(inputs.id(parameter.name())?, &dims)?;
        }
    }
    let outputs = program.run(&mut inputs)?;
    for index in 0..outputs.len() {
        // Every byte must be there.
        let sum = |sum: u8, byte: &u8| sum.wrapping_add(*byte);
        std::hint::black_box(outputs.get(index)?.as_bytes().iter().fold(0, sum));
    }
    Ok(())
}
