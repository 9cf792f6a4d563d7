//! The product: which ones are known, and putting one into a stream.

use super::{
    COMPUTE_32F, COMPUTE_32I, COMPUTE_64F, Description, EXECUTION_FAILED, Heuristic, INVALID_VALUE,
    Layout, NOT_SUPPORTED, ONLY_ALGORITHM, OP_N, SUCCESS, dtype,
};
use crate::product::{Operand, Product, Refused, scale};
use gpu_sim_gemm::DType;
use gpu_sim_work::complain;
use std::ffi::{c_int, c_void};

pub(super) struct Described<'d> {
    description: &'d Description,
    a: &'d Layout,
    b: &'d Layout,
    c: &'d Layout,
    d: &'d Layout,
}

impl Described<'_> {
    /// The product with null pointers and scales of 1 and 0.
    pub(super) fn product(&self) -> Result<Product, Refused> {
        let t = self.description;
        let layouts = [self.a, self.b, self.c, self.d];
        let numbers = layouts.map(|l| l.number);
        let unsupported = |why: &str| {
            let (compute, scale) = (t.compute, t.scale);
            let types = format!(
                "hipDataTypes {numbers:?}, hipblasComputeType_t {compute}, scale type {scale}"
            );
            Refused::Unsupported(format!("{types}: {why}"))
        };
        let operand = |layout: &Layout, operation: c_int| {
            Some(Operand {
                pointer: std::ptr::null(),
                dtype: dtype(layout.number)?,
                leading: layout.leading,
                batch_stride: layout.stride,
                transposed: operation != OP_N,
            })
        };
        let (Some(a), Some(b), Some(c), Some(d)) = (
            operand(self.a, t.op_a),
            operand(self.b, t.op_b),
            operand(self.c, OP_N),
            operand(self.d, OP_N),
        ) else {
            return Err(unsupported("a type that is not computed here"));
        };
        let computed_in = match a.dtype {
            DType::F64 => COMPUTE_64F,
            DType::I8 | DType::U8 => COMPUTE_32I,
            _ => COMPUTE_32F,
        };
        if t.compute != computed_in || dtype(t.scale).is_none() {
            return Err(unsupported("a compute type that is not used here"));
        }
        let turned = |l: &Layout, operation| {
            if operation == OP_N {
                (l.rows, l.columns)
            } else {
                (l.columns, l.rows)
            }
        };
        let ((m, k), (k_b, n)) = (turned(self.a, t.op_a), turned(self.b, t.op_b));
        if k != k_b
            || (self.d.rows, self.d.columns) != (m, n)
            || (self.c.rows, self.c.columns) != (m, n)
        {
            return Err(unsupported("sizes that do not fit each other"));
        }
        if layouts.iter().any(|l| l.batch != self.d.batch) {
            return Err(unsupported("different batch counts"));
        }
        let [m, n, k] = [m, n, k].map(|v| v as i64);
        let batch = self.d.batch.into();
        Ok(Product {
            m,
            n,
            k,
            batch,
            a,
            b,
            c,
            d,
            alpha: 1.0,
            beta: 0.0,
        })
    }
}

/// # Safety
/// Each pointer is null or a description of its kind.
pub(super) unsafe fn described<'d>(
    description: *const Description,
    [a, b, c, d]: [*const Layout; 4],
) -> Option<Described<'d>> {
    // SAFETY: the caller's promise.
    unsafe {
        Some(Described {
            description: description.as_ref()?,
            a: a.as_ref()?,
            b: b.as_ref()?,
            c: c.as_ref()?,
            d: d.as_ref()?,
        })
    }
}

pub(super) fn status(call: &str, done: Result<(), Refused>) -> c_int {
    let Err(refused) = done else { return SUCCESS };
    complain(call, &refused);
    match refused {
        Refused::Unsupported(_) => NOT_SUPPORTED,
        Refused::Hip(_) => EXECUTION_FAILED,
    }
}

/// The algorithms for a product: the one there is, if the product is supported.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmulAlgoGetHeuristic(
    _handle: *mut u64,
    description: *const Description,
    a: *const Layout,
    b: *const Layout,
    c: *const Layout,
    d: *const Layout,
    _preference: *mut u64,
    wanted: c_int,
    results: *mut Heuristic,
    found: *mut c_int,
) -> c_int {
    // SAFETY: descriptions or null.
    let Some(described) = (unsafe { described(description, [a, b, c, d]) }) else {
        return INVALID_VALUE;
    };
    if results.is_null() || found.is_null() || wanted < 1 {
        return INVALID_VALUE;
    }
    let done = described.product().and_then(|p| p.check());
    // SAFETY: room for at least one result, as checked and promised.
    unsafe {
        *found = c_int::from(done.is_ok());
        if done.is_ok() {
            *results = ONLY_ALGORITHM;
        }
    }
    status("hipblasLtMatmulAlgoGetHeuristic", done)
}

/// `d = alpha * op(a) * op(b) + beta * c` on a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipblasLtMatmul(
    _handle: *mut u64,
    description: *const Description,
    alpha: *const c_void,
    a: *const c_void,
    a_layout: *const Layout,
    b: *const c_void,
    b_layout: *const Layout,
    beta: *const c_void,
    c: *const c_void,
    c_layout: *const Layout,
    d: *mut c_void,
    d_layout: *const Layout,
    _algorithm: *const c_void,
    _workspace: *mut c_void,
    _workspace_size: usize,
    stream: *mut c_void,
) -> c_int {
    // SAFETY: descriptions or null.
    let described = unsafe { described(description, [a_layout, b_layout, c_layout, d_layout]) };
    let Some(described) = described else {
        return INVALID_VALUE;
    };
    let done = described.product().and_then(|mut product| {
        let scale_type = dtype(described.description.scale).unwrap_or(DType::F32);
        // SAFETY: scales have the scale type and lie in host memory (the default pointer mode).
        unsafe {
            product.alpha = scale(alpha, scale_type);
            product.beta = scale(beta, scale_type);
        }
        product.a.pointer = a;
        product.b.pointer = b;
        product.c.pointer = c;
        product.d.pointer = d;
        // SAFETY: the caller's promise.
        unsafe { product.queue(stream, "hipblasLtMatmul") }
    });
    status("hipblasLtMatmul", done)
}
