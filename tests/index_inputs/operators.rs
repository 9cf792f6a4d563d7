//! What each operator takes, and the right results of what it takes.

use migraphx::{CompiledProgram, Error};
use testkit::onnx::{Attr, Elem, Graph, fixed};

use super::support::{compile, compiled, parse, refused};
use super::{picked, tensor, unary, with_indices, wrong};

#[test]
fn gather_takes_the_positions_on_its_axis() {
    let mut columns = with_indices(&[2], unary("Gather", -1));
    assert_eq!(
        picked(&mut columns, &[3, -4]).unwrap(),
        [3., 0., 7., 4., 11., 8.]
    );
    assert_eq!(wrong(&mut columns, &[3, 4]), (1, 4));
    assert_eq!(wrong(&mut columns, &[-5, 0]), (0, -5));
    let error = picked(&mut columns, &[0, 4]).unwrap_err().to_string();
    for word in ["`i`", "element 1", "4", "`gather`", "-4 to 3"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn gather_elements_takes_what_the_library_reads_right() {
    // Along the first axis negative ones come out right, along others they do not.
    let mut rows = with_indices(&[2, 4], unary("GatherElements", 0));
    let found = picked(&mut rows, &[0, 1, 2, -1, -3, 0, 0, 0]).unwrap();
    assert_eq!(found, [0., 5., 10., 11., 0., 1., 2., 3.]);
    assert_eq!(wrong(&mut rows, &[0, 0, 3, 0, 0, 0, 0, 0]), (2, 3));
    let mut columns = with_indices(&[3, 2], unary("GatherElements", 1));
    assert_eq!(
        picked(&mut columns, &[0, 3, 1, 2, 3, 0]).unwrap(),
        [0., 3., 5., 6., 11., 8.]
    );
    assert_eq!(wrong(&mut columns, &[0, 4, 0, 0, 0, 0]), (1, 4));
    assert_eq!(wrong(&mut columns, &[0, 0, 0, 0, 0, -1]), (5, -1));
}

#[test]
fn gather_nd_takes_the_positions_of_each_component() {
    let mut points = with_indices(&[2, 2], |g| g.node("GatherND", &["x", "i"], &["y"], vec![]));
    assert_eq!(picked(&mut points, &[2, 3, -3, -1]).unwrap(), [11., 3.]);
    assert_eq!(wrong(&mut points, &[2, 3, 3, 0]), (2, 3));
    assert_eq!(wrong(&mut points, &[0, -5, 0, 0]), (1, -5));
    // The library throws on a worker thread here, which nobody can catch.
    let mut many = with_indices(&[64, 1], |g| {
        g.node("GatherND", &["x", "i"], &["y"], vec![])
    });
    let mut indices = [0; 64];
    assert!(picked(&mut many, &indices).is_ok());
    indices[63] = 3;
    assert_eq!(wrong(&mut many, &indices), (63, 3));
}

#[test]
fn scatter_takes_the_positions_it_writes() {
    let scatter = |op: &'static str, indices: &[usize], update: &[usize]| {
        with_indices(indices, |graph| {
            graph.input("u", Elem::F32, &fixed(update));
            graph.node(op, &["x", "i", "u"], &["y"], vec![]);
        })
    };
    let mut elements = scatter("ScatterElements", &[1, 2], &[1, 2]);
    let found = picked(&mut elements, &[2, -3]).unwrap();
    assert_eq!(found, [0., -1., 2., 3., 4., 5., 6., 7., -1., 9., 10., 11.]);
    assert_eq!(wrong(&mut elements, &[0, 3]), (1, 3));
    assert_eq!(wrong(&mut elements, &[-4, 0]), (0, -4));
    let mut points = scatter("ScatterND", &[2, 2], &[2]);
    let found = picked(&mut points, &[0, 1, 2, 3]).unwrap();
    assert_eq!(found, [0., -1., 2., 3., 4., 5., 6., 7., 8., 9., 10., -1.]);
    assert_eq!(wrong(&mut points, &[0, 1, 2, 4]), (3, 4));
    // ONNX counts from the end here, and the library writes before the tensor.
    assert_eq!(wrong(&mut points, &[0, -1, 0, 0]), (1, -1));
}

#[test]
fn roi_align_takes_the_images_there_are() {
    let mut graph = Graph::new("rois");
    graph.input("x", Elem::F32, &fixed(&[2, 1, 4, 4]));
    graph.input("r", Elem::F32, &fixed(&[1, 4]));
    graph.input("i", Elem::I64, &fixed(&[1]));
    graph.node("RoiAlign", &["x", "r", "i"], &["y"], vec![]);
    graph.output("y", Elem::F32, &[]);
    let mut program = compiled(&graph.into_bytes());
    let mut run = |image: i64| {
        let images: Vec<f32> = (0..32).map(|at| if at < 16 { 1.0 } else { 2.0 }).collect();
        let outputs = program.run_once(&[
            ("x", tensor(&images, &[2, 1, 4, 4])),
            ("r", tensor(&[0.0f32, 0.0, 2.0, 2.0], &[1, 4])),
            ("i", tensor(&[image], &[1])),
        ])?;
        Ok::<f32, Error>(outputs.slice::<f32>(0)?[0])
    };
    assert_eq!((run(0).unwrap(), run(1).unwrap()), (1.0, 2.0));
    refused!(run(2), Error::IndexOutOfRange { value: 2, .. }, "roialign");
    refused!(run(-1), Error::IndexOutOfRange { value: -1, .. }, "0 to 1");
}

#[test]
fn recurrent_layers_take_lengths_of_sequences() {
    let mut graph = Graph::new("gru");
    graph.input("s", Elem::F32, &fixed(&[3, 2, 1]));
    graph.input("i", Elem::I32, &fixed(&[2]));
    graph.constant_f32("w", &[1, 3, 1], &[0.5; 3]);
    graph.constant_f32("r", &[1, 3, 1], &[0.5; 3]);
    let size = vec![("hidden_size", Attr::Int(1))];
    graph.node("GRU", &["s", "w", "r", "", "i"], &["all", "last"], size);
    graph.output("all", Elem::F32, &[]);
    graph.output("last", Elem::F32, &[]);
    let program = parse(&graph.into_bytes());
    assert_eq!(program.index_inputs().unwrap()[0].operator(), "gru");
    let program = compile(program);
    // Loaded, it has only what compiling made of the layer.
    let loaded = CompiledProgram::load_bytes(&program.to_bytes().unwrap()).unwrap();
    for mut program in [program, loaded] {
        let mut run = |lengths: [i32; 2]| {
            let steps = tensor(&[1.0f32; 6], &[3, 2, 1]);
            let outputs = program.run_once(&[("s", steps), ("i", tensor(&lengths, &[2]))])?;
            let (all, last) = (outputs.slice::<f32>(0)?, outputs.slice::<f32>(1)?);
            Ok::<_, Error>((all.to_vec(), last.to_vec()))
        };
        let (all, last) = run([1, 3]).unwrap();
        assert_eq!(last, [all[0], all[5]]);
        refused!(
            run([0, 3]),
            Error::IndexOutOfRange { position: 0, .. },
            "1 to 3"
        );
        refused!(run([1, 4]), Error::IndexOutOfRange { position: 1, .. });
    }
}

#[test]
fn integers_are_not_divided_by_zero() {
    let mut graph = Graph::new("div");
    graph.input("a", Elem::I64, &fixed(&[3]));
    graph.input("b", Elem::I64, &fixed(&[1]));
    graph.node("Div", &["a", "b"], &["q"], vec![]);
    graph.output("q", Elem::I64, &fixed(&[3]));
    let mut program = compiled(&graph.into_bytes());
    let mut run = |a: [i64; 3], b: i64| {
        let given = [("a", tensor(&a, &[3])), ("b", tensor(&[b], &[1]))];
        program
            .run_once(&given)?
            .slice::<i64>(0)
            .map(<[i64]>::to_vec)
    };
    assert_eq!(run([7, -7, 0], -2).unwrap(), [-3, 3, 0]);
    refused!(
        run([1, 2, 3], 0),
        Error::IndexOutOfRange { value: 0, .. },
        "`b`",
        "all but 0"
    );
    // The least of all by -1 traps as well.
    refused!(
        run([1, i64::MIN, 3], -1),
        Error::IndexOutOfRange { position: 1, .. },
        "`a`"
    );
    // Floats may be divided by zero.
    let mut graph = Graph::new("div");
    graph.input("a", Elem::F32, &fixed(&[1]));
    graph.node("Div", &["a", "a"], &["q"], vec![]);
    graph.output("q", Elem::F32, &fixed(&[1]));
    let mut floats = compiled(&graph.into_bytes());
    assert!(floats.index_inputs().is_empty());
    let nan = floats.run_once(&[("a", tensor(&[0.0f32], &[1]))]).unwrap();
    assert!(nan.slice::<f32>(0).unwrap()[0].is_nan());
}
