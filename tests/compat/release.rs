//! Which release added which function.

use std::collections::BTreeSet;

/// A release, such as 7.13.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release(pub u32, pub u32);

impl Release {
    fn of(text: &str) -> Self {
        let (major, minor) = text.split_once('.').expect("a release has two numbers");
        Release(major.parse().unwrap(), minor.parse().unwrap())
    }
}

/// Every function of `migraphx.h`, and the release that added it.
pub fn functions() -> impl Iterator<Item = (Release, &'static str)> {
    let lines = include_str!("functions.tsv").lines();
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let (release, name) = line.split_once('\t').expect("two columns");
        (Release::of(release), name)
    })
}

/// `migraphx_sys::since`, which error texts are made of, agrees with the headers,
/// and each of their functions is declared.
pub fn since_is_what_the_headers_say() {
    let mut known: BTreeSet<&str> = migraphx_sys::Functions::NAMES.iter().copied().collect();
    known.extend(migraphx_sys::ByHand::NAMES);
    known.insert("migraphx_operation_create");
    for (release, name) in functions() {
        let since = migraphx_sys::since(name).map_or(Release(5, 0), Release::of);
        assert_eq!(since, release, "{name}");
        assert!(known.remove(name), "{name} is not declared");
    }
    assert!(known.is_empty(), "no header has {known:?}");
}
