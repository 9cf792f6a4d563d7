//! A matrix product as both libraries describe it, queued on a stream.

use gpu_sim_gemm::{DType, MatMul, Matrix, read_f64};
use gpu_sim_work::{Device, Use, enqueue};
use std::ffi::{c_int, c_void};
use std::fmt;

/// A column-major matrix in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Its first element.
    pub pointer: *const c_void,
    /// Number type.
    pub dtype: DType,
    /// Elements from one column to the next.
    pub leading: i64,
    /// Elements from one matrix of the batch to the next.
    pub batch_stride: i64,
    /// It is used transposed.
    pub transposed: bool,
}

/// `d = alpha * op(a) * op(b) + beta * c`.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Rows of `d`.
    pub m: i64,
    /// Columns of `d`.
    pub n: i64,
    /// Length of a sum.
    pub k: i64,
    /// Number of products.
    pub batch: i64,
    /// Factors, addend and result.
    pub a: Operand,
    /// See `a`.
    pub b: Operand,
    /// See `a`.
    pub c: Operand,
    /// See `a`.
    pub d: Operand,
    /// Scales of the product and the addend.
    pub alpha: f64,
    /// See `alpha`.
    pub beta: f64,
}

/// Why a product was not queued.
#[derive(Debug)]
pub enum Refused {
    /// It is not something these libraries do; the text says what it was.
    Unsupported(String),
    /// The HIP stand-in refused it with this `hipError_t`.
    Hip(c_int),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(why) => f.write_str(why),
            Self::Hip(status) => write!(f, "the stream refused the work (hipError_t {status})"),
        }
    }
}

fn size(value: i64, what: &str) -> Result<usize, Refused> {
    usize::try_from(value).map_err(|_| Refused::Unsupported(format!("{what} is {value}")))
}

fn matrix(operand: Operand) -> Matrix {
    let (leading, batch) = (operand.leading as isize, operand.batch_stride as isize);
    if operand.transposed {
        Matrix {
            row: leading,
            column: 1,
            batch,
        }
    } else {
        Matrix {
            row: 1,
            column: leading,
            batch,
        }
    }
}

/// Bytes from the first element to the end of the last one.
fn bytes(matrix: Matrix, rows: usize, columns: usize, batch: usize, dtype: DType) -> usize {
    if rows * columns * batch == 0 {
        return 0;
    }
    let last = (rows - 1) as isize * matrix.row
        + (columns - 1) as isize * matrix.column
        + (batch - 1) as isize * matrix.batch;
    (last as usize + 1) * dtype.size()
}

impl Product {
    fn job(&self) -> Result<MatMul, Refused> {
        if self.a.dtype != self.b.dtype || self.c.dtype != self.d.dtype {
            return Err(Refused::Unsupported(format!(
                "factors of {:?} and {:?}, addend and result of {:?} and {:?}",
                self.a.dtype, self.b.dtype, self.c.dtype, self.d.dtype
            )));
        }
        let strides = [self.a, self.b, self.c, self.d];
        if strides.iter().any(|o| o.leading < 0 || o.batch_stride < 0) {
            return Err(Refused::Unsupported("a negative stride".into()));
        }
        let job = MatMul {
            m: size(self.m, "m")?,
            n: size(self.n, "n")?,
            k: size(self.k, "k")?,
            batch: size(self.batch, "the batch")?,
            input: self.a.dtype,
            output: self.d.dtype,
            a: matrix(self.a),
            b: matrix(self.b),
            c: matrix(self.c),
            d: matrix(self.d),
            alpha: self.alpha,
            beta: self.beta,
        };
        job.check()
            .map_err(|e| Refused::Unsupported(e.to_string()))?;
        Ok(job)
    }

    /// Whether [`Product::queue`] would take it.
    ///
    /// # Errors
    /// Says what is not supported.
    pub fn check(&self) -> Result<(), Refused> {
        self.job().map(|_| ())
    }

    /// Puts the product into a stream.
    ///
    /// # Errors
    /// It is unsupported, or the stream refused it.
    ///
    /// # Safety
    /// `stream` is a stream handle or null; the operands are what their description says.
    pub unsafe fn queue(&self, stream: *mut c_void, name: &str) -> Result<(), Refused> {
        let job = self.job()?;
        let MatMul {
            m,
            n,
            k,
            batch,
            input,
            output,
            ..
        } = job;
        let mut uses = vec![
            Use::read(self.a.pointer, bytes(job.a, m, k, batch, input)),
            Use::read(self.b.pointer, bytes(job.b, k, n, batch, input)),
            Use::write(self.d.pointer, bytes(job.d, m, n, batch, output)),
        ];
        if job.beta != 0.0 {
            uses.push(Use::read(self.c.pointer, bytes(job.c, m, n, batch, output)));
        }
        let [a, b, c, d] = [self.a, self.b, self.c, self.d].map(|o| Device(o.pointer));
        let work = move || {
            // SAFETY: the stream keeps the operands alive and to us while the work runs; their
            // extents were checked by the HIP stand-in.
            let done = unsafe { job.run(a.host(), b.host(), c.host(), d.host()) };
            done.expect("checked before it was queued");
        };
        // SAFETY: the caller's promise; `uses` has every operand.
        unsafe { enqueue(stream, name, &uses, work) }.map_err(Refused::Hip)
    }
}

/// A scale of type `dtype` in host memory; null is 0.
///
/// # Safety
/// `pointer` is null or points to one number of that type.
pub unsafe fn scale(pointer: *const c_void, dtype: DType) -> f64 {
    if pointer.is_null() {
        return 0.0;
    }
    // SAFETY: the caller's promise.
    unsafe { read_f64(dtype, pointer.cast(), 0) }
}
