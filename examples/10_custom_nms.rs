//! An operator written in Rust: non-maximum suppression, compared with ONNX's own.
//!
//! Of boxes that overlap, only the one with the best score is kept.
//!
//! `cargo run --example 10_custom_nms`

use migraphx::custom_op::{self, CustomOp, Input, OpResult, Output};
use migraphx::{Argument, CompileOptions, DataType, OnnxOptions, OwnedOutputs, Program, Shape};
use std::time::Instant;

const BOXES: usize = 300;
const CLASSES: usize = 3;

/// Boxes `[1, n, 4]` (y, x of two corners) and scores `[1, classes, n]` to rows of
/// class and box, the best first in each class; rows of -1 fill up the rest.
struct Nms {
    per_class: usize,
    overlap: f32,
    score: f32,
}

impl CustomOp for Nms {
    fn name(&self) -> &str {
        "example_nms"
    }

    fn shape(&self, inputs: &[Shape]) -> OpResult<Shape> {
        match inputs {
            [boxes, scores] => match (boxes.dims(), scores.dims()) {
                ([1, n, 4], [1, classes, m]) if n == m => {
                    let rows = classes * self.per_class;
                    Ok(Shape::new(DataType::Int32, &[rows, 2])?)
                }
                _ => Err(format!("{boxes} and {scores} do not go together").into()),
            },
            _ => Err("it takes boxes and scores".into()),
        }
    }

    fn compute(&self, inputs: &[Input<'_>], output: &mut Output<'_>) -> OpResult {
        let boxes: &[[f32; 4]] = inputs[0].slice::<f32>()?.as_chunks().0;
        let scores = inputs[1].slice::<f32>()?;
        let rows = output.slice_mut::<i32>()?;
        rows.fill(-1);
        let mut free = rows.as_chunks_mut::<2>().0.iter_mut();
        for (class, scores) in scores.chunks(boxes.len().max(1)).enumerate() {
            let mut order: Vec<usize> = (0..boxes.len())
                .filter(|i| scores[*i] >= self.score)
                .collect();
            // Stable: of equal scores the first box wins, as in ONNX.
            order.sort_by(|i, j| scores[*j].total_cmp(&scores[*i]));
            let mut kept: Vec<usize> = Vec::new();
            for i in order {
                if kept.len() == self.per_class {
                    break;
                }
                if kept
                    .iter()
                    .all(|j| overlap(&boxes[*j], &boxes[i]) <= self.overlap)
                {
                    kept.push(i);
                }
            }
            for (i, row) in kept.into_iter().zip(free.by_ref()) {
                *row = [class as i32, i as i32];
            }
        }
        Ok(())
    }
}

/// Intersection over union.
fn overlap(a: &[f32; 4], b: &[f32; 4]) -> f32 {
    let area = |b: &[f32; 4]| (b[2] - b[0]) * (b[3] - b[1]);
    let height = a[2].min(b[2]) - a[0].max(b[0]);
    let width = a[3].min(b[3]) - a[1].max(b[1]);
    let both = height.max(0.0) * width.max(0.0);
    both / (area(a) + area(b) - both)
}

/// The same by ONNX's operator, whose rows are batch, class, box, filled up with zeros.
fn onnx(nms: &Nms) -> Vec<u8> {
    use testkit::onnx::{Elem, Graph, fixed};
    let mut g = Graph::new("nms");
    g.input("boxes", Elem::F32, &fixed(&[1, BOXES, 4]));
    g.input("scores", Elem::F32, &fixed(&[1, CLASSES, BOXES]));
    g.constant_i64("per_class", &[1], &[nms.per_class as i64]);
    g.constant_f32("overlap", &[1], &[nms.overlap]);
    g.constant_f32("score", &[1], &[nms.score]);
    let inputs = ["boxes", "scores", "per_class", "overlap", "score"];
    g.node("NonMaxSuppression", &inputs, &["rows"], vec![]);
    g.output("rows", Elem::I64, &fixed(&[BOXES, 3]));
    g.into_bytes()
}

fn run(name: &str, program: Program, x: &[f32], y: &[f32]) -> migraphx::Result<OwnedOutputs> {
    let target = migraphx::Target::reference()?;
    let mut program = program.compile(&target, &CompileOptions::new())?;
    let tensors = [
        ("boxes", Argument::from_slice(x, &[1, BOXES, 4])?),
        ("scores", Argument::from_slice(y, &[1, CLASSES, BOXES])?),
    ];
    let start = Instant::now();
    let outputs = program.run_once(&tensors)?;
    println!("{name}: {:.2?}", start.elapsed());
    Ok(outputs)
}

fn main() -> migraphx::Result<()> {
    let nms = Nms {
        per_class: 8,
        overlap: 0.45,
        score: 0.3,
    };
    // Crowded boxes, and scores.
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let mut boxes = Vec::new();
    for _ in 0..BOXES {
        let (y, x, h, w) = (random() * 50.0, random() * 50.0, random(), random());
        boxes.extend([y, x, y + 10.0 + 20.0 * h, x + 10.0 + 20.0 * w]);
    }
    let scores: Vec<f32> = (0..CLASSES * BOXES).map(|_| random()).collect();

    let theirs = OnnxOptions::new().parse_bytes(&onnx(&nms))?;
    custom_op::register(nms)?; // once a process, before it is used
    let shapes = [
        ("boxes", Shape::new(DataType::Float, &[1, BOXES, 4])?),
        ("scores", Shape::new(DataType::Float, &[1, CLASSES, BOXES])?),
    ];
    let ours = custom_op::program("example_nms", &shapes)?;

    let ours = run("in Rust", ours, &boxes, &scores)?;
    let theirs = run("ONNX's", theirs, &boxes, &scores)?;
    let rows = ours.slice::<i32>(0)?.chunks(2).filter(|row| row[0] >= 0);
    println!("class  box in Rust  ONNX's  score");
    let mut other = theirs.slice::<i64>(0)?.chunks(3);
    for (row, other) in rows.zip(other.by_ref()) {
        let score = scores[row[0] as usize * BOXES + row[1] as usize];
        println!("{:5}  {:11}  {:6}  {score:.3}", row[0], row[1], other[2]);
        assert_eq!([0, row[0].into(), row[1].into()], other, "not the same box");
    }
    assert!(other.flatten().all(|zero| *zero == 0), "ONNX's has more");
    println!("the same boxes");
    Ok(())
}
