//! The checks run on the libraries of the virtual GPU's prefix, with the loader that belongs to them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=GPU_SIM_DIR");
    let Some(prefix) = std::env::var("GPU_SIM_DIR").ok().filter(|p| !p.is_empty()) else {
        return;
    };
    println!("cargo::rustc-env=GPU_SIM_DIR={prefix}");
    println!("cargo::rustc-link-arg=-Wl,--dynamic-linker={prefix}/lib/ld-linux-x86-64.so.2");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{prefix}/lib");
    println!("cargo::rustc-link-arg=-Wl,--allow-shlib-undefined");
}
