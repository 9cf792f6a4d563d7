//! Says what happened when the host touches device memory: without this the
//! program under test ends with a bare "segmentation fault".

use crate::pages::{FIRST_RANGE, RANGE};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// What was in place before us.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Puts our handler before the one that is there.
pub fn install() {
    // SAFETY: all zero is a valid sigaction, the calls get structures of ours,
    // and the handler only does what a signal handler may.
    unsafe {
        let mut before = MaybeUninit::zeroed();
        if libc::sigaction(libc::SIGSEGV, std::ptr::null(), before.as_mut_ptr()) != 0 {
            return;
        }
        if BEFORE.set(before.assume_init()).is_err() {
            return;
        }
        let mut ours: libc::sigaction = MaybeUninit::zeroed().assume_init();
        ours.sa_sigaction =
            on_fault as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGSEGV, &ours, std::ptr::null_mut());
    }
}

/// Writes a line if the address is one of ours, and puts the earlier handler
/// back: the instruction runs again and that handler has its turn.
extern "C" fn on_fault(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel gives a valid siginfo; `BEFORE` was set before this
    // handler was; sigaction and write may be called in a signal handler.
    unsafe {
        let at = (*info).si_addr() as usize;
        if let Some(range) = at.checked_sub(FIRST_RANGE).map(|offset| offset / RANGE)
            && range <= crate::options::MAX_DEVICES
        {
            let mut line = Line::default();
            line.text(b"gpu-sim: the host touched ");
            if range == crate::options::MAX_DEVICES {
                line.text(b"pinned memory that was freed");
            } else {
                line.text(b"memory of device ");
                line.number(range, 10);
            }
            line.text(b", address 0x");
            line.number(at, 16);
            line.text(b" (only copies and kernels may; GPU_SIM_HOST_ACCESS=1 allows it)\n");
            libc::write(2, line.bytes.as_ptr().cast(), line.used);
        }
        if let Some(before) = BEFORE.get() {
            libc::sigaction(libc::SIGSEGV, before, std::ptr::null_mut());
        }
    }
}

/// A line put together without allocating.
struct Line {
    bytes: [u8; 200],
    used: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            bytes: [0; 200],
            used: 0,
        }
    }
}

impl Line {
    fn text(&mut self, text: &[u8]) {
        for byte in text {
            if self.used < self.bytes.len() {
                self.bytes[self.used] = *byte;
                self.used += 1;
            }
        }
    }

    fn number(&mut self, number: usize, base: usize) {
        let mut weight = 1;
        while number / weight >= base {
            weight *= base;
        }
        while weight > 0 {
            self.text(&[b"0123456789abcdef"[number / weight % base]]);
            weight /= base;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_line() {
        let mut line = Line::default();
        line.number(0, 10);
        line.text(b" ");
        line.number(0x1000_0000_2000, 16);
        assert_eq!(&line.bytes[..line.used], b"0 100000002000");
    }
}
