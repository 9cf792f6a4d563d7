//! Modules and kernels. What a module holds is for another machine: a kernel of
//! any name is there, and takes a set time on the card.

use crate::cuda::{Cuda, Handle, NO_DEVICE, Status, cuda};
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A kernel that waits so many nanoseconds of the card's clock.
const WAIT: &std::ffi::CStr = cr"
.version 7.0
.target sm_70
.address_size 64
.visible .entry wait(.param .u64 length)
{
    .reg .u64 %length, %start, %now, %gone;
    .reg .pred %early;
    ld.param.u64 %length, [length];
    mov.u64 %start, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %gone, %now, %start;
    setp.lt.u64 %early, %gone, %length;
    @%early bra again;
    ret;
}
";

/// Nanoseconds a kernel takes.
fn length() -> u64 {
    static LENGTH: OnceLock<u64> = OnceLock::new();
    *LENGTH.get_or_init(|| {
        let text = std::env::var("GPU_CUDA_KERNEL_US").unwrap_or_else(|_| "100".into());
        let us: u64 = text.parse().unwrap_or_else(|_| {
            // Figures of another length than was asked for would prove nothing.
            eprintln!("gpu-sim-cuda: GPU_CUDA_KERNEL_US={text}: a whole number of microseconds");
            std::process::exit(2)
        });
        us * 1000
    })
}

/// The waiting kernel on the current device.
fn waiting(cuda: &Cuda) -> Result<Handle, Status> {
    static ON_EACH: OnceLock<Mutex<HashMap<c_int, usize>>> = OnceLock::new();
    let checked = |status| if status == 0 { Ok(()) } else { Err(status) };
    let mut device = 0;
    // SAFETY: an out pointer of ours.
    checked(unsafe { (cuda.runtime.get_device)(&raw mut device) })?;
    let known = ON_EACH.get_or_init(Mutex::default);
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(function) = known.get(&device) {
        return Ok(*function as Handle);
    }
    let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: sets the device that is current, so that the runtime has made its
    // context; the driver then works in it.
    checked(unsafe { (cuda.runtime.set_device)(device) })?;
    // SAFETY: out pointers of ours, PTX and a name that end in NUL.
    unsafe {
        checked((cuda.driver.module_load)(
            &raw mut module,
            WAIT.as_ptr().cast(),
        ))?;
        checked((cuda.driver.module_function)(
            &raw mut function,
            module,
            c"wait".as_ptr(),
        ))?;
    }
    known.insert(device, function as usize);
    Ok(function)
}

/// Puts a kernel into a stream.
fn launch(stream: Handle) -> Status {
    let Some(cuda) = cuda() else {
        return NO_DEVICE;
    };
    let function = match waiting(cuda) {
        Ok(function) => function,
        Err(status) => return status,
    };
    let mut length = length();
    let mut arguments = [(&raw mut length).cast::<c_void>()];
    let null = std::ptr::null_mut();
    // SAFETY: one block of one thread of a kernel that takes a u64, which is read
    // within the call.
    unsafe {
        (cuda.driver.launch)(
            function,
            1,
            1,
            1,
            1,
            1,
            1,
            0,
            stream,
            arguments.as_mut_ptr(),
            null,
        )
    }
}

/// What every module and every function is: an address that is not null.
static SOMETHING: u8 = 0;

fn something(out: *mut Handle) -> Status {
    // SAFETY: the caller's out pointer, as HIP asks for.
    unsafe { out.write((&raw const SOMETHING).cast_mut().cast()) };
    0
}

/// HIP's function of this name; what is loaded is never run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLoadData(out: *mut Handle, _image: *const c_void) -> Status {
    something(out)
}

/// HIP's function of this name: a kernel of any name is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleGetFunction(
    out: *mut Handle,
    _module: Handle,
    _name: *const c_char,
) -> Status {
    something(out)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn hipModuleUnload(_module: Handle) -> Status {
    0
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipModuleLaunchKernel(
    _function: Handle,
    _grid_x: u32,
    _grid_y: u32,
    _grid_z: u32,
    _block_x: u32,
    _block_y: u32,
    _block_z: u32,
    _local_bytes: u32,
    stream: Handle,
    _parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> Status {
    launch(stream)
}

/// HIP's `hipExtModuleLaunchKernel` under its C++ name: the header MIGraphX uses
/// declares it without `extern "C"`. Events around a kernel are recorded.
#[unsafe(export_name = "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j")]
pub unsafe extern "C" fn hip_ext_module_launch_kernel_cxx(
    _function: Handle,
    _global_x: u32,
    _global_y: u32,
    _global_z: u32,
    _local_x: u32,
    _local_y: u32,
    _local_z: u32,
    _local_bytes: usize,
    stream: Handle,
    _parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
    start: Handle,
    stop: Handle,
    _flags: u32,
) -> Status {
    let record = |event: Handle| match event.is_null() {
        true => 0,
        // SAFETY: the caller's event and stream, as HIP asks for.
        false => unsafe { crate::streams::hipEventRecord(event, stream) },
    };
    [record(start), launch(stream), record(stop)]
        .into_iter()
        .find(|status| *status != 0)
        .unwrap_or(0)
}

/// As `hipsim_enqueue` of `../hip`: a library's host work that plays a kernel. It
/// is dropped, and a kernel takes its place.
///
/// # Safety
/// `drop` may be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsim_enqueue(
    stream: Handle,
    _name: *const c_char,
    _run: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
    drop: Option<unsafe extern "C" fn(*mut c_void)>,
    _uses: *const c_void,
    _count: usize,
) -> c_int {
    if let Some(drop) = drop {
        // SAFETY: the caller's promise; called once.
        unsafe { drop(data) };
    }
    launch(stream)
}

/// As `hipsim_host` of `../hip`, for work that never runs here.
#[unsafe(no_mangle)]
pub extern "C" fn hipsim_host(_at: *const c_void) -> *mut c_void {
    std::ptr::null_mut()
}
