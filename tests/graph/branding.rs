//! Values and submodules belong to a graph, and to a place in it.

use super::float;
use super::support::refused;
use migraphx::{DataType, Error, Graph, Shape};

#[test]
fn values_belong_to_their_graph_and_module() {
    let (mut one, mut other) = (Graph::new().unwrap(), Graph::new().unwrap());
    let x = one.parameter("x", &float(&[2])).unwrap();
    let foreign = other.parameter("x", &float(&[2])).unwrap();
    refused!(
        one.add("add", &[x, foreign]),
        Error::Graph { .. },
        "another graph"
    );
    refused!(one.shape(foreign), Error::Graph { .. }, "another graph");
    refused!(other.finish(&[x]), Error::Graph { .. }, "another graph");

    let mut inner = None;
    let then = one
        .submodule("then", |g| {
            let y = g.add("relu", &[x])?;
            inner = Some(y);
            Ok(vec![y])
        })
        .unwrap();
    let inner = inner.unwrap();
    refused!(
        one.add("relu", &[inner]),
        Error::Graph { .. },
        "submodule `then`",
        "outputs"
    );
    refused!(
        one.submodule("else", |_| Ok(vec![inner])),
        Error::Graph { .. },
        "`then`"
    );
    // Now `else` is not finished, and stays so.
    refused!(
        one.submodule("else", |_| Ok(vec![x])),
        Error::Graph { .. },
        "`else`",
        "another module"
    );
    let _ = then;
    refused!(one.finish(&[x]), Error::Graph { .. });
}

#[test]
fn submodules_are_used_once_where_they_were_made() {
    let bool_shape = Shape::new(DataType::Bool, &[1]).unwrap();
    let new = || {
        let mut graph = Graph::new().unwrap();
        let c = graph.parameter("c", &bool_shape).unwrap();
        let x = graph.parameter("x", &float(&[2])).unwrap();
        let then = graph
            .submodule("then", |g| Ok(vec![g.add("relu", &[x])?]))
            .unwrap();
        (graph, c, x, then)
    };
    let (mut graph, c, x, then) = new();
    refused!(
        graph.submodule("then", |_| Ok(vec![x])),
        Error::Graph { .. },
        "another module",
        "`then`"
    );
    refused!(
        graph.submodule("main", |_| Ok(vec![x])),
        Error::Graph { .. }
    );
    refused!(graph.submodule("", |_| Ok(vec![x])), Error::Graph { .. });
    refused!(
        graph.add_with_modules("if", &[c], &[then, then]),
        Error::Graph { .. },
        "given twice"
    );
    refused!(
        graph.add_with_modules("if", &[x], &[then, then]),
        Error::Graph { .. },
        "bool"
    );
    refused!(
        graph.add_with_modules("relu", &[x], &[then]),
        Error::Graph { .. },
        "takes 0"
    );
    let wide = graph
        .submodule("wide", |g| Ok(vec![g.constant(&[0f32; 3], &[3])?]))
        .unwrap();
    refused!(
        graph.add_with_modules("if", &[c], &[then, wide]),
        Error::Graph { .. },
        "`then` gives (float [2])",
        "float [3]"
    );
    refused!(graph.finish(&[x]), Error::Graph { .. }, "`then`", "no `if`");

    let (mut graph, c, x, then) = new();
    let (_other, _, _, foreign) = new();
    let otherwise = graph
        .submodule("else", |g| Ok(vec![g.add("abs", &[x])?]))
        .unwrap();
    refused!(
        graph.add_with_modules("if", &[c], &[then, foreign]),
        Error::Graph { .. },
        "another graph"
    );
    let outer = graph.submodule("outer", |g| {
        let error = g
            .add_with_modules("if", &[c], &[then, otherwise])
            .unwrap_err();
        assert!(error.to_string().contains("another module"), "{error}");
        Err(error)
    });
    assert!(outer.is_err());
    // Something in a submodule failed: where things go now is not known.
    refused!(graph.finish(&[x]), Error::Graph { .. });

    let (mut graph, c, x, then) = new();
    let otherwise = graph
        .submodule("else", |g| Ok(vec![g.add("abs", &[x])?]))
        .unwrap();
    let taken = graph
        .add_with_modules("if", &[c], &[then, otherwise])
        .unwrap();
    refused!(
        graph.add_with_modules("if", &[c], &[then, otherwise]),
        Error::Graph { .. },
        "used already"
    );
    refused!(
        graph.finish(&[taken]),
        Error::Graph { .. },
        "tuple",
        "get_tuple_elem"
    );
}

#[test]
fn a_graph_swapped_within_a_submodule_is_noticed() {
    let (mut graph, mut other) = (Graph::new().unwrap(), Graph::new().unwrap());
    let x = graph.parameter("x", &float(&[2])).unwrap();
    let y = other.parameter("y", &float(&[2])).unwrap();
    refused!(
        graph.submodule("then", |g| {
            std::mem::swap(g, &mut other);
            Ok(vec![y])
        }),
        Error::Graph { .. },
        "another"
    );
    refused!(other.finish(&[x]), Error::Graph { .. }, "`then`");
}

#[test]
fn a_graph_without_outputs_is_refused() {
    let mut graph = Graph::new().unwrap();
    graph.parameter("x", &float(&[2])).unwrap();
    refused!(graph.finish(&[]), Error::Graph { .. }, "output");
}
