//! Makes examples, tests and benches start as built where MIGraphX is the one
//! that `cargo xtask setup` made: its glibc is newer than most systems', so
//! they are started by the loader that came with it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Ok(prefix) = std::env::var("DEP_MIGRAPHX_PREFIX") else {
        return;
    };
    println!("cargo::rustc-link-arg=-Wl,--dynamic-linker={prefix}/lib/ld-linux-x86-64.so.2");
    println!("cargo::rustc-link-arg=-Wl,-rpath,{prefix}/lib");
    println!("cargo::rustc-link-arg=-Wl,--allow-shlib-undefined");
}
