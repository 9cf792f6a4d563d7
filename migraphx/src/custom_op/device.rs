//! What an operator's `compute_on_device` is given: memory of the GPU that the
//! host cannot read, and the stream that all work on it goes through.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use crate::shape::Shape;
#[cfg(feature = "hip")]
use crate::{
    dtype::{Element, bytes_of},
    error::{Error, Result},
    hip::raw::{self, Direction},
};

/// One call of an operator on a GPU: the stream of the program, which is bound
/// to the program's device.
///
/// Everything before this operator is queued on the stream already, and what
/// reads its output will be queued after it. So work on the tensors goes through
/// [`stream`](DeviceCall::stream), and nothing needs to wait.
pub struct DeviceCall<'a> {
    stream: *mut c_void,
    /// For one call, on its thread.
    call: PhantomData<&'a *mut c_void>,
}

/// An input on the GPU, for the time of one call.
pub struct DeviceInput<'a> {
    shape: Shape,
    pointer: *const c_void,
    call: PhantomData<&'a c_void>,
}

/// The output on the GPU, for the time of one call. It holds anything at first;
/// for an [in-place](super::CustomOp::in_place) operator, the last input.
pub struct DeviceOutput<'a> {
    shape: Shape,
    pointer: *mut c_void,
    call: PhantomData<&'a mut c_void>,
}

impl<'a> DeviceInput<'a> {
    /// `pointer` leads to device memory of the row-major `shape`, whose last use in the
    /// call's stream comes before the memory is used for anything else.
    pub(super) fn new(shape: Shape, pointer: *const c_void) -> Self {
        DeviceInput {
            shape,
            pointer,
            call: PhantomData,
        }
    }

    /// The shape, as `shape` was told it.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Where the data is, on the device; null where there is none. To be read by
    /// what is queued on the call's stream, [`Shape::bytes`] long.
    pub fn as_ptr(&self) -> *const c_void {
        self.pointer
    }
}

impl<'a> DeviceOutput<'a> {
    /// As for [`DeviceInput::new`]; nothing else uses the memory meanwhile.
    pub(super) fn new(shape: Shape, pointer: *mut c_void) -> Self {
        DeviceOutput {
            shape,
            pointer,
            call: PhantomData,
        }
    }

    /// The shape that `shape` gave.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Where the data goes, on the device; null where there is none. To be
    /// written by what is queued on the call's stream, [`Shape::bytes`] long.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.pointer
    }
}

impl<'a> DeviceCall<'a> {
    /// `stream` is live during the call.
    pub(super) fn new(stream: *mut c_void) -> Self {
        DeviceCall {
            stream,
            call: PhantomData,
        }
    }

    /// The program's `hipStream_t`, for launching kernels and library calls.
    pub fn stream(&self) -> *mut c_void {
        self.stream
    }

    /// Waits for all that is queued.
    ///
    /// # Errors
    /// [`Error::Hip`], also with what earlier work failed of.
    #[cfg(feature = "hip")]
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is live during the call.
        unsafe { raw::synchronize(self.stream) }
            .map_err(|error| error.while_doing(|| "waiting in a custom operator".into()))
    }

    /// Queues a copy of an input to the output.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] where they are not of equally many bytes;
    /// [`Error::Hip`].
    #[cfg(feature = "hip")]
    pub fn copy(&self, from: &DeviceInput<'_>, to: &mut DeviceOutput<'_>) -> Result<()> {
        if from.shape.bytes() != to.shape.bytes() {
            return Err(Error::ShapeMismatch {
                what: "the operator's output".into(),
                expected: Box::new(to.shape.clone()),
                found: Box::new(from.shape.clone()),
            });
        }
        let bytes = from.shape.bytes();
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: both are device memory of that many bytes, which outlives what is
        // queued on the stream now (see `DeviceInput::new`).
        unsafe { raw::queue_copy(self.stream, to.pointer, from.pointer, bytes) }
            .map_err(|error| error.while_doing(|| "copying in a custom operator".into()))
    }

    /// The elements of an input. Waits for all that is queued.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the tensor's;
    /// [`Error::OutOfMemory`]; [`Error::Hip`].
    #[cfg(feature = "hip")]
    pub fn download<T: Element>(&self, from: &DeviceInput<'_>) -> Result<Vec<T>> {
        super::tensors::check_type::<T>("the operator's input", &from.shape)?;
        let elements = from.shape.elements();
        let mut data = Vec::<T>::new();
        if data.try_reserve_exact(elements).is_err() {
            return Err(Error::OutOfMemory {
                what: "the operator's input".into(),
                bytes: from.shape.bytes(),
            });
        }
        let target = data.as_mut_ptr().cast();
        // SAFETY: the vector has room for that many bytes.
        unsafe {
            self.transfer(
                target,
                from.pointer,
                from.shape.bytes(),
                Direction::DeviceToHost,
            )?
        };
        // SAFETY: all elements were written, and every bit pattern is one.
        unsafe { data.set_len(elements) };
        Ok(data)
    }

    /// Writes the output. Waits for all that is queued.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the tensor's;
    /// [`Error::LengthMismatch`] where it has not as many elements; [`Error::Hip`].
    #[cfg(feature = "hip")]
    pub fn upload<T: Element>(&self, data: &[T], to: &mut DeviceOutput<'_>) -> Result<()> {
        super::tensors::check_type::<T>("the operator's output", &to.shape)?;
        if data.len() != to.shape.elements() {
            return Err(Error::LengthMismatch {
                what: "the operator's output".into(),
                expected: to.shape.elements(),
                shape: Box::new(to.shape.clone()),
                found: data.len(),
            });
        }
        let bytes = bytes_of(data);
        // SAFETY: both are that long.
        unsafe {
            self.transfer(
                to.pointer,
                bytes.as_ptr().cast(),
                bytes.len(),
                Direction::HostToDevice,
            )
        }
    }
}

#[cfg(feature = "hip")]
impl DeviceCall<'_> {
    /// A copy between the device and the host, after all that is queued and done
    /// when it returns.
    ///
    /// # Safety
    /// Both sides are as long.
    unsafe fn transfer(
        &self,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        direction: Direction,
    ) -> Result<()> {
        self.synchronize()?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller's word; nothing queued uses the device's side any more.
        unsafe { raw::copy_now(to, from, bytes, direction) }
            .map_err(|error| error.while_doing(|| "copying in a custom operator".into()))
    }
}

impl fmt::Debug for DeviceCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceCall({:?})", self.stream)
    }
}

impl fmt::Debug for DeviceInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceInput({})", self.shape)
    }
}

impl fmt::Debug for DeviceOutput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceOutput({})", self.shape)
    }
}
