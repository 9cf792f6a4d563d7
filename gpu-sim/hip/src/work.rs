//! What an operation in a stream does when its turn comes.

use crate::abi::{Handle, HipError, HipResult};
use crate::allocations::Found;
use crate::engines::Engine;
use crate::modules::Function;
use crate::queue::Operation;
use crate::state::Locked;
use crate::streams::StreamId;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Host work of a stand-in library (a matrix product, a convolution), with its
/// data; the data is dropped once, whether the work ran or not.
pub struct HostWork {
    /// Does it.
    pub run: unsafe extern "C" fn(*mut c_void),
    /// Frees the data, if anything has to.
    pub drop: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Given to both.
    pub data: usize,
}

impl Drop for HostWork {
    fn drop(&mut self) {
        if let Some(drop) = self.drop {
            // SAFETY: the caller of hipsim_enqueue gave both, to be called once.
            unsafe { drop(self.data as *mut c_void) };
        }
    }
}

/// One operation.
#[allow(missing_docs)] // the fields are the words of the line above them
pub enum Work {
    /// `rows` rows of `bytes`, with their pitches; a plain copy is one row.
    Copy {
        engine: Engine,
        to: usize,
        from: usize,
        bytes: usize,
        rows: usize,
        to_pitch: usize,
        from_pitch: usize,
    },
    /// `count` elements of the first `size` bytes of `value`.
    Fill {
        at: usize,
        value: [u8; 4],
        size: usize,
        count: usize,
    },
    /// A kernel with its argument block.
    Kernel {
        function: Arc<Function>,
        arguments: Vec<u8>,
        global: [u32; 3],
        local: [u32; 3],
    },
    /// Host work of a stand-in library.
    Host(HostWork),
    /// `hipLaunchHostFunc`
    HostFunction {
        function: unsafe extern "C" fn(*mut c_void),
        data: usize,
    },
    /// `hipStreamAddCallback`
    Callback {
        function: unsafe extern "C" fn(Handle, c_int, *mut c_void),
        stream: usize,
        data: usize,
    },
    /// Marks an event's recording as done.
    Record { event: usize, recording: u64 },
    /// Waits for an operation of another stream.
    Wait { stream: StreamId, operation: u64 },
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Copy { .. } => "copy",
            Self::Fill { .. } => "fill",
            Self::Kernel { .. } => "kernel",
            Self::Host(_) => "host work",
            Self::HostFunction { .. } => "host function",
            Self::Callback { .. } => "callback",
            Self::Record { .. } => "record",
            Self::Wait { .. } => "wait",
        })
    }
}

impl Locked {
    /// Runs an operation; the lock is let go while it works.
    pub fn perform(&mut self, stream: StreamId, operation: Operation) -> HipResult {
        let name = operation.name;
        let computes = self.options.compute;
        match operation.work {
            Work::Copy {
                engine: _,
                to,
                from,
                bytes,
                rows,
                to_pitch,
                from_pitch,
            } => {
                let span = |pitch: usize| pitch * (rows - 1) + bytes;
                let mut held = Held::default();
                let result = (|| {
                    let to = self.hold(&name, to, span(to_pitch), &mut held)?;
                    Ok((to, self.hold(&name, from, span(from_pitch), &mut held)?))
                })();
                if let Ok((to, from)) = result {
                    self.unlocked(|| {
                        for row in 0..rows {
                            let (to, from) = (to + row * to_pitch, from + row * from_pitch);
                            // SAFETY: both ranges were checked and are held; pageable host
                            // memory is the caller's word, as in HIP. `copy` allows overlap.
                            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
                        }
                    });
                }
                self.release(held);
                result.map(drop)
            }
            Work::Fill {
                at,
                value,
                size,
                count,
            } => {
                let mut held = Held::default();
                let result = self.hold(&name, at, size * count, &mut held);
                if let Ok(at) = result {
                    // SAFETY: checked and held; nothing else of this process has a
                    // reference into memory behind a device address.
                    let bytes =
                        unsafe { std::slice::from_raw_parts_mut(at as *mut u8, size * count) };
                    self.unlocked(|| {
                        bytes
                            .chunks_exact_mut(size)
                            .for_each(|chunk| chunk.copy_from_slice(&value[..size]))
                    });
                }
                self.release(held);
                result.map(drop)
            }
            Work::Kernel {
                function,
                mut arguments,
                global,
                local,
            } => {
                let Some(code) = function.code else {
                    return Ok(());
                };
                let mut held = Held::default();
                let result = self.translate(&name, &mut arguments, &mut held);
                if result.is_ok() && computes {
                    self.unlocked(|| code.run(&function, &mut arguments, global, local));
                }
                self.release(held);
                result
            }
            Work::Host(work) => {
                self.unlocked(move || {
                    if computes {
                        // SAFETY: the caller of hipsim_enqueue gave both for this.
                        unsafe { (work.run)(work.data as *mut c_void) };
                    }
                    drop(work);
                });
                Ok(())
            }
            Work::HostFunction { function, data } => {
                // SAFETY: the caller of hipLaunchHostFunc gave both for this.
                self.unlocked(|| unsafe { function(data as *mut c_void) });
                Ok(())
            }
            Work::Callback {
                function,
                stream,
                data,
            } => {
                // SAFETY: the caller of hipStreamAddCallback gave both for this.
                self.unlocked(|| unsafe { function(stream as Handle, 0, data as *mut c_void) });
                Ok(())
            }
            Work::Record { event, recording } => {
                self.event_happened(event, recording);
                Ok(())
            }
            Work::Wait {
                stream: other,
                operation,
            } => {
                debug_assert_ne!(other, stream);
                self.run_until(other, operation);
                Ok(())
            }
        }
    }

    /// Checks a range again, keeps its allocation from being freed, and gives
    /// the address of its bytes.
    fn hold(&mut self, what: &str, at: usize, bytes: usize, held: &mut Held) -> HipResult<usize> {
        let base = self
            .check_range(what, at, bytes)
            .map_err(|_| HipError::ILLEGAL_ADDRESS)?;
        if let Some(allocation) = base.and_then(|base| self.memory.live.get_mut(&base)) {
            allocation.running += 1;
            held.0.extend(base);
        }
        Ok(self.memory.host_address(at))
    }

    /// Replaces each aligned 8-byte word of a kernel's arguments that points
    /// into memory of HIP by the address of its bytes. All of MIGraphX's kernel
    /// arguments are pointers; a number that looks like one of our addresses
    /// (above 2^44) would be mistaken.
    fn translate(&mut self, what: &str, arguments: &mut [u8], held: &mut Held) -> HipResult {
        for word in arguments.chunks_exact_mut(8) {
            let value = usize::from_ne_bytes(word.try_into().expect("eight bytes"));
            if !matches!(self.memory.find(value), Found::Nothing) {
                let host = self.hold(what, value, 1, held)?;
                word.copy_from_slice(&host.to_ne_bytes());
            }
        }
        Ok(())
    }

    fn release(&mut self, held: Held) {
        for base in held.0 {
            if let Some(allocation) = self.memory.live.get_mut(&base) {
                allocation.running -= 1;
            }
        }
        self.changed();
    }
}

/// Allocations that an operation works on.
#[derive(Default)]
struct Held(Vec<usize>);
