//! Rules 4 and 5: results may lie in the inputs, and some operators write
//! into them. The lifetimes themselves are in `compile_fail.rs`.

mod support;

use migraphx::mxr::{self, FileFormat};
use migraphx::{Argument, CompiledProgram, Error};
use std::ops::Range;
use support::{case, compile, compiled, refused};
use testkit::models;

fn span(slice: &[f32]) -> Range<*const f32> {
    slice.as_ptr_range()
}

fn within(inner: &[f32], outer: &Range<*const f32>) -> bool {
    outer.start <= inner.as_ptr() && inner.as_ptr_range().end <= outer.end
}

#[test]
fn results_in_the_inputs_are_lent_without_a_copy() {
    let mut program = compiled(&models::relu_and_passthrough(&[4]));
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    inputs
        .slice_mut::<f32>(x)
        .unwrap()
        .copy_from_slice(&[-1.0, 2.0, -3.0, 4.0]);
    let own = span(inputs.slice_mut::<f32>(x).unwrap());
    let outputs = program.run(&mut inputs).unwrap();
    assert_eq!(outputs.slice::<f32>(0).unwrap(), [0.0, 2.0, 0.0, 4.0]);
    assert_eq!(outputs.slice::<f32>(1).unwrap(), [-1.0, 2.0, -3.0, 4.0]);
    assert!(
        within(outputs.slice(1).unwrap(), &own),
        "the library hands the input back"
    );
    assert!(!within(outputs.slice(0).unwrap(), &own));

    // Owned results keep what they hold, whatever becomes of the inputs.
    let fresh = outputs.slice::<f32>(0).unwrap().as_ptr();
    let owned = outputs.into_owned().unwrap();
    assert_eq!(
        owned.slice::<f32>(0).unwrap().as_ptr(),
        fresh,
        "not copied again"
    );
    assert!(!within(owned.slice(1).unwrap(), &own));
    inputs.slice_mut::<f32>(x).unwrap().fill(9.0);
    drop(inputs);
    drop(program);
    assert_eq!(owned.slice::<f32>(0).unwrap(), [0.0, 2.0, 0.0, 4.0]);
    assert_eq!(owned.slice::<f32>(1).unwrap(), [-1.0, 2.0, -3.0, 4.0]);
}

#[test]
fn a_view_into_the_input_is_owned_whole() {
    let mut program = compiled(&models::slice(3));
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    let data: Vec<f32> = (0..12).map(|i| i as f32).collect();
    inputs.slice_mut::<f32>(x).unwrap().copy_from_slice(&data);
    let owned = program.run(&mut inputs).unwrap().into_owned().unwrap();
    inputs.slice_mut::<f32>(x).unwrap().fill(-1.0);
    assert_eq!(
        owned.slice::<f32>(0).unwrap(),
        [1.0, 2.0, 5.0, 6.0, 9.0, 10.0]
    );
    assert_eq!(owned.get(0).unwrap().shape().dims(), [3, 2]);
}

#[test]
fn run_once_gives_results_of_its_own() {
    let mut program = compiled(&models::relu_and_passthrough(&[2]));
    let mut data = vec![-1.0_f32, 1.0];
    let outputs = {
        let argument = Argument::from_slice(&data, &[2]).unwrap();
        program.run_once(&[("x", argument)]).unwrap()
    };
    data.fill(5.0);
    drop(data);
    drop(program);
    assert_eq!(outputs.slice::<f32>(1).unwrap(), [-1.0, 1.0]);
}

#[test]
fn a_bound_buffer_is_read_where_it_is() {
    let mut program = compiled(&models::relu_and_passthrough(&[4]));
    let data = [1.0_f32, -2.0, 3.0, -4.0];
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    inputs.bind(x, &data).unwrap();
    let outputs = program.run(&mut inputs).unwrap();
    assert_eq!(outputs.slice::<f32>(0).unwrap(), [1.0, 0.0, 3.0, 0.0]);
    assert!(
        within(outputs.slice(1).unwrap(), &span(&data)),
        "no copy was made"
    );
    let owned = outputs.into_owned().unwrap();
    assert!(!within(owned.slice(1).unwrap(), &span(&data)));

    // A bound buffer is shared: the set gives no `&mut` into it.
    refused!(
        inputs.slice_mut::<f32>(x),
        Error::InvalidArgument(_),
        "`x`",
        "bound",
        "unbind"
    );
    refused!(inputs.bytes_mut(x), Error::InvalidArgument(_), "bound");
    inputs.unbind(x).unwrap();
    assert_eq!(inputs.slice_mut::<f32>(x).unwrap(), [0.0; 4]);
    assert_eq!(
        program.run(&mut inputs).unwrap().slice::<f32>(1).unwrap(),
        [0.0; 4]
    );
    // `set` copies, and so ends a binding.
    inputs.bind(x, &data).unwrap();
    inputs
        .set(x, &Argument::from_slice(&[5.0_f32; 4], &[4]).unwrap())
        .unwrap();
    assert_eq!(
        program.run(&mut inputs).unwrap().slice::<f32>(1).unwrap(),
        [5.0; 4]
    );
    assert_eq!(data, [1.0, -2.0, 3.0, -4.0]);
}

#[test]
fn results_that_share_a_buffer_are_both_whole() {
    let mut program = compiled(&models::two_outputs(&[3]));
    let mut inputs = program.inputs().unwrap();
    let x = inputs.id("x").unwrap();
    inputs
        .slice_mut::<f32>(x)
        .unwrap()
        .copy_from_slice(&[1.0, 2.0, 3.0]);
    let owned = program.run(&mut inputs).unwrap().into_owned().unwrap();
    assert_eq!(owned.slice::<f32>(0).unwrap(), [2.0, 4.0, 6.0]);
    assert_eq!(owned.slice::<f32>(1).unwrap(), [1.0, 4.0, 9.0]);
    refused!(
        owned.slice::<f32>(2),
        Error::Output { .. },
        "output 2",
        "2 outputs"
    );
    refused!(
        owned.slice::<i32>(0),
        Error::DataTypeMismatch { .. },
        "int32",
        "float"
    );
}

/// `y` filled with `x`: an operator that writes into its second input, here
/// named `written`. No ONNX operator of `ref` does so; the program is a saved
/// `x + y`, edited.
fn fill(written: &str) -> CompiledProgram {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("fill.json");
    support::parse(&models::add_broadcast(4))
        .save_as(&file, FileFormat::Json)
        .unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let nodes = json["modules"]["main"]["nodes"].as_array_mut().unwrap();
    let broadcast = nodes.iter().position(|n| n["name"] == "multibroadcast");
    let broadcast = nodes.remove(broadcast.unwrap())["output"].clone();
    for node in nodes {
        if node["output"] == "y" {
            node["output"] = written.into();
            node["operator"]["parameter"] = written.into();
        }
        if node["name"] == "add" {
            node["name"] = "fill".into();
        }
        for input in node["inputs"].as_array_mut().unwrap() {
            if *input == broadcast {
                *input = "x".into();
            } else if *input == "y" {
                *input = written.into();
            }
        }
    }
    std::fs::write(&file, json.to_string()).unwrap();
    match mxr::load_as(&file, FileFormat::Json).unwrap() {
        mxr::Loaded::Program(program) => compile(program),
        other => panic!("it was saved uncompiled, and loaded as {other:?}"),
    }
}

#[test]
fn an_input_that_is_written_is_not_bound_to_shared_memory() {
    let mut program = fill("y");
    let data = [1.0_f32, 2.0, 3.0, 4.0];
    let mut inputs = program.inputs().unwrap();
    let (x, y) = (inputs.id("x").unwrap(), inputs.id("y").unwrap());
    refused!(
        inputs.bind(y, &data),
        Error::InvalidArgument(_),
        "`y`",
        "write"
    );
    inputs.slice_mut::<f32>(x).unwrap()[0] = 7.0;
    // In the set's own buffer it may write.
    let outputs = program.run(&mut inputs).unwrap();
    assert_eq!(outputs.slice::<f32>(0).unwrap(), [7.0; 4]);
    drop(outputs);
    assert_eq!(data, [1.0, 2.0, 3.0, 4.0]);

    // The convenience call takes a shared argument: it must not be written.
    let shared = Argument::from_slice(&data, &[4]).unwrap();
    let seven = Argument::from_vec(vec![7.0_f32], &[1]).unwrap();
    if let Ok(outputs) = program.run_once(&[("x", seven), ("y", shared)]) {
        assert_eq!(outputs.slice::<f32>(0).unwrap(), [7.0; 4]);
    }
    assert_eq!(data, [1.0, 2.0, 3.0, 4.0]);
}

/// What is written is read off the program's text, in which names stand too.
#[test]
fn names_do_not_hide_what_is_written() {
    let names = [
        "y = @param:y",
        "y,x",
        "y)",
        "y(",
        "a\nb",
        "@5",
        "fill",
        "main:#output_0",
    ];
    let shared = names.into_iter().filter(|name| {
        let program = fill(name);
        let mut inputs = program.inputs().unwrap();
        let y = inputs.id(name).unwrap();
        inputs.bind(y, &[0.0_f32; 4]).is_ok()
    });
    assert_eq!(shared.collect::<Vec<_>>(), [""; 0]);
}

/// A set serves any program of its signature: one that reads may have let it
/// bind what another writes.
#[test]
fn a_set_bound_elsewhere_is_not_written() {
    let data = [1.0_f32, 2.0, 3.0, 4.0];
    let mut reads = compiled(&models::add_broadcast(4));
    let mut writes = fill("y");
    let mut inputs = reads.inputs().unwrap();
    let (x, y) = (inputs.id("x").unwrap(), inputs.id("y").unwrap());
    inputs.slice_mut::<f32>(x).unwrap()[0] = 7.0;
    inputs.bind(y, &data).unwrap();
    assert_eq!(
        reads.run(&mut inputs).unwrap().slice::<f32>(0).unwrap(),
        [8.0, 9.0, 10.0, 11.0]
    );
    refused!(writes.run(&mut inputs), _, "`y`", "bound");
    assert_eq!(data, [1.0, 2.0, 3.0, 4.0]);
    inputs.unbind(y).unwrap();
    assert_eq!(
        writes.run(&mut inputs).unwrap().slice::<f32>(0).unwrap(),
        [7.0; 4]
    );
}

#[test]
fn results_survive_the_next_run() {
    let mut program = compile(migraphx::parse_onnx(case("yolo_head.onnx")).unwrap());
    let mut inputs = program.inputs().unwrap();
    let images = inputs.id("images").unwrap();
    let mut kept = Vec::new();
    for value in [0.0, 1.0] {
        inputs.slice_mut::<f32>(images).unwrap().fill(value);
        let owned = program.run(&mut inputs).unwrap().into_owned().unwrap();
        kept.push((owned.slice::<f32>(0).unwrap().to_vec(), owned));
    }
    assert_ne!(kept[0].0, kept[1].0);
    for (copy, owned) in &kept {
        assert_eq!(copy, owned.slice::<f32>(0).unwrap());
    }
}
