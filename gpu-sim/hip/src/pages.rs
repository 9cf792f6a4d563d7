//! Address space: where device memory lies, and the bytes behind it.
//!
//! Each device has a range of addresses that nothing else uses, reserved in
//! one piece and unreadable. An allocation takes the next addresses of the
//! range and they are never given out again, so a stale pointer is always
//! recognised and never reaches other data. Unless `GPU_SIM_HOST_ACCESS=1`,
//! the addresses stay unreadable: the bytes lie elsewhere ("behind"), and only
//! the copies and kernels of this library know where. A stray access of the
//! host is a SIGSEGV at once, also while a kernel runs.

use std::ffi::c_void;
use std::io;
use std::ptr;

/// The unit of protection.
pub const PAGE: usize = 4096;

/// Between the heap and the usual places of libraries on x86-64.
pub const FIRST_RANGE: usize = 0x1000_0000_0000;
/// 1 TiB a range: 64 devices and the pinned memory fit below 0x5200_0000_0000.
pub const RANGE: usize = 1 << 40;

/// One range of addresses, handed out from the bottom.
#[derive(Debug)]
pub struct Range {
    start: usize,
    next: usize,
    reserved: bool,
}

impl Range {
    /// The n-th range of the process.
    pub fn new(index: usize) -> Self {
        let start = FIRST_RANGE + index * RANGE;
        Self {
            start,
            next: start,
            reserved: false,
        }
    }

    /// Takes addresses for so many bytes, an unreadable page after them.
    pub fn take(&mut self, bytes: usize) -> io::Result<usize> {
        if !self.reserved {
            let flags = libc::MAP_FIXED_NOREPLACE;
            map(self.start as *mut c_void, RANGE, libc::PROT_NONE, flags)?;
            self.reserved = true;
        }
        let at = self.next;
        let end = at
            .checked_add(round_up(bytes) + PAGE)
            .filter(|end| *end <= self.start + RANGE);
        self.next =
            end.ok_or_else(|| io::Error::other("the addresses of the device are used up"))?;
        Ok(at)
    }
}

/// The bytes behind an allocation.
#[derive(Debug)]
pub struct Backing {
    /// Where they are.
    pub at: usize,
    mapped: usize,
    /// Mapped apart from the allocation's own addresses.
    apart: bool,
}

/// What the bytes after the end of an allocation, up to the page's end, hold.
const RED: u8 = 0xFD;

impl Backing {
    /// Bytes for `size` at the addresses `at`; readable there if `open`.
    pub fn new(at: usize, size: usize, open: bool) -> io::Result<Self> {
        let mapped = round_up(size);
        let write = libc::PROT_READ | libc::PROT_WRITE;
        let backing = if open {
            map(at as *mut c_void, mapped, write, libc::MAP_FIXED)?;
            Self {
                at,
                mapped,
                apart: false,
            }
        } else {
            // One page more, unreadable: a kernel that runs past it is stopped.
            let behind = map(ptr::null_mut(), mapped + PAGE, write, 0)?;
            protect(behind + mapped, PAGE)?;
            Self {
                at: behind,
                mapped,
                apart: true,
            }
        };
        // SAFETY: just mapped, writable, and the stretch ends with the mapping.
        unsafe { ptr::write_bytes((backing.at + size) as *mut u8, RED, mapped - size) };
        Ok(backing)
    }

    /// Whether nobody wrote after the end.
    pub fn red_zone_is_clean(&self, size: usize) -> bool {
        let len = self.mapped - size;
        // SAFETY: mapped and readable as long as `self` lives; a kernel that
        // writes there at this moment is the mistake being looked for.
        let zone = unsafe { std::slice::from_raw_parts((self.at + size) as *const u8, len) };
        zone.iter().all(|byte| *byte == RED)
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        if self.apart {
            // SAFETY: our own mapping, and nothing runs on it: a free waits.
            unsafe { libc::munmap(self.at as *mut c_void, self.mapped + PAGE) };
        } else {
            // The addresses stay reserved, unreadable, and empty.
            let _ = map(
                self.at as *mut c_void,
                self.mapped,
                libc::PROT_NONE,
                libc::MAP_FIXED,
            );
        }
    }
}

fn round_up(bytes: usize) -> usize {
    bytes.div_ceil(PAGE).max(1) * PAGE
}

fn map(at: *mut c_void, bytes: usize, protection: i32, flags: i32) -> io::Result<usize> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: `at` is null, or a range of ours (MAP_FIXED only inside a range
    // that MAP_FIXED_NOREPLACE got before): no foreign mapping is replaced.
    let got = unsafe { libc::mmap(at, bytes, protection, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(got as usize)
}

fn protect(at: usize, bytes: usize) -> io::Result<()> {
    // SAFETY: a stretch of our own mapping.
    match unsafe { libc::mprotect(at as *mut c_void, bytes, libc::PROT_NONE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
