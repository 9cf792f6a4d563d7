//! Compiled programs that are kept between processes.
//!
//! Compiling for a GPU takes minutes, loading what was compiled a moment. A
//! [`Cache`] is a folder of compiled programs; [`load_or_compile`](Cache::load_or_compile)
//! gives the program from there, or compiles it and stores it there.
//!
//! ```
//! use migraphx::{Argument, Cache, Recipe, Target, cache::Outcome};
//!
//! # let root = std::env::temp_dir().join(format!("cache-{}", std::process::id()));
//! # std::fs::create_dir_all(&root).unwrap();
//! # let model = root.join("model.onnx");
//! # std::fs::write(&model, testkit::models::matmul(1, 4, 2, &[0.5; 8])).unwrap();
//! # let folder = root.join("compiled");
//! let cache = Cache::open(folder)?.size_limit(10 << 30);
//! let recipe = Recipe::new().quantize_fp16();
//! let target = Target::reference()?;
//! let first = cache.load_or_compile(&model, &target, &recipe)?;
//! assert_eq!(first.outcome, Outcome::Built);
//! let second = cache.load_or_compile(&model, &target, &recipe)?;
//! assert_eq!(second.outcome, Outcome::Hit);
//!
//! let mut program = second.program; // y = x · w, x: float [1, 4]
//! let x = Argument::from_slice(&[1.0f32; 4], &[1, 4])?;
//! assert_eq!(program.run_once(&[("x", x)])?.slice::<f32>(0)?, [2.0, 2.0]);
//! # std::fs::remove_dir_all(&root).unwrap();
//! # Ok::<(), migraphx::Error>(())
//! ```
//!
//! # What is found again
//! A program is one that was stored only where all of this is the same:
//!
//! - the bytes of the model and of the files with its external data (not their
//!   names or times),
//! - the [`Recipe`]: sizes, precision, the calibration's samples, compile options,
//! - the target; for a GPU its architecture and name (not its number: equal
//!   devices share entries), and whether its buffers are on the host or the device,
//! - MIGraphX: its version, and the size and time of each of its library files, so
//!   that one that was built anew counts as another; for a GPU also of HIP,
//!   hipRTC, MIOpen, rocBLAS and hipBLASLt as far as MIGraphX is linked to them,
//! - environment variables that begin with `MIGRAPHX_`, `MIOPEN_`, `ROCBLAS_` or
//!   `HIPBLASLT_`, and `HSA_OVERRIDE_GFX_VERSION`; but those that only print, name
//!   the library or say how many threads compile. They are read at each call,
//!   MIGraphX reads its own at their first use: set them when the process starts.
//!   Files that they name (`MIGRAPHX_PROBLEM_CACHE`) count by name only,
//! - the version of this crate.
//!
//! Custom operators count by their names in the model: when the code of one changes
//! the shapes it gives, use another folder, or name it in a [`step`](Recipe::step).
//!
//! The entry's file name is the SHA-256 of all that, which is also in the file. A
//! wrong hit would silently run another model, so the hash is one for which
//! nobody can make two models that collide; it is why this crate depends on `sha2`.
//!
//! # Safe between processes and threads
//! One of those that ask for the same program compiles it; the others wait and
//! load it. An entry gets its name once it is complete. What a killed process
//! left is of no harm, and is removed when the next program is stored. An entry
//! that is damaged, or that the library refuses, is made anew, with a warning in
//! the [`log`]. Where the folder cannot be written, the program is compiled all the
//! same: see [`Outcome`].
//!
//! # Trust
//! Who can write to the folder chooses what runs on your GPU, just as with
//! `.mxr` files. It is made for its owner alone, and a folder that belongs to
//! another user (but root), or that others may write to, is refused.

mod digest;
mod external;
mod folder;
mod key;
mod kind;
mod lock;
mod recipe;

use std::path::{Path, PathBuf};

pub use recipe::Recipe;

use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};
use crate::program::Program;
use crate::target::Target;
use folder::Folder;
use key::Key;
use kind::Kind;

/// Bytes of entries that are kept unless told otherwise.
const SIZE_LIMIT: u64 = 16 << 30;

/// A folder of compiled programs. See the [module](self).
#[derive(Debug, Clone)]
pub struct Cache {
    folder: Folder,
    size_limit: u64,
}

/// A program, and where it came from.
#[derive(Debug)]
pub struct Cached<P> {
    /// The program.
    pub program: P,
    /// Where it came from.
    pub outcome: Outcome,
}

/// Where a program came from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It was in the cache.
    Hit,
    /// It was compiled, and is in the cache now.
    Built,
    /// As [`Built`](Outcome::Built), in place of an entry that could not be used; says why.
    Rebuilt(String),
    /// It was compiled, and could not be stored; says why. The next call compiles again.
    NotStored(String),
}

impl Cache {
    /// The cache in `folder`, which is made when it is needed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where it is not a folder, belongs to another user
    /// or can be written by others.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = Folder::new(folder.as_ref())?;
        folder.check()?;
        let size_limit = SIZE_LIMIT;
        Ok(Cache { folder, size_limit })
    }

    /// The user's own cache: `migraphx-rs/compiled` in `XDG_CACHE_HOME`, else in
    /// `.cache` of the home directory.
    ///
    /// # Errors
    /// As [`open`](Cache::open), and [`Error::InvalidArgument`] where neither is set.
    pub fn user() -> Result<Self> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let absolute = |path: &PathBuf| path.is_absolute();
        let home = || Some(variable("HOME").filter(absolute)?.join(".cache"));
        match variable("XDG_CACHE_HOME").filter(absolute).or_else(home) {
            Some(caches) => Cache::open(caches.join("migraphx-rs/compiled")),
            None => Err(Error::InvalidArgument(
                "there is no place for a cache: neither XDG_CACHE_HOME nor HOME is an absolute \
                 path; set one, or name a folder with `Cache::open`"
                    .into(),
            )),
        }
    }

    /// The size, in bytes, above which a store removes entries, those first that
    /// were not used for the longest time. What was just stored stays, whatever
    /// its size. Default: 16 GiB.
    #[must_use]
    pub fn size_limit(mut self, bytes: u64) -> Self {
        self.size_limit = bytes;
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The ONNX model at `model`, compiled for `target` as `recipe` says: from the
    /// cache where it is there, else compiled and stored.
    ///
    /// # Errors
    /// Those of [`OnnxOptions::parse`](crate::OnnxOptions::parse), of the recipe's
    /// steps and of [`Program::compile`]; [`Error::InvalidArgument`] as for
    /// [`open`](Cache::open). No other problem of the cache is an error: see
    /// [`Outcome::NotStored`].
    pub fn load_or_compile(
        &self,
        model: impl AsRef<Path>,
        target: &Target,
        recipe: &Recipe<'_>,
    ) -> Result<Cached<CompiledProgram>> {
        self.get(model.as_ref(), target, recipe)
    }

    /// As [`load_or_compile`](Cache::load_or_compile), for buffers on `device`.
    ///
    /// # Errors
    /// As [`load_or_compile`](Cache::load_or_compile) and
    /// [`Program::compile_for_device`].
    #[cfg(feature = "hip")]
    pub fn load_or_compile_for_device(
        &self,
        model: impl AsRef<Path>,
        device: crate::hip::Device,
        recipe: &Recipe<'_>,
    ) -> Result<Cached<crate::DeviceProgram>> {
        self.get(model.as_ref(), &Target::gpu_on(device)?, recipe)
    }

    fn get<P: Kind>(
        &self,
        model: &Path,
        target: &Target,
        recipe: &Recipe<'_>,
    ) -> Result<Cached<P>> {
        self.folder.check()?;
        let build = || P::compile(recipe.read(model, target)?, target, recipe.options());
        let key = match Key::of::<P>(model, target, recipe) {
            Ok(key) => key,
            Err(why) => return Ok(not_stored(build()?, why)),
        };
        if let Ok(program) = self.find(&key, target)? {
            return Ok(hit(program));
        }
        let lock = match self.folder.lock(key.name()) {
            Ok(lock) => lock,
            Err(error) => return Ok(not_stored(build()?, error.to_string())),
        };
        // Whoever had the lock may have made it.
        let former = match self.find(&key, target)? {
            Ok(program) => return Ok(hit(program)),
            Err(former) => former,
        };
        if let Some(problem) = &former {
            log::warn!(target: "migraphx", "the cache compiles {} again: {problem}", model.display());
            self.folder.remove(key.name());
        }
        let program: P = build()?;
        if !key.still_of(model, recipe) {
            let why = "the model or its external data changed while it was compiled";
            return Ok(not_stored(program, why.into()));
        }
        let [entry, temporary] = [self.folder.entry(key.name()), self.folder.part(key.name())];
        if let Err(error) = program.save(key.name(), &entry, temporary) {
            return Ok(not_stored(program, error.to_string()));
        }
        self.folder.prune(self.size_limit, key.name());
        drop(lock);
        let outcome = former.map_or(Outcome::Built, Outcome::Rebuilt);
        Ok(Cached { program, outcome })
    }

    /// The entry of a key, or what is wrong with the one that is there.
    fn find<P: Kind>(&self, key: &Key, target: &Target) -> Result<Result<P, Option<String>>> {
        let path = self.folder.entry(key.name());
        match P::load(&path, key.name(), target.device()) {
            Ok(program) => {
                folder::touch(&path);
                Ok(Ok(program))
            }
            Err(Error::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Err(None))
            }
            Err(error) if is_of_the_entry(&error) => Ok(Err(Some(error.to_string()))),
            Err(error) => Err(error),
        }
    }
}

/// Whether compiling anew may help.
fn is_of_the_entry(error: &Error) -> bool {
    !matches!(
        error,
        Error::Load(_)
            | Error::Unsupported { .. }
            | Error::OutOfMemory { .. }
            | Error::NoDevice { .. }
            | Error::Hip { .. }
            | Error::WrongDevice { .. }
            | Error::DeviceMemory { .. }
            | Error::Exiting
    )
}

fn hit<P>(program: P) -> Cached<P> {
    let outcome = Outcome::Hit;
    Cached { program, outcome }
}

fn not_stored<P>(program: P, why: String) -> Cached<P> {
    log::warn!(target: "migraphx", "a compiled program was not stored in the cache: {why}");
    let outcome = Outcome::NotStored(why);
    Cached { program, outcome }
}

impl Program {
    /// The ONNX model at `model`, compiled for `target` as `recipe` says: from the
    /// user's [`Cache`] where it is there, else compiled and stored there.
    ///
    /// ```no_run
    /// use migraphx::{OnnxOptions, Program, Recipe, Target};
    ///
    /// let options = OnnxOptions::new().input_dims("images", &[16, 3, 640, 640]);
    /// let recipe = Recipe::new().onnx(options).quantize_fp16();
    /// // Minutes the first time, a moment from then on.
    /// let program = Program::load_or_compile("yolo26s.onnx", &Target::gpu()?, &recipe)?;
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Cache::load_or_compile`] and [`Cache::user`].
    #[doc(alias = "migraphx_load")]
    #[doc(alias = "migraphx_program_compile")]
    pub fn load_or_compile(
        model: impl AsRef<Path>,
        target: &Target,
        recipe: &Recipe<'_>,
    ) -> Result<CompiledProgram> {
        let cached = Cache::user()?.load_or_compile(model, target, recipe)?;
        Ok(cached.program)
    }
}
