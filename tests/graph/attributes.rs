//! Attributes are read back by the library as they were written.

use super::float;
use migraphx::mxr::FileFormat;
use migraphx::{Attribute, DataType, DynamicDim, Error, Graph, Op, Program, Shape};

/// The operator of each node of the main module, from the library's own JSON.
fn operators(program: &Program) -> Vec<(String, serde_json::Value)> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("program.json");
    program.save_as(&file, FileFormat::Json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let nodes = json["modules"]["main"]["nodes"].as_array().unwrap().iter();
    nodes
        .map(|node| {
            (
                node["name"].as_str().unwrap().to_owned(),
                node["operator"].clone(),
            )
        })
        .collect()
}

#[test]
fn attributes_are_read_back_as_written() {
    let mut graph = Graph::new().unwrap();
    let image = graph.parameter("image", &float(&[1, 4, 8, 8])).unwrap();
    let weights = graph.constant(&[0.5f32; 4 * 2 * 9], &[4, 2, 3, 3]).unwrap();
    let conv = Op::new("convolution")
        .attr("padding", vec![1usize, 2, 0, 1])
        .attr("stride", [2u8, 1])
        .attr("dilation", &[1i64, 2][..])
        .attr("group", 2);
    let y = graph.add(conv, &[image, weights]).unwrap();
    let pool = Op::new("pooling")
        .attr("mode", "lpnorm")
        .attr("lp_order", 3)
        .attr("ceil_mode", true);
    let y = graph.add(pool, &[y]).unwrap();
    let to = |dtype: DataType| Op::new("convert").attr("target_type", dtype);
    let y = graph.add(to(DataType::Bf16), &[y]).unwrap();
    let y = graph.add(to(DataType::Float), &[y]).unwrap();
    let y = graph
        .add(Op::new("leaky_relu").attr("alpha", 0.1f32), &[y])
        .unwrap();
    let padded = Op::new("pad")
        .attr("pads", [0; 8])
        .attr("value", f32::INFINITY);
    // SAFETY: the program is not compiled.
    let y = unsafe { graph.add_unchecked(padded, &[y], &[]) }.unwrap();
    let program = graph.finish(&[y]).unwrap();

    let found = operators(&program);
    let of = |name: &str| {
        let mut all = found.iter().filter(|(other, _)| other == name);
        all.next()
            .unwrap_or_else(|| panic!("no {name} in {found:?}"))
            .1
            .clone()
    };
    let conv = of("convolution");
    assert_eq!(conv["padding"], serde_json::json!([1, 2, 0, 1]));
    assert_eq!(conv["stride"], serde_json::json!([2, 1]));
    assert_eq!(conv["dilation"], serde_json::json!([1, 2]));
    assert_eq!(conv["group"], 2);
    assert_eq!(of("pooling")["mode"], 2);
    assert_eq!(
        (&of("pooling")["ceil_mode"], &of("pooling")["lp_order"]),
        (&1.into(), &3.into())
    );
    assert_eq!(of("leaky_relu")["alpha"].as_f64().unwrap() as f32, 0.1f32);
    // The numbers inside the library: a bf16 is 15 there, and 17 in its C API.
    assert_eq!(of("convert")["target_type"], 15);
    let text = program.to_string();
    for part in ["target_type=15", "-> bf16_type", "value=inf", "mode=lpnorm"] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn any_text_is_read_back_as_written() {
    // `resize` keeps a text that it does not look at before it runs.
    for text in [
        "plain",
        "",
        "\"quoted\" and \\ back",
        "%",
        "%s %n %% 100%",
        "ünï → 漢字 🦀",
        "a # b // c",
        "{\"a\": [1, 2]}",
        "line\nline\ttab\r",
        "\u{1}\u{7f}",
        "null",
        "true",
        "1e999",
        "'",
        "a\0b",
    ] {
        let mut graph = Graph::new().unwrap();
        let x = graph.parameter("x", &float(&[1])).unwrap();
        let op = Op::new("resize")
            .attr("sizes", [1])
            .attr("coordinate_transformation_mode", text);
        // SAFETY: the program is not run.
        let y = unsafe { graph.add_unchecked(op, &[x], &[]) }.unwrap();
        let program = graph.finish(&[y]).unwrap();
        let found = operators(&program);
        let (_, operator) = found.iter().find(|(name, _)| name == "resize").unwrap();
        assert_eq!(
            operator["coordinate_transformation_mode"], text,
            "{operator}"
        );
    }
}

#[test]
fn nested_values_and_shapes_are_read_back_as_written() {
    let mut graph = Graph::new().unwrap();
    let batch = DynamicDim::new(1, 4).unwrap().with_optimals(&[2]).unwrap();
    for shape in [
        float(&[2, 3]),
        Shape::with_strides(DataType::Half, &[2, 2], &[1, 2]).unwrap(),
        Shape::scalar(DataType::Int8).unwrap(),
        Shape::dynamic(DataType::Float, &[batch, DynamicDim::fixed(3)]).unwrap(),
    ] {
        let op = Op::new("allocate").attr("shape", &shape);
        // SAFETY: gives memory of its own.
        let value = unsafe { graph.add_unchecked(op, &[], &[]) }.unwrap();
        assert_eq!(graph.shape(value).unwrap().to_string(), shape.to_string());
        assert_eq!(graph.shape(value).unwrap().strides(), shape.strides());
    }
    let op = Op::new("select_module").attr(
        "output_dyn_shapes",
        Attribute::List(vec![(&float(&[2])).into(), (&float(&[3])).into()]),
    );
    // SAFETY: the operator is only made, and refused without its submodules.
    let error = unsafe { graph.add_unchecked(op, &[], &[]) }.unwrap_err();
    assert!(matches!(error, Error::Api { .. }), "{error}");
}
