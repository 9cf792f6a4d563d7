//! This program again, on a stand-in.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use crate::library::Variant;

const VARIANT: &str = "MIGRAPHX_COMPAT_VARIANT";
const TASK: &str = "MIGRAPHX_COMPAT_TASK";
const LIBRARY: &str = "MIGRAPHX_COMPAT_LIBRARY";

/// Far longer than any task takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(400);

/// The variant and the task of this process, if it is a child.
pub fn task() -> Option<(String, String)> {
    Some((std::env::var(VARIANT).ok()?, std::env::var(TASK).ok()?))
}

/// The stand-in of this child.
pub fn library() -> std::path::PathBuf {
    std::env::var_os(LIBRARY).expect("set by the parent").into()
}

/// `linked` where the loader has mapped MIGraphX's library before main.
pub fn link_mode() -> &'static str {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
    match maps.contains("/libmigraphx_c.so") {
        true => "linked",
        false => "load-dynamic",
    }
}

/// Builds the variant, and runs the task on it in a process of its own.
pub fn run(variant: &Variant, folder: &Path, task: &str) -> Result<(), Failed> {
    let folder = variant.build(folder);
    let mut command = Command::new(std::env::current_exe()?);
    // The loader's choice is made before main; else it is ours.
    match link_mode() {
        "linked" => command
            .env("LD_LIBRARY_PATH", &folder)
            .env_remove("MIGRAPHX_LIB_DIR"),
        _ => command
            .env("MIGRAPHX_LIB_DIR", &folder)
            .env_remove("LD_LIBRARY_PATH"),
    };
    let mut child = command
        .env(VARIANT, variant.name)
        .env(TASK, task)
        .env(LIBRARY, folder.join("libmigraphx_c.so.3"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let readers = (reader(child.stdout.take()), reader(child.stderr.take()));
    let status = wait(&mut child)?;
    let (printed, errors) = (readers.0.join().unwrap(), readers.1.join().unwrap());
    if status.is_some_and(|status| status.success()) {
        print!("{printed}");
        return Ok(());
    }
    let ended = status.map_or(format!("it took more than {LIMIT:?}"), |s| s.to_string());
    Err(format!("{ended}\n{printed}\n{errors}").into())
}

/// Reads to the end on a thread, so that the child never waits for room.
fn reader(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = from.expect("it is piped").read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// `None` where it did not end, and was killed.
fn wait(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}
