//! Input data: from files, else random numbers of a seed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use migraphx::{Argument, DataType, Parameter};

use super::npz;

#[derive(Args, Clone, Debug, Default)]
pub struct DataArgs {
    /// Data of an input: NAME=FILE.npy; may be given often
    #[arg(long, value_name = "NAME=FILE", value_parser = named_file)]
    pub load_arg: Vec<(String, PathBuf)>,
    /// Data of all inputs: a .npz archive with an array for each name
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Give an input zeros
    #[arg(long, value_name = "NAME")]
    pub fill0: Vec<String>,
    /// Give an input ones
    #[arg(long, value_name = "NAME")]
    pub fill1: Vec<String>,
    /// Seed of the numbers that the other inputs get
    #[arg(long, default_value = "0")]
    pub seed: u64,
}

/// A tensor for each parameter, by name.
pub type Tensors = Vec<(String, Argument<'static>)>;

impl DataArgs {
    /// Data for each of `parameters`; `dims` gives the sizes of dynamic ones.
    ///
    /// 32- and 64-bit integers are zeros: they may be indices, and MIGraphX reads
    /// past the end of a table where an index is out of its range.
    pub fn tensors(
        &self,
        parameters: &[Parameter],
        dims: &[(String, Vec<usize>)],
    ) -> Result<Tensors> {
        let mut archive = match &self.inputs {
            Some(path) => npz::read(path).map_err(anyhow::Error::msg)?,
            None => npz::Arrays::new(),
        };
        for (name, path) in &self.load_arg {
            archive.insert(name.clone(), read_npy(path)?);
        }
        let asked = archive.keys().chain(&self.fill0).chain(&self.fill1);
        for name in asked {
            if !parameters.iter().any(|parameter| parameter.name() == name) {
                let names: Vec<&str> = parameters.iter().map(Parameter::name).collect();
                bail!("there is no input `{name}`; there are {}", names.join(", "));
            }
        }
        let mut tensors = Tensors::new();
        for parameter in parameters {
            let name = parameter.name();
            let dtype = parameter.shape().dtype();
            let tensor = if let Some(array) = archive.get(name) {
                if array.kind != npy_kind(dtype) {
                    bail!(
                        "input `{name}` takes {dtype}; the file holds {}",
                        array.kind
                    );
                }
                Argument::from_bytes(dtype, &array.dims, &array.bytes)?
            } else {
                let dims = dims_of(parameter, dims)?;
                let count: usize = dims.iter().product();
                let bytes = if self.fill0.iter().any(|filled| filled == name) {
                    vec![0; count * dtype.size()]
                } else if self.fill1.iter().any(|filled| filled == name) {
                    one(dtype).repeat(count)
                } else {
                    random(dtype, count, self.seed ^ hash(name))
                };
                Argument::from_bytes(dtype, &dims, &bytes)?
            };
            tensors.push((name.to_owned(), tensor));
        }
        Ok(tensors)
    }
}

fn dims_of(parameter: &Parameter, dims: &[(String, Vec<usize>)]) -> Result<Vec<usize>> {
    let name = parameter.name();
    let shape = parameter.shape();
    if let Some((_, dims)) = dims.iter().find(|(named, _)| named == name) {
        return Ok(dims.clone());
    }
    match shape.is_dynamic() {
        true => bail!("input `{name}` is dynamic ({shape}); say --input-dim {name}=…"),
        false => Ok(shape.dims().to_vec()),
    }
}

fn read_npy(path: &Path) -> Result<npz::Array> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    npz::parse_npy(&bytes)
        .map_err(anyhow::Error::msg)
        .with_context(|| path.display().to_string())
}

/// numpy's name of a type; it has none for bfloat16 and 8-bit floats, which are
/// kept as plain bytes.
fn npy_kind(dtype: DataType) -> &'static str {
    match dtype {
        DataType::Bool => "b1",
        DataType::Half => "f2",
        DataType::Float => "f4",
        DataType::Double => "f8",
        DataType::Int8 => "i1",
        DataType::Int16 => "i2",
        DataType::Int32 => "i4",
        DataType::Int64 => "i8",
        DataType::Uint16 => "u2",
        DataType::Uint32 => "u4",
        DataType::Uint64 => "u8",
        DataType::Bf16 => "V2",
        DataType::Uint8 => "u1",
        _ => "V1",
    }
}

fn one(dtype: DataType) -> Vec<u8> {
    element(dtype, 1.0)
}

/// The bytes of a number.
fn element(dtype: DataType, value: f64) -> Vec<u8> {
    match dtype {
        DataType::Half => half::f16::from_f64(value).to_le_bytes().to_vec(),
        DataType::Bf16 => half::bf16::from_f64(value).to_le_bytes().to_vec(),
        DataType::Float => (value as f32).to_le_bytes().to_vec(),
        DataType::Double => value.to_le_bytes().to_vec(),
        // 1.0 in 8-bit floats: the exponent's bias, no fraction.
        DataType::Fp8E4M3Fn => vec![if value == 0.0 { 0 } else { 0x38 }],
        DataType::Fp8E4M3FnUz => vec![if value == 0.0 { 0 } else { 0x40 }],
        DataType::Fp8E5M2 => vec![if value == 0.0 { 0 } else { 0x3c }],
        DataType::Fp8E5M2FnUz => vec![if value == 0.0 { 0 } else { 0x40 }],
        _ => (value as i64).to_le_bytes()[..dtype.size()].to_vec(),
    }
}

/// Floats from -1 to 1, bytes of any value, bools; else zeros.
fn random(dtype: DataType, count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    };
    let mut bytes = Vec::with_capacity(count * dtype.size());
    for _ in 0..count {
        match dtype {
            DataType::Half | DataType::Bf16 | DataType::Float | DataType::Double => {
                let value = next() as f64 / (1u64 << 52) as f64 - 1.0;
                bytes.extend(element(dtype, value));
            }
            DataType::Uint8 | DataType::Int8 => bytes.push((next() >> 40) as u8),
            DataType::Bool => bytes.push((next() >> 40) as u8 & 1),
            _ => bytes.extend(element(dtype, 0.0)),
        }
    }
    bytes
}

/// So that two inputs of equal shape get different numbers (FNV-1a).
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("say NAME=FILE.npy")?;
    Ok((name.trim_start_matches('@').to_owned(), file.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_the_seed_and_lie_in_their_range() {
        let floats = |seed| -> Vec<f32> {
            let bytes = random(DataType::Float, 1000, seed);
            let chunks = bytes.chunks(4).map(|c| c.try_into().unwrap());
            chunks.map(f32::from_le_bytes).collect()
        };
        let (a, b) = (floats(1), floats(2));
        assert_ne!(a, b);
        assert_eq!(a, floats(1));
        assert!(a.iter().all(|x| (-1.0..=1.0).contains(x)));
        let mean = a.iter().sum::<f32>() / 1000.0;
        let spread = a.iter().filter(|x| x.abs() > 0.5).count();
        assert!(
            mean.abs() < 0.1 && (400..600).contains(&spread),
            "{mean} {spread}"
        );
        assert!(random(DataType::Int64, 9, 1).iter().all(|byte| *byte == 0));
    }

    #[test]
    fn one_is_one_in_every_type() {
        assert_eq!(one(DataType::Half), 0x3c00u16.to_le_bytes());
        assert_eq!(one(DataType::Bf16), 0x3f80u16.to_le_bytes());
        assert_eq!(one(DataType::Int32), 1i32.to_le_bytes());
        assert_eq!(one(DataType::Bool), [1]);
        assert_eq!(element(DataType::Int8, -2.0), [0xfe]);
    }
}
