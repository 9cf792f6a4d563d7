//! Code objects: what hipModuleLoadData is given.
//!
//! - An x86-64 shared object holds MIGraphX's kernels built for the host (see
//!   ../../hiprtc). It exports `hipsim_arch` (a C string: the architecture it
//!   plays), the kernels, and `hipsim_run`, which runs one of them over a grid.
//! - `GPU-SIM-KERNELS:<arch>:<anything>` and a NUL: names only. Every launch is
//!   checked and computes nothing.
//! - A real AMD code object: its architecture and names are checked, launches
//!   compute nothing.
//! - Offload bundles (the precompiled kernels of a HIP program) are refused:
//!   nothing here could run them.

use crate::abi::HipError;
use gpu_sim_card::architectures::architecture;
use std::ffi::{CStr, CString, c_void};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// `hipsim_run(kernel, global, local, arguments, bytes)`
pub type RunKernel = unsafe extern "C" fn(*mut c_void, *const u32, *const u32, *mut c_void, usize);

/// What a module holds.
#[derive(Debug)]
pub enum Code {
    /// A library of host kernels: its handle, and what runs them.
    Host(usize, RunKernel),
    /// An AMD code object's kernel names.
    Amd(Vec<String>),
    /// Any name.
    Names,
}

const NAMES_MARK: &[u8] = b"GPU-SIM-KERNELS:";
const ELF_HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
const EM_X86_64: u16 = 62;
const EM_AMDGPU: u16 = 224;

/// Reads a code object for a device of architecture `arch` (no features).
///
/// # Safety
/// `image` points to a whole code object, as hipModuleLoadData asks for: its
/// size is told by its own headers only.
pub unsafe fn read(image: *const u8, arch: &str) -> Result<Code, HipError> {
    let starts = |mark: &[u8]| {
        mark.iter().enumerate().all(|(i, byte)| {
            // SAFETY: a whole code object is longer than any mark compared
            // here, up to the first byte that differs.
            let found = unsafe { *image.add(i) };
            found == *byte
        })
    };
    if starts(NAMES_MARK) {
        // SAFETY: this form ends with a NUL.
        let text = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy();
        let fits = text.split(':').nth(1) == Some(arch);
        return if fits {
            Ok(Code::Names)
        } else {
            Err(HipError::NO_BINARY)
        };
    }
    if !starts(b"\x7fELF\x02") {
        return Err(HipError::INVALID_IMAGE);
    }
    // SAFETY: an ELF file has its header, which says how long the file is:
    // the table of sections is its last part.
    let image = unsafe {
        let header = Elf(std::slice::from_raw_parts(image, ELF_HEADER));
        let end = header.number(40, 8) + header.number(60, 2) * header.number(58, 2);
        std::slice::from_raw_parts(image, end)
    };
    match Elf(image).number(18, 2) as u16 {
        EM_X86_64 => host_library(image, arch),
        EM_AMDGPU => {
            let machine = Elf(image).number(48, 4) as u32 & 0xff;
            let known = architecture(arch).machine;
            if known.is_some_and(|known| known != machine) {
                return Err(HipError::NO_BINARY);
            }
            Elf(image)
                .symbols()
                .map(Code::Amd)
                .ok_or(HipError::INVALID_IMAGE)
        }
        _ => Err(HipError::INVALID_IMAGE),
    }
}

/// Loads kernels built for the host. Each load gets a file of its own: the
/// loader knows libraries by name and inode, and every module needs its own
/// variables. It is never unloaded, since it may have threads.
fn host_library(image: &[u8], arch: &str) -> Result<Code, HipError> {
    static LOADS: AtomicU64 = AtomicU64::new(0);
    let number = LOADS.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("gpu-sim-{}-{number}.so", std::process::id()));
    let write = || -> std::io::Result<()> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o700)
            .open(&path)?
            .write_all(image)
    };
    let written = write().map_err(|error| {
        eprintln!("gpu-sim: cannot write {}: {error}", path.display());
        HipError::INVALID_IMAGE
    });
    let name =
        CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| HipError::INVALID_IMAGE);
    let loaded = written.and(name).and_then(|name| {
        // SAFETY: a path with its NUL. Loading runs the initialisers of code
        // that the caller's own compiler made.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            // SAFETY: dlerror gives a text after a failure.
            let text = unsafe { CStr::from_ptr(libc::dlerror()) };
            eprintln!("gpu-sim: cannot load a kernel: {}", text.to_string_lossy());
            return Err(HipError::INVALID_IMAGE);
        }
        Ok(library as usize)
    });
    let _ = std::fs::remove_file(&path);
    let library = loaded?;
    let made_for = symbol(library, c"hipsim_arch").ok_or(HipError::INVALID_IMAGE)?;
    // SAFETY: `hipsim_arch` is a C string by the agreement above.
    let made_for = unsafe { CStr::from_ptr(made_for as *const _) };
    if made_for.to_bytes() != arch.as_bytes() {
        return Err(HipError::NO_BINARY);
    }
    let run = symbol(library, c"hipsim_run").ok_or(HipError::INVALID_IMAGE)?;
    // SAFETY: `hipsim_run` has this type by the agreement above.
    let run = unsafe { std::mem::transmute::<usize, RunKernel>(run) };
    Ok(Code::Host(library, run))
}

/// The address of a symbol of a loaded library.
pub fn symbol(library: usize, name: &CStr) -> Option<usize> {
    // SAFETY: a handle dlopen gave, never closed, and a name with its NUL.
    let at = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) };
    (!at.is_null()).then_some(at as usize)
}

/// An ELF file.
struct Elf<'a>(&'a [u8]);

impl Elf<'_> {
    /// A little-endian number.
    fn number(&self, at: usize, bytes: usize) -> usize {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&self.0[at..at + bytes]);
        u64::from_le_bytes(value) as usize
    }

    /// The names of all symbols, `.kd` (kernel descriptor) taken off.
    fn symbols(&self) -> Option<Vec<String>> {
        let (table, count) = (self.number(40, 8), self.number(60, 2));
        let section = |i: usize| table + i * SECTION_HEADER;
        let (offset, size) = (
            |at: usize| self.number(at + 24, 8),
            |at: usize| self.number(at + 32, 8),
        );
        let mut names = Vec::new();
        for at in (0..count).map(section) {
            if !matches!(self.number(at + 4, 4), 2 | 11) {
                continue; // neither SHT_SYMTAB nor SHT_DYNSYM
            }
            let texts = offset(section(self.number(at + 40, 4)));
            for entry in (offset(at)..offset(at) + size(at)).step_by(SYMBOL) {
                let start = texts + self.number(entry, 4);
                let text = self.0.get(start..)?.split(|byte| *byte == 0).next()?;
                let name = String::from_utf8_lossy(text);
                names.push(name.strip_suffix(".kd").unwrap_or(&name).to_owned());
            }
        }
        Some(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_kernels_are_for_one_architecture() {
        let image = b"GPU-SIM-KERNELS:gfx906:abc\0";
        // SAFETY: whole images of the named form, and one that is no code object.
        unsafe {
            assert!(matches!(read(image.as_ptr(), "gfx906"), Ok(Code::Names)));
            assert_eq!(
                read(image.as_ptr(), "gfx90a").unwrap_err(),
                HipError::NO_BINARY
            );
            assert_eq!(
                read(b"__CLANG_OFFLOAD_BUNDLE__".as_ptr(), "gfx906").unwrap_err(),
                HipError::INVALID_IMAGE
            );
        }
    }
}
