//! The number types, and how each is widened for a sum and narrowed after it.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// A number type as it lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DType {
    /// IEEE half.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE single.
    F32,
    /// IEEE double.
    F64,
    /// Signed byte.
    I8,
    /// Unsigned byte.
    U8,
    /// 32-bit integer.
    I32,
}

impl DType {
    /// Bytes of one number.
    pub fn size(self) -> usize {
        match self {
            DType::I8 | DType::U8 => 1,
            DType::F16 | DType::Bf16 => 2,
            DType::F32 | DType::I32 => 4,
            DType::F64 => 8,
        }
    }
}

/// Reads number `index` of an array as f64.
///
/// # Safety
/// `base` must be aligned for `dtype` and element `index` of it readable.
pub unsafe fn read_f64(dtype: DType, base: *const u8, index: isize) -> f64 {
    // SAFETY: alignment and range are the caller's promise.
    unsafe {
        match dtype {
            DType::F16 => (*base.cast::<f16>().offset(index)).to_f64(),
            DType::Bf16 => (*base.cast::<bf16>().offset(index)).to_f64(),
            DType::F32 => f64::from(*base.cast::<f32>().offset(index)),
            DType::F64 => *base.cast::<f64>().offset(index),
            DType::I8 => f64::from(*base.cast::<i8>().offset(index)),
            DType::U8 => f64::from(*base.offset(index)),
            DType::I32 => f64::from(*base.cast::<i32>().offset(index)),
        }
    }
}

/// Writes number `index` of an array, rounded to `dtype`.
///
/// # Safety
/// `base` must be aligned for `dtype` and element `index` of it writable.
pub unsafe fn write_f64(dtype: DType, base: *mut u8, index: isize, value: f64) {
    // SAFETY: alignment and range are the caller's promise.
    unsafe {
        match dtype {
            DType::F16 => *base.cast::<f16>().offset(index) = f16::from_f64(value),
            DType::Bf16 => *base.cast::<bf16>().offset(index) = bf16::from_f64(value),
            DType::F32 => *base.cast::<f32>().offset(index) = value as f32,
            DType::F64 => *base.cast::<f64>().offset(index) = value,
            DType::I8 => *base.cast::<i8>().offset(index) = value as i8,
            DType::U8 => *base.offset(index) = value as u8,
            DType::I32 => *base.cast::<i32>().offset(index) = value as i32,
        }
    }
}

/// What sums are kept in: f32 or f64, both with a GEMM kernel.
pub(crate) trait Sum:
    Copy
    + Default
    + Send
    + Sync
    + PartialEq
    + std::ops::Add<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::AddAssign
    + 'static
{
    fn from_f64(value: f64) -> Self;

    /// `c = alpha * a * b + beta * c`, each matrix as pointer, row stride, column stride.
    ///
    /// # Safety
    /// As of [`matrixmultiply::sgemm`]: every element the strides reach is valid, `c` overlaps neither.
    #[allow(clippy::too_many_arguments, reason = "the signature of GEMM")]
    unsafe fn gemm(
        size: (usize, usize, usize),
        alpha: Self,
        a: (*const Self, isize, isize),
        b: (*const Self, isize, isize),
        beta: Self,
        c: (*mut Self, isize, isize),
    );
}

macro_rules! sum {
    ($type:ty, $kernel:path) => {
        impl Sum for $type {
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            unsafe fn gemm(
                (m, n, k): (usize, usize, usize),
                alpha: Self,
                a: (*const Self, isize, isize),
                b: (*const Self, isize, isize),
                beta: Self,
                c: (*mut Self, isize, isize),
            ) {
                // SAFETY: passed on from the caller.
                unsafe {
                    $kernel(
                        m, k, n, alpha, a.0, a.1, a.2, b.0, b.1, b.2, beta, c.0, c.1, c.2,
                    )
                }
            }
        }
    };
}
sum!(f32, matrixmultiply::sgemm);
sum!(f64, matrixmultiply::dgemm);

/// A type that products are taken of.
pub(crate) trait Number: Copy + Send + Sync + 'static {
    type Sum: Sum;
    /// Memory of this type can be handed to [`Sum::gemm`] as it is.
    const IS_SUM: bool = false;
    fn widen(self) -> Self::Sum;
    fn widen_run(source: &[Self], target: &mut [Self::Sum]) {
        for (t, s) in target.iter_mut().zip(source) {
            *t = s.widen();
        }
    }
}

/// A type that results are stored in, from sums of type `S`.
pub(crate) trait Stored<S>: Copy + Send + Sync + 'static {
    /// Sums can be written in place.
    const IS_SUM: bool = false;
    fn narrow(sum: S) -> Self;
    fn narrow_run(source: &[S], target: &mut [Self])
    where
        S: Copy,
    {
        for (t, s) in target.iter_mut().zip(source) {
            *t = Self::narrow(*s);
        }
    }
    /// Back to the sum's type, for `beta * c`.
    fn widen(self) -> S;
}

macro_rules! number {
    ($type:ty, $sum:ty, $is_sum:literal, |$x:ident| $widen:expr $(, run $run:ident)?) => {
        impl Number for $type {
            type Sum = $sum;
            const IS_SUM: bool = $is_sum;
            fn widen(self) -> $sum {
                let $x = self;
                $widen
            }
            $(fn widen_run(source: &[Self], target: &mut [$sum]) {
                source.$run(target);
            })?
        }
    };
}
number!(f32, f32, true, |x| x);
number!(f64, f64, true, |x| x);
number!(f16, f32, false, |x| x.to_f32(), run convert_to_f32_slice);
number!(bf16, f32, false, |x| x.to_f32(), run convert_to_f32_slice);
number!(i8, f64, false, |x| f64::from(x));
number!(u8, f64, false, |x| f64::from(x));

macro_rules! stored {
    ($type:ty, $sum:ty, $is_sum:literal, |$x:ident| $narrow:expr, |$y:ident| $widen:expr $(, run $run:ident)?) => {
        impl Stored<$sum> for $type {
            const IS_SUM: bool = $is_sum;
            fn narrow($x: $sum) -> Self {
                $narrow
            }
            fn widen(self) -> $sum {
                let $y = self;
                $widen
            }
            $(fn narrow_run(source: &[$sum], target: &mut [Self]) {
                target.$run(source);
            })?
        }
    };
}
stored!(f32, f32, true, |x| x, |y| y);
stored!(f64, f64, true, |x| x, |y| y);
stored!(f16, f32, false, |x| f16::from_f32(x), |y| y.to_f32(), run convert_from_f32_slice);
stored!(bf16, f32, false, |x| bf16::from_f32(x), |y| y.to_f32(), run convert_from_f32_slice);
// 32-bit sums wrap on hardware.
stored!(i32, f64, false, |x| x as i64 as i32, |y| f64::from(y));

/// Numbers that are converted together: conversions of runs use the CPU's instructions for them.
const RUN: usize = 64;

/// Widens numbers that lie `step` apart.
///
/// # Safety
/// `target.len()` numbers from `source` on are readable.
pub(crate) unsafe fn widen_strided<T: Number>(
    source: *const T,
    step: isize,
    target: &mut [T::Sum],
) {
    if target.is_empty() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        if step == 1 {
            T::widen_run(std::slice::from_raw_parts(source, target.len()), target);
            return;
        }
        let mut run = [*source; RUN];
        for (part, target) in target.chunks_mut(RUN).enumerate() {
            let start = source.offset((part * RUN) as isize * step);
            for (i, number) in run[..target.len()].iter_mut().enumerate() {
                *number = *start.offset(i as isize * step);
            }
            T::widen_run(&run[..target.len()], target);
        }
    }
}

/// Stores sums as numbers that lie `step` apart.
///
/// # Safety
/// `source.len()` numbers from `target` on are writable, and nobody else uses them.
pub(crate) unsafe fn narrow_strided<S: Sum, U: Stored<S>>(
    source: &[S],
    target: *mut U,
    step: isize,
) {
    let Some(&first) = source.first() else { return };
    // SAFETY: the caller's promise.
    unsafe {
        if step == 1 {
            U::narrow_run(source, std::slice::from_raw_parts_mut(target, source.len()));
            return;
        }
        let mut run = [U::narrow(first); RUN];
        for (part, source) in source.chunks(RUN).enumerate() {
            U::narrow_run(source, &mut run[..source.len()]);
            let start = target.offset((part * RUN) as isize * step);
            for (i, &number) in run[..source.len()].iter().enumerate() {
                *start.offset(i as isize * step) = number;
            }
        }
    }
}

/// Calls `$go::<In, Out>` for a supported pair of types, else evaluates `$otherwise`.
macro_rules! with_types {
    ($input:expr, $output:expr, $go:ident, $args:tt, $otherwise:expr) => {{
        use $crate::number::DType::*;
        use half::{bf16, f16};
        match ($input, $output) {
            (F32, F32) => $go::<f32, f32> $args,
            (F64, F64) => $go::<f64, f64> $args,
            (F16, F16) => $go::<f16, f16> $args,
            (F16, F32) => $go::<f16, f32> $args,
            (Bf16, Bf16) => $go::<bf16, bf16> $args,
            (Bf16, F32) => $go::<bf16, f32> $args,
            (I8, I32) => $go::<i8, i32> $args,
            (U8, I32) => $go::<u8, i32> $args,
            _ => $otherwise,
        }
    }};
}
pub(crate) use with_types;

/// Whether [`with_types`] has the pair.
pub(crate) fn supported(input: DType, output: DType) -> bool {
    use DType::*;
    matches!(
        (input, output),
        (F32 | F16 | Bf16, F32) | (F64, F64) | (F16, F16) | (Bf16, Bf16) | (I8 | U8, I32)
    )
}
