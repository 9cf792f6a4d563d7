//! Rule 13, for `.mxr` files: what MIGraphX's reader takes for granted is checked
//! before it sees a program, and no program that it wrote is refused.

#[path = "mutate/msgpack.rs"]
#[allow(dead_code)]
mod msgpack;
mod support;
#[path = "mutate/tree.rs"]
#[allow(dead_code)]
mod tree;

use migraphx::mxr::{self, FileFormat, Loaded};
use migraphx::{CompileOptions, DynamicDim, Error, OnnxOptions, Target};
use msgpack::Msgpack;
use support::{case, compiled, parse, refused};
use testkit::models;
use tree::{Body, Format, Node};

/// All small models, as MIGraphX writes them: with branches, loops, tuples, 8 and
/// 16 bit floats, sizes that are free.
#[test]
fn what_the_library_writes_passes() {
    let target = Target::reference().unwrap();
    let mut programs = 0;
    for entry in case("").read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "onnx") {
            continue;
        }
        let range = DynamicDim::new(1, 4).unwrap();
        for options in [
            OnnxOptions::new(),
            OnnxOptions::new().default_dynamic_dim(range),
        ] {
            let Ok(program) = options.parse(&path) else {
                continue;
            };
            let uncompiled = program.to_bytes().unwrap();
            let compiled = program.compile(&target, &CompileOptions::new());
            let compiled = compiled.ok().map(|program| program.to_bytes().unwrap());
            for bytes in [Some(uncompiled), compiled].into_iter().flatten() {
                let info = mxr::check(&bytes, FileFormat::Msgpack);
                let info = info.unwrap_or_else(|error| panic!("{path:?}: {error}"));
                let loaded = mxr::load_bytes(&bytes, FileFormat::Msgpack);
                match loaded.unwrap_or_else(|error| panic!("{path:?}: {error}")) {
                    Loaded::Program(_) => assert!(!info.is_compiled()),
                    _ => assert!(info.is_compiled()),
                }
                programs += 1;
            }
        }
    }
    assert!(programs > 150, "{programs}");
    for file in ["mxr_yolo_compiled.json", "mxr_yolo_uncompiled.mxr"] {
        let format = match file.ends_with("json") {
            true => FileFormat::Json,
            false => FileFormat::Msgpack,
        };
        mxr::check(&std::fs::read(case(file)).unwrap(), format).unwrap();
        mxr::load_as(case(file), format).unwrap();
    }
}

/// A model with a weight, an input and two branches, as MIGraphX writes it.
fn tree() -> Node {
    let program = OnnxOptions::new().parse(case("if_runtime.onnx")).unwrap();
    let bytes = msgpack::without_mark(&program.to_bytes().unwrap()).unwrap();
    Msgpack.decode(&bytes).unwrap()
}

fn text(text: &str) -> Node {
    let value = Msgpack.decode(&[&[0xa0 | text.len() as u8], text.as_bytes()].concat());
    value.unwrap()
}

fn value(bytes: &[u8]) -> Node {
    Msgpack.decode(bytes).unwrap()
}

fn items(node: &mut Node) -> &mut Vec<Node> {
    match &mut node.body {
        Body::List(items) => items,
        _ => panic!("no list"),
    }
}

/// The value under `key` in a map.
fn field<'n>(map: &'n mut Node, key: &str) -> &'n mut Node {
    let wanted = text(key);
    let entry = items(map)
        .iter_mut()
        .find(|entry| entry.children()[0] == wanted);
    &mut items(entry.unwrap_or_else(|| panic!("no {key}")))[1]
}

/// The first node of a module with this operator.
fn node<'n>(file: &'n mut Node, module: usize, operator: &str) -> &'n mut Node {
    let module = &mut items(&mut items(field(file, "modules"))[module])[1];
    let name = text(operator);
    let nodes = items(field(module, "nodes")).iter_mut();
    let mut found = nodes.filter(|node| *field(&mut (*node).clone(), "name") == name);
    found.next().unwrap_or_else(|| panic!("no {operator}"))
}

const MAIN: usize = 0;

/// Each is what the library dies of, or would misread.
#[test]
fn what_its_reader_dies_of_is_refused() {
    type Edit = fn(&mut Node);
    let edits: [(&str, Edit); 21] = [
        ("which no earlier one makes", |file| {
            items(field(node(file, MAIN, "if"), "inputs"))[0] = text("nosuch");
        }),
        ("which no earlier one makes", |file| {
            let main = &mut items(&mut items(field(file, "modules"))[MAIN])[1];
            items(field(main, "nodes")).reverse();
        }),
        ("which is not there", |file| {
            items(field(node(file, MAIN, "if"), "module_inputs"))[0] = text("nosuch");
        }),
        ("runs itself", |file| {
            items(field(node(file, MAIN, "if"), "module_inputs"))[0] = text("main");
        }),
        ("two parameters", |file| {
            let mut twice = node(file, MAIN, "@param").clone();
            *field(&mut twice, "output") = text("another");
            let main = &mut items(&mut items(field(file, "modules"))[MAIN])[1];
            items(field(main, "nodes")).insert(0, twice);
        }),
        ("name of two results", |file| {
            let twice = node(file, MAIN, "@param").clone();
            let main = &mut items(&mut items(field(file, "modules"))[MAIN])[1];
            items(field(main, "nodes")).insert(0, twice);
        }),
        ("no module `main`", |file| {
            let main = &mut items(&mut items(field(file, "modules"))[MAIN])[1];
            items(field(main, "nodes")).clear();
        }),
        ("1 targets and 0 contexts", |file| {
            *field(file, "targets") = value(b"\x91\x81\xa4name\xa3ref");
        }),
        ("sizes and", |file| {
            let shape = field(node(file, MAIN, "@param"), "shape");
            items(field(shape, "strides")).push(value(&[1]));
        }),
        ("sizes and", |file| {
            let shape = field(node(file, MAIN, "if"), "shape");
            let part = &mut items(field(shape, "sub_shapes"))[0];
            items(field(part, "lens")).push(value(&[1]));
        }),
        ("larger than memory", |file| {
            let shape = field(node(file, MAIN, "@param"), "shape");
            *field(shape, "lens") = value(b"\x91\xcf\x40\0\0\0\0\0\0\0");
            *field(shape, "strides") = value(b"\x91\x08");
        }),
        ("no list `lens`", |file| {
            *field(field(node(file, MAIN, "@param"), "shape"), "lens") = value(&[0xc0]);
        }),
        ("is not known", |file| {
            *field(field(node(file, MAIN, "@param"), "shape"), "type") = text("f");
        }),
        ("bytes for", |file| {
            let literal = field(node(file, 1, "@literal"), "literal");
            *field(literal, "data") = value(b"\x91\xc4\x01x");
        }),
        ("without `shape` or `data`", |file| {
            let literal = field(node(file, 1, "@literal"), "literal");
            items(literal).retain(|entry| entry.children()[0] == text("shape"));
        }),
        ("no bytes", |file| {
            let literal = field(node(file, 1, "@literal"), "literal");
            *field(literal, "data") = text("text");
        }),
        ("a list of bytes", |file| {
            let literal = field(node(file, 1, "@literal"), "literal");
            items(field(literal, "data")).push(value(&[1]));
        }),
        ("no text `parameter`", |file| {
            *field(node(file, MAIN, "@param"), "operator") = value(&[0x90]);
        }),
        ("twice", |file| {
            let again = items(file)[2].clone();
            items(file).push(again);
        }),
        ("empty", |file| {
            items(&mut items(file)[3])[0] = value(&[0xa0]);
        }),
        ("format version", |file| {
            *field(file, "version") = value(b"\xcf\0\0\0\x01\0\0\0\x07");
        }),
    ];
    let good = Msgpack.encode(&tree());
    mxr::load_bytes(&good, FileFormat::Msgpack).unwrap();
    for (words, edit) in edits {
        let mut file = tree();
        edit(&mut file);
        let bytes = Msgpack.encode(&file);
        println!("to be refused: {words}");
        let checked = mxr::check(&bytes, FileFormat::Msgpack);
        refused!(checked, Error::Mxr { .. }, words);
        let loaded = mxr::load_bytes(&bytes, FileFormat::Msgpack);
        refused!(loaded, Error::Mxr { .. }, words);
    }
}

/// Each level of nesting is a call of the library's reader to itself.
#[test]
fn deep_nesting_is_refused() {
    let bytes = msgpack::without_mark(&parse(&models::relu(&[1])).to_bytes().unwrap()).unwrap();
    for (head, end) in [(&b"\x91"[..], &b"\xc0"[..]), (b"\x81\xa1a", b"\xc0")] {
        let mut file = bytes.clone();
        file[0] += 1;
        file.extend(b"\xa1z");
        file.extend(head.repeat(100_000));
        file.extend(end);
        let loaded = mxr::load_bytes(&file, FileFormat::Msgpack);
        refused!(loaded, Error::Mxr { .. }, "nested more than 128");
        // Also where the library refuses the version: it unpacks the file first.
        file[9] = 8;
        let loaded = mxr::load_bytes(&file, FileFormat::Msgpack);
        refused!(loaded, Error::Mxr { .. }, "nested more than 128");
    }
    let json = format!(
        r#"{{"targets":[],"version":7,"z":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let loaded = mxr::load_bytes(json.as_bytes(), FileFormat::Json);
    refused!(loaded, Error::Mxr { .. }, "recursion limit");
}

/// JSON has the same rules.
#[test]
fn json_is_checked_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.json");
    let program = compiled(&models::add_weights(&[1.0, 2.0, 3.0]));
    program.save_as(&file, FileFormat::Json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    mxr::check(json.to_string().as_bytes(), FileFormat::Json).unwrap();
    type Edit = fn(&mut serde_json::Value);
    let edits: [(&str, Edit); 4] = [
        ("contexts", |json| {
            json["contexts"] = serde_json::Value::Null
        }),
        ("no earlier one", |json| nodes(json).reverse()),
        ("bytes for", |json| {
            let mut nodes = nodes(json).iter_mut();
            let literal = nodes.find(|node| node["name"] == "@literal").unwrap();
            literal["literal"]["data"]["bytes"] = serde_json::json!([1]);
        }),
        ("sizes and", |json| {
            let mut nodes = nodes(json).iter_mut();
            let parameter = nodes.find(|node| node["name"] == "@param").unwrap();
            parameter["shape"]["strides"] = serde_json::json!([]);
        }),
    ];
    for (words, edit) in edits {
        let mut json = json.clone();
        edit(&mut json);
        let loaded = mxr::load_bytes(json.to_string().as_bytes(), FileFormat::Json);
        refused!(loaded, Error::Mxr { .. }, words);
    }
}

fn nodes(json: &mut serde_json::Value) -> &mut Vec<serde_json::Value> {
    json["modules"]["main"]["nodes"].as_array_mut().unwrap()
}
