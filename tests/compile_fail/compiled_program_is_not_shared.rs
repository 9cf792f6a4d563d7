//! One program has one stream and one scratch buffer: it moves between
//! threads, but is never in two at once.
use migraphx::CompiledProgram;

fn sync<T: Sync>() {}
fn cloned<T: Clone>() {}

fn main() {
    sync::<CompiledProgram>(); //~ E0277
    cloned::<CompiledProgram>(); //~ E0277
}
