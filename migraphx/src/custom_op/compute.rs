//! Running an operator: on the host, on the GPU, or on the host for the GPU.

use std::ffi::{c_char, c_void};
use std::ptr;

use migraphx_sys::{
    const_migraphx_argument_t, const_migraphx_shape_t, migraphx_argument_t, migraphx_arguments_t,
    migraphx_context_t, migraphx_shape_t, migraphx_status,
};

use super::callbacks::{changed, entry, fits, promised};
use super::device::{DeviceCall, DeviceInput, DeviceOutput};
use super::guard::guarded;
use super::tensors::{Input, Output};
use super::{Entry, OpResult};
use crate::ffi::lock;
use crate::shape::Shape;

pub(super) unsafe extern "C" fn compute(
    out: migraphx_argument_t,
    object: *mut c_void,
    message: *mut c_char,
    message_size: usize,
    context: migraphx_context_t,
    _output: migraphx_shape_t,
    inputs: migraphx_arguments_t,
) -> migraphx_status {
    // SAFETY: the library's own pointers.
    unsafe {
        guarded(message, message_size, || {
            run(entry(object), context, inputs, out)
        })
    }
}

/// A tensor as the library has it.
struct Tensor {
    shape: Shape,
    data: *mut c_void,
}

impl Tensor {
    fn overlaps(&self, other: &Tensor) -> bool {
        let range = |tensor: &Tensor| {
            let start = tensor.data as usize;
            start..start + tensor.shape.bytes()
        };
        let (one, two) = (range(self), range(other));
        !one.is_empty() && !two.is_empty() && one.start < two.end && two.start < one.end
    }
}

/// # Safety
/// The handles are live, and the arguments' memory is not used by others during
/// the call.
unsafe fn run(
    entry: &Entry,
    context: migraphx_context_t,
    inputs: migraphx_arguments_t,
    out: migraphx_argument_t,
) -> OpResult {
    let mut count = 0;
    // SAFETY: the handles are live.
    unsafe { peek!(migraphx_arguments_size(&mut count, inputs)) }?;
    let mut raw: const_migraphx_argument_t = ptr::null();
    let mut tensors = Vec::with_capacity(count);
    for index in 0..count {
        // SAFETY: as above; an argument lives as long as the list.
        tensors.push(unsafe {
            peek!(migraphx_arguments_get(&mut raw, inputs, index))?;
            tensor(raw, index)?
        });
    }
    let Some(mut memory) = tensors.pop() else {
        return Err("it was called without inputs".into());
    };
    if let Some(index) = tensors.iter().position(|tensor| tensor.overlaps(&memory)) {
        return Err(format!(
            "input {index} lies in the memory of the output; give the operator that works in \
             place a tensor of its own"
        )
        .into());
    }
    if !entry.in_place {
        let shapes: Vec<Shape> = tensors.iter().map(|tensor| tensor.shape.clone()).collect();
        let promise = promised(entry, &shapes)?;
        if !fits(&promise, &memory.shape) {
            return Err(changed(entry, &promise, &memory.shape).into());
        }
        memory.shape = promise;
    }
    // SAFETY: the context is live.
    match unsafe { place(context) }? {
        Place::Device(stream) if entry.on_device => on_device(entry, stream, tensors, memory)?,
        Place::Unknown if entry.on_device => {
            return Err(
                "this MIGraphX does not say whether it runs on the GPU or on the host".into(),
            );
        }
        // SAFETY: the tensors are live and apart from each other, on the host or not.
        Place::Device(stream) => unsafe { staged(entry, stream, &tensors, &memory) }?,
        // SAFETY: as above; a program on the GPU that has no stream uses the null stream.
        Place::Unknown => unsafe { staged(entry, ptr::null_mut(), &tensors, &memory) }?,
        // SAFETY: as above, on the host.
        Place::Host => unsafe { on_host(entry, tensors, memory) }?,
    }
    // The library's own argument, which keeps the memory alive. `raw` is the last.
    // SAFETY: both are live; C copies.
    unsafe { call!(migraphx_argument_assign_to(out, raw)) }?;
    Ok(())
}

/// # Safety
/// The argument is live.
unsafe fn tensor(raw: const_migraphx_argument_t, index: usize) -> OpResult<Tensor> {
    let mut handle: const_migraphx_shape_t = ptr::null();
    let mut data = ptr::null_mut();
    // SAFETY: the argument is live, and its shape as long.
    let shape = unsafe {
        peek!(migraphx_argument_shape(&mut handle, raw))?;
        Shape::from_raw(handle)?
    };
    if !shape.is_standard() {
        return Err(format!("input {index} came as {shape}, which is not row-major").into());
    }
    // The library dies of asking an empty argument.
    if shape.bytes() > 0 {
        // SAFETY: as above.
        unsafe { peek!(migraphx_argument_buffer(&mut data, raw)) }?;
        if data.is_null() {
            return Err(format!("input {index} came without memory").into());
        }
    }
    if !(data as usize).is_multiple_of(shape.dtype().size().max(1)) {
        return Err(format!("input {index} ({shape}) is not aligned for its type").into());
    }
    let data = data.cast();
    Ok(Tensor { shape, data })
}

/// Where the tensors are.
enum Place {
    Host,
    /// With the program's stream.
    Device(*mut c_void),
    /// One of both.
    Unknown,
}

/// # Safety
/// The context is live.
unsafe fn place(context: migraphx_context_t) -> OpResult<Place> {
    let mut stream = ptr::null_mut();
    // SAFETY: the context is live.
    unsafe { call!(migraphx_context_get_queue(&mut stream, context)) }?;
    if !stream.is_null() {
        return Ok(Place::Device(stream));
    }
    // Host targets have none. From ROCm 7.13 on a program on the GPU may have none either.
    let library = crate::ffi::library()?;
    let may_lack_one = library.by_hand.migraphx_program_run_trace.is_available();
    Ok(match lock::is_loaded("gpu") && may_lack_one {
        true => Place::Unknown,
        false => Place::Host,
    })
}

/// Runs `compute` on copies in host memory.
///
/// # Safety
/// The tensors are live, whole and row-major, none overlaps `memory`, and what is
/// queued on the stream is all that uses them.
#[cfg(feature = "hip")]
unsafe fn staged(
    entry: &Entry,
    stream: *mut c_void,
    tensors: &[Tensor],
    memory: &Tensor,
) -> OpResult {
    use crate::buffer::Buffer;
    use crate::hip::raw::{self, Direction};

    // SAFETY: the stream is live during the call.
    unsafe { raw::synchronize(stream) }?;
    let fetch = |tensor: &Tensor| -> OpResult<Buffer> {
        let buffer = Buffer::zeroed(tensor.shape.bytes())?;
        let (to, bytes) = (buffer.pointer(), tensor.shape.bytes());
        if bytes > 0 {
            // SAFETY: both are that long; the stream was waited for.
            unsafe { raw::copy_now(to.cast(), tensor.data, bytes, Direction::ByAddress) }?;
        }
        Ok(buffer)
    };
    let copies = tensors
        .iter()
        .map(fetch)
        .collect::<OpResult<Vec<Buffer>>>()?;
    let mut result = match entry.in_place {
        true => fetch(memory)?,
        false => Buffer::zeroed(memory.shape.bytes())?,
    };
    let inputs: Vec<Input<'_>> = tensors
        .iter()
        .zip(&copies)
        .map(|(tensor, copy)| Input::new(tensor.shape.clone(), copy.bytes()))
        .collect();
    let mut output = Output::new(memory.shape.clone(), result.bytes_mut());
    entry.op.compute(&inputs, &mut output)?;
    output.check()?;
    if !result.bytes().is_empty() {
        let (from, bytes) = (result.bytes().as_ptr(), result.bytes().len());
        // SAFETY: as above; what reads the output is queued after this.
        unsafe { raw::copy_now(memory.data, from.cast(), bytes, Direction::ByAddress) }?;
    }
    Ok(())
}

#[cfg(not(feature = "hip"))]
unsafe fn staged(_: &Entry, _: *mut c_void, _: &[Tensor], _: &Tensor) -> OpResult {
    Err("copying from the GPU and back needs the feature `hip` of the crate".into())
}

fn on_device(entry: &Entry, stream: *mut c_void, tensors: Vec<Tensor>, memory: Tensor) -> OpResult {
    let inputs: Vec<DeviceInput<'_>> = tensors
        .into_iter()
        .map(|tensor| DeviceInput::new(tensor.shape, tensor.data))
        .collect();
    let mut output = DeviceOutput::new(memory.shape, memory.data);
    entry
        .op
        .compute_on_device(&DeviceCall::new(stream), &inputs, &mut output)
}

/// # Safety
/// The tensors are live host memory, whole, aligned and row-major; none overlaps
/// `memory`.
unsafe fn on_host(entry: &Entry, tensors: Vec<Tensor>, memory: Tensor) -> OpResult {
    let mut inputs = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        let bytes = match tensor.shape.bytes() {
            0 => &[][..],
            // SAFETY: the caller's word; nothing writes inputs during the call.
            length => unsafe { std::slice::from_raw_parts(tensor.data.cast::<u8>(), length) },
        };
        inputs.push(Input::new(tensor.shape, bytes));
    }
    let bytes = match memory.shape.bytes() {
        0 => &mut [][..],
        // SAFETY: the caller's word; the output is this call's alone.
        length => unsafe { std::slice::from_raw_parts_mut(memory.data.cast::<u8>(), length) },
    };
    if !entry.in_place {
        bytes.fill(0);
    }
    let mut output = Output::new(memory.shape, bytes);
    entry.op.compute(&inputs, &mut output)?;
    output.check()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;

    #[test]
    fn overlap_is_seen_byte_by_byte() {
        let shape = Shape::new(DataType::Uint8, &[4]).unwrap();
        let at = |address: usize, shape: &Shape| Tensor {
            shape: shape.clone(),
            data: ptr::without_provenance_mut(address),
        };
        assert!(at(100, &shape).overlaps(&at(103, &shape)));
        assert!(!at(100, &shape).overlaps(&at(104, &shape)));
        let empty = Shape::new(DataType::Uint8, &[0]).unwrap();
        assert!(!at(102, &empty).overlaps(&at(100, &shape)));
    }
}
