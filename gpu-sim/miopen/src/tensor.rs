//! Handles and tensor descriptors.

use crate::api::{BAD_PARAMETER, SUCCESS, UNSUPPORTED, descriptor, sizes};
use gpu_sim_gemm::{DType, Layout, read_f64, write_f64};
use gpu_sim_work::{Device, Use, complain};
use std::ffi::{c_int, c_void};

/// A handle: the stream its work goes to.
pub struct Handle {
    pub(crate) stream: *mut c_void,
}

/// A tensor: its layout, once set.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub(crate) layout: Option<Layout>,
}

descriptor!(miopenCreate() -> Handle = Handle { stream: std::ptr::null_mut() }, miopenDestroy, "a handle on the null stream");
descriptor!(miopenCreateTensorDescriptor() -> Tensor = Tensor { layout: None },
    miopenDestroyTensorDescriptor, "a tensor descriptor");

/// Makes a handle whose work goes to `stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenCreateWithStream(
    out: *mut *mut Handle,
    stream: *mut c_void,
) -> c_int {
    if out.is_null() {
        return BAD_PARAMETER;
    }
    // SAFETY: writable, as MIOpen demands.
    unsafe { *out = Box::into_raw(Box::new(Handle { stream })) };
    SUCCESS
}

/// Number type by `miopenDataType_t`.
pub(crate) fn dtype(number: c_int) -> Option<DType> {
    Some(match number {
        0 => DType::F16,
        1 => DType::F32,
        2 => DType::I32,
        3 => DType::I8,
        5 => DType::Bf16,
        6 => DType::F64,
        _ => return None,
    })
}

/// Sets type, sizes and strides.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn miopenSetTensorDescriptor(
    tensor: *mut Tensor,
    data_type: c_int,
    count: c_int,
    dims: *const c_int,
    strides: *const c_int,
) -> c_int {
    // SAFETY: a descriptor or null; arrays of `count` entries or null.
    let (tensor, dims, strides) =
        unsafe { (tensor.as_mut(), sizes(dims, count), sizes(strides, count)) };
    let (Some(tensor), Some(dims), Some(strides)) = (tensor, dims, strides) else {
        return BAD_PARAMETER;
    };
    let Some(dtype) = dtype(data_type) else {
        tensor.layout = None;
        complain(
            "miopenSetTensorDescriptor",
            &format!("miopenDataType_t {data_type} is not computed here"),
        );
        return UNSUPPORTED;
    };
    let strides = strides.into_iter().map(|s| s as isize).collect();
    tensor.layout = Some(Layout {
        dtype,
        dims,
        strides,
    });
    SUCCESS
}

/// The layout of a descriptor that was set.
///
/// # Safety
/// `tensor` is a descriptor or null.
pub(crate) unsafe fn layout(tensor: *const Tensor) -> Option<Layout> {
    // SAFETY: the caller's promise.
    unsafe { tensor.as_ref() }?.layout.clone()
}

/// A tensor in device memory, on its way to queued work.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) layout: Layout,
    pointer: Device,
}

impl Operand {
    pub(crate) fn new(layout: Layout, pointer: *const c_void) -> Self {
        Self {
            layout,
            pointer: Device(pointer),
        }
    }

    pub(crate) fn read(&self) -> Use {
        Use::read(self.pointer.0, self.layout.span())
    }

    pub(crate) fn write(&self) -> Use {
        Use::write(self.pointer.0, self.layout.span())
    }

    /// The host's view, in queued work only.
    pub(crate) fn host(&self) -> *mut u8 {
        self.pointer.host()
    }

    fn offset(&self, index: &[usize]) -> isize {
        index
            .iter()
            .zip(&self.layout.strides)
            .map(|(&i, &s)| i as isize * s)
            .sum()
    }

    /// # Safety
    /// `base` is [`Operand::host`] and `index` inside the tensor.
    pub(crate) unsafe fn get(&self, base: *const u8, index: &[usize]) -> f64 {
        // SAFETY: the stand-in checked the extent before queueing.
        unsafe { read_f64(self.layout.dtype, base, self.offset(index)) }
    }

    /// # Safety
    /// As [`Operand::get`], and no other thread uses this element.
    pub(crate) unsafe fn set(&self, base: *mut u8, index: &[usize], value: f64) {
        // SAFETY: as in `get`.
        unsafe { write_f64(self.layout.dtype, base, self.offset(index), value) }
    }
}

/// Calls `each` with every index of `dims`, the last dimension fastest.
pub(crate) fn for_each_index(dims: &[usize], mut each: impl FnMut(&[usize])) {
    if dims.contains(&0) {
        return;
    }
    let mut index = vec![0; dims.len()];
    loop {
        each(&index);
        let Some(axis) = (0..dims.len())
            .rev()
            .find(|&axis| index[axis] + 1 < dims[axis])
        else {
            return;
        };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}
