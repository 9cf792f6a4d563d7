//! Compiled kernels on disk, named by a hash of everything that went into them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io, process};

/// The directory: `GPU_SIM_JIT_CACHE`, else `migraphx-rs/gpu-sim-kernels` in the user's cache.
pub(crate) fn directory() -> PathBuf {
    let set = |name| {
        env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    set("GPU_SIM_JIT_CACHE").unwrap_or_else(|| {
        set("XDG_CACHE_HOME")
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
            .unwrap_or_else(env::temp_dir)
            .join("migraphx-rs")
            .join("gpu-sim-kernels")
    })
}

/// FNV-1a over parts, each with its length, so that moving text between parts changes the result.
pub(crate) fn hash<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> String {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
    let mut state: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut feed = |bytes: &[u8]| {
        for &byte in bytes {
            state = (state ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    };
    for part in parts {
        feed(&part.len().to_le_bytes());
        feed(part);
    }
    format!("{state:032x}")
}

/// A directory of its own below the cache for one build.
pub(crate) fn work_directory(key: &str) -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = directory().join(format!("build-{key}-{}-{number}", process::id()));
    fs::create_dir_all(&path)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn moving_text_between_parts_changes_the_hash() {
        assert_ne!(hash([&b"ab"[..], b"c"]), hash([&b"a"[..], b"bc"]));
        assert_eq!(hash([&b"ab"[..]]), hash([&b"ab"[..]]));
        assert_eq!(hash([]).len(), 32);
    }
}
