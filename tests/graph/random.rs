//! Random graphs of every known operator with odd attributes and inputs: what
//! the builder takes, the library builds, compiles and runs, or refuses, and
//! does not die of. Runs in a child process, which says what it is at.
//!
//! `MIGRAPHX_TEST_GRAPHS=100000` tries more, `MIGRAPHX_TEST_SEED=7` others,
//! `MIGRAPHX_TEST_TARGET=gpu` those of another target.

use super::draw::{Rng, TYPES, attribute_of, data, partner, sizes_of};
use super::support::{child, is_child};
use migraphx::{
    Argument, CompileOptions, DataType, DynamicDim, Error, Graph, Op, Result, Shape, Target, Value,
};

const GRAPHS: u64 = 1500;

#[test]
fn no_graph_that_is_taken_ends_the_process() {
    let number = |name: &str, default: u64| {
        let text = std::env::var(name).ok();
        text.map_or(default, |text| text.parse().unwrap())
    };
    let (seed, graphs) = (
        number("MIGRAPHX_TEST_SEED", 1),
        number("MIGRAPHX_TEST_GRAPHS", GRAPHS),
    );
    let this = "random::no_graph_that_is_taken_ends_the_process";
    if !is_child(this) {
        let output = child(this).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = text.lines().rev().take(40).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        assert!(
            output.status.success(),
            "{}\n{}",
            output.status,
            last.join("\n")
        );
        return;
    }
    let mut taken = std::collections::BTreeMap::new();
    for round in 0..graphs {
        eprintln!("graph {}", seed + round);
        random_graph(&mut Rng(seed + round), &mut taken);
    }
    for (name, _) in Op::known().filter(|(name, _)| !["if", "loop"].contains(name)) {
        let count = taken.get(name).copied().unwrap_or(0);
        if graphs >= GRAPHS {
            assert!(count > 0, "`{name}` was never taken: {taken:?}");
        }
        eprintln!("{name}: {count}");
    }
}

fn random_graph(rng: &mut Rng, taken: &mut std::collections::BTreeMap<&'static str, u32>) {
    let mut graph = Graph::new().unwrap();
    let mut values = Vec::new();
    let dtype = rng.one(TYPES);
    let rank = rng.one(&[0, 1, 2, 2, 3, 4, 4, 4]);
    let dims: Vec<usize> = (0..rank).map(|_| rng.one(&[1, 2, 2, 3, 4, 6])).collect();
    // Sometimes one dimension is a range.
    let open = (rng.below(5) == 0).then(|| rng.one(&[0, 0, 0, 1, 2]));
    for index in 0..1 + rng.below(3) {
        // Mostly of one shape, so that many operators take them.
        let dtype = if rng.below(5) == 0 {
            rng.one(TYPES)
        } else {
            dtype
        };
        let mut dims = dims.clone();
        if rng.below(4) == 0 && !dims.is_empty() {
            let at = rng.below(dims.len());
            dims[at] = rng.one(&[1, 2, 3]);
        }
        let mut shape = Shape::new(dtype, &dims).unwrap();
        if let Some(at) = open.filter(|at| *at < dims.len()) {
            let mut ranges: Vec<DynamicDim> = dims.into_iter().map(DynamicDim::fixed).collect();
            ranges[at] = DynamicDim::new(1, 4).unwrap();
            shape = Shape::dynamic(dtype, &ranges).unwrap();
        }
        let value = if open.is_none() && rng.below(3) == 0 {
            graph.literal(&data(rng, &shape)).unwrap()
        } else {
            graph.parameter(&format!("x{index}"), &shape).unwrap()
        };
        values.push(value);
    }
    let known: Vec<(&str, Vec<&str>)> = Op::known()
        .filter(|(name, _)| !["if", "loop"].contains(name))
        .map(|(name, attributes)| (name, attributes.collect()))
        .collect();
    let of_images = |at: &usize| {
        let name = known[*at].0;
        name.contains("conv") || ["pooling", "pad", "lrn"].contains(&name)
    };
    let images: Vec<usize> = (0..known.len()).filter(of_images).collect();
    let mut description = String::new();
    for _ in 0..1 + rng.below(4) {
        for _ in 0..30 {
            let image = rank > 2 && rng.below(4) == 0;
            let (name, attributes) = &known[match image {
                true => rng.one(&images),
                false => rng.below(known.len()),
            }];
            let mut op = Op::new(*name);
            let input = values[values.len() - 1 - rng.below(values.len().min(3))];
            for attribute in attributes {
                if rng.below(6) > 0
                    && let Some(value) = attribute_of(rng, name, attribute, &graph, input)
                {
                    op = op.attr(*attribute, value);
                }
            }
            let count = match *name {
                "concat" => 1 + rng.below(3),
                "multibroadcast" | "broadcast" => 1 + rng.below(2),
                "clip" | "where" => 3,
                "quantizelinear" | "dequantizelinear" => 2 + rng.below(2),
                _ => 1 + rng.below(2),
            };
            let mut inputs = vec![input];
            while inputs.len() < count {
                inputs.push(partner(rng, &mut graph, name, input, &values));
            }
            if *name == "where" {
                inputs.rotate_right(1);
                let shape = graph.shape(inputs[1]).unwrap();
                let condition = Shape::new(DataType::Bool, &sizes_of(shape));
                if let Ok(condition) = condition {
                    inputs[0] = graph.literal(&data(rng, &condition)).unwrap_or(inputs[0]);
                }
            }
            if let Ok(value) = graph.add(op.clone(), &inputs) {
                *taken.entry(*name).or_insert(0) += 1;
                let shapes: Vec<String> = inputs
                    .iter()
                    .map(|value| graph.shape(*value).unwrap().to_string())
                    .collect();
                description +=
                    &format!("  {op} of {shapes:?} -> {}\n", graph.shape(value).unwrap());
                values.push(value);
                break;
            }
        }
    }
    eprint!("{description}");
    let last = *values.last().unwrap();
    let last = match graph.shape(last).unwrap().dtype() {
        DataType::Tuple => graph
            .add(
                Op::new("get_tuple_elem").attr("index", rng.below(2)),
                &[last],
            )
            .inspect(|_| *taken.entry("get_tuple_elem").or_insert(0) += 1)
            .unwrap(),
        _ => last,
    };
    if let Err(error) = use_up(rng, graph, last) {
        eprintln!("  {error}");
        assert!(
            matches!(error, Error::Api { .. } | Error::InvalidShape(_)),
            "{error}"
        );
    }
}

fn use_up(rng: &mut Rng, graph: Graph, output: Value) -> Result<()> {
    let program = graph.finish(&[output])?;
    let batch = rng.one(&[1, 2, 3, 4]);
    let mut inputs: Vec<(String, Argument)> = Vec::new();
    for parameter in program.parameters() {
        let mut shape = parameter.shape().clone();
        if shape.is_dynamic() {
            let batch = if rng.below(6) == 0 { 1 } else { batch };
            let size = |dim: &DynamicDim| if dim.is_fixed() { dim.max() } else { batch };
            let dims: Vec<usize> = shape.dynamic_dims().iter().map(size).collect();
            shape = Shape::new(shape.dtype(), &dims)?;
        }
        inputs.push((parameter.name().to_owned(), data(rng, &shape)));
    }
    let target = std::env::var("MIGRAPHX_TEST_TARGET").unwrap_or("ref".into());
    let mut program = program.compile(&Target::new(&target)?, &CompileOptions::new())?;
    let inputs: Vec<(&str, Argument)> = inputs
        .into_iter()
        .map(|(name, data)| (&*name.leak(), data))
        .collect();
    let outputs = program.run_once(&inputs)?;
    // Every byte that the library says is there.
    let output = outputs.get(0)?;
    std::hint::black_box(output.as_bytes().iter().fold(0u8, |all, byte| all ^ byte));
    Ok(())
}
