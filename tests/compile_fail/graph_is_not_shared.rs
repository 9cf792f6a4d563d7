//! A graph moves to another thread, and is used by one at a time; values are
//! plain numbers.
use migraphx::{Graph, Submodule, Value};

fn send<T: Send>() {}
fn sync<T: Sync>() {}

fn main() {
    send::<Graph>();
    send::<Value>();
    sync::<Value>();
    sync::<Submodule>();
    sync::<Graph>(); //~ E0277
}
