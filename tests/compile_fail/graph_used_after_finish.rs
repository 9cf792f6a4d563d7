//! A finished graph is a program, which passes change: nothing can be added.
use migraphx::{Graph, Value};

fn later(mut graph: Graph, x: Value) -> migraphx::Result<()> {
    let program = graph.finish(&[x])?;
    graph.add("relu", &[x])?; //~ E0382
    drop(program);
    Ok(())
}

fn main() {
    let _ = later;
}
