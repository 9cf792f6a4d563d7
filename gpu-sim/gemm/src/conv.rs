//! Convolutions as matrix products, piece by piece on all cores.

use crate::columns::{self, Order};
use crate::conv_plan::{ConvOptions, Direction, Plan};
use crate::depthwise;
use crate::layout::{Layout, Unsupported};
use crate::number::{Number, Stored, Sum, narrow_strided, with_types};
use crate::threads::{self, Shared};
use std::ops::Range;

/// A convolution that was checked and can be run.
#[derive(Clone, Debug)]
pub struct Conv {
    plan: Plan,
}

impl Conv {
    /// Checks a convolution of `x` with `w` to `y`: any strides, one to three space dimensions.
    ///
    /// # Errors
    /// Says what does not fit or is not supported.
    pub fn new(
        x: &Layout,
        w: &Layout,
        y: &Layout,
        options: &ConvOptions,
    ) -> Result<Self, Unsupported> {
        Ok(Self {
            plan: Plan::new(x, w, y, options)?,
        })
    }

    /// Multiplications and additions of one run.
    pub fn operations(&self) -> usize {
        let p = &self.plan;
        2 * p.batch * p.groups * p.outputs * p.channels * p.taps() * p.positions()
    }

    /// Computes it.
    ///
    /// # Safety
    /// The pointers are aligned for their types, every element that the layouts reach is readable
    /// (`y`: writable, and nothing else uses it), and `y` overlaps neither input.
    pub unsafe fn run(&self, x: *const u8, w: *const u8, y: *mut u8) {
        let plan = &self.plan;
        // SAFETY: the caller's promise, for the types the layouts name.
        unsafe {
            with_types!(
                plan.input_type,
                plan.output_type,
                run,
                (plan, x, w, y),
                unreachable!()
            )
        }
    }
}

unsafe fn run<T: Number, U: Stored<T::Sum>>(plan: &Plan, x: *const u8, w: *const u8, y: *mut u8) {
    let (x, w, y) = (x.cast::<T>(), w.cast::<T>(), y.cast::<U>());
    // SAFETY: the caller's promise, passed on.
    unsafe {
        if depthwise::fits(plan) {
            depthwise::run(plan, x, w, y);
        } else {
            product::<T, U>(plan, x, w, y);
        }
    }
}

/// A kernel of one tap that takes every position: the input is the matrix already.
fn input_is_matrix<T: Number>(plan: &Plan) -> Option<isize> {
    let plain = T::IS_SUM
        && plan.direction == Direction::Forward
        && plan.taps() == 1
        && plan.stride == [1; 3]
        && plan.pad == [0; 3];
    plain.then(|| plan.x.even_step(plan.input)).flatten()
}

/// Output positions of a piece: its matrix stays in the second-level cache, and every core has work.
fn piece_positions(plan: &Plan, sum_size: usize) -> usize {
    const CACHE: usize = 512 << 10;
    let positions = plan.positions();
    let fits = (CACHE / sum_size / (plan.channels * plan.taps()).max(1)).clamp(64, 4096);
    let units = plan.batch * plan.groups;
    let pieces = positions
        .div_ceil(fits)
        .max(threads::count().div_ceil(units.max(1)));
    positions.div_ceil(pieces).max(16)
}

unsafe fn product<T: Number, U: Stored<T::Sum>>(plan: &Plan, x: *const T, w: *const T, y: *mut U) {
    let order = Order::of(plan);
    let depth = plan.channels * plan.taps();
    // SAFETY: reads the weights the plan describes.
    let weights = unsafe { pack_weights(plan, order, w) };
    let length = piece_positions(plan, size_of::<T::Sum>());
    let pieces = plan.positions().div_ceil(length.max(1));
    let matrix = input_is_matrix::<T>(plan);
    let (x, y) = (Shared(x.cast_mut()), Shared(y));
    threads::for_each(plan.batch * plan.groups * pieces, |index| {
        let (unit, piece) = (index / pieces, index % pieces);
        let (image, group) = ((unit / plan.groups) as isize, unit % plan.groups);
        let positions = piece * length..plan.positions().min((piece + 1) * length);
        let group_channel = (group * plan.channels) as isize * plan.x.channel;
        let weights = weights[group * plan.outputs * depth..].as_ptr();
        // SAFETY: pieces write different positions or channels of y; the rest is the caller's promise.
        unsafe {
            let x = x
                .get()
                .cast_const()
                .offset(image * plan.x.batch + group_channel);
            let group_output = (group * plan.outputs) as isize * plan.y.channel;
            let y = y.get().offset(image * plan.y.batch + group_output);
            let size = (plan.outputs, positions.len(), depth);
            let weights = (weights, depth as isize, 1);
            if let Some(step) = matrix {
                let start = x.offset(positions.start as isize * step).cast::<T::Sum>();
                store(
                    plan,
                    size,
                    weights,
                    (start, plan.x.channel, step),
                    y,
                    positions,
                );
                return;
            }
            let mut cells = vec![T::Sum::default(); depth * positions.len()];
            columns::fill(plan, order, x, positions.clone(), &mut cells);
            let strides = match order {
                Order::ChannelsFirst => (positions.len() as isize, 1),
                Order::ChannelsLast => (1, depth as isize),
            };
            store(
                plan,
                size,
                weights,
                (cells.as_ptr(), strides.0, strides.1),
                y,
                positions,
            );
        }
    });
}

/// Multiplies and stores a piece, in place where the sums' type is the output's.
///
/// # Safety
/// The matrices are readable, `y` is the group's first output element and writable where the plan
/// reaches from there.
unsafe fn store<S: Sum, U: Stored<S>>(
    plan: &Plan,
    size: (usize, usize, usize),
    weights: (*const S, isize, isize),
    cells: (*const S, isize, isize),
    y: *mut U,
    positions: Range<usize>,
) {
    let (outputs, length, _) = size;
    let (one, zero) = (S::from_f64(1.0), S::default());
    // SAFETY: the caller's promise; `sums` has room for every output of every position.
    unsafe {
        if U::IS_SUM
            && let Some(step) = plan.y.even_step(plan.output)
        {
            let place = y.offset(positions.start as isize * step).cast::<S>();
            S::gemm(
                size,
                one,
                weights,
                cells,
                zero,
                (place, plan.y.channel, step),
            );
            return;
        }
        let mut sums = vec![zero; outputs * length];
        let [_, rows, columns] = plan.output;
        let place = |p: usize| {
            let (line, column) = (p / columns, p % columns);
            let [d, h, w] = plan.y.space;
            (line / rows) as isize * d + (line % rows) as isize * h + column as isize * w
        };
        if plan.y.channel == 1 {
            S::gemm(
                size,
                one,
                weights,
                cells,
                zero,
                (sums.as_mut_ptr(), 1, outputs as isize),
            );
            for (line, p) in sums.chunks_exact(outputs).zip(positions) {
                narrow_strided(line, y.offset(place(p)), 1);
            }
        } else {
            S::gemm(
                size,
                one,
                weights,
                cells,
                zero,
                (sums.as_mut_ptr(), length as isize, 1),
            );
            // Positions of one row of the output lie evenly.
            let first = positions.start;
            for (channel, line) in sums.chunks_exact(length).enumerate() {
                let start = y.offset(channel as isize * plan.y.channel);
                let mut done = 0;
                while done < length {
                    let at = first + done;
                    let part = (columns - at % columns).min(length - done);
                    narrow_strided(
                        &line[done..done + part],
                        start.offset(place(at)),
                        plan.y.space[2],
                    );
                    done += part;
                }
            }
        }
    }
}

/// The weights as one matrix a group: row output channel, columns in the order of [`columns::fill`].
///
/// # Safety
/// All weights of the plan are readable from `w`.
unsafe fn pack_weights<T: Number>(plan: &Plan, order: Order, w: *const T) -> Vec<T::Sum> {
    let taps: Vec<isize> = columns::taps(plan)
        .map(|tap| {
            (0..3)
                .map(|axis| tap[axis] as isize * plan.w.space[axis])
                .sum()
        })
        .collect();
    let channels = 0..plan.channels as isize;
    let mut packed = Vec::with_capacity(plan.groups * plan.outputs * plan.channels * taps.len());
    for group in 0..plan.groups as isize {
        for output in 0..plan.outputs as isize {
            // SAFETY: offsets of existing weights.
            unsafe {
                let start = w.offset(group * plan.w_group + output * plan.w.batch);
                let at = |channel: isize, tap: isize| {
                    (*start.offset(channel * plan.w.channel + tap)).widen()
                };
                match order {
                    Order::ChannelsFirst => {
                        packed.extend(
                            channels
                                .clone()
                                .flat_map(|c| taps.iter().map(move |&t| at(c, t))),
                        );
                    }
                    Order::ChannelsLast => {
                        packed.extend(
                            taps.iter()
                                .flat_map(|&t| channels.clone().map(move |c| at(c, t))),
                        );
                    }
                }
            }
        }
    }
    packed
}
