//! Buckets as a folder: a `.mxr` for each, and an index.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::axes::Axes;
use super::{Buckets, Padding};
use crate::compiled::CompiledProgram;
use crate::error::{Error, Result};

const INDEX: &str = "buckets.json";

/// Of the index.
const FORMAT: u64 = 1;

impl Buckets {
    /// Saves the programs into a folder, which is made if it is not there. What
    /// was saved there before stays valid until all is written, and is removed
    /// then; other files stay.
    ///
    /// # Errors
    /// [`Error::Io`] where something cannot be written.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        fs::create_dir_all(folder).map_err(|error| Error::io("make the folder", folder, error))?;
        let former = Index::read(folder)
            .map(|index| index.files())
            .unwrap_or_default();
        let mut written = Written::default();
        let mut programs = BTreeMap::new();
        for bucket in &self.buckets {
            let name = format!("{}.{}.mxr", bucket.size, unique());
            written.0.push(folder.join(&name));
            bucket.program.save(folder.join(&name))?;
            programs.insert(bucket.size, name);
        }
        let index = Index {
            programs,
            axes: self.axes.clone(),
            padding: self.padding,
        };
        index.write(folder)?;
        written.0.clear();
        for name in former {
            // It is of no use any more; a reader that is at it keeps what it opened.
            let _ = fs::remove_file(folder.join(name));
        }
        Ok(())
    }

    /// Loads what [`save`](Buckets::save) wrote.
    ///
    /// # Errors
    /// [`Error::Io`] where the index cannot be read, [`Error::InvalidArgument`]
    /// where it is none or the programs do not fit it; else as
    /// [`CompiledProgram::load`].
    pub fn load(folder: impl AsRef<Path>) -> Result<Self> {
        Buckets::load_with(folder, |path| CompiledProgram::load(path))
    }

    /// As [`load`](Buckets::load), with each program loaded by `load`: onto a
    /// device, say.
    ///
    /// # Errors
    /// As [`load`](Buckets::load), and those of `load`.
    pub fn load_with(
        folder: impl AsRef<Path>,
        mut load: impl FnMut(&Path) -> Result<CompiledProgram>,
    ) -> Result<Self> {
        let folder = folder.as_ref();
        let index = Index::read(folder)?;
        let programs = index.programs.iter();
        let programs = programs.map(|(size, name)| Ok((*size, load(&folder.join(name))?)));
        let programs = programs.collect::<Result<Vec<_>>>()?;
        Ok(Buckets::with_axes(programs, index.axes)?.padding(index.padding))
    }
}

struct Index {
    /// The file of each size.
    programs: BTreeMap<usize, String>,
    axes: Axes,
    padding: Padding,
}

impl Index {
    fn files(self) -> Vec<String> {
        self.programs.into_values().collect()
    }

    fn write(&self, folder: &Path) -> Result<()> {
        let text = json!({
            "format": FORMAT,
            "programs": self.programs,
            "input_axes": self.axes.inputs,
            "output_axes": self.axes.outputs,
            "padding": name_of(self.padding),
        });
        let path = folder.join(INDEX);
        let temporary = Written(vec![folder.join(format!(".{INDEX}.{}", unique()))]);
        let write = || {
            let mut file = fs::File::create_new(&temporary.0[0])?;
            std::io::Write::write_all(&mut file, format!("{text:#}\n").as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary.0[0], &path)
        };
        write().map_err(|error| Error::io("write", &path, error))
    }

    fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(INDEX);
        let text = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
        let index = serde_json::from_slice(&text).ok();
        index.as_ref().and_then(Index::parse).ok_or_else(|| {
            Error::InvalidArgument(format!(
                "{} is not an index of buckets that this version writes; save the buckets again",
                path.display()
            ))
        })
    }

    fn parse(value: &Value) -> Option<Self> {
        if value["format"].as_u64()? != FORMAT {
            return None;
        }
        let program = |(size, name): (&String, &Value)| {
            let name = name.as_str()?;
            // Nothing outside the folder, and nothing that `save` would not remove.
            let plain = name.ends_with(".mxr") && !name.contains(['/', '\\']);
            let size = size.parse().ok().filter(|size| *size > 0)?;
            plain.then(|| (size, name.to_owned()))
        };
        let axes = |value: &Value| {
            let axis = |axis: &Value| match axis {
                Value::Null => Some(None),
                axis => Some(Some(usize::try_from(axis.as_u64()?).ok()?)),
            };
            value
                .as_array()?
                .iter()
                .map(axis)
                .collect::<Option<Vec<_>>>()
        };
        let programs = value["programs"].as_object()?.iter().map(program);
        let programs: BTreeMap<_, _> = programs.collect::<Option<_>>()?;
        let padding = value["padding"].as_str()?;
        let all = [Padding::RepeatLast, Padding::Zeros];
        let index = Index {
            programs,
            axes: Axes {
                inputs: axes(&value["input_axes"])?,
                outputs: axes(&value["output_axes"])?,
            },
            padding: all.into_iter().find(|known| name_of(*known) == padding)?,
        };
        let has_batch = index.axes.inputs.iter().any(Option::is_some);
        (has_batch && !index.programs.is_empty()).then_some(index)
    }
}

fn name_of(padding: Padding) -> &'static str {
    match padding {
        Padding::RepeatLast => "repeat-last",
        Padding::Zeros => "zeros",
    }
}

/// Part of a name that no other save uses.
fn unique() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!(
        "{:x}-{}-{}",
        now.unwrap_or_default().as_micros(),
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Files that are removed unless they are wanted in the end.
#[derive(Default)]
struct Written(Vec<PathBuf>);

impl Drop for Written {
    fn drop(&mut self) {
        for path in &self.0 {
            // Gone already, or never made.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_indexes_are_taken() {
        let good = json!({
            "format": 1, "programs": {"1": "1.x.mxr", "16": "16.x.mxr"},
            "input_axes": [0, null], "output_axes": [0], "padding": "zeros",
        });
        let index = Index::parse(&good).unwrap();
        assert_eq!(index.programs[&16], "16.x.mxr");
        assert_eq!(index.axes.inputs, [Some(0), None]);
        for (key, value) in [
            ("format", json!(2)),
            ("programs", json!({"1": "../1.mxr"})),
            ("programs", json!({"1": "/1.mxr"})),
            ("programs", json!({"1": "notes.txt"})),
            ("programs", json!({"0": "0.mxr"})),
            ("programs", json!({})),
            ("input_axes", json!([null])),
            ("input_axes", json!([-1])),
            ("output_axes", json!("none")),
            ("padding", json!("random")),
        ] {
            let mut bad = good.clone();
            bad[key] = value;
            assert!(Index::parse(&bad).is_none(), "{bad}");
        }
    }
}
