//! Convolutions against plain loops in f64, for every type, layout and kind.

mod common;

use common::{Kind, Tensor, close, random};
use gpu_sim_gemm::{Conv, ConvOptions, DType, Direction, Layout};

struct Case {
    x: [usize; 4],
    /// Output channels, kernel height and width.
    w: (usize, usize, usize),
    pad: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    groups: usize,
    direction: Direction,
}

const PLAIN: Case = Case {
    x: [2, 6, 9, 11],
    w: (8, 3, 3),
    pad: [1, 1],
    stride: [1, 1],
    dilation: [1, 1],
    groups: 1,
    direction: Direction::Forward,
};

fn output_size(case: &Case, axis: usize) -> usize {
    let kernel = [case.w.1, case.w.2][axis];
    let reach = case.dilation[axis] * (kernel - 1) + 1;
    let size = case.x[2 + axis];
    match case.direction {
        Direction::Forward => (size + 2 * case.pad[axis] - reach) / case.stride[axis] + 1,
        Direction::Transposed => (size - 1) * case.stride[axis] + reach - 2 * case.pad[axis],
    }
}

/// Sums in f64, straight from the definition.
fn naive(case: &Case, x: &Tensor, w: &Tensor, y: &Layout) -> Vec<f64> {
    let Case {
        pad,
        stride,
        dilation,
        groups,
        ..
    } = *case;
    let forward = case.direction == Direction::Forward;
    let mut out = vec![0.0; y.elements()];
    let (per_in, per_out) = (case.x[1] / groups, y.dims[1] / groups);
    let at = |n, c, h, w| ((n * y.dims[1] + c) * y.dims[2] + h) * y.dims[3] + w;
    for n in 0..case.x[0] {
        for o in 0..y.dims[1] {
            for i in 0..per_in {
                let channel = o / per_out * per_in + i;
                for (kh, kw) in (0..case.w.1).flat_map(|a| (0..case.w.2).map(move |b| (a, b))) {
                    let weight = if forward {
                        w.get(&[o, i, kh, kw])
                    } else {
                        w.get(&[channel, o % per_out, kh, kw])
                    };
                    let (from, to) = if forward {
                        (&y.dims, &case.x[..])
                    } else {
                        (&x.layout.dims, &y.dims[..])
                    };
                    for h in 0..from[2] {
                        for c in 0..from[3] {
                            let th = (h * stride[0] + kh * dilation[0]) as isize - pad[0] as isize;
                            let tc = (c * stride[1] + kw * dilation[1]) as isize - pad[1] as isize;
                            if th < 0 || tc < 0 || th >= to[2] as isize || tc >= to[3] as isize {
                                continue;
                            }
                            let (th, tc) = (th as usize, tc as usize);
                            if forward {
                                out[at(n, o, h, c)] += weight * x.get(&[n, channel, th, tc]);
                            } else {
                                out[at(n, o, th, tc)] += weight * x.get(&[n, channel, h, c]);
                            }
                        }
                    }
                }
            }
        }
    }
    out
}

fn check(case: &Case, input: DType, output: DType, kind: Kind) {
    let (m, kh, kw) = case.w;
    let per_in = case.x[1] / case.groups;
    let w_dims = match case.direction {
        Direction::Forward => [m, per_in, kh, kw],
        Direction::Transposed => [case.x[1], m / case.groups, kh, kw],
    };
    let x = random(input, &case.x, kind, 1);
    let w = random(input, &w_dims, kind, 2);
    let y_dims = [case.x[0], m, output_size(case, 0), output_size(case, 1)];
    let mut y = Tensor::zero(output, &y_dims, kind);
    let options = ConvOptions {
        direction: case.direction,
        pad: case.pad.to_vec(),
        stride: case.stride.to_vec(),
        dilation: case.dilation.to_vec(),
        groups: case.groups,
    };
    let conv = Conv::new(&x.layout, &w.layout, &y.layout, &options).unwrap();
    // SAFETY: the tensors own all that their layouts reach.
    unsafe {
        conv.run(
            x.bytes.as_ptr().cast(),
            w.bytes.as_ptr().cast(),
            y.bytes.as_mut_ptr().cast(),
        )
    };
    let expected = naive(case, &x, &w, &y.layout);
    close(&y, &expected, &format!("{input:?} to {output:?}, {kind:?}"));
}

fn all_types_and_layouts(case: &Case) {
    use DType::*;
    for kind in [Kind::Nchw, Kind::Nhwc, Kind::Gaps] {
        for (input, output) in [
            (F32, F32),
            (F16, F16),
            (F16, F32),
            (Bf16, Bf16),
            (Bf16, F32),
            (I8, I32),
            (U8, I32),
            (F64, F64),
        ] {
            check(case, input, output, kind);
        }
    }
}

#[test]
fn three_by_three() {
    all_types_and_layouts(&PLAIN);
}

#[test]
fn enough_channels_to_keep_them_together() {
    let wide = Case {
        x: [2, 18, 7, 9],
        ..PLAIN
    };
    all_types_and_layouts(&wide);
    all_types_and_layouts(&Case {
        groups: 2,
        stride: [2, 1],
        ..wide
    });
    all_types_and_layouts(&Case {
        direction: Direction::Transposed,
        w: (6, 3, 3),
        ..wide
    });
}

#[test]
fn one_by_one_takes_the_input_as_the_matrix() {
    all_types_and_layouts(&Case {
        w: (8, 1, 1),
        pad: [0, 0],
        ..PLAIN
    });
}

#[test]
fn stride_dilation_and_uneven_padding() {
    all_types_and_layouts(&Case {
        stride: [2, 2],
        x: [1, 3, 13, 16],
        ..PLAIN
    });
    all_types_and_layouts(&Case {
        dilation: [2, 3],
        pad: [2, 4],
        ..PLAIN
    });
    all_types_and_layouts(&Case {
        w: (4, 1, 5),
        pad: [0, 3],
        stride: [3, 2],
        ..PLAIN
    });
    all_types_and_layouts(&Case {
        w: (4, 2, 2),
        pad: [5, 5],
        stride: [2, 3],
        ..PLAIN
    });
}

#[test]
fn groups_and_depthwise() {
    all_types_and_layouts(&Case { groups: 2, ..PLAIN });
    all_types_and_layouts(&Case {
        groups: 6,
        w: (6, 3, 3),
        ..PLAIN
    });
    all_types_and_layouts(&Case {
        groups: 6,
        w: (12, 5, 3),
        pad: [2, 1],
        stride: [2, 1],
        ..PLAIN
    });
    all_types_and_layouts(&Case {
        groups: 6,
        w: (30, 3, 3),
        dilation: [2, 2],
        ..PLAIN
    });
}

#[test]
fn transposed() {
    let up = Case {
        direction: Direction::Transposed,
        w: (4, 2, 2),
        pad: [0, 0],
        stride: [2, 2],
        ..PLAIN
    };
    all_types_and_layouts(&up);
    all_types_and_layouts(&Case {
        w: (4, 3, 4),
        pad: [1, 2],
        stride: [2, 3],
        groups: 2,
        ..up
    });
}

#[test]
fn many_pieces() {
    check(
        &Case {
            x: [1, 20, 70, 75],
            w: (16, 3, 3),
            ..PLAIN
        },
        DType::F32,
        DType::F32,
        Kind::Nchw,
    );
    check(
        &Case {
            x: [1, 20, 70, 75],
            w: (16, 3, 3),
            ..PLAIN
        },
        DType::F16,
        DType::F16,
        Kind::Nhwc,
    );
}
