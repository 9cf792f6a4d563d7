//! Streams and events.

use crate::cuda::{Handle, Status, runtime};
use std::ffi::c_uint;

/// HIP's further bits (fences at an event) have no like in CUDA.
const EVENT_FLAGS: c_uint = 7;

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamCreate(stream: *mut Handle) -> Status {
    // SAFETY: the caller's out pointer.
    runtime(|cuda| unsafe { (cuda.stream_create)(stream, 0) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamCreateWithFlags(stream: *mut Handle, flags: c_uint) -> Status {
    // SAFETY: the caller's out pointer.
    runtime(|cuda| unsafe { (cuda.stream_create)(stream, flags) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamDestroy(stream: Handle) -> Status {
    // SAFETY: a stream, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.stream_destroy)(stream) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamSynchronize(stream: Handle) -> Status {
    // SAFETY: a stream, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.stream_synchronize)(stream) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamQuery(stream: Handle) -> Status {
    // SAFETY: a stream, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.stream_query)(stream) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipStreamWaitEvent(
    stream: Handle,
    event: Handle,
    flags: c_uint,
) -> Status {
    // SAFETY: a stream and an event, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.stream_wait_event)(stream, event, flags) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventCreate(event: *mut Handle) -> Status {
    // SAFETY: the caller's out pointer.
    runtime(|cuda| unsafe { (cuda.event_create)(event, 0) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventCreateWithFlags(event: *mut Handle, flags: c_uint) -> Status {
    // SAFETY: the caller's out pointer.
    runtime(|cuda| unsafe { (cuda.event_create)(event, flags & EVENT_FLAGS) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventDestroy(event: Handle) -> Status {
    // SAFETY: an event, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.event_destroy)(event) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventRecord(event: Handle, stream: Handle) -> Status {
    // SAFETY: an event and a stream, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.event_record)(event, stream) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventSynchronize(event: Handle) -> Status {
    // SAFETY: an event, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.event_synchronize)(event) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventQuery(event: Handle) -> Status {
    // SAFETY: an event, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.event_query)(event) })
}

/// HIP's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hipEventElapsedTime(ms: *mut f32, start: Handle, stop: Handle) -> Status {
    // SAFETY: the caller's out pointer and events, as HIP asks for.
    runtime(|cuda| unsafe { (cuda.event_elapsed)(ms, start, stop) })
}
