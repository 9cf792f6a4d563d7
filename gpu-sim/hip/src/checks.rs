//! What a program must not do, how it is counted, and the checks of a pointer
//! that every operation shares.

use crate::abi::{HipError, HipResult};
use crate::allocations::{Found, Place};
pub use crate::kind::Kind;
use crate::state::State;
use crate::streams::StreamId;

/// One violation.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What kind.
    pub kind: Kind,
    /// The thread that made the call.
    pub thread: u64,
    /// Its current device.
    pub device: usize,
    /// What was found.
    pub text: String,
}

/// The list. Texts stop at [`Violations::KEPT`], counts go on.
#[derive(Debug, Default)]
pub struct Violations {
    kept: Vec<Violation>,
    counts: [u64; Kind::ALL.len()],
}

impl Violations {
    /// How many texts are kept.
    pub const KEPT: usize = 1000;

    /// Adds one.
    pub fn add(&mut self, kind: Kind, thread: u64, device: usize, text: String) {
        self.counts[kind as usize - 1] += 1;
        if self.kept.len() < Self::KEPT {
            self.kept.push(Violation {
                kind,
                thread,
                device,
                text,
            });
        }
    }

    /// How many of a kind; `None` counts all.
    pub fn count(&self, kind: Option<Kind>) -> u64 {
        match kind {
            Some(kind) => self.counts[kind as usize - 1],
            None => self.counts.iter().sum(),
        }
    }

    /// Those whose text was kept.
    pub fn list(&self) -> &[Violation] {
        &self.kept
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A stretch of memory that an operation touches.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// Its start, as the program sees it.
    pub at: usize,
    /// Its length; 0 if unknown, as for the arguments of a kernel.
    pub bytes: usize,
    /// Whether it is written.
    pub write: bool,
}

impl Use {
    /// The end; something of unknown length is at least one byte.
    pub fn end(&self) -> usize {
        self.at + self.bytes.max(1)
    }
}

impl State {
    /// Whether `[at, at+bytes)` is inside live memory. Memory that HIP does not
    /// know gives `None`: it is the host's own.
    ///
    /// clr `ihipMemcpy_validate`: passing the end is hipErrorInvalidValue. What
    /// was freed is simply unknown to real HIP and taken for host memory there;
    /// addresses are never used again here, so it is recognised.
    pub fn check_range(&mut self, what: &str, at: usize, bytes: usize) -> HipResult<Option<usize>> {
        match self.memory.find(at) {
            Found::Nothing => Ok(None),
            Found::Live(base) => {
                let allocation = &self.memory.live[&base];
                let (number, size) = (allocation.number, allocation.size);
                if at - base + bytes > size {
                    let text = format!(
                        "{what}: {at:#x} + {bytes} passes the end of allocation {number} ({size} bytes at {base:#x})"
                    );
                    self.violation(Kind::OutOfBounds, text);
                    return Err(HipError::INVALID_VALUE);
                }
                Ok(Some(base))
            }
            Found::Freed(freed) => {
                let text = format!(
                    "{what}: {at:#x} is in allocation {} of device {} ({} bytes), which was freed",
                    freed.number, freed.device, freed.size
                );
                self.violation(Kind::UseAfterFree, text);
                Err(HipError::INVALID_VALUE)
            }
        }
    }

    /// The checks of a kernel's view of memory: known to HIP, live, inside its
    /// bounds, and on the stream's device or a peer it may reach.
    ///
    /// On hardware each of these is a memory fault that ends the process; here
    /// the launch answers hipErrorIllegalAddress.
    pub fn check_kernel_use(&mut self, what: &str, stream: StreamId, used: Use) -> HipResult {
        let illegal = HipError::ILLEGAL_ADDRESS;
        let Some(base) = self
            .check_range(what, used.at, used.bytes)
            .map_err(|_| illegal)?
        else {
            self.violation(
                Kind::WrongDevice,
                format!(
                    "{what}: {:#x} is host memory that no device can reach",
                    used.at
                ),
            );
            return Err(illegal);
        };
        let device = self.streams[&stream].device;
        let allocation = &self.memory.live[&base];
        if allocation.place == Place::Device && !self.devices[device].reaches(allocation.device) {
            let text = format!(
                "{what} runs on device {device}, {:#x} is memory of device {}",
                used.at, allocation.device
            );
            self.violation(Kind::WrongDevice, text);
            return Err(illegal);
        }
        Ok(())
    }
}
