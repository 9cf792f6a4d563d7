//! Compiling consumes: a compiled program is another type, and one whose
//! compilation failed is good for nothing.
use migraphx::{CompileOptions, Program, Target};

fn twice(program: Program, target: &Target) {
    let compiled = program.compile(target, &CompileOptions::new());
    let again = program.compile(target, &CompileOptions::new()); //~ E0382
    drop((compiled, again));
}

fn main() {
    let _ = twice;
}
