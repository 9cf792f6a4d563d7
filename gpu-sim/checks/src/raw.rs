//! MIGraphX's C API for programs compiled with `offload_copy=false`: the safe crate has no device memory
//! yet. With `hip.rs` and `kernels.rs`, all that is unsafe in these checks.

use crate::hip::{Buffer, Outcome, Pinned, Stream, checked};
use migraphx_sys::*;
use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

/// Calls a function of MIGraphX's C API. To be used where its arguments are valid.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let function = library().map_err(|e| e.to_string())?.functions.$name.get().map_err(|e| e.to_string())?;
        checked(stringify!($name), function($($argument),*).0 as c_int)
    }};
}

/// A handle of MIGraphX's that this side destroys.
struct Handle<T> {
    raw: *mut T,
    destroy: unsafe extern "C" fn(*mut T) -> migraphx_status,
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: made with its destroy function, destroyed once.
        unsafe { (self.destroy)(self.raw) };
    }
}

/// `handle!(create_function(OUT, arguments…), destroy_function)`.
macro_rules! handle {
    ($create:ident($($argument:expr),* $(,)?), $destroy:ident) => {{
        let mut raw = null_mut();
        let destroy = library().map_err(|e| e.to_string())?.functions.$destroy.get().map_err(|e| e.to_string())?;
        call!($create(&mut raw, $($argument),*)).map(|()| Handle { raw, destroy })
    }};
}

/// A tensor of the host: its type and its values in logical order.
#[derive(Debug, PartialEq)]
pub struct Tensor {
    pub dtype: migraphx_shape_datatype_t,
    pub dims: Vec<usize>,
    /// The elements' bytes, one after the other.
    pub bytes: Vec<u8>,
}

/// What MIGraphX says of a tensor: type, dimensions, strides, and bytes with the gaps.
struct Shape {
    dtype: migraphx_shape_datatype_t,
    dims: Vec<usize>,
    strides: Vec<usize>,
    bytes: usize,
}

/// # Safety
/// The list has `n` elements; it may be null where that is 0.
unsafe fn copied(list: *const usize, n: usize) -> Vec<usize> {
    if n == 0 {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(list, n) }.to_vec()
}

impl Shape {
    /// # Safety
    /// The shape is live, and not a tuple or dynamic.
    unsafe fn of(raw: const_migraphx_shape_t) -> Outcome<Self> {
        let mut dtype = migraphx_shape_datatype_t(0);
        let (mut bytes, mut n) = (0, 0);
        let mut list = null();
        // SAFETY: a live shape and valid out pointers; lists are the shape's and have `n` elements.
        unsafe {
            call!(migraphx_shape_type(&mut dtype, raw))?;
            call!(migraphx_shape_bytes(&mut bytes, raw))?;
            call!(migraphx_shape_lengths(&mut list, &mut n, raw))?;
            let dims = copied(list, n);
            call!(migraphx_shape_strides(&mut list, &mut n, raw))?;
            let strides = copied(list, n);
            Ok(Shape {
                dtype,
                dims,
                strides,
                bytes,
            })
        }
    }

    /// The elements in logical order.
    fn gather(&self, memory: &[u8]) -> Outcome<Vec<u8>> {
        let reach: usize = (self.dims.iter().zip(&self.strides))
            .map(|(d, s)| d.saturating_sub(1) * s)
            .sum();
        let size = memory.len() / (reach + 1);
        if size * (reach + 1) != memory.len() {
            return Err(format!(
                "{} bytes for dimensions {:?} and strides {:?}",
                memory.len(),
                self.dims,
                self.strides
            ));
        }
        let mut out = Vec::new();
        for number in 0..self.dims.iter().product() {
            let (mut rest, mut at) = (number, 0);
            for (d, s) in self.dims.iter().zip(&self.strides).rev() {
                at += rest % d * s;
                rest /= d;
            }
            out.extend_from_slice(&memory[at * size..][..size]);
        }
        Ok(out)
    }
}

/// A program compiled for `gpu` with `offload_copy=false`, on the device that was current.
pub struct Program(Handle<migraphx_program>);

impl Program {
    /// Compiles an ONNX model, in half precision where asked.
    pub fn compile(model: &[u8], half: bool) -> Outcome<Self> {
        // SAFETY: live handles, valid out pointers, a buffer of its length, a C string.
        unsafe {
            let options = handle!(
                migraphx_onnx_options_create(),
                migraphx_onnx_options_destroy
            )?;
            let program = handle!(
                migraphx_parse_onnx_buffer(model.as_ptr().cast(), model.len(), options.raw),
                migraphx_program_destroy
            )?;
            if half {
                call!(migraphx_quantize_fp16(program.raw))?;
            }
            let target = handle!(
                migraphx_target_create(c"gpu".as_ptr()),
                migraphx_target_destroy
            )?;
            let options = handle!(
                migraphx_compile_options_create(),
                migraphx_compile_options_destroy
            )?;
            call!(migraphx_compile_options_set_offload_copy(
                options.raw,
                false
            ))?;
            call!(migraphx_program_compile(
                program.raw,
                target.raw,
                options.raw
            ))?;
            Ok(Program(program))
        }
    }

    /// Saves it.
    pub fn save(&self, file: &Path) -> Outcome<()> {
        let name = CString::new(file.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: live handles and a C string.
        unsafe {
            let options = msgpack()?;
            call!(migraphx_save(self.0.raw, name.as_ptr(), options.raw))
        }
    }

    /// Loads a saved one, for the device that is current.
    pub fn load(file: &Path) -> Outcome<Self> {
        let name = CString::new(file.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: live handles, a valid out pointer, a C string.
        unsafe {
            let options = msgpack()?;
            let program = handle!(
                migraphx_load(name.as_ptr(), options.raw),
                migraphx_program_destroy
            )?;
            Ok(Program(program))
        }
    }

    /// Runs it on a stream, with device memory for every parameter: `input` gives the bytes of the inputs,
    /// `None` is an output. Gives the outputs, and how many of them were parameters.
    pub fn run(
        &mut self,
        stream: &Stream<'_>,
        input: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Outcome<(Vec<Tensor>, usize)> {
        let mut run = Run::default();
        // SAFETY: `run` stays until the stream was waited for, after an error too.
        let queued = unsafe { run.queue(self, stream, input) };
        let waited = stream.synchronize();
        if let Err(why) = waited {
            // What is queued may still use it.
            std::mem::forget(run);
            return Err(queued.err().unwrap_or(why));
        }
        queued?;
        let tensors: Outcome<Vec<_>> = (run.results.iter())
            .map(|(shape, memory)| {
                Ok(Tensor {
                    dtype: shape.dtype,
                    dims: shape.dims.clone(),
                    // SAFETY: the stream was waited for.
                    bytes: shape.gather(unsafe { memory.bytes() })?,
                })
            })
            .collect();
        Ok((tensors?, run.outputs))
    }
}

fn msgpack() -> Outcome<Handle<migraphx_file_options>> {
    // SAFETY: a live handle, a valid out pointer, a C string.
    unsafe {
        let options = handle!(
            migraphx_file_options_create(),
            migraphx_file_options_destroy
        )?;
        let format = c"msgpack".as_ptr();
        call!(migraphx_file_options_set_file_format(options.raw, format))?;
        Ok(options)
    }
}

/// All that a run in a stream uses.
#[derive(Default)]
struct Run<'h> {
    inputs: Vec<Vec<u8>>,
    device: Vec<Buffer<'h>>,
    results: Vec<(Shape, Pinned<'h>)>,
    /// How many parameters were outputs.
    outputs: usize,
}

impl<'h> Run<'h> {
    /// # Safety
    /// The stream is waited for before `self` and the program are dropped.
    unsafe fn queue(
        &mut self,
        program: &mut Program,
        stream: &Stream<'h>,
        input: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Outcome<()> {
        // SAFETY: live handles and valid out pointers; names are C strings of `shapes`; device memory has
        // the size of its shape; the memory of both sides is kept by `self`.
        unsafe {
            let shapes = handle!(
                migraphx_program_get_parameter_shapes(program.0.raw),
                migraphx_program_parameter_shapes_destroy
            )?;
            let parameters = handle!(
                migraphx_program_parameters_create(),
                migraphx_program_parameters_destroy
            )?;
            let mut count = 0;
            call!(migraphx_program_parameter_shapes_size(
                &mut count, shapes.raw
            ))?;
            let mut names = vec![null(); count];
            call!(migraphx_program_parameter_shapes_names(
                names.as_mut_ptr(),
                shapes.raw
            ))?;
            for name in names {
                let mut shape = null();
                call!(migraphx_program_parameter_shapes_get(
                    &mut shape, shapes.raw, name
                ))?;
                let buffer = Buffer::new(stream.hip, Shape::of(shape)?.bytes)?;
                let argument = handle!(
                    migraphx_argument_create(shape, buffer.at),
                    migraphx_argument_destroy
                )?;
                call!(migraphx_program_parameters_add(
                    parameters.raw,
                    name,
                    argument.raw
                ))?;
                self.device.push(buffer);
                let buffer = &self.device[self.device.len() - 1];
                let text = CStr::from_ptr(name).to_string_lossy();
                match input(&text) {
                    Some(bytes) => {
                        self.inputs.push(bytes);
                        let bytes = &self.inputs[self.inputs.len() - 1];
                        (stream.upload(buffer, bytes)).map_err(|e| format!("{text}: {e}"))?;
                    }
                    None if text.starts_with("main:#output_") => self.outputs += 1,
                    None => return Err(format!("a parameter {text} that the network has not")),
                }
            }
            let results = handle!(
                migraphx_program_run_async(
                    program.0.raw,
                    parameters.raw,
                    stream.raw,
                    c"ihipStream_t".as_ptr()
                ),
                migraphx_arguments_destroy
            )?;
            call!(migraphx_arguments_size(&mut count, results.raw))?;
            for i in 0..count {
                let (mut argument, mut shape, mut at) = (null(), null(), null_mut());
                call!(migraphx_arguments_get(&mut argument, results.raw, i))?;
                call!(migraphx_argument_shape(&mut shape, argument))?;
                call!(migraphx_argument_buffer(&mut at, argument))?;
                let shape = Shape::of(shape)?;
                let memory = Pinned::new(stream.hip, shape.bytes)?;
                self.results.push((shape, memory));
                let last = self.results.len() - 1;
                stream.download(&self.results[last].1, at.cast())?;
            }
            Ok(())
        }
    }
}
