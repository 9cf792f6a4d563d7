//! Operators of which nothing is known are the caller's word.
use migraphx::{Graph, Op, Value};

fn scatter(graph: &mut Graph, inputs: &[Value]) -> migraphx::Result<Value> {
    graph.add_unchecked(Op::new("scatter_none"), inputs, &[]) //~ E0133
}

fn main() {
    let _ = scatter;
}
