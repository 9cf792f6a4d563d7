//! Reads where this machine's apt takes its packages from, so that no host name
//! has to stand in this repository.

use std::path::{Path, PathBuf};

/// One archive and suite that apt knows, of binary packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub uri: String,
    pub suite: String,
    pub components: Vec<String>,
    /// Options of the one-line form, such as `signed-by` and `trusted`.
    pub options: Vec<(String, String)>,
    /// A key that stands in the file itself.
    pub key: Option<String>,
}

/// What `/etc/os-release` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Release {
    pub id: String,
    pub like: String,
    pub codename: String,
    pub name: String,
}

impl Release {
    pub fn of_this_machine() -> Self {
        let text = ["/etc/os-release", "/usr/lib/os-release"]
            .iter()
            .find_map(|path| std::fs::read_to_string(path).ok());
        Self::parse(&text.unwrap_or_default())
    }

    pub fn parse(text: &str) -> Self {
        let value = |key: &str| {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value.trim_matches(['"', '\'']).to_owned())
                .unwrap_or_default()
        };
        Release {
            id: value("ID"),
            like: value("ID_LIKE"),
            codename: value("VERSION_CODENAME"),
            name: value("PRETTY_NAME"),
        }
    }
}

/// Suites of the Debian archive, of which any mirror has `sid` too.
const DEBIAN_SUITES: [&str; 13] = [
    "stable",
    "oldstable",
    "oldoldstable",
    "testing",
    "unstable",
    "sid",
    "buster",
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "duke",
    "rc-buggy",
];

/// The entry of the Debian archive proper (not the security archive, not a
/// vendor's), if this machine has one.
pub fn debian_archive<'a>(entries: &'a [Entry], release: &Release) -> Option<&'a Entry> {
    let mut best: Option<(u32, &Entry)> = None;
    for entry in entries.iter().filter(|entry| entry.usable()) {
        let score = debian_likeness(entry, release);
        if score > best.map_or(0, |(score, _)| score) {
            best = Some((score, entry));
        }
    }
    best.map(|(_, entry)| entry)
}

/// How surely this is Debian's own archive; 0 where it is not. Vendors call
/// their suites `stable` or `bookworm` too, and their component `main`.
fn debian_likeness(entry: &Entry, release: &Release) -> u32 {
    let base = entry.suite_base();
    let codename = release.id == "debian" && base == release.codename;
    let suite = codename || DEBIAN_SUITES.contains(&base);
    if !suite || !entry.components.iter().any(|component| component == "main") {
        return 0;
    }
    let signed = entry
        .option("signed-by")
        .is_some_and(|key| key.contains("debian-archive"));
    let path = entry.uri.trim_end_matches('/').ends_with("/debian");
    let alias = base.ends_with("stable") || base == "testing";
    if alias && !signed && !path {
        return 0;
    }
    8 * u32::from(signed) + 4 * u32::from(path) + 2 * u32::from(base == entry.suite) + 1
}

/// The entry with this machine's own release, for packages that fit its libraries.
pub fn own_release<'a>(entries: &'a [Entry], release: &Release) -> Option<&'a Entry> {
    let usable = || entries.iter().filter(|entry| entry.usable());
    usable()
        .find(|entry| !release.codename.is_empty() && entry.suite == release.codename)
        .or_else(|| debian_archive(entries, release))
}

impl Entry {
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// `bookworm` of `bookworm-updates`; the security archive is another one.
    fn suite_base(&self) -> &str {
        let ends = ["-updates", "-backports", "-proposed-updates"];
        ends.iter()
            .find_map(|end| self.suite.strip_suffix(end))
            .unwrap_or(&self.suite)
    }

    fn usable(&self) -> bool {
        let fits = |list: &str| list.split([',', ' ']).any(|name| name == "amd64");
        let scheme = self.uri.split(':').next().unwrap_or_default();
        !self.suite.ends_with('/')
            && !matches!(scheme, "cdrom" | "")
            && self.option("arch").is_none_or(fits)
    }
}

/// Everything in apt's source files, in apt's order.
pub fn of_this_machine() -> Vec<Entry> {
    let (main, parts) = files_of_apt();
    let mut files = vec![main];
    let mut more: Vec<PathBuf> = std::fs::read_dir(&parts)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    more.sort();
    files.extend(more);
    files.iter().flat_map(|path| read(path)).collect()
}

fn files_of_apt() -> (PathBuf, PathBuf) {
    let mut command = std::process::Command::new("apt-config");
    command.args(["shell", "MAIN", "Dir::Etc::SourceList/f"]);
    command.args(["PARTS", "Dir::Etc::SourceParts/d"]);
    let text = crate::command::output(&mut command).unwrap_or_default();
    let value = |name: &str, usual: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        PathBuf::from(line.map_or(usual, |value| value.trim_matches('\'')))
    };
    (
        value("MAIN=", "/etc/apt/sources.list"),
        value("PARTS=", "/etc/apt/sources.list.d"),
    )
}

fn read(path: &Path) -> Vec<Entry> {
    let Ok(text) = std::fs::read_to_string(path) else {
        return Vec::new();
    };
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("list") => parse_lines(&text),
        Some("sources") => parse_stanzas(&text),
        _ => Vec::new(),
    }
}

/// The one-line form: `deb [option=value …] uri suite component…`.
fn parse_lines(text: &str) -> Vec<Entry> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Entry> {
    let line = line.split('#').next()?.trim();
    let mut rest = line.strip_prefix("deb")?;
    if !rest.starts_with([' ', '\t', '[']) {
        return None; // deb-src
    }
    let mut options = Vec::new();
    if let Some(inside) = rest.trim_start().strip_prefix('[') {
        let (list, after) = inside.split_once(']')?;
        for word in list.split_whitespace() {
            let (key, value) = word.split_once('=')?;
            options.push((
                key.trim_end_matches(['+', '-']).to_lowercase(),
                value.to_owned(),
            ));
        }
        rest = after;
    }
    let mut words = rest.split_whitespace().map(str::to_owned);
    Some(Entry {
        uri: words.next()?,
        suite: words.next()?,
        components: words.collect(),
        options,
        key: None,
    })
}

/// The deb822 form: stanzas of `Field: value`, lines that go on start with a space.
fn parse_stanzas(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            entries.extend(entries_of_stanza(&fields));
            fields.clear();
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_lowercase(), value.trim().to_owned()));
        }
    }
    entries
}

fn entries_of_stanza(fields: &[(String, String)]) -> Vec<Entry> {
    let field = |name: &str| {
        let found = fields.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let off = matches!(field("enabled"), "no" | "false" | "0");
    if off || !field("types").split_whitespace().any(|kind| kind == "deb") {
        return Vec::new();
    }
    let mut options = Vec::new();
    for (name, option) in [
        ("architectures", "arch"),
        ("trusted", "trusted"),
        ("check-valid-until", "check-valid-until"),
        ("check-date", "check-date"),
    ] {
        if !field(name).is_empty() {
            options.push((option.to_owned(), field(name).to_owned()));
        }
    }
    let signed_by = field("signed-by");
    let key = signed_by.contains("BEGIN PGP").then(|| armour(signed_by));
    if key.is_none() && !signed_by.is_empty() {
        let files: Vec<&str> = signed_by.split([' ', '\n', ',']).collect();
        options.push(("signed-by".into(), files.join(",")));
    }
    let components: Vec<String> = field("components")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let mut entries = Vec::new();
    for uri in field("uris").split_whitespace() {
        for suite in field("suites").split_whitespace() {
            entries.push(Entry {
                uri: uri.to_owned(),
                suite: suite.to_owned(),
                components: components.clone(),
                options: options.clone(),
                key: key.clone(),
            });
        }
    }
    entries
}

/// In a deb822 field an empty line is written as a dot.
fn armour(field: &str) -> String {
    let lines = field.trim().lines();
    let lines = lines.map(|line| if line == "." { "" } else { line });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
