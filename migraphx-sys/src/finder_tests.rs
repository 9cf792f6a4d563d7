//! The finder on directory trees of its own.

use super::*;
use std::collections::HashMap;

/// A directory tree with the named files, removed at the end of the test.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[&str]) -> Self {
        let root = std::env::temp_dir().join(format!("finder-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        Tree(root)
    }

    fn find(&self, variables: &[(&str, &str)]) -> Result<Found, NotFound> {
        let variables: HashMap<String, OsString> = variables
            .iter()
            .map(|(name, path)| (name.to_string(), self.0.join(path).into_os_string()))
            .collect();
        Search {
            variable: &|name| variables.get(name).cloned(),
            root: self.0.clone(),
        }
        .run()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn name(index: usize) -> &'static str {
    LIBRARY_NAMES[index]
}

#[test]
fn versions_are_compared_as_numbers() {
    let library = |version: &str| format!("opt/rocm-{version}/lib/{}", name(0));
    let (old, new) = (library("6.9.0"), library("6.10.1"));
    let tree = Tree::new("numbers", &[&old, &new]);
    assert_eq!(tree.find(&[]).unwrap().lib, tree.0.join(new));
}

#[test]
fn variables_win_in_their_order() {
    let files: Vec<String> = ["a", "b/lib", "c/lib", "opt/rocm/lib"]
        .iter()
        .map(|directory| format!("{directory}/{}", name(0)))
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let tree = Tree::new("order", &files);
    let lib = ("MIGRAPHX_LIB_DIR", "a");
    let path = ("MIGRAPHX_PATH", "b");
    let rocm = ("ROCM_PATH", "c");
    for (variables, expected) in [
        (&[lib, path, rocm][..], files[0]),
        (&[path, rocm], files[1]),
        (&[rocm], files[2]),
        (&[], files[3]),
    ] {
        assert_eq!(tree.find(variables).unwrap().lib, tree.0.join(expected));
    }
}

#[test]
fn a_variable_for_migraphx_alone_is_taken_at_its_word() {
    let file = format!("opt/rocm/lib/{}", name(0));
    let tree = Tree::new("explicit", &[&file]);
    let text = tree
        .find(&[("MIGRAPHX_LIB_DIR", "x")])
        .unwrap_err()
        .to_string();
    assert!(text.contains("MIGRAPHX_LIB_DIR is set to"), "{text}");
    assert!(text.contains("unset it"), "{text}");
    // ROCM_PATH names a whole ROCm, which may lack MIGraphX.
    assert!(tree.find(&[("ROCM_PATH", "x")]).is_ok());
}

#[test]
fn an_unfinished_prefix_is_not_used() {
    let library = format!("s/prefix/lib/{}", name(0));
    let tree = Tree::new("prefix", &[&library]);
    assert!(tree.find(&[("MIGRAPHX_SETUP_DIR", "s")]).is_err());
    std::fs::write(tree.0.join("s/prefix").join(MARKER), "").unwrap();
    assert!(tree.find(&[("MIGRAPHX_SETUP_DIR", "s")]).unwrap().prefix);
}

#[test]
fn the_failure_lists_places_and_remedies() {
    let tree = Tree::new("nothing", &[]);
    let text = tree.find(&[("ROCM_PATH", "r")]).unwrap_err().to_string();
    for part in [
        "ROCM_PATH",
        "opt/rocm",
        "opt/dtk",
        "usr/lib",
        "Install",
        "xtask setup",
    ] {
        assert!(text.contains(part), "no {part} in: {text}");
    }
}

#[test]
fn the_core_library_names_its_version() {
    assert_eq!(
        version_of_core_name("libmigraphx.so.2014000").unwrap(),
        "2.14.0"
    );
    assert_eq!(
        version_of_core_name("libmigraphx.so.2009001.0").unwrap(),
        "2.9.1"
    );
    assert_eq!(version_of_core_name("libmigraphx.so.2"), None);
    assert_eq!(version_of_core_name("libmigraphx_c.so.3"), None);
}
