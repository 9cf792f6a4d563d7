//! Damaged entries, killed processes, full disks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use migraphx::cache::Outcome;
use migraphx::{Cache, Recipe, Target};
use testkit::models;

use super::support::{child, is_child, run, succeeds};
use super::{Place, product};

#[test]
fn no_damaged_entry_is_ever_run() {
    let place = Place::new();
    let recipe = Recipe::new();
    place.is_new(&recipe);
    let entry = place.entry();
    let good = fs::read(&entry).unwrap();
    let is_rebuilt = |what: &str| {
        let mut cached = place.get(&recipe);
        assert!(
            matches!(cached.outcome, Outcome::Rebuilt(_)),
            "{what}: {:?}",
            cached.outcome
        );
        assert_eq!(product(&mut cached.program), [5.0, 5.0], "{what}");
        assert_eq!(fs::read(&entry).unwrap(), good, "{what}");
    };
    // Each byte of the header and the mark, and of the rest some.
    for at in (0..400).chain((400..good.len()).step_by(7)) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&entry, &bytes).unwrap();
        is_rebuilt(&format!("byte {at}"));
    }
    for length in (0..good.len()).step_by(97).chain([good.len() - 1]) {
        fs::write(&entry, &good[..length]).unwrap();
        is_rebuilt(&format!("{length} bytes"));
    }
    // A program that was saved otherwise, with a good checksum.
    place.get(&recipe).program.save(&entry).unwrap();
    is_rebuilt("no entry");
    // Another entry under this one's name.
    place.write(&models::matmul(1, 4, 2, &[0.25; 8]));
    place.is_new(&recipe);
    let names = place.files();
    let other = names.iter().find(|name| !entry.ends_with(name)).unwrap();
    fs::copy(place.cache.folder().join(other), &entry).unwrap();
    place.write(&models::matmul(1, 4, 2, &[0.5; 8]));
    is_rebuilt("another entry");
}

/// A recipe that notes each time that it is followed.
fn counted(count: &Path) -> Recipe<'_> {
    Recipe::new().step("counted", move |_, _| {
        use std::io::Write;
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(count)
            .unwrap();
        file.write_all(b".").unwrap();
        // Long enough for the others to come and find nothing yet.
        std::thread::sleep(Duration::from_millis(300));
        Ok(())
    })
}

#[test]
fn many_ask_and_one_compiles() {
    let test = "damage::many_ask_and_one_compiles";
    let get = |root: &Path| {
        let cache = Cache::open(root.join("cache")).unwrap();
        let (model, count) = (root.join("model.onnx"), root.join("count"));
        let target = Target::reference().unwrap();
        let mut cached = cache
            .load_or_compile(model, &target, &counted(&count))
            .unwrap();
        assert_eq!(product(&mut cached.program), [5.0, 5.0]);
        assert!(matches!(cached.outcome, Outcome::Built | Outcome::Hit));
    };
    if is_child(test) {
        let root = PathBuf::from(std::env::var_os("ROOT").unwrap());
        return std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| get(&root))));
        });
    }
    let place = Place::new();
    let start = |_| {
        let mut child = child(test);
        child.env("ROOT", place.root.path());
        child
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        child.spawn().unwrap()
    };
    let children: Vec<_> = (0..8).map(start).collect();
    for child in children {
        succeeds(&child.wait_with_output().unwrap());
    }
    assert_eq!(fs::read(place.root.path().join("count")).unwrap(), b".");
    place.entry(); // and no lock
}

#[test]
fn a_killed_process_does_no_harm() {
    let test = "damage::a_killed_process_does_no_harm";
    let recipe = |root: PathBuf, wait: bool| {
        Recipe::new().step("slow", move |_, _| {
            if wait {
                fs::write(root.join("compiling"), "").unwrap();
                std::thread::sleep(Duration::from_secs(3600));
            }
            Ok(())
        })
    };
    if is_child(test) {
        let root = PathBuf::from(std::env::var_os("ROOT").unwrap());
        let cache = Cache::open(root.join("cache")).unwrap();
        let target = Target::reference().unwrap();
        let model = root.join("model.onnx");
        let _ = cache.load_or_compile(model, &target, &recipe(root, true));
        unreachable!("it is killed");
    }
    let place = Place::new();
    let root = place.root.path().to_owned();
    let mut child = child(test).env("ROOT", &root).spawn().unwrap();
    while !root.join("compiling").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the child ended early");
        std::thread::sleep(Duration::from_millis(10));
    }
    // What is in use stays, whatever else is stored.
    place.is_new(&Recipe::new());
    let locks = || {
        place
            .files()
            .into_iter()
            .filter(|name| name.ends_with(".lock"))
    };
    let lock = locks().next().expect("the lock of the child");
    child.kill().unwrap();
    child.wait().unwrap();
    // As if it had been killed while it was writing, and another one before it.
    let part = lock.replace(".lock", ".part");
    fs::write(place.cache.folder().join(part), "half").unwrap();
    fs::write(
        place.cache.folder().join(format!("{:064x}.part", 7)),
        "half",
    )
    .unwrap();
    fs::write(place.cache.folder().join("notes.txt"), "mine").unwrap();
    place.is_new(&recipe(root, false));
    let left = place.files();
    assert_eq!(left.len(), 3, "{left:?}");
    assert_eq!(left.iter().filter(|name| name.ends_with(".mxr")).count(), 2);
    assert!(left.contains(&"notes.txt".to_owned()), "{left:?}");
}

/// In a process that may write no file larger than 1 MB, not even in memory.
#[test]
fn a_full_disk_costs_nothing_but_the_entry() {
    let test = "damage::a_full_disk_costs_nothing_but_the_entry";
    if !is_child(test) {
        return succeeds(&child(test).output().unwrap());
    }
    let place = Place::new();
    place.is_new(&Recipe::new());
    let old = place.entry();
    let large = place.root.path().join("large.onnx");
    fs::write(&large, models::add_weights(&vec![1.0; 1 << 20])).unwrap();
    let limit = libc::rlimit {
        rlim_cur: 1 << 20,
        rlim_max: 1 << 20,
    };
    // SAFETY: a limit and a signal disposition of this process; both pointers are valid.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
    let target = Target::reference().unwrap();
    let cached = place.cache.load_or_compile(large, &target, &Recipe::new());
    let mut cached = cached.unwrap();
    assert!(
        matches!(cached.outcome, Outcome::NotStored(_)),
        "{:?}",
        cached.outcome
    );
    let ones = vec![1.0; 1 << 20];
    let sums = run(&mut cached.program, &[("x", &ones, &[1 << 20])]);
    assert!(sums.iter().all(|sum| *sum == 2.0));
    assert_eq!(place.entry(), old);
    assert_eq!(place.outcome(&Recipe::new()), Outcome::Hit);
}
