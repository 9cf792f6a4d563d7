//! Only an uncompiled program quantizes or compiles.
use migraphx::{CompileOptions, CompiledProgram, Target};

fn quantize(program: &mut CompiledProgram) {
    program.quantize_fp16().unwrap(); //~ E0599
}

fn compile(program: CompiledProgram, target: &Target) {
    program.compile(target, &CompileOptions::new()).unwrap(); //~ E0599
}

fn main() {
    let _ = (quantize, compile);
}
