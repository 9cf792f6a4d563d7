//! What is refused, by this crate or by the library.

use super::*;

#[test]
fn files_that_are_no_graphs_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.pb");
    refused!(parse_tf(&file), Error::Io { .. }, "model.pb");
    refused!(parse_tf(dir.path()), Error::Io { .. }, "directory");
    std::fs::write(&file, []).unwrap();
    refused!(parse_tf(&file), Error::EmptyModel { .. }, "model.pb");
    let parse = |bytes: &[u8]| TfOptions::new().parse_bytes(bytes);
    refused!(parse(&[]), Error::EmptyModel { .. });
    refused!(
        parse(b"this is no graph at all, really"),
        Error::InvalidArgument(_),
        "GraphDef"
    );
    // A model of ONNX has other fields: none of a graph.
    refused!(
        parse(&testkit::models::relu(&[2])),
        Error::EmptyModel { .. }
    );
    refused!(
        parse(&[8, 1, 0x12, 2, 8, 1]),
        Error::EmptyModel { .. },
        "SavedModel"
    );
    let program = support::parse(&testkit::models::relu(&[2]));
    refused!(
        parse(&program.to_bytes().unwrap()),
        Error::InvalidArgument(_),
        "mxr::load"
    );
    // Nothing to compute, and only constants.
    let mut g = Graph::new();
    g.node("NoOp", "init", &[], vec![]);
    refused!(parse(&g.into_bytes()), Error::EmptyModel { .. });
    let mut g = Graph::new();
    g.constant_f32("c", &[2], &[1.0, 2.0]);
    refused!(parse(&g.into_bytes()), Error::EmptyModel { .. });
    // Cut anywhere: an error, or a graph of the nodes that are whole.
    let graph = models::add_relu();
    let whole = (1..graph.len()).filter(|end| parse(&graph[..*end]).is_ok());
    assert!(whole.count() <= 3, "one for each node but the constant");
}

/// What each of these does without the check was tried on MIGraphX 7.1: the
/// words behind say what.
#[test]
fn graphs_that_the_library_would_die_of_are_refused() {
    type Build = fn(&mut Graph);
    let cases: &[(&str, Build, &[&str])] = &[
        // reads past the constant's bytes
        (
            "short",
            |g| {
                g.constant_raw("c", Elem::F32, &[1000], vec![0; 8]);
                g.node("Add", "y", &["x", "c"], vec![]);
            },
            &["`c`", "8 bytes", "4000"],
        ),
        (
            "long",
            |g| {
                g.constant_raw("c", Elem::F32, &[4], vec![0; 20]);
                g.node("Add", "y", &["x", "c"], vec![]);
            },
            &["`c`", "20 bytes", "16"],
        ),
        // writes past the constant's end
        (
            "many values",
            |g| {
                g.constant_listed("c", &[4], &[1.5; 1000]);
                g.node("Add", "y", &["x", "c"], vec![]);
            },
            &["`c`", "1000 values", "4"],
        ),
        // zeros, where TensorFlow repeats the last
        (
            "few values",
            |g| {
                g.constant_listed("c", &[4], &[1.0, 2.0]);
                g.node("Add", "y", &["x", "c"], vec![]);
            },
            &["`c`", "2 values", "4"],
        ),
        // reads four bytes of a tensor of none
        (
            "raw scalar",
            |g| {
                g.constant_raw("axis", Elem::I32, &[], vec![0; 4]);
                g.node(
                    "Split",
                    "y",
                    &["axis", "x"],
                    vec![("num_split", Attr::Int(2))],
                );
            },
            &["`axis`", "scalar"],
        ),
        (
            "impossible sizes",
            |g| {
                g.constant_raw("c", Elem::F32, &[1 << 40, 1 << 40], vec![0; 4]);
                g.node("Add", "y", &["x", "c"], vec![]);
            },
            &["`c`", "impossible"],
        ),
        (
            "negative size",
            |g| {
                g.constant_raw("c", Elem::F32, &[usize::MAX], vec![0; 4]);
                g.node("Add", "y", &["x", "c"], vec![]);
            },
            &["`c`", "[-1]"],
        ),
        // an error without any text
        (
            "text",
            |g| {
                g.constant_raw("c", Elem::Text, &[1], b"abc".to_vec());
                g.node("Relu", "y", &["x"], vec![]);
            },
            &["`c`", "string"],
        ),
        // SIGSEGV
        (
            "one matrix",
            |g| g.node("MatMul", "y", &["x"], vec![]),
            &["`y` (MatMul)", "1 inputs", "takes 2"],
        ),
        (
            "control inputs only",
            |g| g.node("Relu6", "y", &["^x"], vec![]),
            &["`y` (Relu6)", "0 inputs"],
        ),
        // stack overflow
        (
            "cycle",
            |g| {
                g.node("Add", "y", &["x", "z"], vec![]);
                g.node("Relu", "z", &["y"], vec![]);
            },
            &["cycle"],
        ),
        // abort: assertion
        (
            "itself",
            |g| g.node("Add", "y", &["x", "y"], vec![]),
            &["`y`", "cycle"],
        ),
        (
            "twice",
            |g| g.placeholder("x", Elem::F32, &[4]),
            &["`x`", "occurs twice"],
        ),
        (
            "no parts",
            |g| {
                g.constant_listed("axis", &[1], &[0.0]);
                g.node(
                    "Split",
                    "y",
                    &["axis", "x"],
                    vec![("num_split", Attr::Int(0))],
                );
            },
            &["`y`", "0 parts"],
        ),
        // SIGFPE
        (
            "steps of nothing",
            |g| {
                g.constant_f32("w", &[1, 1, 1, 1], &[1.0]);
                g.placeholder("image", Elem::F32, &[1, 4, 4, 1]);
                let strides = Attr::Ints(vec![1, 0, 1, 1]);
                let attributes = vec![("strides", strides), ("padding", Attr::Text("SAME"))];
                g.node("Conv2D", "y", &["image", "w"], attributes);
            },
            &["`y`", "strides [1, 0, 1, 1]"],
        ),
        // reads past the list of inputs
        (
            "joins more than there are",
            |g| g.node("ConcatV2", "y", &["x", "x"], vec![("N", Attr::Int(2))]),
            &["`y`", "2 inputs", "N"],
        ),
        // a bare `unordered_map::at`
        (
            "unknown input",
            |g| g.node("Relu", "y", &["nosuch"], vec![]),
            &["`y`", "`nosuch`"],
        ),
        (
            "no type",
            |g| g.node("Placeholder", "p", &[], vec![]),
            &["`p`", "type or shape"],
        ),
        // taken for bool
        (
            "bytes",
            |g| {
                g.placeholder("pixels", Elem::U8, &[4]);
                g.node("Relu", "y", &["pixels"], vec![]);
            },
            &["`pixels`", "uint8", "bool"],
        ),
        (
            "cast to bytes",
            |g| g.node("Cast", "y", &["x"], vec![("DstT", Attr::Type(Elem::U8))]),
            &["`y`", "uint8", "bool"],
        ),
        // a parameter without elements
        (
            "scalar input",
            |g| {
                g.placeholder("s", Elem::F32, &[]);
                g.node("Relu", "y", &["s"], vec![]);
            },
            &["`s`", "input_dims"],
        ),
        // compiles, and fails at every run
        (
            "unknown operator",
            |g| {
                g.node("Mystery", "m", &["x"], vec![]);
                g.node("Relu", "y", &["m"], vec![]);
            },
            &["Mystery", "ONNX"],
        ),
    ];
    for (what, build, words) in cases {
        let mut g = Graph::new();
        g.placeholder("x", Elem::F32, &[4]);
        build(&mut g);
        match TfOptions::new().parse_bytes(&g.into_bytes()) {
            Err(Error::InvalidArgument(text)) => {
                for word in *words {
                    assert!(text.contains(word), "{what}: `{word}` is not in: {text}");
                }
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

#[test]
fn what_the_library_refuses_comes_with_its_text() {
    let refuse = |build: fn(&mut Graph), words: &[&str]| {
        let mut g = Graph::new();
        g.placeholder("x", Elem::F32, &[4]);
        build(&mut g);
        let error = TfOptions::new().parse_bytes(&g.into_bytes()).unwrap_err();
        assert!(matches!(error, Error::Api { .. }), "{error}");
        for word in words {
            assert!(error.to_string().contains(word), "`{word}`: {error}");
        }
    };
    refuse(
        |g| {
            g.constant_f32("c", &[3], &[1.0; 3]);
            g.node("Add", "y", &["x", "c"], vec![]);
        },
        &["parsing the graph in memory", "{4} and {3} mismatch"],
    );
    refuse(
        |g| {
            g.constant_i32("shape", &[3]);
            g.node("Reshape", "y", &["x", "shape"], vec![]);
        },
        &["3 elements whereas the input has 4"],
    );
    // A node that sorts before the one whose second result it takes.
    refuse(
        |g| {
            g.constant_i32("axis", &[0]);
            g.node(
                "Split",
                "s",
                &["axis", "x"],
                vec![("num_split", Attr::Int(2))],
            );
            g.node("Relu", "a", &["s:1"], vec![]);
        },
        &["order of names", "map::at"],
    );
}
