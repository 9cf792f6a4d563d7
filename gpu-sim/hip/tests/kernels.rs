//! Kernels built for the host: they get the bytes behind device pointers, each
//! module has variables of its own, and code for another device is refused.

mod common;
use common::*;
use gpu_sim_hip::checks::Kind::*;
use gpu_sim_hip::devices::*;
use gpu_sim_hip::modules::*;
use std::ffi::c_void;
use std::path::Path;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// `count` adds one to each byte of 64, and to the module's own counter, which
/// it writes to the second argument. `past` writes one byte too many.
const SOURCE: &str = r#"
#include <stddef.h>
__attribute__((visibility("default"))) const char hipsim_arch[] = "gfx90a";
static unsigned char calls;
void count(unsigned n, void** a) {
    unsigned char *x = a[0], *y = a[1];
    for(unsigned i = 0; i < n; i++) x[i]++;
    *y = ++calls;
}
void past(unsigned n, void** a) { ((unsigned char*)a[0])[n] = 1; }
void hipsim_run(void* kernel, const unsigned* global, const unsigned* local, void* arguments, size_t bytes) {
    (void)local; (void)bytes;
    ((void (*)(unsigned, void**))kernel)(global[0], arguments);
}
"#;

/// The library as bytes, built once.
fn image() -> &'static [u8] {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (source, library) = (folder.join("kernels.c"), folder.join("kernels.so"));
        std::fs::write(&source, SOURCE).unwrap();
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        let status = cc
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source)
            .status();
        assert!(status.unwrap().success());
        std::fs::read(library).unwrap()
    })
}

fn load(image: &[u8]) -> Result<*mut c_void, i32> {
    let mut module = null_mut();
    // SAFETY: a whole image, an out pointer of ours.
    match unsafe { hipModuleLoadData(&mut module, image.as_ptr().cast()) } {
        0 => Ok(module),
        error => Err(error),
    }
}

fn function(module: *mut c_void, name: &std::ffi::CStr) -> Result<*mut c_void, i32> {
    let mut found = null_mut();
    // SAFETY: a C string, an out pointer of ours.
    match unsafe { hipModuleGetFunction(&mut found, module, name.as_ptr()) } {
        0 => Ok(found),
        error => Err(error),
    }
}

fn unload(module: *mut c_void) {
    // SAFETY: a module of ours.
    ok(unsafe { hipModuleUnload(module) });
}

#[test]
fn values_and_variables() {
    both(|deferred| {
        let (x, y, host, queue) = (malloc(64), malloc(1), pinned(64, 5), stream());
        let (one, two) = (load(image()).unwrap(), load(image()).unwrap());
        ok(copy_async(x, host.as_ptr().cast(), 64, H2D, queue));
        for (module, calls) in [(one, 3), (two, 1)] {
            let count = function(module, c"count").unwrap();
            for _ in 0..calls {
                ok(launch(count, queue, &[x, y]));
            }
            let mut answer = [0u8];
            // Pageable: waits.
            ok(copy_async(answer.as_mut_ptr().cast(), y, 1, D2H, queue));
            assert_eq!(answer[0], calls, "variables are the module's own");
        }
        ok(copy_async(host.as_mut_ptr().cast(), x, 64, D2H, queue));
        assert_eq!(host[0], if deferred { 5 } else { 9 });
        ok(synchronize(queue));
        assert!(host.iter().all(|byte| *byte == 9), "{host:?}");
        assert_found(&[]);
        unload(one);
        unload(two);
        ok(free(x));
        ok(free(y));
        unpin(host);
        destroy(queue);
    });
}

#[test]
fn a_kernel_that_writes_past_the_end() {
    both(|_| {
        let x = malloc(64);
        let module = load(image()).unwrap();
        ok(launch(function(module, c"past").unwrap(), null_mut(), &[x]));
        ok(free(x));
        assert_found(&[(OutOfBounds, 1)]);
        unload(module);
    });
}

#[test]
fn code_that_does_not_fit() {
    let _guard = start(false);
    let mut other = image().to_vec();
    let at = other
        .windows(7)
        .position(|bytes| bytes == b"gfx90a\0")
        .unwrap();
    other[at..at + 6].copy_from_slice(b"gfx942");
    assert_eq!(load(&other), Err(209));
    assert_eq!(load(b"GPU-SIM-KERNELS:gfx942:x\0"), Err(209));
    assert_eq!(load(&[0; 128]), Err(200));
    assert_eq!(load(b"__CLANG_OFFLOAD_BUNDLE__\0"), Err(200));
    let module = load(image()).unwrap();
    assert_eq!(function(module, c"missing"), Err(500));
    unload(module);
    assert_eq!(function(module, c"count"), Err(400));
}

/// The head of an AMD code object: right and wrong architecture.
#[test]
fn amd_code_objects() {
    let _guard = start(false);
    let mut image = vec![0u8; 64];
    image[..5].copy_from_slice(b"\x7fELF\x02");
    image[18] = 224; // EM_AMDGPU
    image[40] = 64; // no sections
    image[48] = 0x3f; // gfx90a
    let module = load(&image).unwrap();
    assert_eq!(function(module, c"anything"), Err(500));
    unload(module);
    image[48] = 0x4c; // gfx942
    assert_eq!(load(&image), Err(209));
}

/// Arguments by `kernelParams` need a table that is not there: refused, never
/// run with other arguments.
#[test]
fn what_a_launch_refuses() {
    use gpu_sim_hip::launches::hipModuleLaunchKernel;
    let _guard = start(false);
    let module = load(image()).unwrap();
    let count = function(module, c"count").unwrap();
    let mut parameters = [null_mut()];
    let call = |grid: u32, block: u32, list: *mut *mut c_void| {
        // SAFETY: a function of ours; the list is refused before it is read.
        unsafe {
            hipModuleLaunchKernel(
                count,
                grid,
                1,
                1,
                block,
                1,
                1,
                0,
                null_mut(),
                list,
                null_mut(),
            )
        }
    };
    assert_eq!(call(1, 64, parameters.as_mut_ptr()), 801);
    assert_eq!(call(0, 64, null_mut()), 9);
    assert_eq!(call(1, 1025, null_mut()), 1);
    // SAFETY: takes nothing.
    ok(unsafe { hipDeviceSynchronize() });
    unload(module);
}
