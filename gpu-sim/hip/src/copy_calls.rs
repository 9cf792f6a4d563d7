//! HIP's copy functions; what they do is in [`crate::copies`].

use crate::abi::{Handle, HipError, HipResult};
use crate::checks::Kind;
use crate::copies::Copy;
use crate::state::{Locked, api};
use crate::streams::StreamId;
use std::ffi::{c_int, c_void};

/// A copy in the current device's null stream, or in the caller's.
fn call(
    name: &'static str,
    copy: Copy,
    kind: c_int,
    stream: Option<Handle>,
    synchronous: bool,
) -> c_int {
    let arguments = || {
        let Copy {
            to,
            from,
            bytes,
            rows,
            ..
        } = copy;
        format!(
            "to={to:#x} from={from:#x} {bytes}x{rows} kind={kind} stream={:p}",
            stream.unwrap_or(std::ptr::null_mut())
        )
    };
    api(name, arguments, |s| {
        let id = match stream {
            Some(stream) => s.stream_of(name, stream)?,
            None => StreamId::null(s.current()?),
        };
        s.copy(name, copy, kind, id, synchronous)
    })
}

macro_rules! flat {
    ($($name:ident($($kind:ident)?; $($stream:ident)?) $raw:expr, $synchronous:literal;)*) => {$(
        /// HIP's function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(to: *mut c_void, from: *const c_void, bytes: usize $(, $kind: c_int)? $(, $stream: Handle)?) -> c_int {
            #[allow(unused_mut, unused_assignments)]
            let mut on: Option<Handle> = None;
            $(on = Some($stream);)?
            #[allow(unused_variables)]
            let fixed: c_int = $raw;
            $(let fixed = $kind;)?
            call(stringify!($name), Copy::flat(to, from, bytes), fixed, on, $synchronous)
        }
    )*};
}

flat! {
    hipMemcpy(kind;) 4, true;
    hipMemcpyWithStream(kind; stream) 4, true;
    hipMemcpyAsync(kind; stream) 4, false;
    hipMemcpyHtoD(;) 1, true;
    hipMemcpyDtoH(;) 2, true;
    hipMemcpyDtoD(;) 3, true;
    hipMemcpyHtoDAsync(; stream) 1, false;
    hipMemcpyDtoHAsync(; stream) 2, false;
    hipMemcpyDtoDAsync(; stream) 3, false;
}

/// clr `hipMemcpyPeer`: device numbers that do not exist are
/// hipErrorInvalidDevice. That the memory is theirs is this library's check.
fn check_peers(s: &mut Locked, what: &str, ends: [(usize, c_int); 2]) -> HipResult {
    for (at, told) in ends {
        let told = s.device_index(told)?;
        let owner = s.memory.at(at).map(|(_, a)| a.device);
        if let Some(owner) = owner.filter(|owner| *owner != told) {
            s.violation(
                Kind::WrongDevice,
                format!(
                    "{what}: {at:#x} is memory of device {owner}, called memory of device {told}"
                ),
            );
            if s.options.strict {
                return Err(HipError::INVALID_VALUE);
            }
        }
    }
    Ok(())
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyPeer(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    bytes: usize,
) -> c_int {
    api(
        "hipMemcpyPeer",
        || format!("to={to:p}({to_device}) from={from:p}({from_device}) {bytes}"),
        |s| {
            check_peers(
                s,
                "hipMemcpyPeer",
                [(to as usize, to_device), (from as usize, from_device)],
            )?;
            let id = StreamId::null(s.current()?);
            s.copy("hipMemcpyPeer", Copy::flat(to, from, bytes), 3, id, true)
        },
    )
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpyPeerAsync(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    bytes: usize,
    stream: Handle,
) -> c_int {
    api(
        "hipMemcpyPeerAsync",
        || format!("to={to:p}({to_device}) from={from:p}({from_device}) {bytes} stream={stream:p}"),
        |s| {
            check_peers(
                s,
                "hipMemcpyPeerAsync",
                [(to as usize, to_device), (from as usize, from_device)],
            )?;
            let id = s.stream_of("hipMemcpyPeerAsync", stream)?;
            s.copy(
                "hipMemcpyPeerAsync",
                Copy::flat(to, from, bytes),
                3,
                id,
                false,
            )
        },
    )
}

/// Rows of `bytes`; a pitch below that is hipErrorInvalidPitchValue.
fn rows(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    bytes: usize,
    rows: usize,
) -> Option<Copy> {
    let copy = Copy {
        to: to as usize,
        from: from as usize,
        bytes,
        rows,
        to_pitch,
        from_pitch,
    };
    (bytes <= to_pitch && bytes <= from_pitch).then_some(copy)
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpy2D(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> c_int {
    match rows(to, to_pitch, from, from_pitch, width, height) {
        Some(copy) => call("hipMemcpy2D", copy, kind, None, true),
        None => api(
            "hipMemcpy2D",
            || "bad pitch".into(),
            |_| Err(HipError::INVALID_PITCH),
        ),
    }
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipMemcpy2DAsync(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
    stream: Handle,
) -> c_int {
    match rows(to, to_pitch, from, from_pitch, width, height) {
        Some(copy) => call("hipMemcpy2DAsync", copy, kind, Some(stream), false),
        None => api(
            "hipMemcpy2DAsync",
            || "bad pitch".into(),
            |_| Err(HipError::INVALID_PITCH),
        ),
    }
}
