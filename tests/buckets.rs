//! Batches of any size on programs of a few.

mod support;

use std::fs;

use half::f16;
use migraphx::{
    Argument, BucketRun, Buckets, CompileOptions, CompiledProgram, Error, OnnxOptions, Padding,
    Pool, Program, Result, Target,
};
use support::refused;
use testkit::models;
use testkit::onnx::{Attr, Dim, Elem, Graph, fixed};

const BATCH: Dim = Dim::Symbol("batch");

/// `y = x · scale + b` of `x` `[batch, 3]` and `scale` `[3, 2]`, both inputs.
/// `table` is a constant; `mean` is over all rows.
fn scaled() -> Vec<u8> {
    let mut g = Graph::new("scaled");
    g.input("x", Elem::F32, &[BATCH, Dim::Fixed(3)]);
    g.input("scale", Elem::F32, &fixed(&[3, 2]));
    g.constant_f32("b", &[2], &[0.5, -0.5]);
    g.constant_f32("t", &[2], &[7.0, 8.0]);
    g.node("MatMul", &["x", "scale"], &["xs"], vec![]);
    g.node("Add", &["xs", "b"], &["y"], vec![]);
    g.node("Identity", &["t"], &["table"], vec![]);
    let axes = ("axes", Attr::Ints(vec![0]));
    g.node(
        "ReduceMean",
        &["x"],
        &["mean"],
        vec![axes, ("keepdims", Attr::Int(0))],
    );
    g.output("y", Elem::F32, &[BATCH, Dim::Fixed(2)]);
    g.output("table", Elem::F32, &fixed(&[2]));
    g.output("mean", Elem::F32, &fixed(&[3]));
    g.into_bytes()
}

fn open(model: &[u8]) -> impl FnMut(usize) -> Result<Program> {
    move |batch| OnnxOptions::new().default_dim(batch).parse_bytes(model)
}

fn compile(sizes: &[usize], read: impl FnMut(usize) -> Result<Program>) -> Result<Buckets> {
    let target = Target::reference()?;
    Buckets::compile(sizes, &target, &CompileOptions::new(), read)
}

fn tensor<T: migraphx::Element>(values: Vec<T>, dims: &[usize]) -> Argument<'static> {
    Argument::from_vec(values, dims).unwrap()
}

const SCALE: [f32; 6] = [1.0, 10.0, 2.0, 20.0, 3.0, 30.0];

/// Rows that differ: row `i` is `[i, i + 1, 2 i]`.
fn rows(count: usize) -> Vec<f32> {
    let row = |i: usize| [i as f32, i as f32 + 1.0, 2.0 * i as f32];
    (0..count).flat_map(row).collect()
}

/// `y`, by hand: `i + 2 (i + 1) + 6 i`, and ten times as much, then `b`.
fn expected(count: usize) -> Vec<f32> {
    let row = |i: usize| {
        let sum = (9 * i + 2) as f32;
        [sum + 0.5, 10.0 * sum - 0.5]
    };
    (0..count).flat_map(row).collect()
}

fn run(buckets: &mut Buckets, count: usize) -> Result<migraphx::BucketOutputs> {
    let x = tensor(rows(count), &[count, 3]);
    buckets.run(&[("scale", tensor(SCALE.to_vec(), &[3, 2])), ("x", x)])
}

fn runs(pairs: &[(usize, usize)]) -> Vec<BucketRun> {
    let run = |&(bucket, rows): &(usize, usize)| BucketRun { bucket, rows };
    pairs.iter().map(run).collect()
}

#[test]
fn batches_of_every_size_run_right() {
    let model = scaled();
    let mut buckets = compile(&[8, 1, 3, 3], open(&model)).unwrap();
    assert_eq!(buckets.sizes(), [1, 3, 8]);
    assert_eq!(buckets.input_axis("x").unwrap(), Some(0));
    assert_eq!(buckets.input_axis("scale").unwrap(), None);
    assert_eq!(buckets.output_axis(0).unwrap(), Some(0));
    assert_eq!(buckets.output_axis(1).unwrap(), None);
    for count in 1..=27 {
        let outputs = run(&mut buckets, count).unwrap();
        assert_eq!(outputs.rows(), count);
        assert_eq!(outputs.get(0).unwrap().shape().dims(), [count, 2]);
        assert_eq!(outputs.slice::<f32>(0).unwrap(), expected(count), "{count}");
        let plan = match count {
            1 => runs(&[(1, 1)]),
            2 => runs(&[(3, 2)]),
            7 => runs(&[(8, 7)]),
            8 => runs(&[(8, 8)]),
            9 => runs(&[(8, 8), (1, 1)]),
            11 => runs(&[(8, 8), (3, 3)]),
            22 => runs(&[(8, 8), (8, 8), (8, 6)]),
            24 => runs(&[(8, 8), (8, 8), (8, 8)]),
            _ => outputs.runs().to_vec(),
        };
        assert_eq!(outputs.runs(), plan);
        // Without a batch: right, or refused.
        assert_eq!(
            outputs.whole(1).unwrap().as_slice::<f32>().unwrap(),
            [7.0, 8.0]
        );
        if [1, 3, 8].contains(&count) {
            let mean = (count - 1) as f32 / 2.0;
            let means = [mean, mean + 1.0, 2.0 * mean];
            assert_eq!(outputs.slice::<f32>(2).unwrap(), means);
            assert_eq!(outputs.slice::<f32>(1).unwrap(), [7.0, 8.0]);
            assert_eq!(outputs.into_arguments().unwrap().len(), 3);
        } else {
            refused!(
                outputs.get(2),
                Error::Output { index: 2, .. },
                "no batch axis",
                "whole"
            );
            refused!(
                outputs.into_arguments(),
                Error::Output { index: 1, .. },
                "batch"
            );
        }
    }
}

/// A model with a batch of 1 in the file, read with other input dims.
#[test]
fn static_models_are_read_for_each_size() {
    let model = models::relu(&[1, 2, 2]);
    let read = |batch: usize| {
        let onnx = OnnxOptions::new().input_dims("x", &[batch, 2, 2]);
        onnx.parse_bytes(&model)
    };
    let mut buckets = compile(&[2, 5], read).unwrap();
    for count in 1..=12 {
        let values: Vec<f32> = (0..4 * count).map(|i| i as f32 - 3.0).collect();
        let outputs = buckets.run(&[("x", tensor(values.clone(), &[count, 2, 2]))]);
        let expected: Vec<f32> = values.iter().map(|x| x.max(0.0)).collect();
        assert_eq!(outputs.unwrap().slice::<f32>(0).unwrap(), expected);
    }
    // The program of a bucket is there to be run as it is.
    let program = buckets.program(5).unwrap();
    assert_eq!(program.parameters()[0].shape().dims(), [5, 2, 2]);
    assert!(buckets.program(4).is_none());
}

#[test]
fn one_bucket_is_enough() {
    let model = scaled();
    let mut buckets = compile(&[4], open(&model)).unwrap();
    for count in [1, 4, 6] {
        let outputs = run(&mut buckets, count).unwrap();
        assert_eq!(outputs.slice::<f32>(0).unwrap(), expected(count));
    }
    let one = Buckets::new(&[4], |_| unreachable!("nothing could be compared"));
    refused!(one, Error::InvalidArgument(_), "one bucket", "compile");
}

/// Integer division by zero ends the process, as would a zero row.
#[test]
fn padding_gives_the_model_nothing_that_it_was_not_given() {
    let mut g = Graph::new("divide");
    for name in ["a", "b"] {
        g.input(name, Elem::I32, &[BATCH]);
    }
    g.node("Div", &["a", "b"], &["y"], vec![]);
    g.output("y", Elem::I32, &[BATCH]);
    let model = g.into_bytes();
    let mut buckets = compile(&[4, 16], open(&model)).unwrap();
    for count in 1..=20i32 {
        let dims = [count as usize];
        let (a, b): (Vec<i32>, Vec<i32>) = (1..=count).map(|i| (100 * i, i)).unzip();
        let outputs = buckets.run(&[("a", tensor(a, &dims)), ("b", tensor(b, &dims))]);
        assert_eq!(
            outputs.unwrap().slice::<i32>(0).unwrap(),
            vec![100; dims[0]]
        );
    }
}

/// What the model sees of the padding: the sum over all rows, given whole.
#[test]
fn padding_is_as_asked() {
    let model = scaled();
    for (padding, mean) in [
        (None, [0.75, 1.75, 1.5]), // rows 0, 1, 1, 1
        (Some(Padding::RepeatLast), [0.75, 1.75, 1.5]),
        (Some(Padding::Zeros), [0.25, 0.75, 0.5]), // rows 0, 1 and zeros
    ] {
        let mut buckets = compile(&[4, 8], open(&model)).unwrap();
        if let Some(padding) = padding {
            buckets = buckets.padding(padding);
        }
        // What a fuller batch left in the buffers is not seen.
        run(&mut buckets, 4).unwrap();
        let outputs = run(&mut buckets, 2).unwrap();
        assert_eq!(outputs.whole(2).unwrap().as_slice::<f32>().unwrap(), mean);
        assert_eq!(outputs.slice::<f32>(0).unwrap(), expected(2));
    }
}

#[test]
fn lengths_along_another_axis_are_filled_with_zeros() {
    // y = x + x, and the sum over the length, of x [2, length, 3]
    let dims = [Dim::Fixed(2), Dim::Symbol("length"), Dim::Fixed(3)];
    let mut g = Graph::new("sequence");
    g.input("x", Elem::F32, &dims);
    g.constant_i64("axes", &[1], &[1]);
    g.node("Add", &["x", "x"], &["y"], vec![]);
    g.node(
        "ReduceSum",
        &["x", "axes"],
        &["sum"],
        vec![("keepdims", Attr::Int(0))],
    );
    g.output("y", Elem::F32, &dims);
    g.output("sum", Elem::F32, &fixed(&[2, 3]));
    let model = g.into_bytes();
    let mut buckets = compile(&[2, 5], open(&model)).unwrap();
    assert_eq!(buckets.input_axis("x").unwrap(), Some(1));
    for length in 1..=5 {
        let values: Vec<f32> = (0..6 * length).map(|i| i as f32).collect();
        let x = tensor(values.clone(), &[2, length, 3]);
        let outputs = buckets.run(&[("x", x)]).unwrap();
        let doubled: Vec<f32> = values.iter().map(|x| 2.0 * x).collect();
        assert_eq!(outputs.get(0).unwrap().shape().dims(), [2, length, 3]);
        assert_eq!(outputs.slice::<f32>(0).unwrap(), doubled);
        let sum = |at: usize| -> f32 {
            let (block, column) = (at / 3 * 3 * length, at % 3);
            (0..length)
                .map(|row| values[block + 3 * row + column])
                .sum()
        };
        let sums: Vec<f32> = (0..6).map(sum).collect();
        assert_eq!(outputs.whole(1).unwrap().as_slice::<f32>().unwrap(), sums);
    }
    let long = buckets.run(&[("x", tensor(vec![0.0f32; 36], &[2, 6, 3]))]);
    refused!(long, Error::InvalidArgument(_), "6", "largest bucket, 5");
}

#[test]
fn bools_and_halves_are_rows_as_well() {
    let mut g = Graph::new("either");
    g.input("b", Elem::Bool, &[BATCH, Dim::Fixed(2)]);
    g.input("h", Elem::F16, &[BATCH]);
    g.node("Not", &["b"], &["not"], vec![]);
    g.node("Add", &["h", "h"], &["twice"], vec![]);
    g.output("not", Elem::Bool, &[BATCH, Dim::Fixed(2)]);
    g.output("twice", Elem::F16, &[BATCH]);
    let model = g.into_bytes();
    let mut buckets = compile(&[4, 8], open(&model)).unwrap();
    for count in 1..=10 {
        let bools: Vec<bool> = (0..2 * count).map(|i| i % 3 == 0).collect();
        let halves: Vec<f16> = (0..count).map(|i| f16::from_f32(i as f32)).collect();
        let outputs = buckets.run(&[
            ("b", Argument::from_bools(&bools, &[count, 2]).unwrap()),
            ("h", tensor(halves.clone(), &[count])),
        ]);
        let outputs = outputs.unwrap();
        let not: Vec<u8> = bools.iter().map(|b| u8::from(!b)).collect();
        assert_eq!(outputs.get(0).unwrap().as_bytes(), not);
        let twice: Vec<f16> = halves.iter().map(|h| h + h).collect();
        assert_eq!(outputs.slice::<f16>(1).unwrap(), twice);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = scaled();
    let mut buckets = compile(&[2, 4], open(&model)).unwrap();
    let scale = || ("scale", tensor(SCALE.to_vec(), &[3, 2]));
    let x = |dims: &[usize]| ("x", tensor(vec![0.0f32; dims.iter().product()], dims));
    let mut refuse = |tensors: &[(&str, Argument<'_>)], words: &[&str]| {
        let text = buckets.run(tensors).unwrap_err().to_string();
        for word in words {
            assert!(text.contains(word), "{text}");
        }
    };
    refuse(
        &[scale(), x(&[2, 4])],
        &["`x`", "float [batch, 3]", "[2, 4]"],
    );
    refuse(&[scale(), x(&[6])], &["`x`", "float [batch, 3]", "[6]"]);
    refuse(&[scale(), x(&[0, 3])], &["no rows"]);
    refuse(
        &[scale(), ("x", tensor(vec![0.0f64; 6], &[2, 3]))],
        &["double"],
    );
    refuse(&[x(&[2, 3])], &["`scale`", "not given"]);
    refuse(&[scale(), scale(), x(&[2, 3])], &["`scale`", "twice"]);
    refuse(&[scale(), x(&[2, 3]), ("z", scale().1)], &["`z`", "`x`"]);
    let wrong = ("scale", tensor(vec![0.0f32; 3], &[3, 1]));
    refuse(&[wrong, x(&[2, 3])], &["`scale`", "float [3, 2]", "[3, 1]"]);
    assert!(buckets.plan(usize::MAX).is_err());
    refused!(
        buckets.input_axis("z"),
        Error::UnknownParameter { .. },
        "`scale`"
    );
    refused!(
        buckets.output_axis(3),
        Error::Output { index: 3, .. },
        "3 outputs"
    );
    for sizes in [&[][..], &[0, 4]] {
        let none = compile(sizes, open(&model));
        refused!(none, Error::InvalidArgument(_), "1 at least");
    }

    // Two inputs with a batch, which must agree.
    let read = |batch: usize| {
        let dims = [batch, 2];
        OnnxOptions::new()
            .input_dims("x", &dims)
            .input_dims("y", &dims)
            .parse_bytes(&models::add(&[1, 2]))
    };
    let mut buckets = compile(&[2, 4], read).unwrap();
    let given = |count: usize| tensor(vec![1.0f32; 2 * count], &[count, 2]);
    let differ = buckets.run(&[("x", given(3)), ("y", given(2))]);
    refused!(differ, Error::InvalidArgument(_), "`x` has 3 rows", "`y` 2");
}

#[test]
fn models_without_one_batch_axis_are_refused() {
    // The size is not used.
    let model = scaled();
    let same = compile(&[2, 4], |_| {
        OnnxOptions::new().default_dim(3).parse_bytes(&model)
    });
    refused!(
        same,
        Error::InvalidArgument(_),
        "no input changes",
        "default_dim"
    );
    // Two axes are open.
    let dims = [BATCH, Dim::Symbol("length")];
    let mut g = Graph::new("two");
    g.input("x", Elem::F32, &dims);
    g.node("Relu", &["x"], &["y"], vec![]);
    g.output("y", Elem::F32, &dims);
    let two = compile(&[2, 4], open(&g.into_bytes()));
    refused!(
        two,
        Error::InvalidArgument(_),
        "`x`",
        "[4, 4] in the bucket of 4",
        "input_dims"
    );
    // Two rows of the output for each of the input: which are whose?
    let mut g = Graph::new("twice");
    g.input("x", Elem::F32, &[BATCH]);
    g.node("Concat", &["x", "x"], &["y"], vec![("axis", Attr::Int(0))]);
    g.output("y", Elem::F32, &[Dim::Symbol("more")]);
    let twice = compile(&[2, 4], open(&g.into_bytes()));
    refused!(
        twice,
        Error::InvalidArgument(_),
        "output 0",
        "[8] in the bucket of 4"
    );
    // A range is left.
    let open_range = compile(&[2, 4], |batch| {
        let range = migraphx::DynamicDim::new(1, batch)?;
        OnnxOptions::new()
            .default_dynamic_dim(range)
            .parse_bytes(&model)
    });
    refused!(open_range, Error::InvalidArgument(_), "`x`", "1..=2");
    // Another model.
    let other = compile(&[2, 4], |batch| match batch {
        2 => open(&model)(batch),
        _ => open(&models::dynamic_linear())(batch),
    });
    refused!(other, Error::InvalidArgument(_), "other inputs or outputs");
}

#[test]
fn a_folder_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("model.buckets");
    let model = scaled();
    let saved = compile(&[1, 4], open(&model)).unwrap();
    saved.padding(Padding::Zeros).save(&place).unwrap();
    fs::write(place.join("notes.txt"), "kept").unwrap();
    let check = |count: usize, sizes: &[usize]| {
        let mut loaded = Buckets::load(&place).unwrap();
        assert_eq!(loaded.sizes(), sizes);
        let outputs = run(&mut loaded, count).unwrap();
        assert_eq!(outputs.slice::<f32>(0).unwrap(), expected(count));
        outputs
    };
    let outputs = check(2, &[1, 4]);
    assert_eq!(
        outputs.whole(2).unwrap().as_slice::<f32>().unwrap(),
        [0.25, 0.75, 0.5]
    );
    // Saved again, in other sizes: one of them, whose axes cannot be compared.
    compile(&[3], open(&model)).unwrap().save(&place).unwrap();
    check(5, &[3]);
    let names = |ending: &str| {
        let entries = fs::read_dir(&place).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(ending)).count()
    };
    // What was there before is gone, and nothing else.
    assert_eq!((names(".mxr"), names(".txt"), names("")), (1, 1, 3));
    let mut seen = 0;
    let loaded = Buckets::load_with(&place, |path| {
        seen += 1;
        CompiledProgram::load(path)
    });
    assert!(loaded.is_ok() && seen == 1);

    // A folder that cannot be written leaves what was there.
    let index = place.join("buckets.json");
    let text = fs::read_to_string(&index).unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = compile(&[1], open(&model)).unwrap().save(file.join("x"));
    refused!(refused, Error::Io { .. }, "file");

    // Programs that are not what the index says.
    fs::write(&index, text.replace("\"3\":", "\"2\":")).unwrap();
    refused!(
        Buckets::load(&place),
        Error::InvalidArgument(_),
        "in the bucket of 2"
    );
    fs::write(&index, text.replace("null", "1")).unwrap();
    refused!(Buckets::load(&place), Error::InvalidArgument(_), "`scale`");
    fs::write(&index, "{}").unwrap();
    refused!(
        Buckets::load(&place),
        Error::InvalidArgument(_),
        "buckets.json"
    );
    fs::remove_file(&index).unwrap();
    refused!(Buckets::load(&place), Error::Io { .. }, "buckets.json");
}

#[test]
fn a_pool_has_buckets_for_each_worker() {
    let folder = tempfile::tempdir().unwrap();
    let model = scaled();
    compile(&[2, 8], open(&model))
        .unwrap()
        .save(folder.path())
        .unwrap();
    let place = folder.path().to_owned();
    let pool = Pool::start(3, move |_| Buckets::load(&place)).unwrap();
    let batches = (0..40).map(|i| 1 + i * 7 % 19);
    let results = pool.map(batches.clone(), run);
    for (count, result) in batches.zip(results) {
        let outputs = result.unwrap().unwrap();
        assert_eq!(outputs.slice::<f32>(0).unwrap(), expected(count));
    }
}
