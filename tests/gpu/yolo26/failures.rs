//! Cards and processes that fail: the run ends with the reason, or the others
//! do their work.

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::compare::{equal_ref, shares, stored};
use super::demo::{BATCH, Ended, passes, refused};
use super::{bench, json, tmp};

/// The counted call of all cards together fails: one card's, whichever it is.
pub fn failing_card() {
    let tmp = tmp();
    for options in ["", "--schedule steal"] {
        // An upload, in the middle of the run.
        let fail = ("GPU_SIM_FAIL", "hipMemcpyAsync:45:719");
        let (mut command, ..) = bench(tmp.path(), &format!("{options} --on-failure stop"));
        command.env(fail.0, fail.1);
        let error = refused(command);
        assert!(
            error.contains("failed: ") && error.contains("hipMemcpyAsync"),
            "{error}"
        );
        assert!(error.contains("batches were not done"), "{error}");

        let (mut command, results, report) =
            bench(tmp.path(), &format!("{options} --on-failure move"));
        command.env(fail.0, fail.1);
        let table = passes(command);
        assert!(table.contains("7-GPU INFERENCE COMPLETE"), "{table}");
        assert!(table.contains("across 7 of 8 GPUs"), "{table}");
        assert_eq!(table.matches(": FAILED after ").count(), 1, "{table}");
        let found = match options {
            "" => stored(&results, shares(8)),
            _ => stored(&results, |_, number| number * BATCH),
        };
        equal_ref(&found);
        let report = json(&report);
        let failed = report["cards"].as_array().unwrap().iter();
        let failed: Vec<_> = failed.filter_map(|card| card["failed"].as_str()).collect();
        assert!(
            matches!(failed[..], [reason] if reason.contains("719")),
            "{failed:?}"
        );
    }
}

/// It does not even load the program.
pub fn foreign_card() {
    let tmp = tmp();
    // The last entry repeats: only GPU 2 is another.
    for isolate in ["", "--isolate yes"] {
        let (command, ..) = bench(tmp.path(), isolate);
        let error = refused(command);
        assert!(error.contains("GPU 2 failed: "), "{error}");
        assert!(
            error.contains("gfx942") && error.contains("gfx90a"),
            "{error}"
        );

        let (command, results, _) = bench(tmp.path(), &format!("{isolate} --on-failure move"));
        let table = passes(command);
        assert!(table.contains("GPU 2: FAILED after 0 images"), "{table}");
        assert!(table.contains("gfx942"), "{table}");
        equal_ref(&stored(&results, shares(8)));
    }
}

pub fn dying_process() {
    let tmp = tmp();
    for on_failure in ["move", "stop"] {
        let options = format!("--isolate yes --on-failure {on_failure}");
        let (mut command, results, _) = bench(tmp.path(), &options);
        let parent = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Results of the sixth card: all are at work.
        let begun = Instant::now();
        while !results.join("gpu5/0_5.bin").exists() {
            assert!(begun.elapsed() < Duration::from_secs(300), "no results");
            std::thread::sleep(Duration::from_millis(1));
        }
        let victim = child_with(&parent, "--isolated\x005");
        // SAFETY: takes any number; the process is a child of our child, which has not ended.
        assert_eq!(unsafe { libc::kill(victim, libc::SIGKILL) }, 0);
        let ended = wait(parent);
        let reason = format!("its process {victim} ended without a result: signal: 9");
        match on_failure {
            "move" => {
                assert!(ended.ok, "{}\n{}", ended.out, ended.err);
                assert!(ended.out.contains("GPU 5: FAILED after "), "{}", ended.out);
                assert!(ended.out.contains(&reason), "{}", ended.out);
                equal_ref(&stored(&results, shares(8)));
            }
            _ => {
                assert!(!ended.ok, "{}", ended.out);
                let reason = format!("GPU 5 failed: {reason}");
                assert!(ended.err.contains(&reason), "{}", ended.err);
            }
        }
    }
}

/// Killed in the middle of a warm-up without end, when nobody listens to the parent.
pub fn killed_parent() {
    let tmp = tmp();
    let (mut command, ..) = bench(tmp.path(), "--isolate yes --warmup 1000000000");
    let mut parent = command.stdout(Stdio::null()).spawn().unwrap();
    let children: Vec<i32> = (0..8)
        .map(|card| {
            let words = format!("--isolated\x00{card}");
            within_minutes("a child", || find_child(&parent, &words))
        })
        .collect();
    for child in &children {
        // At work: its threads are those of the virtual GPU.
        within_minutes("threads", || {
            let threads = fs::read_dir(format!("/proc/{child}/task")).map_or(0, Iterator::count);
            (threads > 1).then_some(())
        });
    }
    parent.kill().unwrap();
    parent.wait().unwrap();
    for child in children {
        within_minutes("the end of a card's process", || {
            let stat = fs::read_to_string(format!("/proc/{child}/stat"));
            // Gone, or not yet waited for by whoever adopted it.
            let over = stat.map_or(true, |stat| stat.contains(") Z "));
            over.then_some(())
        });
    }
}

fn within_minutes<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn wait(mut child: Child) -> Ended {
    let mut texts = [String::new(), String::new()];
    let out = child.stdout.take().unwrap();
    let err = child.stderr.take().unwrap();
    std::thread::scope(|scope| {
        let [a, b] = &mut texts;
        scope.spawn(|| { out }.read_to_string(a).unwrap());
        { err }.read_to_string(b).unwrap();
    });
    let [out, err] = texts;
    let ok = child.wait().unwrap().success();
    Ended { ok, out, err }
}

/// The process that `parent` started with these words.
fn child_with(parent: &Child, words: &str) -> i32 {
    find_child(parent, words)
        .unwrap_or_else(|| panic!("process {} has no child {words:?}", parent.id()))
}

fn find_child(parent: &Child, words: &str) -> Option<i32> {
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(number) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let stat = read("stat");
        let parent_of = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.split(' ').nth(1));
        if parent_of == Some(&*parent.id().to_string()) && read("cmdline").contains(words) {
            return Some(number);
        }
    }
    None
}
