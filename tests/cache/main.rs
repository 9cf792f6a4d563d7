//! The cache of compiled programs: what is found again and what is not, with
//! damaged entries, several processes, killed ones, and no place to write.

mod damage;
mod folder;
mod keys;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::path::PathBuf;

use migraphx::cache::{Cached, Outcome};
use migraphx::{Cache, CompiledProgram, Recipe, Target};
use support::{files, run};
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
