//! The folder: who may write there, what is kept, where it is.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use migraphx::cache::Outcome;
use migraphx::{Cache, Error, Recipe, Target};

use super::support::{child, files, is_child, refused, succeeds};
use super::{Place, product};

#[test]
fn without_a_place_to_write_it_compiles() {
    let place = Place::new();
    let target = Target::reference().unwrap();
    for folder in ["/dev/null/cache", "/proc/cache"] {
        let cache = Cache::open(folder).unwrap();
        for _ in 0..2 {
            let cached = cache.load_or_compile(place.model(), &target, &Recipe::new());
            let mut cached = cached.unwrap();
            let Outcome::NotStored(why) = cached.outcome else {
                panic!("{:?}", cached.outcome);
            };
            assert!(why.contains(folder), "{why}");
            assert_eq!(product(&mut cached.program), [5.0, 5.0]);
        }
    }
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    let place = Place::new();
    place.is_new(&Recipe::new());
    let folder = place.cache.folder();
    let mode = |mode| fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(
        fs::metadata(folder).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let target = Target::reference().unwrap();
    for open in [0o770, 0o702] {
        mode(open);
        refused!(Cache::open(folder), Error::InvalidArgument(_), "chmod go-w");
        // Also where it is so since it was opened.
        let cached = place
            .cache
            .load_or_compile(place.model(), &target, &Recipe::new());
        refused!(cached, Error::InvalidArgument(_), "chmod go-w");
    }
    mode(0o755);
    assert_eq!(place.outcome(&Recipe::new()), Outcome::Hit);
    refused!(
        Cache::open(place.model()),
        Error::InvalidArgument(_),
        "not a folder"
    );
}

#[test]
fn the_longest_unused_goes_first() {
    let mut place = Place::new();
    let recipe = |name: &'static str| Recipe::new().step(name, |_, _| Ok(()));
    let mut known = Vec::new();
    let mut make = |place: &Place, name: &'static str| {
        assert_eq!(place.outcome(&recipe(name)), Outcome::Built);
        let new = place
            .files()
            .into_iter()
            .find(|file| !known.contains(file))
            .unwrap();
        known.push(new.clone());
        place.cache.folder().join(new)
    };
    let used = |entry: &Path, time: SystemTime| {
        File::open(entry).unwrap().set_modified(time).unwrap();
    };
    let past = |seconds| SystemTime::now() - Duration::from_secs(seconds);
    let a = make(&place, "a");
    let b = make(&place, "b");
    let c = make(&place, "c");
    for (entry, seconds) in [(&a, 300), (&b, 200), (&c, 100)] {
        used(entry, past(seconds));
    }
    assert_eq!(place.outcome(&recipe("a")), Outcome::Hit); // and so used last
    let bytes = fs::metadata(&a).unwrap().len();
    place.cache = place.cache.size_limit(bytes * 2 + bytes / 2);
    let d = make(&place, "d");
    let there = [&a, &b, &c, &d].map(|entry| entry.exists());
    assert_eq!(there, [true, false, false, true]);
    // The clock was put back: the new one seems to be the oldest, and stays.
    for entry in [&a, &d] {
        used(entry, SystemTime::now() + Duration::from_secs(1 << 20));
    }
    place.cache = place.cache.size_limit(1);
    let e = make(&place, "e");
    assert_eq!(place.entry(), e);
    assert_eq!(place.outcome(&recipe("e")), Outcome::Hit);
}

#[test]
fn the_users_cache_is_where_caches_are() {
    let test = "folder::the_users_cache_is_where_caches_are";
    if is_child(test) {
        let model = std::env::var_os("MODEL").unwrap();
        let target = Target::reference().unwrap();
        let program = migraphx::Program::load_or_compile(model, &target, &Recipe::new());
        assert_eq!(product(&mut program.unwrap()), [5.0, 5.0]);
        return;
    }
    let place = Place::new();
    let home = place.root.path();
    let in_home = |variable: &str, folder: &str| {
        let mut child = child(test);
        child
            .env_remove("XDG_CACHE_HOME")
            .env("MODEL", place.model());
        // The library is found without the variables that are changed.
        let library = migraphx::library_path().unwrap();
        child.env("MIGRAPHX_LIB_DIR", library.parent().unwrap());
        succeeds(&child.env(variable, home).output().unwrap());
        assert_eq!(files(&home.join(folder)).len(), 1, "{folder}");
    };
    in_home("XDG_CACHE_HOME", "migraphx-rs/compiled");
    in_home("HOME", ".cache/migraphx-rs/compiled");
}
