//! What the HIP stand-in that MIGraphX has loaded tells of itself.

use std::ffi::{CStr, c_char, c_int};

pub type Outcome<T> = Result<T, String>;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty,)*) => {
        /// Functions of the HIP stand-in.
        pub struct Hip {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Hip {
            /// Of the library that MIGraphX's gpu target has loaded: make the target first.
            pub fn loaded() -> Outcome<Self> {
                use libloading::os::unix::{Library, RTLD_NOW};
                const RTLD_NOLOAD: c_int = 4;
                let open = || {
                    // SAFETY: with RTLD_NOLOAD no code is loaded or run; the types are those of
                    // the stand-in's control.rs.
                    unsafe {
                        let library = Library::open(Some("libamdhip64.so.6"), RTLD_NOW | RTLD_NOLOAD)?;
                        let hip = Hip { $($name: *library.get(stringify!($name).as_bytes())?),* };
                        // Never unloaded: MIGraphX uses it to the end of the process.
                        std::mem::forget(library);
                        Ok::<_, libloading::Error>(hip)
                    }
                };
                open().map_err(|e| format!("libamdhip64.so.6 as loaded by MIGraphX: {e}"))
            }
        }
    };
}
functions! {
    hipsim_violations: fn(c_int) -> u64,
    hipsim_violation_text: fn(usize, *mut c_char, usize) -> c_int,
    hipsim_check_leaks: fn(c_int) -> usize,
    hipsim_live: fn(c_int) -> usize,
}

impl Hip {
    /// What the stand-in has found so far, as text.
    pub fn violations(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let mut text: [c_char; 1024] = [0; 1024];
        // SAFETY: the buffer has the length given; the text ends with a NUL.
        while unsafe { (self.hipsim_violation_text)(texts.len(), text.as_mut_ptr(), text.len()) }
            == 1
        {
            // SAFETY: as above.
            let found = unsafe { CStr::from_ptr(text.as_ptr()) };
            texts.push(found.to_string_lossy().into_owned());
        }
        // SAFETY: takes any number; 0 counts all kinds.
        let count = unsafe { (self.hipsim_violations)(0) };
        if count > texts.len() as u64 {
            texts.push(format!("{count} violations in all"));
        }
        texts
    }

    /// For the end, when all is dropped: no violation was found, and nothing is left on any device.
    pub fn clean(&self) -> Outcome<()> {
        // SAFETY: takes any number; -1 means all devices.
        let (live, leaks) = unsafe { ((self.hipsim_live)(-1), (self.hipsim_check_leaks)(-1)) };
        // Leaks are among the violations from here on.
        let mut texts = self.violations();
        if texts.is_empty() && live + leaks == 0 {
            return Ok(());
        }
        let more = texts.len().saturating_sub(8);
        texts.truncate(8);
        Err(format!(
            "{live} live allocations, {leaks} leaks; {}{}",
            texts.join("; "),
            match more {
                0 => String::new(),
                n => format!("; {n} more"),
            }
        ))
    }
}
