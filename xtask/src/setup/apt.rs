//! apt with a state of its own: other suites than the machine's, no root, and
//! nothing of the machine's own package state touched.

use super::sources::Entry;
use crate::command::output;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A private apt state in a folder, for one suite of one archive.
pub struct Apt {
    folder: PathBuf,
}

/// A package file that apt would download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    pub file: String,
    pub bytes: u64,
    pub sha256: String,
}

impl Apt {
    /// Writes the configuration and fetches the list of packages.
    pub fn open(folder: &Path, entry: &Entry, root: bool) -> Result<Self, String> {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))
        };
        for sub in ["lists/partial", "cache/archives/partial"] {
            let path = folder.join(sub);
            fs::create_dir_all(&path)
                .map_err(|error| format!("cannot create {}: {error}", path.display()))?;
        }
        let key = folder.join("archive.asc");
        if let Some(text) = &entry.key {
            write("archive.asc", text)?;
        }
        write("status", "")?;
        write("sources.list", &source_line(entry, &key))?;
        write("apt.conf", &configuration(folder, root))?;
        let apt = Apt {
            folder: folder.to_path_buf(),
        };
        output(apt.command("apt-get").arg("update"))?;
        // An old apt calls it a success when nothing could be fetched.
        let fetched = fs::read_dir(folder.join("lists"))
            .into_iter()
            .flatten()
            .flatten();
        let mut names = fetched.map(|entry| entry.file_name().to_string_lossy().into_owned());
        if !names.any(|name| name.contains("_Packages")) {
            return Err("apt-get update fetched no package list".into());
        }
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C.UTF-8");
        command
            .arg("-q")
            .arg("-c")
            .arg(self.folder.join("apt.conf"));
        command
    }

    /// The names that begin with `start`.
    pub fn names(&self, start: &str) -> Result<Vec<String>, String> {
        let text = output(self.command("apt-cache").args(["pkgnames", start]))?;
        let mut names: Vec<String> = text.lines().map(str::to_owned).collect();
        names.sort();
        Ok(names)
    }

    /// `roots` and what they need, without the packages that `skip` names and
    /// without what only those need.
    pub fn closure(
        &self,
        roots: &[&str],
        skip: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<String>, String> {
        let mut command = self.command("apt-cache");
        command.args(["depends", "--recurse"]);
        for kind in [
            "recommends",
            "suggests",
            "conflicts",
            "breaks",
            "replaces",
            "enhances",
        ] {
            command.arg(format!("--no-{kind}"));
        }
        let text = output(command.args(roots))?;
        Ok(reachable(&parse_depends(&text), roots, skip))
    }

    /// What a download of these packages would fetch.
    pub fn plan(&self, packages: &[String]) -> Result<Vec<Download>, String> {
        let mut command = self.command("apt-get");
        let text = output(command.args(["download", "--print-uris"]).args(packages))?;
        let plan: Option<Vec<Download>> = text.lines().map(parse_uri).collect();
        plan.filter(|plan| plan.len() >= packages.len())
            .ok_or_else(|| format!("apt-get download --print-uris gave something unknown:\n{text}"))
    }

    /// Downloads into `folder`; apt checks sizes and hashes against the signed list.
    pub fn download(&self, packages: &[String], folder: &Path) -> Result<(), String> {
        let mut command = self.command("apt-get");
        command.arg("download").args(packages).current_dir(folder);
        output(&mut command).map(drop)
    }
}

fn source_line(entry: &Entry, key: &Path) -> String {
    let mut options = vec![
        "arch=amd64".to_owned(),
        "lang=none".into(),
        "target=Packages".into(),
    ];
    for (name, value) in &entry.options {
        if !matches!(name.as_str(), "arch" | "lang" | "target") {
            options.push(format!("{name}={value}"));
        }
    }
    if entry.key.is_some() {
        options.push(format!("signed-by={}", key.display()));
    }
    let (uri, suite) = (&entry.uri, &entry.suite);
    format!(
        "deb [{}] {uri} {suite} {}\n",
        options.join(" "),
        entry.components.join(" ")
    )
}

/// Read after the machine's own files, whose proxy settings stay in force.
fn configuration(folder: &Path, root: bool) -> String {
    let at = |sub: &str| folder.join(sub).display().to_string();
    let mut text = String::new();
    for (name, value) in [
        ("Dir::State", at("")),
        ("Dir::State::lists", at("lists/")),
        ("Dir::State::status", at("status")),
        ("Dir::Cache", at("cache/")),
        ("Dir::Cache::archives", at("cache/archives/")),
        ("Dir::Cache::pkgcache", at("cache/pkgcache.bin")),
        ("Dir::Cache::srcpkgcache", at("cache/srcpkgcache.bin")),
        ("Dir::Etc::SourceList", at("sources.list")),
        ("Dir::Etc::SourceParts", "/dev/null".into()),
        ("Dir::Etc::Preferences", "/dev/null".into()),
        ("Dir::Etc::PreferencesParts", "/dev/null".into()),
        ("APT::Architecture", "amd64".into()),
        ("APT::Update::Error-Mode", "any".into()),
        ("Acquire::PDiffs", "false".into()),
        ("Acquire::Retries", "2".into()),
        ("Acquire::http::Timeout", "30".into()),
        ("Acquire::https::Timeout", "30".into()),
    ] {
        text.push_str(&format!("{name} \"{value}\";\n"));
    }
    // The machine's hooks are about its own state, its default release about its own suites.
    for list in [
        "APT::Architectures",
        "APT::Default-Release",
        "APT::Update::Pre-Invoke",
        "APT::Update::Post-Invoke",
        "APT::Update::Post-Invoke-Success",
    ] {
        text.push_str(&format!("#clear {list};\n"));
    }
    if root {
        // Its usual user _apt may not read a folder below root's home.
        text.push_str("APT::Sandbox::User \"root\";\n");
    }
    text
}

type Graph = BTreeMap<String, Vec<String>>;

/// `apt-cache depends`: a name at the margin, then its relations, indented; of
/// alternatives (`|Depends`) every one, names in `<…>` stand for what provides them.
fn parse_depends(text: &str) -> Graph {
    let mut graph = Graph::new();
    let mut current = String::new();
    let mut alternative_of_last = false;
    for line in text.lines() {
        if !line.starts_with([' ', '\t']) {
            current = line.trim().to_owned();
            graph.entry(current.clone()).or_default();
            alternative_of_last = false;
            continue;
        }
        let Some((kind, name)) = line.trim().split_once(": ") else {
            continue; // a provider of the line above
        };
        // The first alternative is the one that apt itself would take.
        let taken = !std::mem::replace(&mut alternative_of_last, kind.starts_with('|'));
        if taken && !name.starts_with('<') {
            let name = name.split(':').next().unwrap_or(name);
            graph
                .entry(current.clone())
                .or_default()
                .push(name.to_owned());
        }
    }
    graph
}

fn reachable(graph: &Graph, roots: &[&str], skip: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut queue: VecDeque<String> = roots.iter().map(|name| name.to_string()).collect();
    while let Some(name) = queue.pop_front() {
        if !skip(&name) && seen.insert(name.clone()) {
            queue.extend(graph.get(&name).into_iter().flatten().cloned());
        }
    }
    seen.into_iter().collect()
}

/// `'uri' file size SHA256:hash`
fn parse_uri(line: &str) -> Option<Download> {
    let mut words = line.split_whitespace().skip(1);
    Some(Download {
        file: words.next()?.to_owned(),
        bytes: words.next()?.parse().ok()?,
        sha256: words.next()?.strip_prefix("SHA256:")?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPENDS: &str = "\
tool
  Depends: libgpu1
  Depends: libbuf32t64
 |Depends: first
  Depends: second
  Depends: <virtual>
    provider
  PreDepends: libc6:any
libgpu1
  Depends: libhuge
libbuf32t64
  Depends: zlib1g
first
second
zlib1g
libhuge
libc6
";

    #[test]
    fn the_closure_goes_around_what_is_skipped() {
        let graph = parse_depends(DEPENDS);
        let names = reachable(&graph, &["tool"], &|name| name.starts_with("libgpu"));
        assert_eq!(names, ["first", "libbuf32t64", "libc6", "tool", "zlib1g"]);
    }

    #[test]
    fn the_plan_has_names_sizes_and_hashes() {
        let line = "'http://m.example/pool/z/zlib1g_1.3%2b2.deb' zlib1g_1%3a1.3+2_amd64.deb 92424 SHA256:ab12";
        let plan = parse_uri(line).unwrap();
        assert_eq!(plan.file, "zlib1g_1%3a1.3+2_amd64.deb");
        assert_eq!((plan.bytes, plan.sha256.as_str()), (92424, "ab12"));
        assert_eq!(parse_uri("something else"), None);
    }

    #[test]
    fn the_configuration_is_private_and_keeps_root_out_of_the_sandbox() {
        let user = configuration(Path::new("/x y/apt"), false);
        assert!(user.contains("Dir::State::lists \"/x y/apt/lists/\";"));
        assert!(user.contains("SourceParts \"/dev/null\"") && !user.contains("Sandbox"));
        assert!(!user.to_lowercase().contains("proxy"));
        assert!(configuration(Path::new("/x"), true).contains("APT::Sandbox::User \"root\";"));
    }

    #[test]
    fn the_source_line_keeps_the_machines_key_and_takes_amd64_only() {
        let mut entry = Entry {
            uri: "http://m.example/debian".into(),
            suite: "sid".into(),
            components: vec!["main".into()],
            options: vec![
                ("arch".into(), "amd64,i386".into()),
                ("signed-by".into(), "/k.gpg".into()),
            ],
            key: None,
        };
        let line = source_line(&entry, Path::new("/f/archive.asc"));
        let expected = "deb [arch=amd64 lang=none target=Packages signed-by=/k.gpg] http://m.example/debian sid main\n";
        assert_eq!(line, expected);
        entry.options.clear();
        entry.key = Some("KEY".into());
        assert!(
            source_line(&entry, Path::new("/f/archive.asc")).contains("signed-by=/f/archive.asc")
        );
    }
}
