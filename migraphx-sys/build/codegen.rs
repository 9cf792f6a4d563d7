//! How `bindings.rs` is made from `migraphx.h`. Shared by the `bindgen` feature
//! of this crate and by `cargo xtask codegen`.

use std::path::{Path, PathBuf};

const OPENING: &str = "unsafe extern \"C\" {\n";

/// Returns the text of `bindings.rs` for `header`, with `include` on the search path.
///
/// Enums become integer newtypes, since the library returns values that no
/// header lists. The functions become one `function_table!`, since they are
/// looked up at run time. `migraphx_operation_create` is variadic and stands in
/// `by_hand.rs`.
pub fn generate(header: &Path, include: &Path) -> Result<String, String> {
    let mut builder = bindgen::Builder::default()
        .header(header.to_string_lossy())
        .clang_arg(format!("-I{}", include.display()))
        .allowlist_item("(const_)?migraphx_.*")
        .blocklist_function("migraphx_operation_create")
        .default_enum_style(bindgen::EnumVariation::NewType {
            is_bitfield: false,
            is_global: false,
        })
        .prepend_enum_name(false)
        .use_core()
        .merge_extern_blocks(true)
        .sort_semantically(true)
        .disable_header_comment()
        .generate_comments(false)
        .layout_tests(false)
        .rust_target(bindgen::RustTarget::stable(88, 0).map_err(|error| error.to_string())?)
        .rust_edition(bindgen::RustEdition::Edition2024);
    for directory in builtin_headers() {
        builder = builder.clang_arg(format!("-isystem{}", directory.display()));
    }
    let text = builder
        .generate()
        .map_err(|error| format!("bindgen failed on {}: {error}", header.display()))?
        .to_string();
    let (types, functions) = text
        .split_once(OPENING)
        .ok_or("bindgen wrote no extern block; its output format has changed")?;
    Ok(format!(
        "// Generated from migraphx.h by `cargo xtask codegen`; do not edit.\n\n\
         {types}\
         function_table! {{\n    \
         /// The functions of `migraphx.h`, looked up in the loaded library.\n    \
         Functions {{\n{functions}}}\n"
    ))
}

/// Where gcc keeps `stdbool.h`, for a libclang that came without its own headers.
fn builtin_headers() -> Vec<PathBuf> {
    let Ok(targets) = std::fs::read_dir("/usr/lib/gcc") else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = targets
        .flatten()
        .filter_map(|target| std::fs::read_dir(target.path()).ok())
        .flat_map(|versions| versions.flatten())
        .map(|version| version.path().join("include"))
        .filter(|directory| directory.join("stdbool.h").is_file())
        .collect();
    found.sort();
    found.into_iter().next_back().into_iter().collect()
}
