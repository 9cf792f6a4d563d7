//! Results in memory that the runs of a program share.
//!
//! MIGraphX 7.1 gives each result of its own operators memory of the caller,
//! and refuses to compile what would hand on other memory that is used again
//! (`find_dangling_reference`). An operator registered through the C API that
//! does not declare which input its result lies in gets past that, so the
//! crate has the next run wait for the download of such results.

use crate::harness::Test;
use crate::sim::HIP;
use migraphx::hip::{Device, Stream};
use migraphx::{CompileOptions, DataType, Graph, Op, Shape, Target};
use migraphx_sys::{
    const_migraphx_argument_t, migraphx_argument_t, migraphx_arguments_t, migraphx_context_t,
    migraphx_shape_t, migraphx_shapes_t, migraphx_status,
};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

pub const TESTS: &[Test] = &[
    Test::new("the_next_run_does_not_overwrite_them", not_overwritten),
    Test::new("the_library_refuses_what_it_sees", refused),
];

macro_rules! c {
    ($name:ident($($argument:expr),*)) => {{
        let library = migraphx_sys::library().unwrap();
        let function = library.functions.$name.get().unwrap();
        // SAFETY: handles and pointers are live where this is used.
        let status = unsafe { function($($argument),*) };
        assert_eq!(status, migraphx_status::migraphx_status_success, stringify!($name));
    }};
}

const DONE: migraphx_status = migraphx_status::migraphx_status_success;
const BYTES: usize = 4000;

unsafe extern "C" fn copy_object(out: *mut *mut c_void, object: *mut c_void) -> migraphx_status {
    // SAFETY: the library's own pointer.
    unsafe { *out = object };
    DONE
}

unsafe extern "C" fn delete_object(_: *mut c_void) -> migraphx_status {
    DONE
}

unsafe extern "C" fn shape(
    out: migraphx_shape_t,
    _: *mut c_void,
    _: *mut c_char,
    _: usize,
    inputs: migraphx_shapes_t,
) -> migraphx_status {
    let mut first = null();
    c!(migraphx_shapes_get(&mut first, inputs, 0));
    c!(migraphx_shape_assign_to(out, first));
    DONE
}

/// Says nothing of where the result lies.
unsafe extern "C" fn no_alias(
    _: *mut usize,
    size: *mut usize,
    _: *mut c_void,
    _: *mut c_char,
    _: usize,
    _: migraphx_shapes_t,
) -> migraphx_status {
    // SAFETY: the library's own pointer.
    unsafe { *size = 0 };
    DONE
}

unsafe extern "C" fn on_the_gpu(
    out: *mut bool,
    _: *mut c_void,
    _: *mut c_char,
    _: usize,
) -> migraphx_status {
    // SAFETY: the library's own pointer.
    unsafe { *out = true };
    DONE
}

/// Copies the first input into the second, on the program's stream, and gives that.
unsafe extern "C" fn compute(
    out: migraphx_argument_t,
    _: *mut c_void,
    _: *mut c_char,
    _: usize,
    context: migraphx_context_t,
    _: migraphx_shape_t,
    inputs: migraphx_arguments_t,
) -> migraphx_status {
    type Copy =
        unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int, *mut c_void) -> c_int;
    let (mut from, mut to): (const_migraphx_argument_t, _) = (null(), null());
    c!(migraphx_arguments_get(&mut from, inputs, 0));
    c!(migraphx_arguments_get(&mut to, inputs, 1));
    let (mut source, mut target, mut stream) = (null_mut(), null_mut(), null_mut());
    c!(migraphx_argument_buffer(&mut source, from));
    c!(migraphx_argument_buffer(&mut target, to));
    c!(migraphx_context_get_queue(&mut stream, context));
    // SAFETY: HIP is loaded; both sides are device memory of this length (`not_overwritten`).
    unsafe {
        let hip = libloading::os::unix::Library::open(Some(HIP), libc::RTLD_NOW).unwrap();
        let copy = *hip.get::<Copy>(b"hipMemcpyAsync").unwrap();
        assert_eq!(copy(target.cast(), source.cast(), BYTES, 3, stream), 0);
    }
    c!(migraphx_argument_assign_to(out, to));
    DONE
}

fn register() {
    let name = c"copy_into_scratch";
    let mut op = null_mut();
    c!(migraphx_experimental_custom_op_create(
        &mut op,
        null_mut(),
        Some(copy_object),
        Some(delete_object),
        name.as_ptr(),
        name.as_ptr()
    ));
    c!(migraphx_experimental_custom_op_set_compute(
        op,
        Some(compute)
    ));
    c!(migraphx_experimental_custom_op_set_compute_shape(
        op,
        Some(shape)
    ));
    c!(migraphx_experimental_custom_op_set_output_alias(
        op,
        Some(no_alias)
    ));
    c!(migraphx_experimental_custom_op_set_runs_on_offload_target(
        op,
        Some(on_the_gpu)
    ));
    c!(migraphx_experimental_custom_op_register(op));
}

/// `relu(x)` through `op`, which takes it and memory.
fn program(op: &str, memory: Op) -> migraphx::Result<migraphx::Program> {
    // Loads the operators of the target.
    Target::new("gpu")?;
    let mut graph = Graph::new()?;
    let x = graph.parameter("x", &Shape::new(DataType::Float, &[BYTES / 4])?)?;
    let relu = graph.add("relu", &[x])?;
    // SAFETY: memory of a shape, and a copy of as many elements into it.
    let copied = unsafe {
        let memory = graph.add_unchecked(memory, &[], &[])?;
        graph.add_unchecked(op, &[relu, memory], &[])
    };
    graph.finish(&[copied?])
}

fn memory(op: &str) -> Op {
    Op::new(op).attr("shape", &Shape::new(DataType::Float, &[BYTES / 4]).unwrap())
}

fn not_overwritten() {
    register();
    let device = Device::new(1).unwrap();
    let streams = [(); 2].map(|()| Stream::new(device).unwrap());
    let program = program("copy_into_scratch", memory("allocate")).unwrap();
    let mut program = program
        .compile_for_device(device, &CompileOptions::new())
        .unwrap();
    let names: Vec<&str> = program.parameters().iter().map(|p| p.name()).collect();
    assert_eq!(names, ["x"]);
    let listing = program.instructions().unwrap();
    assert!(listing.scratch_bytes() >= BYTES, "{listing}");
    let mut sets: Vec<_> = (0..3).map(|_| program.bindings().unwrap()).collect();
    let x = sets[0].id("x").unwrap();
    for round in 0..3 {
        let mut runs = Vec::new();
        for (part, mut set) in sets.drain(..).enumerate() {
            let value = (10 * round + part) as f32;
            set.input_mut::<f32>(x).unwrap().fill(value);
            runs.push((program.enqueue(set, &streams[part % 2]).unwrap(), value));
        }
        for (run, value) in runs.into_iter().rev() {
            let set = run.wait().unwrap();
            assert_eq!(set.output::<f32>(0).unwrap(), [value; BYTES / 4]);
            let error = set.output_buffer(0).unwrap_err().to_string();
            assert!(error.contains("no buffer of its own"), "{error}");
            sets.push(set);
        }
    }
}

fn refused() {
    let program = program("hip::copy", memory("hip::allocate")).unwrap();
    let device = Device::new(1).unwrap();
    let error = program
        .compile_for_device(device, &CompileOptions::new())
        .unwrap_err();
    assert!(error.to_string().contains("Dangling reference"), "{error}");
}
