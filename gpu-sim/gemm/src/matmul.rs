//! Batched matrix products with any strides.

use crate::layout::Unsupported;
use crate::number::{DType, Number, Stored, Sum, supported, widen_strided, with_types};
use crate::threads::{self, Shared};

/// Where a batch of matrices lies: strides in elements.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    /// From one row to the next.
    pub row: isize,
    /// From one column to the next.
    pub column: isize,
    /// From one matrix of the batch to the next; 0 uses one matrix for all.
    pub batch: isize,
}

/// `d[i] = alpha * a[i] * b[i] + beta * c[i]` for each `i` of a batch.
#[derive(Clone, Copy, Debug)]
pub struct MatMul {
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Length of a sum.
    pub k: usize,
    /// How many products.
    pub batch: usize,
    /// Type of `a` and `b`.
    pub input: DType,
    /// Type of `c` and `d`.
    pub output: DType,
    /// Left factor, m × k.
    pub a: Matrix,
    /// Right factor, k × n.
    pub b: Matrix,
    /// Addend, m × n; not read when `beta` is 0.
    pub c: Matrix,
    /// Result, m × n.
    pub d: Matrix,
    /// Factor of the product.
    pub alpha: f64,
    /// Factor of the addend.
    pub beta: f64,
}

impl MatMul {
    /// Whether [`MatMul::run`] can do it.
    ///
    /// # Errors
    /// The pair of types is not one of the crate's table.
    pub fn check(&self) -> Result<(), Unsupported> {
        if !supported(self.input, self.output) {
            return Err(Unsupported(format!(
                "a matrix product of {:?} numbers into {:?} numbers",
                self.input, self.output
            )));
        }
        Ok(())
    }

    /// Computes it.
    ///
    /// # Errors
    /// As [`MatMul::check`]; nothing has been written then.
    ///
    /// # Safety
    /// Every element that sizes and strides reach is aligned and readable (`d`: writable, and no two
    /// results share an element); `d` overlaps neither `a` nor `b`, and `c` only element by element.
    pub unsafe fn run(
        &self,
        a: *const u8,
        b: *const u8,
        c: *const u8,
        d: *mut u8,
    ) -> Result<(), Unsupported> {
        self.check()?;
        // SAFETY: the caller's promise, for the types that `input` and `output` name.
        unsafe {
            with_types!(
                self.input,
                self.output,
                product,
                (self, a, b, c, d),
                unreachable!()
            );
        }
        Ok(())
    }
}

/// Columns of the result per piece of work: enough pieces for all cores, not so small that packing
/// `a` again for each one costs more than it brings.
fn piece_columns(job: &MatMul) -> usize {
    let work = job.m * job.n * job.k;
    if work < 1 << 18 || job.batch >= 2 * threads::count() {
        return job.n.max(1);
    }
    job.n.div_ceil(2 * threads::count()).max(32)
}

unsafe fn product<T: Number, U: Stored<T::Sum>>(
    job: &MatMul,
    a: *const u8,
    b: *const u8,
    c: *const u8,
    d: *mut u8,
) {
    let (a, b, c) = (
        Shared(a.cast_mut()),
        Shared(b.cast_mut()),
        Shared(c.cast_mut()),
    );
    let d = Shared(d.cast::<U>());
    let columns = piece_columns(job);
    let pieces = job.n.div_ceil(columns);
    threads::for_each(job.batch * pieces, |index| {
        let (batch, first) = ((index / pieces) as isize, index % pieces * columns);
        let width = columns.min(job.n - first);
        let at = |p: Matrix| batch * p.batch + first as isize * p.column;
        // SAFETY: each piece writes its own columns of its own matrix; the rest is the caller's promise.
        unsafe {
            piece::<T, U>(
                job,
                width,
                a.get().cast::<T>().offset(batch * job.a.batch),
                b.get().cast::<T>().offset(at(job.b)),
                c.get()
                    .cast::<U>()
                    .offset(if job.beta == 0.0 { 0 } else { at(job.c) }),
                d.get().offset(at(job.d)),
            );
        }
    });
}

unsafe fn piece<T: Number, U: Stored<T::Sum>>(
    job: &MatMul,
    n: usize,
    a: *const T,
    b: *const T,
    c: *const U,
    d: *mut U,
) {
    let (m, k) = (job.m, job.k);
    let alpha = T::Sum::from_f64(job.alpha);
    let beta = T::Sum::from_f64(job.beta);
    let (mut wide_a, mut wide_b) = (Vec::new(), Vec::new());
    // SAFETY: the elements read here are those the job describes.
    let (a, b) = unsafe {
        (
            factor(a, (m, k), (job.a.row, job.a.column), &mut wide_a),
            factor(b, (k, n), (job.b.row, job.b.column), &mut wide_b),
        )
    };
    // SAFETY: as above; where U is the sum's type the result is written in place.
    unsafe {
        if U::IS_SUM {
            if job.beta != 0.0 {
                each(m, n, |i, j| {
                    *d.offset(i * job.d.row + j * job.d.column) =
                        *c.offset(i * job.c.row + j * job.c.column);
                });
            }
            let place = (d.cast::<T::Sum>(), job.d.row, job.d.column);
            T::Sum::gemm((m, n, k), alpha, a, b, beta, place);
        } else {
            let mut sums = vec![T::Sum::default(); m * n];
            let place = (sums.as_mut_ptr(), 1, m as isize);
            T::Sum::gemm((m, n, k), alpha, a, b, T::Sum::default(), place);
            each(m, n, |i, j| {
                let mut value = sums[j as usize * m + i as usize];
                if job.beta != 0.0 {
                    value += beta * (*c.offset(i * job.c.row + j * job.c.column)).widen();
                }
                *d.offset(i * job.d.row + j * job.d.column) = U::narrow(value);
            });
        }
    }
}

fn each(m: usize, n: usize, mut f: impl FnMut(isize, isize)) {
    for j in 0..n as isize {
        for i in 0..m as isize {
            f(i, j);
        }
    }
}

/// The factor itself when its type is the sum's, else a widened copy in `store`.
///
/// # Safety
/// `rows` × `columns` elements at `strides` from `p` are readable.
unsafe fn factor<T: Number>(
    p: *const T,
    (rows, columns): (usize, usize),
    (row, column): (isize, isize),
    store: &mut Vec<T::Sum>,
) -> (*const T::Sum, isize, isize) {
    if T::IS_SUM {
        return (p.cast(), row, column);
    }
    // Lines along the dimension with stride 1 are widened as runs.
    let (lines, length, line, step) = if column == 1 {
        (rows, columns, row, column)
    } else {
        (columns, rows, column, row)
    };
    store.resize(rows * columns, T::Sum::default());
    for (i, target) in store
        .chunks_exact_mut(length.max(1))
        .enumerate()
        .take(lines)
    {
        // SAFETY: line i of the factor; a run of `length` where the step is 1.
        unsafe {
            let start = p.offset(i as isize * line);
            widen_strided(start, step, target);
        }
    }
    let length = length as isize;
    if column == 1 {
        (store.as_ptr(), length, 1)
    } else {
        (store.as_ptr(), 1, length)
    }
}
