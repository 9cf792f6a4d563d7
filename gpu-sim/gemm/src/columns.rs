//! The input of a convolution laid out as a matrix (im2col): one line an output position, one line an
//! input channel and tap, so that the convolution is a matrix product.

use crate::conv_plan::{Direction, Plan};
use crate::number::{Number, widen_strided};
use std::ops::Range;

/// How the matrix is laid out, chosen so that what is copied together lies together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Row (channel, tap), column position: for NCHW.
    ChannelsFirst,
    /// Row position, column (tap, channel): for NHWC.
    ChannelsLast,
}

impl Order {
    pub(crate) fn of(plan: &Plan) -> Self {
        if plan.x.channel == 1 && plan.channels >= 8 && plan.x.space[2] != 1 {
            Self::ChannelsLast
        } else {
            Self::ChannelsFirst
        }
    }
}

/// A run of output positions within one row of the output.
struct Run {
    depth: usize,
    row: usize,
    columns: Range<usize>,
    /// Where the run starts in the piece.
    at: usize,
}

fn runs(plan: &Plan, positions: Range<usize>) -> Vec<Run> {
    let width = plan.output[2];
    let mut all = Vec::new();
    let mut p = positions.start;
    while p < positions.end {
        let (line, first) = (p / width, p % width);
        let length = (width - first).min(positions.end - p);
        all.push(Run {
            depth: line / plan.output[1],
            row: line % plan.output[1],
            columns: first..first + length,
            at: p - positions.start,
        });
        p += length;
    }
    all
}

/// The taps (depth, row, column) in the order of the matrix.
pub(crate) fn taps(plan: &Plan) -> impl Iterator<Item = [usize; 3]> {
    let [depth, rows, columns] = plan.kernel;
    (0..depth).flat_map(move |d| (0..rows).flat_map(move |r| (0..columns).map(move |c| [d, r, c])))
}

/// Fills `target` with the matrix for some output positions.
///
/// # Safety
/// `x` is the first element of one group of one image; all elements the plan reaches from there are
/// readable.
pub(crate) unsafe fn fill<T: Number>(
    plan: &Plan,
    order: Order,
    x: *const T,
    positions: Range<usize>,
    target: &mut [T::Sum],
) {
    let length = positions.len();
    let runs = runs(plan, positions);
    match order {
        Order::ChannelsFirst => {
            let mut rows = target.chunks_exact_mut(length);
            for channel in 0..plan.channels {
                for tap in taps(plan) {
                    let row = rows.next().expect("a row for each channel and tap");
                    for run in &runs {
                        let place = &mut row[run.at..run.at + run.columns.len()];
                        // SAFETY: the caller's promise for this channel.
                        unsafe {
                            along_row(
                                plan,
                                x.offset(channel as isize * plan.x.channel),
                                run,
                                tap,
                                place,
                            )
                        };
                    }
                }
            }
        }
        Order::ChannelsLast => {
            let mut places = target.chunks_exact_mut(plan.channels);
            for run in &runs {
                for column in run.columns.clone() {
                    for tap in taps(plan) {
                        let place = places.next().expect("a place for each position and tap");
                        match offset(plan, [run.depth, run.row, column], tap) {
                            // SAFETY: `channels` neighbours, since the channel stride is 1.
                            Some(at) => unsafe {
                                T::widen_run(
                                    std::slice::from_raw_parts(x.offset(at), plan.channels),
                                    place,
                                );
                            },
                            None => place.fill(T::Sum::default()),
                        }
                    }
                }
            }
        }
    }
}

/// Offset of what a tap reads for an output position, `None` in the padding.
fn offset(plan: &Plan, position: [usize; 3], tap: [usize; 3]) -> Option<isize> {
    let mut at = 0;
    for axis in 0..3 {
        at += plan.source(axis, position[axis], tap[axis])? as isize * plan.x.space[axis];
    }
    Some(at)
}

/// One tap of one channel for a run of positions.
///
/// # Safety
/// As [`fill`], `x` being the channel's first element.
unsafe fn along_row<T: Number>(
    plan: &Plan,
    x: *const T,
    run: &Run,
    tap: [usize; 3],
    target: &mut [T::Sum],
) {
    let lines = plan
        .source(0, run.depth, tap[0])
        .zip(plan.source(1, run.row, tap[1]));
    let Some((depth, row)) = lines else {
        target.fill(T::Sum::default());
        return;
    };
    let [depth_step, row_step, step] = plan.x.space;
    let line = depth as isize * depth_step + row as isize * row_step;
    if plan.direction == Direction::Transposed {
        for (t, column) in target.iter_mut().zip(run.columns.clone()) {
            *t = match plan.source(2, column, tap[2]) {
                // SAFETY: inside the channel.
                Some(i) => unsafe { (*x.offset(line + i as isize * step)).widen() },
                None => T::Sum::default(),
            };
        }
        return;
    }
    // Columns that read inside the input are one stretch: zeros before it and after it.
    let stride = plan.stride[2];
    let at = plan.dilation[2] * tap[2] as isize - plan.pad[2];
    let (start, end) = (run.columns.start as isize, run.columns.end as isize);
    let first = (-at).max(0).div_ceil_by(stride).clamp(start, end);
    let last = (plan.input[2] as isize - at)
        .max(0)
        .div_ceil_by(stride)
        .clamp(first, end);
    let (before, inside) = target.split_at_mut((first - start) as usize);
    let (inside, after) = inside.split_at_mut((last - first) as usize);
    before.fill(T::Sum::default());
    after.fill(T::Sum::default());
    if inside.is_empty() {
        return;
    }
    // SAFETY: `first..last` are the columns whose source is inside the input.
    unsafe {
        let source = x.offset(line + (first * stride + at) * step);
        widen_strided(source, stride * step, inside);
    }
}

trait DivCeil {
    fn div_ceil_by(self, by: isize) -> isize;
}

impl DivCeil for isize {
    /// Rounded up, for a number that is not negative.
    fn div_ceil_by(self, by: isize) -> isize {
        (self + by - 1) / by
    }
}
