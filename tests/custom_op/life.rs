//! Operators over the life of a process: copies, threads, files, its end.

use super::*;

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn programs_give_their_copies_back() {
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = Counted(drops.clone());
    let op = Arc::new(op("t_counted", move |inputs, output| {
        let _ = &counted;
        output
            .slice_mut::<f32>()?
            .copy_from_slice(inputs[0].slice()?);
        Ok(())
    }));
    custom_op::register(op.clone()).unwrap();
    assert_eq!(
        (Arc::strong_count(&op), custom_op::copies("t_counted")),
        (2, Some(0))
    );
    for _ in 0..3 {
        let program = custom_op::program("t_counted", &[("x", floats(&[1]))]).unwrap();
        assert_eq!(custom_op::copies("t_counted"), Some(1));
        let second = program.try_clone().unwrap();
        // The library shares it between the two.
        assert_eq!(custom_op::copies("t_counted"), Some(1));
        let mut program = compile(program);
        drop(second);
        for _ in 0..10 {
            run(&mut program, &[1.0], &[1]).unwrap();
            assert_eq!(custom_op::copies("t_counted"), Some(1));
        }
        drop(program);
        assert_eq!(custom_op::copies("t_counted"), Some(0));
    }
    // The process keeps the operator.
    assert_eq!(
        (Arc::strong_count(&op), drops.load(Ordering::Relaxed)),
        (2, 0)
    );
    assert_eq!(custom_op::copies("t_no_such"), None);
    // One that was refused is dropped.
    let counted = Counted(drops.clone());
    let refused = self::op("add", move |_, _| {
        let _ = &counted;
        Ok(())
    });
    custom_op::register(refused).unwrap_err();
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn an_operator_may_use_migraphx_itself() {
    custom_op::register(doubling("t_within")).unwrap();
    let runs = Arc::new(AtomicBool::new(false));
    let running = runs.clone();
    let inner = std::sync::Mutex::new(compiled(&testkit::models::add(&[4])));
    let mut nested = op("t_nested", move |inputs, output| {
        let mut program = inner.lock().unwrap();
        let x = || Argument::from_slice(inputs[0].slice::<f32>()?, &[4]);
        let sum = program.run_once(&[("x", x()?), ("y", x()?)])?;
        output.slice_mut::<f32>()?.copy_from_slice(sum.slice(0)?);
        // Inside a run this is allowed.
        match custom_op::register(doubling("t_from_compute")) {
            Ok(()) | Err(Error::InvalidArgument(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    });
    nested.shape = Box::new(move |inputs| {
        // Parsing takes the lock that compiling holds; both read.
        let program = support::parse(&testkit::models::add(&[4]));
        assert_eq!(program.output_shapes(), &inputs[..1]);
        custom_op::program("t_within", &[("x", inputs[0].clone())])?;
        // Writing would wait for this very thread, but for a run, which holds no lock.
        if !running.load(Ordering::Relaxed) {
            let register = custom_op::register(doubling("t_never"));
            refused!(register, Error::InvalidArgument(_), "do it before");
        }
        Ok(inputs[0].clone())
    });
    custom_op::register(nested).unwrap();
    let mut program = alone("t_nested", &[4]);
    runs.store(true, Ordering::Relaxed);
    let sums = run(&mut program, &[1.0, 2.0, 3.0, 4.0], &[4]).unwrap();
    assert_eq!(sums, [2.0, 4.0, 6.0, 8.0]);
    assert!(custom_op::names().contains(&"t_from_compute".to_owned()));
    assert_eq!(custom_op::copies("t_never"), None);
}

#[test]
fn threads_register_build_and_run_side_by_side() {
    const NAMES: [&str; 8] = [
        "t_side_0", "t_side_1", "t_side_2", "t_side_3", "t_side_4", "t_side_5", "t_side_6",
        "t_side_7",
    ];
    custom_op::register(doubling("t_shared")).unwrap();
    let model = testkit::models::add(&[4]);
    let start = Barrier::new(4);
    let (start, model) = (&start, &model);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                start.wait();
                for round in 0..2 {
                    let own = NAMES[2 * thread + round];
                    custom_op::register(doubling(own)).unwrap();
                    for name in [own, "t_shared"] {
                        let mut program = alone(name, &[2]);
                        for x in 0..50 {
                            let x = x as f32;
                            let doubled = run(&mut program, &[x, -x], &[2]).unwrap();
                            assert_eq!(doubled, [2.0 * x, -2.0 * x]);
                        }
                    }
                    compiled(model);
                }
            });
        }
    });
    // All racing for one name: one wins.
    let won: usize = std::thread::scope(|scope| {
        let racing = || custom_op::register(doubling("t_raced")).is_ok();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(racing)).collect();
        threads
            .into_iter()
            .map(|thread| usize::from(thread.join().unwrap()))
            .sum()
    });
    assert_eq!(won, 1);
    assert_eq!(custom_op::copies("t_shared"), Some(0));
}

#[test]
fn saved_programs_need_the_operator_registered() {
    const TEST: &str = "life::saved_programs_need_the_operator_registered";
    if is_child(TEST) {
        let folder = std::path::PathBuf::from(std::env::var_os("T_FOLDER").unwrap());
        let (plain, ready) = (folder.join("plain.mxr"), folder.join("compiled.mxr"));
        refused!(
            Program::load(&plain),
            Error::Api { .. },
            "Operator not found"
        );
        refused!(
            CompiledProgram::load(&ready),
            Error::Api { .. },
            "Operator not found"
        );
        // Another operator of the same name is asked, and says no.
        let mut strict = doubling("t_saved");
        strict.shape = Box::new(|_| Err("only on Sundays".into()));
        custom_op::register(strict).unwrap();
        refused!(Program::load(&plain), Error::Api { .. }, "only on Sundays");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (plain, ready) = (
        folder.path().join("plain.mxr"),
        folder.path().join("compiled.mxr"),
    );
    custom_op::register(doubling("t_saved")).unwrap();
    let program = custom_op::program("t_saved", &[("x", floats(&[3]))]).unwrap();
    program.save(&plain).unwrap();
    compile(program).save(&ready).unwrap();
    let loaded = [
        compile(Program::load(&plain).unwrap()),
        CompiledProgram::load(&ready).unwrap(),
    ];
    for mut program in loaded {
        assert_eq!(
            run(&mut program, &[1.0, 2.0, 3.0], &[3]).unwrap(),
            [2.0, 4.0, 6.0]
        );
    }
    succeeds(&child(TEST).env("T_FOLDER", folder.path()).output().unwrap());
}

/// The user's destructor is not run while the process ends, when little works any more.
#[test]
fn the_process_ends_well_with_operators_in_use() {
    const TEST: &str = "life::the_process_ends_well_with_operators_in_use";
    if is_child(TEST) {
        struct Loud;
        impl Drop for Loud {
            fn drop(&mut self) {
                eprintln!("dropped at exit");
                std::process::abort();
            }
        }
        let loud = Loud;
        custom_op::register(op("t_at_exit", move |_, _| {
            let _ = &loud;
            Ok(())
        }))
        .unwrap();
        let program = alone("t_at_exit", &[1]);
        std::mem::forget(program);
        std::process::exit(0);
    }
    let output = child(TEST).output().unwrap();
    succeeds(&output);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("dropped at exit"));
}

#[test]
fn the_first_use_of_a_target_is_refused_in_a_shape() {
    const TEST: &str = "life::the_first_use_of_a_target_is_refused_in_a_shape";
    if is_child(TEST) {
        let mut early = doubling("t_early");
        early.shape = Box::new(|inputs| {
            refused!(
                Target::reference(),
                Error::InvalidArgument(_),
                "do it before"
            );
            Ok(inputs[0].clone())
        });
        custom_op::register(early).unwrap();
        custom_op::program("t_early", &[("x", floats(&[1]))]).unwrap();
        return;
    }
    succeeds(&child(TEST).output().unwrap());
}

/// A copy of the library without one of its functions, as before ROCm 5.4.
fn old_library(folder: &std::path::Path) -> std::path::PathBuf {
    const NAME: &[u8] = b"migraphx_experimental_custom_op_set_output_alias\0";
    let real = migraphx::library_path().unwrap().canonicalize().unwrap();
    // Beside its own libraries, where it looks for them.
    let lib = folder.join("lib");
    std::fs::create_dir(&lib).unwrap();
    for entry in std::fs::read_dir(real.parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        std::os::unix::fs::symlink(entry.path(), lib.join(entry.file_name())).unwrap();
    }
    let mut bytes = std::fs::read(&real).unwrap();
    let at = bytes
        .windows(NAME.len())
        .position(|name| name == NAME)
        .unwrap();
    bytes[at] = b'M';
    let old = lib.join("old.so");
    std::fs::write(&old, bytes).unwrap();
    old
}

#[test]
fn libraries_before_5_4_are_refused() {
    const TEST: &str = "life::libraries_before_5_4_are_refused";
    if is_child(TEST) {
        migraphx::load_from(std::env::var_os("T_LIBRARY").unwrap()).unwrap();
        let result = custom_op::register(doubling("t_too_old"));
        refused!(result, Error::Unsupported { .. }, "set_output_alias", "5.4");
        assert_eq!(custom_op::copies("t_too_old"), None);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let library = old_library(folder.path());
    succeeds(&child(TEST).env("T_LIBRARY", library).output().unwrap());
}
