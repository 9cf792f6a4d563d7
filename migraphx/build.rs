//! Hands on what `migraphx-sys` found: Cargo gives link metadata to direct
//! dependants only. They see `DEP_MIGRAPHX_LIB_DIR`, `_INCLUDE`, `_VERSION`, `_PREFIX`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["LIB_DIR", "INCLUDE", "VERSION", "PREFIX"] {
        if let Ok(value) = std::env::var(format!("DEP_MIGRAPHX_C_{name}")) {
            println!("cargo::metadata={}={value}", name.to_lowercase());
        }
    }
    // Unit tests and doctests run on the set-up prefix, through its own loader.
    if let Ok(prefix) = std::env::var("DEP_MIGRAPHX_C_PREFIX") {
        println!("cargo::rustc-link-arg=-Wl,--dynamic-linker={prefix}/lib/ld-linux-x86-64.so.2");
        println!("cargo::rustc-link-arg=-Wl,-rpath,{prefix}/lib");
        println!("cargo::rustc-link-arg=-Wl,--allow-shlib-undefined");
    }
}
