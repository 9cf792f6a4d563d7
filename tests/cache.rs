//! The cache of compiled programs: what is found again and what is not, with
//! damaged entries, several processes, killed ones, and no place to write.

mod support;

use migraphx::cache::{Cached, Outcome};
use migraphx::{Argument, Cache, Calibration, CompileOptions, CompiledProgram, DynamicDim};
use migraphx::{Error, OnnxOptions, Recipe, Target};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use support::{case, child, files, is_child, refused, run, succeeds};
use tempfile::TempDir;
use testkit::models;

/// A cache in a folder of its own, and a model beside it.
struct Place {
    root: TempDir,
    cache: Cache,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::open(root.path().join("cache")).unwrap();
        let place = Place { root, cache };
        place.write(&models::matmul(1, 4, 2, &[0.5; 8]));
        place
    }

    fn model(&self) -> PathBuf {
        self.root.path().join("model.onnx")
    }

    fn write(&self, model: &[u8]) {
        fs::write(self.model(), model).unwrap();
    }

    #[track_caller]
    fn get(&self, recipe: &Recipe<'_>) -> Cached<CompiledProgram> {
        let target = Target::reference().unwrap();
        let cached = self.cache.load_or_compile(self.model(), &target, recipe);
        cached.unwrap()
    }

    #[track_caller]
    fn outcome(&self, recipe: &Recipe<'_>) -> Outcome {
        self.get(recipe).outcome
    }

    /// What is new at first and known from then on.
    #[track_caller]
    fn is_new(&self, recipe: &Recipe<'_>) {
        assert_eq!(self.outcome(recipe), Outcome::Built);
        assert_eq!(self.outcome(recipe), Outcome::Hit);
    }

    fn files(&self) -> Vec<String> {
        files(self.cache.folder())
    }

    /// The only entry.
    fn entry(&self) -> PathBuf {
        let [file] = &self.files()[..] else {
            panic!("{:?}", self.files());
        };
        assert!(file.ends_with(".mxr"), "{file}");
        self.cache.folder().join(file)
    }
}

fn product(program: &mut CompiledProgram) -> Vec<f32> {
    run(program, &[("x", &[1.0, 2.0, 3.0, 4.0], &[1, 4])])
}

#[test]
fn the_same_is_found_and_gives_the_same() {
    let place = Place::new();
    let mut built = place.get(&Recipe::new());
    let mut hit = place.get(&Recipe::new());
    assert_eq!((built.outcome, hit.outcome), (Outcome::Built, Outcome::Hit));
    assert_eq!(product(&mut built.program), [5.0, 5.0]);
    assert_eq!(product(&mut hit.program), [5.0, 5.0]);
    assert_eq!(hit.program.to_string(), built.program.to_string());
    // By its contents, not by its name or time.
    let other = place.root.path().join("other.onnx");
    fs::rename(place.model(), &other).unwrap();
    let file = File::options().write(true).open(&other).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let target = Target::reference().unwrap();
    let cached = place.cache.load_or_compile(&other, &target, &Recipe::new());
    assert_eq!(cached.unwrap().outcome, Outcome::Hit);
}

#[test]
fn each_part_of_a_recipe_counts() {
    let place = Place::new();
    place.write(&models::dynamic_linear());
    let sized = || OnnxOptions::new().input_dims("x", &[2, 4]);
    let calibration = |last: f32| {
        let program = OnnxOptions::new().parse(place.model()).unwrap();
        let mut calibration = Calibration::new(&program).unwrap();
        let sample = Argument::from_vec(vec![0.1, 0.9, -0.4, last], &[1, 4]).unwrap();
        calibration.push(&[("x", sample)]).unwrap();
        calibration
    };
    let (one, other) = (
        calibration(0.3),
        calibration(f32::from_bits(0.3f32.to_bits() + 1)),
    );
    let recipes = [
        Recipe::new(),
        Recipe::new().onnx(sized()),
        Recipe::new().onnx(OnnxOptions::new().input_dims("x", &[3, 4])),
        Recipe::new().onnx(OnnxOptions::new().default_dim(2)),
        Recipe::new().onnx(OnnxOptions::new().default_dynamic_dim(DynamicDim::new(1, 4).unwrap())),
        Recipe::new().onnx(sized().limit_loop_iterations(7)),
        Recipe::new().compile(CompileOptions::new().fast_math(false)),
        Recipe::new().compile(CompileOptions::new().exhaustive_tune(true)),
        Recipe::new().compile(CompileOptions::new().offload_copy(false)),
        Recipe::new().quantize_fp16(),
        Recipe::new().quantize_fp16_ops(&["dot"]),
        Recipe::new().quantize_fp16_ops(&["dot", "add"]),
        Recipe::new().quantize_bf16(),
        Recipe::new().quantize_bf16_ops(&["dot"]),
        Recipe::new().quantize_int8(&one),
        Recipe::new().quantize_int8(&other),
        Recipe::new().quantize_int8(&one).quantize_fp16(),
        Recipe::new().quantize_fp16().quantize_int8(&one),
        Recipe::new().quantize_int8_ops(&["dot", "convolution"], &one),
        Recipe::new().quantize_fp8(&one),
        Recipe::new().step("nothing v1", |_, _| Ok(())),
        Recipe::new().step("nothing v2", |_, _| Ok(())),
        Recipe::new().step("a\nstep fp16", |_, _| Ok(())),
    ];
    for recipe in &recipes {
        place.is_new(recipe);
    }
    for recipe in &recipes {
        assert_eq!(place.outcome(recipe), Outcome::Hit, "{recipe:?}");
    }
    assert_eq!(place.files().len(), recipes.len());
    // A step that is found is not done.
    let step = Recipe::new().step("nothing v1", |_, _| panic!("it is done again"));
    assert_eq!(place.outcome(&step), Outcome::Hit);
    // Samples of the same bytes are the same.
    assert_eq!(
        place.outcome(&Recipe::new().quantize_int8(&calibration(0.3))),
        Outcome::Hit
    );
}

#[test]
fn each_byte_of_a_model_counts() {
    let place = Place::new();
    place.is_new(&Recipe::new());
    place.write(&models::matmul(
        1,
        4,
        2,
        &[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25],
    ));
    let mut changed = place.get(&Recipe::new());
    assert_eq!(changed.outcome, Outcome::Built);
    assert_eq!(product(&mut changed.program), [5.0, 4.0]);

    for file in ["ext_ok.onnx", "ext_ok.weights"] {
        fs::copy(case(file), place.root.path().join(file)).unwrap();
    }
    fs::copy(case("ext_ok.onnx"), place.model()).unwrap();
    place.is_new(&Recipe::new());
    let weights = place.root.path().join("ext_ok.weights");
    let mut bytes = fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&weights, &bytes).unwrap();
    place.is_new(&Recipe::new());
    // Elsewhere, and the same.
    let folder = place.root.path().join("weights");
    fs::create_dir(&folder).unwrap();
    fs::rename(&weights, folder.join("ext_ok.weights")).unwrap();
    let options = OnnxOptions::new().external_data_dir(&folder);
    assert_eq!(place.outcome(&Recipe::new().onnx(options)), Outcome::Hit);
    // Nowhere.
    let target = Target::reference().unwrap();
    let missing = place
        .cache
        .load_or_compile(place.model(), &target, &Recipe::new());
    refused!(missing, Error::Api { .. }, "ext_ok.weights");
}

#[test]
fn variables_that_change_programs_count() {
    let test = "variables_that_change_programs_count";
    if is_child(test) {
        let cache = Cache::open(std::env::var_os("CACHE").unwrap()).unwrap();
        let model = std::env::var_os("MODEL").unwrap();
        let target = Target::reference().unwrap();
        let cached = cache
            .load_or_compile(model, &target, &Recipe::new())
            .unwrap();
        let expected = std::env::var("EXPECTED").unwrap();
        assert_eq!(format!("{:?}", cached.outcome), expected);
        return;
    }
    let place = Place::new();
    let expect = |expected: &str, variable: Option<(&str, &str)>| {
        let mut child = child(test);
        child
            .env("CACHE", place.cache.folder())
            .env("MODEL", place.model());
        succeeds(
            &child
                .env("EXPECTED", expected)
                .envs(variable)
                .output()
                .unwrap(),
        );
    };
    expect("Built", None);
    expect("Hit", None);
    for variable in [
        "MIGRAPHX_ENABLE_NHWC",
        "MIOPEN_FIND_MODE",
        "HSA_OVERRIDE_GFX_VERSION",
    ] {
        expect("Built", Some((variable, "1")));
        expect("Hit", Some((variable, "1")));
        expect("Built", Some((variable, "2")));
    }
    expect("Hit", Some(("MIGRAPHX_TRACE_EVAL", "0")));
    expect("Hit", Some(("MIGRAPHX_GPU_COMPILE_PARALLEL", "2")));
    expect("Hit", None);
}

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
    let test = "many_ask_and_one_compiles";
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
    let test = "a_killed_process_does_no_harm";
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

/// In a process that may write no file larger than 1 MB, not even in memory.
#[test]
fn a_full_disk_costs_nothing_but_the_entry() {
    let test = "a_full_disk_costs_nothing_but_the_entry";
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

#[test]
fn a_failure_or_a_changed_model_stores_nothing() {
    let place = Place::new();
    let target = Target::reference().unwrap();
    let fails = Recipe::new().step("fails", |_, _| Err(Error::InvalidArgument("no".into())));
    let failed = place.cache.load_or_compile(place.model(), &target, &fails);
    refused!(failed, Error::InvalidArgument(_), "no");
    let changes = Recipe::new().step("changes", |_, _| {
        place.write(&models::matmul(1, 4, 2, &[0.25; 8]));
        Ok(())
    });
    let mut cached = place.get(&changes);
    let Outcome::NotStored(why) = cached.outcome else {
        panic!("{:?}", cached.outcome);
    };
    assert!(why.contains("changed while it was compiled"), "{why}");
    assert_eq!(product(&mut cached.program), [5.0, 5.0]);
    assert!(place.files().is_empty(), "{:?}", place.files());
    // What is no model is the error that it is without a cache.
    let none = place
        .cache
        .load_or_compile("no-such.onnx", &target, &Recipe::new());
    refused!(none, Error::Io { .. }, "no-such.onnx");
    place.write(b"");
    let empty = place
        .cache
        .load_or_compile(place.model(), &target, &Recipe::new());
    refused!(empty, Error::EmptyModel { .. }, "model.onnx");
}

#[test]
fn the_users_cache_is_where_caches_are() {
    let test = "the_users_cache_is_where_caches_are";
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
