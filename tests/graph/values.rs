//! What operators make of values.

use super::{float, run};
use half::f16;
use migraphx::{Argument, DataType, Graph, Op, Value};

/// What an operator makes of float constants.
#[track_caller]
fn floats(op: impl Into<Op>, inputs: &[(&[f32], &[usize])]) -> (Vec<usize>, Vec<f32>) {
    let mut graph = Graph::new().unwrap();
    let values: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(at, (_, dims))| graph.parameter(&format!("x{at}"), &float(dims)).unwrap())
        .collect();
    let result = graph.add(op, &values).unwrap();
    let names: Vec<String> = (0..inputs.len()).map(|at| format!("x{at}")).collect();
    let inputs: Vec<(&str, Argument)> = names
        .iter()
        .zip(inputs)
        .map(|(name, (data, dims))| (&**name, Argument::from_slice(data, dims).unwrap()))
        .collect();
    let expected = graph.shape(result).unwrap().clone();
    let outputs = run(graph.finish(&[result]).unwrap(), &inputs);
    let output = outputs.get(0).unwrap();
    assert_eq!(
        output.shape().dims(),
        expected.dims(),
        "the graph knew the shape"
    );
    (output.shape().dims().to_vec(), output.to_vec().unwrap())
}

#[test]
fn operators_give_right_values() {
    let x: &[f32] = &[1.0, -2.0, 3.0, -4.0, 5.0, -6.0];
    let of = |op: Op| floats(op, &[(x, &[2, 3])]);
    let (_, relu) = of(Op::new("relu"));
    assert_eq!(relu, [1.0, 0.0, 3.0, 0.0, 5.0, 0.0]);
    let (_, leaky) = of(Op::new("leaky_relu").attr("alpha", 0.5));
    assert_eq!(leaky, [1.0, -1.0, 3.0, -2.0, 5.0, -3.0]);
    let (dims, sum) = of(Op::new("reduce_sum").attr("axes", [1]));
    assert_eq!(
        (dims.as_slice(), sum.as_slice()),
        (&[2, 1][..], &[2.0, -5.0][..])
    );
    let (dims, turned) = of(Op::new("transpose").attr("permutation", [1, 0]));
    assert_eq!(dims, [3, 2]);
    assert_eq!(turned, [1.0, -4.0, -2.0, 5.0, 3.0, -6.0]);
    let part = Op::new("slice")
        .attr("axes", [1])
        .attr("starts", [-2])
        .attr("ends", [i32::MAX]);
    assert_eq!(of(part), (vec![2, 2], vec![-2.0, 3.0, 5.0, -6.0]));
    let (dims, _) = of(Op::new("reshape").attr("dims", [0, -1, 1]));
    assert_eq!(dims, [2, 3, 1]);
    let padded = Op::new("pad")
        .attr("pads", [0, 1, 0, 0])
        .attr("value", f32::MIN);
    let (dims, padded) = of(padded);
    assert_eq!((dims[1], padded[0], padded[1]), (4, f32::MIN, 1.0));
    let (_, wide) = floats(
        Op::new("multibroadcast").attr("out_lens", [2, 2]),
        &[(&[7.0, 8.0], &[2])],
    );
    assert_eq!(wide, [7.0, 8.0, 7.0, 8.0]);

    let (_, product) = floats("dot", &[(x, &[2, 3]), (&[1.0, 0.0, 2.0], &[3, 1])]);
    assert_eq!(product, [7.0, -16.0]);
    let (dims, joined) = floats(
        Op::new("concat").attr("axis", 0),
        &[(x, &[2, 3]), (&x[..3], &[1, 3])],
    );
    assert_eq!((dims, joined[6]), (vec![3, 3], 1.0));
    let (_, soft) = floats(
        Op::new("softmax").attr("axis", 0),
        &[(&[0.0, 3f32.ln()], &[2])],
    );
    assert!(
        (soft[0] - 0.25).abs() < 1e-6 && (soft[1] - 0.75).abs() < 1e-6,
        "{soft:?}"
    );

    // 3 × 3 ones over 1 … 16, padded: the sum of the neighbours.
    let image: Vec<f32> = (1..=16u8).map(f32::from).collect();
    let conv = Op::new("convolution")
        .attr("padding", [1, 1])
        .attr("stride", [2, 2]);
    let (dims, sums) = floats(conv, &[(&image, &[1, 1, 4, 4]), (&[1.0; 9], &[1, 1, 3, 3])]);
    assert_eq!(dims, [1, 1, 2, 2]);
    assert_eq!(sums, [14.0, 30.0, 57.0, 99.0]);
    let pool = Op::new("pooling")
        .attr("mode", "max")
        .attr("lengths", [2, 2])
        .attr("stride", [2, 2]);
    let (_, most) = floats(pool.clone(), &[(&image, &[1, 1, 4, 4])]);
    assert_eq!(most, [6.0, 8.0, 14.0, 16.0]);
    let mean = pool.attr("dilations", [1, 1]);
    assert_eq!(floats(mean, &[(&image, &[1, 1, 4, 4])]).1, most);
}

#[test]
fn other_types_and_tuples_come_out() {
    let mut graph = Graph::new().unwrap();
    let x = graph.parameter("x", &float(&[4])).unwrap();
    let half = graph
        .add(Op::new("convert").attr("target_type", DataType::Half), &[x])
        .unwrap();
    assert_eq!(graph.shape(half).unwrap().dtype(), DataType::Half);
    let top = graph.add(Op::new("topk").attr("k", 2), &[x]).unwrap();
    assert_eq!(graph.shape(top).unwrap().dtype(), DataType::Tuple);
    let part = |index: usize| Op::new("get_tuple_elem").attr("index", index);
    let largest = graph.add(part(0), &[top]).unwrap();
    let places = graph.add(part(1), &[top]).unwrap();
    // Indices of a literal are checked, so that this needs no `unsafe`.
    let indices = graph.constant(&[3i64, 0, -1], &[3]).unwrap();
    let picked = graph.add("gather", &[x, indices]).unwrap();
    let limit = graph.constant(&[2.0f32; 4], &[4]).unwrap();
    let above = graph.add("greater", &[x, limit]).unwrap();
    let above = graph
        .add(
            Op::new("convert").attr("target_type", DataType::Bool),
            &[above],
        )
        .unwrap();
    let chosen = graph.add("where", &[above, limit, x]).unwrap();
    let outputs = [half, largest, places, picked, above, chosen];
    let program = graph.finish(&outputs).unwrap();

    let x = Argument::from_slice(&[1.0f32, 4.0, 2.0, 3.0], &[4]).unwrap();
    let outputs = run(program, &[("x", x)]);
    assert_eq!(outputs.slice::<f16>(0).unwrap()[1].to_f32(), 4.0);
    assert_eq!(outputs.slice::<f32>(1).unwrap(), [4.0, 3.0]);
    assert_eq!(outputs.slice::<i64>(2).unwrap(), [1, 3]);
    assert_eq!(outputs.slice::<f32>(3).unwrap(), [3.0, 1.0, 3.0]);
    assert_eq!(
        outputs.get(4).unwrap().to_bools().unwrap(),
        [false, true, false, true]
    );
    assert_eq!(outputs.slice::<f32>(5).unwrap(), [1.0, 2.0, 2.0, 2.0]);
}

#[test]
fn an_array_is_a_literal() {
    let mut graph = Graph::new().unwrap();
    let array = ndarray::arr2(&[[1f32, 2.0], [3.0, 4.0]]);
    let turned = array.t();
    let x = graph
        .literal(&Argument::from_array(&turned).unwrap())
        .unwrap();
    let one = graph.constant(&[1.0f32], &[]).unwrap();
    let ones = graph
        .add(Op::new("multibroadcast").attr("out_lens", [2, 2]), &[one])
        .unwrap();
    let y = graph.add("add", &[x, ones]).unwrap();
    let outputs = run(graph.finish(&[y]).unwrap(), &[]);
    assert_eq!(outputs.slice::<f32>(0).unwrap(), [2.0, 4.0, 3.0, 5.0]);
}
