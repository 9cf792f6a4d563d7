//! For the other stand-in libraries (rocBLAS, hipBLASLt, MIOpen, MIGraphX's
//! device kernels): host code that plays a kernel.

use crate::abi::{Handle, HipResult};
use crate::checks::{Kind, Use};
use crate::state::{Locked, api};
use crate::work::{HostWork, Work};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// A stretch of memory that the work touches. `bytes` 0: length unknown.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HipsimUse {
    /// As the program sees it; null is skipped.
    pub ptr: *const c_void,
    /// Its length.
    pub bytes: usize,
    /// 1 if it is written.
    pub write: c_uint,
}

/// Queues host work on a stream as if it were a kernel. Each use is checked
/// like a kernel's pointer, its bounds too, before anything is queued.
///
/// `run(data)` runs when the stream gets there, without any lock of this
/// library; `drop(data)` is called once, also if the work is refused.
///
/// # Safety
/// `name` is a C string, `uses` has `count` entries, and `run` and `drop` may
/// be called with `data` from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsim_enqueue(
    stream: Handle,
    name: *const c_char,
    run: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
    drop: Option<unsafe extern "C" fn(*mut c_void)>,
    uses: *const HipsimUse,
    count: usize,
) -> c_int {
    let work = HostWork {
        run,
        drop,
        data: data as usize,
    };
    // SAFETY: the caller's C string and list.
    let (name, uses) = unsafe {
        let uses = if count == 0 {
            &[][..]
        } else {
            std::slice::from_raw_parts(uses, count)
        };
        (CStr::from_ptr(name).to_string_lossy().into_owned(), uses)
    };
    let uses: Vec<_> = uses
        .iter()
        .filter(|u| !u.ptr.is_null())
        .map(|u| Use {
            at: u.ptr as usize,
            bytes: u.bytes,
            write: u.write != 0,
        })
        .collect();
    let mut refused = None;
    let code = api(
        "hipsim_enqueue",
        || format!("{name} stream={stream:p}"),
        |s| {
            let checked = check(s, stream, &name, &uses);
            match checked {
                Ok(id) => {
                    let device = s.streams[&id].device;
                    s.devices[device].counters.launches += 1;
                    s.submit(id, &name, Work::Host(work), &uses).map(|_| ())
                }
                Err(error) => {
                    // Dropped after the lock is gone: `drop` is the caller's code.
                    refused = Some(work);
                    Err(error)
                }
            }
        },
    );
    std::mem::drop(refused);
    code
}

fn check(
    s: &mut Locked,
    stream: Handle,
    name: &str,
    uses: &[Use],
) -> HipResult<crate::streams::StreamId> {
    let id = s.stream_of(name, stream)?;
    for used in uses {
        s.check_kernel_use(name, id, *used)?;
    }
    Ok(id)
}

/// The bytes behind a pointer, for the host code that plays a kernel. Memory
/// of the host comes back as it is.
///
/// # Safety
/// Takes any value. What comes back is valid while the allocation lives; it is
/// kept alive while the work that declared its use runs on its own device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsim_host(at: *const c_void) -> *mut c_void {
    Locked::new().memory.host_address(at as usize) as *mut c_void
}

/// Host code outside of any stream is about to touch memory: checks that it
/// is live, inside its bounds, of the current device, and that no queued work
/// may still run on it. `access` is 0 for a read, 1 for a write.
///
/// # Safety
/// `what` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsim_check_use(
    at: *const c_void,
    bytes: usize,
    access: c_int,
    what: *const c_char,
) -> c_int {
    // SAFETY: the caller's C string.
    let what = unsafe { CStr::from_ptr(what) }.to_string_lossy();
    api(
        "hipsim_check_use",
        || format!("{what} {at:p} {bytes}"),
        |s| {
            let used = Use {
                at: at as usize,
                bytes,
                write: access != 0,
            };
            let current = crate::streams::StreamId::null(s.current()?);
            s.check_kernel_use(&what, current, used)?;
            if s.host_race(&what, used) {
                Err(crate::abi::HipError::NOT_READY)
            } else {
                Ok(())
            }
        },
    )
}

/// Writes down a violation that another stand-in library found.
///
/// # Safety
/// `text` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipsim_violation(kind: c_int, text: *const c_char) {
    // SAFETY: the caller's C string.
    let text = unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned();
    let known = Kind::ALL.into_iter().find(|k| *k as c_int == kind);
    Locked::new().violation(known.unwrap_or(Kind::BadHandle), text);
}
