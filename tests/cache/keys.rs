//! What a program is found by.

use std::fs::{self, File};
use std::time::SystemTime;

use migraphx::cache::Outcome;
use migraphx::{
    Argument, Cache, Calibration, CompileOptions, DynamicDim, Error, OnnxOptions, Recipe, Target,
};
use testkit::models;

use super::support::{case, child, is_child, refused, succeeds};
use super::{Place, product};

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
    refused!(missing, Error::Model { .. }, "ext_ok.weights");
}

#[test]
fn variables_that_change_programs_count() {
    let test = "keys::variables_that_change_programs_count";
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
