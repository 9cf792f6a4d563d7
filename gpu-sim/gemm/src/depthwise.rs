//! Depthwise convolutions: one input channel a group leaves no matrix product worth the name, so each
//! channel is copied once into a plane with its zeros around it and swept row by row.

use crate::conv_plan::{Direction, Plan};
use crate::number::{Number, Stored, Sum, narrow_strided, widen_strided};
use crate::threads::{self, Shared};

/// Whether this is the better way.
pub(crate) fn fits(plan: &Plan) -> bool {
    plan.direction == Direction::Forward && plan.channels == 1 && plan.outputs <= 4
}

/// # Safety
/// As [`crate::Conv::run`].
pub(crate) unsafe fn run<T: Number, U: Stored<T::Sum>>(
    plan: &Plan,
    x: *const T,
    w: *const T,
    y: *mut U,
) {
    let (x, w, y) = (Shared(x.cast_mut()), Shared(w.cast_mut()), Shared(y));
    threads::for_each(plan.batch * plan.groups, |unit| {
        let (image, group) = ((unit / plan.groups) as isize, (unit % plan.groups) as isize);
        // SAFETY: every unit writes its own output channels; the rest is the caller's promise.
        unsafe {
            let x = x
                .get()
                .offset(image * plan.x.batch + group * plan.x.channel);
            let plane = Plane::of(plan, x.cast_const());
            for output in 0..plan.outputs as isize {
                let w = w.get().offset(group * plan.w_group + output * plan.w.batch);
                let channel = group * plan.outputs as isize + output;
                let y = y
                    .get()
                    .offset(image * plan.y.batch + channel * plan.y.channel);
                sweep::<T, U>(plan, &plane, w.cast_const(), y);
            }
        }
    });
}

/// A channel with its padding, widened.
struct Plane<S> {
    cells: Vec<S>,
    /// Cells of a row, rows of a slice.
    row: usize,
    rows: usize,
}

impl<S: Sum> Plane<S> {
    /// # Safety
    /// The channel that starts at `x` is readable.
    unsafe fn of<T: Number<Sum = S>>(plan: &Plan, x: *const T) -> Self {
        let size: Vec<usize> = (0..3)
            .map(|i| plan.input[i] + 2 * plan.pad[i] as usize)
            .collect();
        let mut cells = vec![S::default(); size.iter().product()];
        let (row, rows) = (size[2], size[1]);
        let [pad_d, pad_h, pad_w] = plan.pad.map(|p| p as usize);
        let [step_d, step_h, step_w] = plan.x.space;
        for d in 0..plan.input[0] {
            for h in 0..plan.input[1] {
                let at = ((d + pad_d) * rows + h + pad_h) * row + pad_w;
                let target = &mut cells[at..at + plan.input[2]];
                // SAFETY: one row of the channel.
                unsafe {
                    let source = x.offset(d as isize * step_d + h as isize * step_h);
                    widen_strided(source, step_w, target);
                }
            }
        }
        Self { cells, row, rows }
    }
}

/// # Safety
/// One kernel is readable from `w`, one output channel writable from `y`.
unsafe fn sweep<T: Number, U: Stored<T::Sum>>(
    plan: &Plan,
    plane: &Plane<T::Sum>,
    w: *const T,
    y: *mut U,
) {
    let [depth, rows, columns] = plan.output;
    let [stride_d, stride_h, stride_w] = plan.stride.map(|s| s as usize);
    let [dil_d, dil_h, dil_w] = plan.dilation.map(|d| d as usize);
    let mut sums = vec![T::Sum::default(); columns];
    for d in 0..depth {
        for h in 0..rows {
            sums.fill(T::Sum::default());
            for tap in crate::columns::taps(plan) {
                let slice = d * stride_d + tap[0] * dil_d;
                let line = slice * plane.rows + h * stride_h + tap[1] * dil_h;
                let source = &plane.cells[line * plane.row + tap[2] * dil_w..];
                let at: isize = (0..3).map(|i| tap[i] as isize * plan.w.space[i]).sum();
                // SAFETY: a tap of the kernel.
                let weight = unsafe { (*w.offset(at)).widen() };
                if stride_w == 1 {
                    for (sum, &cell) in sums.iter_mut().zip(source) {
                        *sum += cell * weight;
                    }
                } else {
                    for (sum, &cell) in sums.iter_mut().zip(source.iter().step_by(stride_w)) {
                        *sum += cell * weight;
                    }
                }
            }
            let [step_d, step_h, step_w] = plan.y.space;
            // SAFETY: a row of the output channel.
            unsafe {
                let start = y.offset(d as isize * step_d + h as isize * step_h);
                narrow_strided(&sums, start, step_w);
            }
        }
    }
}
