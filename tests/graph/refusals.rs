//! What the library would not survive, or take for something else.

use super::float;
use super::support::refused;
use migraphx::{Argument, DataType, DynamicDim, Error, Graph, Op, Shape, Value};

#[test]
fn wrong_names_and_attributes_are_refused() {
    let mut graph = Graph::new().unwrap();
    let x = graph.parameter("x", &float(&[2, 3])).unwrap();
    let mut add = |op: Op| graph.add(op, &[x]);
    refused!(
        add(Op::new("conv")),
        Error::Graph { .. },
        "`conv`",
        "add_unchecked"
    );
    for name in [
        "",
        "@param",
        "@return",
        "as_shape",
        "load",
        "hip::copy",
        "relu\0",
    ] {
        refused!(add(Op::new(name)), Error::Graph { .. });
    }
    refused!(
        add(Op::new("relu").attr("alpha", 1)),
        Error::Graph { .. },
        "no attribute `alpha`",
        "none"
    );
    refused!(
        add(Op::new("softmax").attr("axes", [1])),
        Error::Graph { .. },
        "it has axis"
    );
    refused!(
        add(Op::new("softmax").attr("axis", 1).attr("axis", 0)),
        Error::Graph { .. },
        "twice"
    );
    refused!(
        add(Op::new("softmax").attr("axis", "1")),
        Error::Graph { .. },
        "an integer",
        "\"1\""
    );
    refused!(
        add(Op::new("convert").attr("target_type", 2)),
        Error::Graph { .. },
        "DataType"
    );
    for odd in [f64::NAN, f64::NEG_INFINITY, 1e39] {
        refused!(
            add(Op::new("leaky_relu").attr("alpha", odd)),
            Error::Graph { .. },
            "finite"
        );
    }
    refused!(
        add(Op::new("softmax").attr("axis", 2)),
        Error::Api { .. },
        "softmax"
    );
    // The text goes into printf, and the names into C.
    let percent = Op::new("softmax").attr("%n", 1);
    refused!(percent.check(), Error::Graph { .. });
    // SAFETY: refused by name, or by the library before it does anything.
    unsafe {
        refused!(
            graph.add_unchecked("@param", &[x], &[]),
            Error::Graph { .. },
            "@"
        );
        refused!(graph.add_unchecked("", &[x], &[]), Error::Graph { .. });
        refused!(
            graph.add_unchecked("a\0b", &[x], &[]),
            Error::InvalidArgument(_),
            "NUL"
        );
        let percent = Op::new("softmax").attr("%n%s", 1);
        refused!(
            graph.add_unchecked(percent, &[x], &[]),
            Error::Api { .. },
            "%n%s"
        );
        refused!(
            graph.add_unchecked("nosuch", &[x], &[]),
            Error::Api { .. },
            "nosuch"
        );
        let bytes = Op::new("softmax").attr("bytes", [1, 2]);
        refused!(
            graph.add_unchecked(bytes, &[x], &[]),
            Error::InvalidArgument(_),
            "bytes"
        );
    }
    // The graph is as before.
    let y = graph.add("relu", &[x]).unwrap();
    assert_eq!(graph.finish(&[y]).unwrap().parameters().len(), 1);
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let mut graph = Graph::new().unwrap();
    let x = graph.parameter("x", &float(&[2, 3])).unwrap();
    let y = graph.parameter("y", &float(&[3, 2])).unwrap();
    let n = graph
        .parameter("n", &Shape::new(DataType::Int32, &[2, 3]).unwrap())
        .unwrap();
    let b = graph
        .parameter("b", &Shape::new(DataType::Bool, &[2, 3]).unwrap())
        .unwrap();
    let image = graph.parameter("image", &float(&[1, 4, 5, 5])).unwrap();
    let kernel = graph.constant(&[1.0f32; 36], &[2, 2, 3, 3]).unwrap();
    let mut bad = |op: Op, inputs: &[Value], words: &[&str]| {
        let error = graph.add(op.clone(), inputs).expect_err(&op.to_string());
        for word in words {
            assert!(
                error.to_string().contains(word),
                "`{word}` is not in: {error}"
            );
        }
    };
    let op = Op::new;
    bad(op("add"), &[x], &["takes 2 inputs", "given 1"]);
    bad(op("relu"), &[], &["takes 1 inputs", "given 0"]);
    bad(op("concat"), &[], &["1 or more"]);
    bad(op("add"), &[x, y], &["add", "float [2, 3]", "float [3, 2]"]);
    bad(op("add"), &[x, n], &["int32"]);
    bad(op("div"), &[n, n], &["takes floats", "int32"]);
    bad(op("recip"), &[n], &["takes floats"]);
    bad(op("where"), &[b, x, n], &["one type"]);
    bad(op("where"), &[x, x, x], &["condition"]);
    bad(op("dot"), &[x, x], &["dot"]);
    bad(op("gather"), &[x, n], &["literal", "add_unchecked"]);
    bad(op("reduce_sum"), &[x], &["axes"]);
    bad(op("reduce_sum").attr("axes", [0, -2]), &[x], &["twice"]);
    let slice = || op("slice").attr("axes", [0, 1]);
    bad(
        slice().attr("starts", [0, 2]).attr("ends", [2, 1]),
        &[x],
        &["from 2 to 1 of 3"],
    );
    bad(
        slice().attr("starts", [0]).attr("ends", [1]),
        &[x],
        &["2 axes, 1 starts"],
    );
    bad(
        op("slice")
            .attr("axes", [0, 0])
            .attr("starts", [1, 1])
            .attr("ends", [2, 2]),
        &[x],
        &["twice"],
    );
    bad(
        op("step").attr("axes", [0]).attr("steps", [0]),
        &[x],
        &["from 1 on"],
    );
    bad(
        op("pad").attr("pads", [1, 1]),
        &[x],
        &["2 pads for 2 dimensions"],
    );
    bad(op("pad").attr("pads", [0, 0, -1, 0]), &[x], &["from 0 on"]);
    bad(
        op("reshape").attr("dims", [0, 0, 0]),
        &[x],
        &["no dimension"],
    );
    bad(
        op("reshape").attr("dims", [-1, 65_536, 65_536]),
        &[x],
        &["2³¹"],
    );
    bad(op("reshape").attr("dims", [4, -1]), &[x], &["reshape"]);
    bad(op("unsqueeze").attr("axes", [0, 0]), &[x], &["twice"]);
    bad(
        op("topk").attr("k", 4).attr("axis", 1),
        &[x],
        &["4 largest of 3"],
    );
    bad(op("transpose"), &[x], &["needed"]);
    bad(op("dimensions_of").attr("end", 3), &[x], &["0 to 3 of 2"]);
    bad(
        op("convolution").attr("group", 0),
        &[image, kernel],
        &["from 1 on"],
    );
    bad(
        op("convolution").attr("group", 1),
        &[image, kernel],
        &["4 channels"],
    );
    bad(
        op("convolution").attr("group", 2).attr("dilation", [3, 3]),
        &[image, kernel],
        &["a window of 7 on 5"],
    );
    bad(
        op("convolution").attr("group", 2).attr("stride", [1]),
        &[image, kernel],
        &["stride"],
    );
    bad(
        op("pooling").attr("padding", [1, 1]),
        &[image],
        &["padding"],
    );
    let late = op("pooling").attr("ceil_mode", true).attr("stride", [3, 3]);
    bad(late, &[image], &["begins behind"]);
    bad(
        op("bit_cast").attr("target_type", DataType::Bool),
        &[b],
        &["bools"],
    );
    bad(op("get_tuple_elem").attr("index", 0), &[x], &["tuple"]);
    bad(op("if"), &[b], &["takes 2 submodules"]);
}

#[test]
fn sizes_that_would_wrap_are_refused() {
    let mut graph = Graph::new().unwrap();
    let long = Shape::new(DataType::Int8, &[1, 1, 1 << 60]).unwrap();
    let x = graph.parameter("x", &long).unwrap();
    let one = graph.constant(&[1i8], &[1, 1, 1]).unwrap();
    let line = |name: &str, lengths: &str| {
        let op = Op::new(name).attr("padding", [0]).attr("stride", [1 << 30]);
        op.attr(lengths, [1])
    };
    refused!(
        graph.add(line("convolution", "dilation"), &[x, one]),
        Error::Graph { .. },
        "2³¹"
    );
    let back = line("convolution_backwards", "dilation");
    refused!(graph.add(back, &[x, one]), Error::Graph { .. }, "2³¹");
    let pool = line("pooling", "lengths").attr("dilations", [1]);
    refused!(graph.add(pool, &[x]), Error::Graph { .. }, "2³¹");
    let wide = |n: usize| Op::new("multibroadcast").attr("out_lens", vec![n; 3]);
    refused!(
        graph.add(wide(1 << 31), &[one]),
        Error::Graph { .. },
        "size"
    );
    refused!(graph.add(wide(1 << 30), &[one]), Error::InvalidShape(_));
    let many = graph.add(
        Op::new("multibroadcast").attr("out_lens", [1 << 30, 1 << 30, 2]),
        &[one],
    );
    let double = Op::new("convert").attr("target_type", DataType::Double);
    let many = graph.add(double, &[many.unwrap()]);
    refused!(
        graph.add("contiguous", &[many.unwrap()]),
        Error::InvalidShape(_)
    );
}

#[test]
fn parameters_and_literals_are_checked() {
    let mut graph = Graph::new().unwrap();
    let shape = float(&[2]);
    graph.parameter("x", &shape).unwrap();
    refused!(
        graph.parameter("x", &shape),
        Error::Graph { .. },
        "`x`",
        "this name"
    );
    refused!(graph.parameter("", &shape), Error::Graph { .. }, "empty");
    refused!(
        graph.parameter("main:#output_0", &shape),
        Error::Graph { .. }
    );
    refused!(
        graph.parameter("a\0b", &shape),
        Error::InvalidArgument(_),
        "NUL"
    );
    let odd = Shape::with_strides(DataType::Float, &[2, 2], &[1, 2]).unwrap();
    refused!(
        graph.parameter("t", &odd),
        Error::Graph { .. },
        "row by row"
    );
    refused!(
        graph.parameter("e", &float(&[0, 2])),
        Error::Graph { .. },
        "elements"
    );
    let four = Shape::new(DataType::Fp4x2, &[2]).unwrap();
    refused!(graph.parameter("f", &four), Error::Graph { .. }, "fp4x2");
    let none = DynamicDim::new(0, 4).unwrap();
    let none = Shape::dynamic(DataType::Float, &[none]).unwrap();
    refused!(graph.parameter("n", &none), Error::Graph { .. });
    let empty = Argument::from_slice(&[0f32; 0], &[0]).unwrap();
    refused!(graph.literal(&empty), Error::Graph { .. }, "elements");
    refused!(
        graph.constant(&[1f32; 3], &[2]),
        Error::LengthMismatch { .. }
    );
    // Any text is a name.
    for name in ["ünïcode 漢字", "with space", "%s%n", "\"q\""] {
        graph.parameter(name, &shape).unwrap();
    }
    let y = graph.constant(&[1.0f32], &[]).unwrap();
    let program = graph.finish(&[y]).unwrap();
    assert!(
        program
            .parameters()
            .iter()
            .any(|parameter| parameter.name() == "%s%n")
    );
}
