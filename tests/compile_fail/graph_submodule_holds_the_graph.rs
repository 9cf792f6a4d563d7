//! While a submodule is built, the graph is reached through it alone, so that
//! nothing goes to the wrong module.
use migraphx::{Graph, Submodule, Value};

fn mixed(graph: &mut Graph, x: Value) -> migraphx::Result<Submodule> {
    graph.submodule("then", |inner| { //~ E0500 E0501
        graph.add("neg", &[x])?;
        Ok(vec![inner.add("relu", &[x])?])
    })
}

fn main() {
    let _ = mixed;
}
