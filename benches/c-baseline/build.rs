//! Compiles the C side. A machine that cannot do so builds all the same: the
//! benches then say that they have nothing to compare with.

fn main() {
    println!("cargo::rerun-if-changed=src/baseline.c");
    println!("cargo::rustc-check-cfg=cfg(c_baseline)");
    let compiled = cc::Build::new()
        .file("src/baseline.c")
        // What a C program is shipped with, whatever the profile of the benches.
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true)
        .cargo_warnings(false)
        .try_compile("baseline");
    match compiled {
        Ok(()) => println!("cargo::rustc-cfg=c_baseline"),
        Err(error) => println!(
            "cargo::warning=the benches have no C side here: {}",
            error.to_string().lines().next().unwrap_or_default()
        ),
    }
}
