//! What a convolution is asked to do, checked and brought into one form: three space dimensions,
//! strides by name. Two-dimensional work has a depth of one.

use crate::layout::{Layout, Unsupported};
use crate::number::{DType, supported};

/// A convolution, or the one that spreads its input (ONNX `ConvTranspose`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Weights are (out, in / groups, …).
    Forward,
    /// Weights are (in, out / groups, …).
    Transposed,
}

/// The numbers of a convolution, one each for every space dimension.
#[derive(Clone, Debug)]
pub struct ConvOptions {
    /// Forward or transposed.
    pub direction: Direction,
    /// Zeros in front of (and after) the input.
    pub pad: Vec<usize>,
    /// Step of the kernel.
    pub stride: Vec<usize>,
    /// Step between the kernel's taps.
    pub dilation: Vec<usize>,
    /// Groups of channels that do not see each other.
    pub groups: usize,
}

/// The checked form.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub direction: Direction,
    pub input_type: DType,
    pub output_type: DType,
    pub batch: usize,
    pub groups: usize,
    /// Input channels of a group.
    pub channels: usize,
    /// Output channels of a group.
    pub outputs: usize,
    pub input: [usize; 3],
    pub kernel: [usize; 3],
    pub output: [usize; 3],
    pub stride: [isize; 3],
    pub dilation: [isize; 3],
    pub pad: [isize; 3],
    pub x: Strides,
    pub y: Strides,
    /// Weights: `batch` from one output channel to the next, `channel` from one input channel.
    pub w: Strides,
    /// From one group's weights to the next.
    pub w_group: isize,
}

/// Strides of a tensor in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strides {
    pub batch: isize,
    pub channel: isize,
    pub space: [isize; 3],
}

impl Strides {
    fn of(layout: &Layout) -> Self {
        let s = &layout.strides;
        Self {
            batch: s[0],
            channel: s[1],
            space: three(&s[2..], 0),
        }
    }

    /// Positions in order are one stride apart: the innermost one.
    pub(crate) fn even_step(&self, size: [usize; 3]) -> Option<isize> {
        let [d, h, w] = self.space;
        let step = if size[2] > 1 {
            w
        } else if size[1] > 1 {
            h
        } else {
            d
        };
        let fits = |stride, size, expected| size <= 1 || stride == expected;
        (fits(h, size[1], size[2] as isize * step)
            && fits(d, size[0], (size[1] * size[2]) as isize * step))
        .then_some(step)
    }
}

/// The last dimensions of `values`, `fill` in front.
fn three<T: Copy>(values: &[T], fill: T) -> [T; 3] {
    let mut all = [fill; 3];
    all[3 - values.len()..].copy_from_slice(values);
    all
}

fn signed(values: &[usize], fill: isize) -> [isize; 3] {
    let values: Vec<isize> = values.iter().map(|&v| v as isize).collect();
    three(&values, fill)
}

impl Plan {
    pub(crate) fn new(
        x: &Layout,
        w: &Layout,
        y: &Layout,
        options: &ConvOptions,
    ) -> Result<Self, Unsupported> {
        let no = |why: &str| {
            Err(Unsupported(format!(
                "a convolution of {x} with {w} to {y}, {options:?}: {why}"
            )))
        };
        let rank = x.dims.len();
        if !(3..=5).contains(&rank) || w.dims.len() != rank || y.dims.len() != rank {
            return no("only one to three space dimensions, the same for all three tensors");
        }
        let space = rank - 2;
        let o = options;
        if [&o.pad, &o.stride, &o.dilation]
            .iter()
            .any(|v| v.len() != space)
        {
            return no("pad, stride and dilation need a value for each space dimension");
        }
        if x.dtype != w.dtype || !supported(x.dtype, y.dtype) {
            return no("this combination of types");
        }
        let groups = o.groups;
        if w.dims.contains(&0) || groups == 0 || o.stride.contains(&0) || o.dilation.contains(&0) {
            return no("a zero group, stride, dilation or kernel");
        }
        let forward = o.direction == Direction::Forward;
        let (outputs, channels) = if forward {
            (w.dims[0], w.dims[1])
        } else {
            (w.dims[1] * groups, w.dims[0] / groups)
        };
        if x.dims[0] != y.dims[0]
            || x.dims[1] != channels * groups
            || y.dims[1] != outputs
            || outputs % groups != 0
        {
            return no("batch or channels do not fit each other");
        }
        for i in 0..space {
            let reach = o.dilation[i] * (w.dims[2 + i].max(1) - 1) + 1;
            let (size, pad, step) = (x.dims[2 + i], o.pad[i], o.stride[i]);
            let out = y.dims[2 + i];
            let fits = if forward {
                (size + 2 * pad)
                    .checked_sub(reach)
                    .is_some_and(|room| out == room / step + 1)
            } else {
                // An output padding below the stride may add a few positions.
                let least = ((size.max(1) - 1) * step + reach).saturating_sub(2 * pad);
                (least..least + step).contains(&out)
            };
            if !fits {
                return no("the output has another size");
            }
        }
        let (out_stride, in_stride) = if forward {
            (w.strides[0], w.strides[1])
        } else {
            (w.strides[1], w.strides[0])
        };
        let outputs = outputs / groups;
        Ok(Self {
            direction: o.direction,
            input_type: x.dtype,
            output_type: y.dtype,
            batch: x.dims[0],
            groups,
            channels,
            outputs,
            input: three(&x.dims[2..], 1),
            kernel: three(&w.dims[2..], 1),
            output: three(&y.dims[2..], 1),
            stride: signed(&o.stride, 1),
            dilation: signed(&o.dilation, 1),
            pad: signed(&o.pad, 0),
            x: Strides::of(x),
            y: Strides::of(y),
            w: Strides {
                batch: out_stride,
                channel: in_stride,
                space: three(&w.strides[2..], 0),
            },
            w_group: if forward {
                outputs as isize * out_stride
            } else {
                channels as isize * in_stride
            },
        })
    }

    pub(crate) fn taps(&self) -> usize {
        self.kernel.iter().product()
    }

    pub(crate) fn positions(&self) -> usize {
        self.output.iter().product()
    }

    /// Where tap `k` of dimension `axis` reads for output position `o`; `None` is padding.
    pub(crate) fn source(&self, axis: usize, o: usize, k: usize) -> Option<usize> {
        let at = self.dilation[axis] * k as isize - self.pad[axis];
        let i = match self.direction {
            Direction::Forward => o as isize * self.stride[axis] + at,
            Direction::Transposed => {
                let spread = o as isize - at;
                if spread.rem_euclid(self.stride[axis]) != 0 {
                    return None;
                }
                spread.div_euclid(self.stride[axis])
            }
        };
        usize::try_from(i).ok().filter(|&i| i < self.input[axis])
    }
}
