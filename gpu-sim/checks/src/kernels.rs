//! The device language itself: kernels of our own through hiprtc and HIP, for what MIGraphX's networks use
//! without showing it in their values.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

type Outcome<T> = Result<T, String>;

/// A kernel, how it is launched, and what it must leave in its i32 output.
pub struct Kernel {
    pub name: &'static str,
    /// The text; `kernel` is the entry.
    text: &'static str,
    items: u32,
    group: u32,
    /// How often the output's address is passed.
    arguments: usize,
    expected: fn() -> Vec<i32>,
}

/// All of them.
pub const KERNELS: &[Kernel] = &[
    Kernel {
        name: "kernel: one wave shuffles while the others wait for the group",
        text: r#"
            extern "C" MIGRAPHX_GLOBAL void kernel(int* out) {
                __shared__ int sums[2];
                unsigned i = threadIdx.x;
                if(i < 64) {
                    int v = i;
                    for(int step = 1; step < 64; step *= 2) v += __shfl_xor(v, step);
                    if(i == 0) sums[0] = v;
                }
                __syncthreads();
                if(i == 255) sums[1] = sums[0] + 1;
                __syncthreads();
                out[i] = sums[0] + sums[1];
            }"#,
        items: 256,
        group: 256,
        arguments: 1,
        expected: || vec![2016 + 2017; 256],
    },
    Kernel {
        name: "kernel: items that leave before a barrier",
        text: r#"
            extern "C" MIGRAPHX_GLOBAL void kernel(int* out) {
                unsigned i = threadIdx.x;
                out[i] = -1;
                if(i % 3 == 0) return;
                __syncthreads();
                out[i] = __shfl(int(i), 1, 4);
            }"#,
        items: 128,
        group: 128,
        arguments: 1,
        // Lane 1 of four; where it has left, one's own value.
        expected: || {
            (0..128)
                .map(|i| {
                    if i % 3 == 0 {
                        -1
                    } else if (i / 4 * 4 + 1) % 3 == 0 {
                        i
                    } else {
                        i / 4 * 4 + 1
                    }
                })
                .collect()
        },
    },
    Kernel {
        name: "kernel: a last group that is not full",
        text: r#"
            extern "C" MIGRAPHX_GLOBAL void kernel(int* out) {
                unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
                __syncthreads();
                out[i] = int(__ockl_get_local_size(0) * 1000 + __ockl_get_enqueued_local_size(0));
            }"#,
        items: 100,
        group: 64,
        arguments: 1,
        expected: || {
            (0..100)
                .map(|i| if i < 64 { 64_064 } else { 36_064 })
                .collect()
        },
    },
    Kernel {
        name: "kernel: atomics of many groups",
        text: r#"
            extern "C" MIGRAPHX_GLOBAL void kernel(int* out) {
                unsafeAtomicAdd(&out[threadIdx.x % 4], 1);
            }"#,
        items: 65_536,
        group: 64,
        arguments: 1,
        expected: || vec![16_384; 4],
    },
    Kernel {
        name: "kernel: forty arguments",
        text: r#"
            template <class... Ts> bool same(int* first, Ts... others) { return ((others == first) and ...); }
            #define FIVE(x) int *x##0, int *x##1, int *x##2, int *x##3, int *x##4
            #define USE(x) x##0, x##1, x##2, x##3, x##4
            extern "C" MIGRAPHX_GLOBAL void kernel(FIVE(a), FIVE(b), FIVE(c), FIVE(d), FIVE(e), FIVE(f), FIVE(g), FIVE(h)) {
                a0[threadIdx.x] = same(USE(a), USE(b), USE(c), USE(d), USE(e), USE(f), USE(g), USE(h)) ? 40 : 0;
            }"#,
        items: 3,
        group: 3,
        arguments: 40,
        expected: || vec![40; 3],
    },
];

/// Functions of a library of the prefix, by name.
struct Library(libloading::Library);

impl Library {
    fn open(path: &Path) -> Outcome<Self> {
        // SAFETY: the stand-ins run no code of their own when they are loaded.
        unsafe { libloading::Library::new(path) }
            .map(Self)
            .map_err(|e| e.to_string())
    }

    /// # Safety
    /// `T` is the function's type.
    unsafe fn get<T: Copy>(&self, name: &str) -> Outcome<T> {
        // SAFETY: the caller's promise; libraries of the prefix are never unloaded while in use.
        unsafe { self.0.get::<T>(name) }
            .map(|f| *f)
            .map_err(|e| e.to_string())
    }
}

fn checked(what: &str, status: c_int) -> Outcome<()> {
    if status == 0 {
        Ok(())
    } else {
        Err(format!("{what}: status {status}"))
    }
}

/// The code object for a kernel.
fn compile(lib: &Path, text: &str, arch: &str) -> Outcome<Vec<u8>> {
    type Create = unsafe extern "C" fn(
        *mut *mut c_void,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int;
    let rtc = Library::open(&lib.join("libhiprtc.so.6"))?;
    let text = CString::new(format!("#define MIGRAPHX_GLOBAL __global__\n{text}\n"))
        .map_err(|e| e.to_string())?;
    let arch = CString::new(format!("--offload-arch={arch}")).map_err(|e| e.to_string())?;
    let options = [arch.as_ptr()];
    let (mut program, mut size) = (null_mut(), 0);
    // SAFETY: hiprtc's functions with their types; buffers as long as asked for.
    unsafe {
        let create: Create = rtc.get("hiprtcCreateProgram")?;
        let build: unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int =
            rtc.get("hiprtcCompileProgram")?;
        let sizes: [unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int; 2] = [
            rtc.get("hiprtcGetCodeSize")?,
            rtc.get("hiprtcGetProgramLogSize")?,
        ];
        let contents: [unsafe extern "C" fn(*mut c_void, *mut u8) -> c_int; 2] =
            [rtc.get("hiprtcGetCode")?, rtc.get("hiprtcGetProgramLog")?];
        let destroy: unsafe extern "C" fn(*mut *mut c_void) -> c_int =
            rtc.get("hiprtcDestroyProgram")?;
        checked(
            "hiprtcCreateProgram",
            create(&mut program, text.as_ptr(), null(), 0, null(), null()),
        )?;
        let status = build(program, 1, options.as_ptr());
        let which = usize::from(status != 0);
        sizes[which](program, &mut size);
        let mut bytes = vec![0; size];
        contents[which](program, bytes.as_mut_ptr());
        destroy(&mut program);
        if status != 0 {
            return Err(String::from_utf8_lossy(&bytes).into_owned());
        }
        // The handle of the library is kept: closing it is not what is tested here.
        std::mem::forget(rtc);
        Ok(bytes)
    }
}

/// Builds and runs a kernel.
pub fn check(lib: &Path, kernel: &Kernel, arch: &str) -> Outcome<()> {
    type Launch = unsafe extern "C" fn(
        *mut c_void,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        usize,
        *mut c_void,
        *mut *mut c_void,
        *mut *mut c_void,
        *mut c_void,
        *mut c_void,
        c_uint,
    ) -> c_int;
    const LAUNCH: &str = "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j";
    let code = compile(lib, kernel.text, arch)?;
    let expected = (kernel.expected)();
    let hip = Library::open(&lib.join("libamdhip64.so.6"))?;
    let mut found = vec![0i32; expected.len()];
    let bytes = size_of_val(found.as_slice());
    let (mut memory, mut module, mut function) = (null_mut(), null_mut(), null_mut());
    // SAFETY: HIP's functions with their types; the output has room for what the kernel writes.
    unsafe {
        let malloc: unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int =
            hip.get("hipMalloc")?;
        let memset: unsafe extern "C" fn(*mut c_void, c_int, usize) -> c_int =
            hip.get("hipMemset")?;
        let memcpy: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> c_int =
            hip.get("hipMemcpy")?;
        let synchronize: unsafe extern "C" fn() -> c_int = hip.get("hipDeviceSynchronize")?;
        let load: unsafe extern "C" fn(*mut *mut c_void, *const u8) -> c_int =
            hip.get("hipModuleLoadData")?;
        let get: unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int =
            hip.get("hipModuleGetFunction")?;
        let free: unsafe extern "C" fn(*mut c_void) -> c_int = hip.get("hipFree")?;
        checked("hipMalloc", malloc(&mut memory, bytes))?;
        checked("hipMemset", memset(memory, 0, bytes))?;
        checked("hipModuleLoadData", load(&mut module, code.as_ptr()))?;
        checked(
            "hipModuleGetFunction",
            get(&mut function, module, c"kernel".as_ptr()),
        )?;
        let mut arguments = vec![memory; kernel.arguments];
        let mut length = size_of_val(arguments.as_slice());
        // HIP_LAUNCH_PARAM_BUFFER_POINTER, …_SIZE, …_END.
        let mut extra: [*mut c_void; 5] = [
            1 as _,
            arguments.as_mut_ptr().cast(),
            2 as _,
            (&raw mut length).cast(),
            3 as _,
        ];
        let status = match hip.get::<Launch>(LAUNCH) {
            Ok(launch) => launch(
                function,
                kernel.items,
                1,
                1,
                kernel.group,
                1,
                1,
                0,
                null_mut(),
                null_mut(),
                extra.as_mut_ptr(),
                null_mut(),
                null_mut(),
                0,
            ),
            Err(why) => return Err(why),
        };
        checked("hipExtModuleLaunchKernel", status)?;
        checked("hipDeviceSynchronize", synchronize())?;
        checked(
            "hipMemcpy",
            memcpy(found.as_mut_ptr().cast(), memory, bytes, 2),
        )?;
        checked("hipFree", free(memory))?;
    }
    std::mem::forget(hip);
    match found.iter().zip(&expected).position(|(f, e)| f != e) {
        None => Ok(()),
        Some(at) => Err(format!(
            "element {at} is {} for {}",
            found[at], expected[at]
        )),
    }
}
