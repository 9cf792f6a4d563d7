//! `hipMemset` and its relatives.
//!
//! Read in: ROCm/clr rocm-6.2.2, `ihipMemset_validate`, `ihipMemset`: memory
//! HIP does not know, or too little of it, is hipErrorInvalidValue; on device
//! memory from its start even the synchronous call does not wait. A fill is a
//! kernel, so it reaches only memory that a kernel reaches.

use crate::abi::{Handle, HipError, HipResult};
use crate::checks::{Kind, Use};
use crate::state::{Locked, api};
use crate::streams::StreamId;
use crate::work::Work;
use std::ffi::{c_int, c_void};

fn fill(
    s: &mut Locked,
    what: &str,
    at: usize,
    value: [u8; 4],
    size: usize,
    count: usize,
    stream: StreamId,
    synchronous: bool,
) -> HipResult {
    let bytes = size.checked_mul(count).ok_or(HipError::INVALID_VALUE)?;
    if bytes == 0 {
        return Ok(());
    }
    if at == 0 {
        return Err(HipError::INVALID_VALUE);
    }
    let Some(base) = s.check_range(what, at, bytes)? else {
        s.violation(
            Kind::CopyKind,
            format!("{what}: {at:#x} is pageable host memory"),
        );
        return Err(HipError::INVALID_VALUE);
    };
    let used = Use {
        at,
        bytes,
        write: true,
    };
    s.check_kernel_use(what, stream, used)?;
    let device = s.streams[&stream].device;
    s.devices[device].counters.fills += 1;
    s.submit(
        stream,
        what,
        Work::Fill {
            at,
            value,
            size,
            count,
        },
        &[used],
    )?;
    let waits = synchronous && !(at == base && s.memory.live[&base].place.on_device());
    if waits {
        s.finish(stream);
        return s.take_error(stream);
    }
    Ok(())
}

fn call(
    name: &'static str,
    at: *mut c_void,
    value: [u8; 4],
    size: usize,
    count: usize,
    stream: Option<Handle>,
) -> c_int {
    let shown = stream.unwrap_or(std::ptr::null_mut());
    api(
        name,
        || format!("{at:p} {value:?} {size}x{count} stream={shown:p}"),
        |s| {
            let id = match stream {
                Some(stream) => s.stream_of(name, stream)?,
                None => StreamId::null(s.current()?),
            };
            fill(
                s,
                name,
                at as usize,
                value,
                size,
                count,
                id,
                stream.is_none(),
            )
        },
    )
}

macro_rules! fills {
    ($($name:ident($value:ty, $size:literal; $($stream:ident)?);)*) => {$(
        /// HIP's function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(at: *mut c_void, value: $value, count: usize $(, $stream: Handle)?) -> c_int {
            #[allow(unused_mut, unused_assignments)]
            let mut on: Option<Handle> = None;
            $(on = Some($stream);)?
            let mut bytes = [0; 4];
            let from = value.to_ne_bytes();
            bytes[..from.len()].copy_from_slice(&from);
            call(stringify!($name), at, bytes, $size, count, on)
        }
    )*};
}

fills! {
    hipMemset(c_int, 1;);
    hipMemsetAsync(c_int, 1; stream);
    hipMemsetD8(u8, 1;);
    hipMemsetD8Async(u8, 1; stream);
    hipMemsetD16(u16, 2;);
    hipMemsetD16Async(u16, 2; stream);
    hipMemsetD32(c_int, 4;);
    hipMemsetD32Async(c_int, 4; stream);
}
