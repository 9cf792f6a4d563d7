//! Tensors in files, as MIGraphX's driver reads and writes them: a MessagePack
//! map of shape and data.
//!
//! Written and read here rather than by C: the library does not notice a full
//! disk, reads past the end of short data, and knows this format only from ROCm
//! 7.0 on.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use crate::argument::Argument;
use crate::buffer::Buffer;
use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::mxr::msgpack::{Reader, Value, put_text};
use crate::mxr::save::put;
use crate::shape::Shape;

/// No tensor has more dimensions.
const MAX_RANK: u64 = 64;
/// What one run of bytes in the format holds at most.
const MAX_RUN: usize = u32::MAX as usize - 1;

impl Argument<'_> {
    /// Writes the tensor to a file that MIGraphX's `driver` and
    /// [`load`](Argument::load) read.
    ///
    /// ```
    /// use migraphx::Argument;
    ///
    /// # let folder = std::env::temp_dir();
    /// let path = folder.join(format!("doc-tensor-{}.mgx", std::process::id()));
    /// Argument::from_slice(&[1.5f32, -2.0], &[2])?.save(&path)?;
    /// let again = Argument::load(&path)?;
    /// assert_eq!(again.as_slice::<f32>()?, [1.5, -2.0]);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be written; what was there then stays.
    #[doc(alias = "migraphx_argument_save")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let bytes = self.as_bytes();
        let runs = bytes.chunks(MAX_RUN);
        let mut head = Vec::new();
        head.push(0x82);
        put_text(&mut head, "shape");
        put_shape(&mut head, self.shape());
        put_text(&mut head, "data");
        put_count(&mut head, 0x90, runs.len().max(1));
        // The data is not copied.
        let mut parts: Box<dyn Read + '_> = Box::new(Cursor::new(head));
        for run in runs {
            parts = Box::new(parts.chain(Cursor::new(run_head(run.len()))).chain(run));
        }
        if bytes.is_empty() {
            parts = Box::new(parts.chain(Cursor::new(run_head(0))));
        }
        put(path.as_ref(), &mut parts)
    }
}

impl Argument<'static> {
    /// Reads a tensor that [`save`](Argument::save) or MIGraphX wrote. One with
    /// gaps or in another order comes out row-major.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read, or is no such tensor;
    /// [`Error::InvalidShape`]; [`Error::OutOfMemory`].
    #[doc(alias = "migraphx_argument_load")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let fail = |error| Error::io("read", path, error);
        let file = File::open(path).map_err(fail)?;
        let length = file.metadata().map_err(fail)?.len();
        read(BufReader::new(file), length)?.map_err(|problem| {
            let text = format!("it is no tensor of MIGraphX: {problem}");
            fail(std::io::Error::new(std::io::ErrorKind::InvalidData, text))
        })
    }
}

fn put_shape(out: &mut Vec<u8>, shape: &Shape) {
    // Rank 0, as the library has it.
    let (dims, strides) = match shape.is_scalar() {
        true => (&[1][..], &[0][..]),
        false => (shape.dims(), shape.strides()),
    };
    out.push(0x85);
    put_text(out, "type");
    put_text(out, &format!("{}_type", shape.dtype()));
    for (key, numbers) in [
        ("sub_shapes", &[][..]),
        ("lens", dims),
        ("strides", strides),
        ("dynamic_dimensions", &[]),
    ] {
        put_text(out, key);
        put_count(out, 0x90, numbers.len());
        for number in numbers {
            out.push(0xcf);
            out.extend((*number as u64).to_be_bytes());
        }
    }
}

/// The head of a list or, with 0x80, of a map.
fn put_count(out: &mut Vec<u8>, kind: u8, count: usize) {
    match u8::try_from(count) {
        Ok(few @ 0..16) => out.push(kind | few),
        _ => {
            out.push(if kind == 0x90 { 0xdd } else { 0xdf });
            out.extend((count as u32).to_be_bytes());
        }
    }
}

fn run_head(length: usize) -> Vec<u8> {
    let mut head = vec![0xc6];
    head.extend((length as u32).to_be_bytes());
    head
}

/// The outer error is ours to give as it is, the inner text says what is wrong with the file.
fn read(from: impl Read, length: u64) -> Result<Result<Argument<'static>, String>> {
    let mut reader = Reader::new(from);
    let mut shape = None;
    let mut data = None;
    let parsed = (|| -> Result<(), String> {
        let Value::Map(keys) = reader.value()? else {
            return Err("it does not begin with a map".into());
        };
        for _ in 0..keys {
            match reader.text()?.as_str() {
                "shape" => shape = Some(read_shape(&mut reader)?),
                "data" => data = Some(read_data(&mut reader, length)?),
                _ => reader.skip(0)?,
            }
        }
        Ok(())
    })();
    if let Err(problem) = parsed {
        return Ok(Err(problem));
    }
    let (Some((dtype, dims, strides)), Some(data)) = (shape, data) else {
        return Ok(Err("it has no shape, or no data".into()));
    };
    let scalar = dims == [1] && strides == [0];
    let shape = match scalar {
        true => Shape::scalar(dtype)?,
        false => Shape::with_strides(dtype, &dims, &strides)?,
    };
    if shape.bytes() != data.len() {
        let (takes, has) = (shape.bytes(), data.len());
        return Ok(Err(format!(
            "{shape} takes {takes} bytes, and it has {has}"
        )));
    }
    if shape.is_standard() {
        return Ok(Ok(Argument::from_bytes(dtype, shape.dims(), &data)?));
    }
    let packed = in_order(&shape, &data)?;
    Ok(Ok(Argument::from_bytes(
        dtype,
        shape.dims(),
        packed.bytes(),
    )?))
}

type Layout = (DataType, Vec<usize>, Vec<usize>);

fn read_shape(reader: &mut Reader<impl Read>) -> Result<Layout, String> {
    let Value::Map(keys) = reader.value()? else {
        return Err("its shape is no map".into());
    };
    let (mut dtype, mut dims, mut strides) = (None, None, None);
    for _ in 0..keys {
        match reader.text()?.as_str() {
            "type" => {
                let name = reader.text()?;
                let known = |dtype: &&DataType| Some(dtype.name()) == name.strip_suffix("_type");
                let found = DataType::ALL.iter().find(known);
                dtype = Some(*found.ok_or_else(|| format!("its type is {name:?}"))?);
            }
            "lens" => dims = Some(read_numbers(reader)?),
            "strides" => strides = Some(read_numbers(reader)?),
            _ => reader.skip(0)?,
        }
    }
    match (dtype, dims, strides) {
        (Some(dtype), Some(dims), Some(strides)) => Ok((dtype, dims, strides)),
        _ => Err("its shape lacks type, sizes or strides".into()),
    }
}

fn read_numbers(reader: &mut Reader<impl Read>) -> Result<Vec<usize>, String> {
    let count = match reader.value()? {
        Value::Array(count) if count <= MAX_RANK => count,
        // An empty list is written so.
        Value::Nil => 0,
        _ => return Err("its sizes are no short list".into()),
    };
    let number = |_| {
        let number = reader.unsigned()?;
        usize::try_from(number).map_err(|_| format!("its size {number} is too large"))
    };
    (0..count).map(number).collect()
}

/// Bytes, or a list of runs of bytes. `length` is that of the file.
fn read_data(reader: &mut Reader<impl Read>, length: u64) -> Result<Vec<u8>, String> {
    let mut data = Vec::new();
    let runs = match reader.value()? {
        Value::Array(runs) => runs,
        Value::Bytes(bytes) => return reader.bytes_into(bytes, length, &mut data).map(|()| data),
        _ => return Err("its data is neither bytes nor a list of them".into()),
    };
    for _ in 0..runs {
        match reader.value()? {
            Value::Bytes(bytes) => reader.bytes_into(bytes, length, &mut data)?,
            _ => return Err("its data is no list of bytes".into()),
        }
    }
    Ok(data)
}

/// The elements in row-major order, without gaps.
fn in_order(shape: &Shape, data: &[u8]) -> Result<Buffer> {
    let size = shape.dtype().size();
    let mut packed = Buffer::zeroed(shape.elements().saturating_mul(size))?;
    for (index, element) in packed.bytes_mut().chunks_exact_mut(size).enumerate() {
        // Each element lies inside the span that the data was compared with.
        if let Some(at) = shape.offset(index) {
            element.copy_from_slice(&data[at * size..][..size]);
        }
    }
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(shape: &Shape, data: &[u8]) -> Vec<u8> {
        let mut file = vec![0x82];
        put_text(&mut file, "shape");
        put_shape(&mut file, shape);
        put_text(&mut file, "data");
        file.push(0x92);
        // Two runs, as in a file of more than 4 GiB.
        let (one, two) = data.split_at(data.len() / 3);
        for run in [one, two] {
            file.extend(run_head(run.len()));
            file.extend(run);
        }
        file
    }

    fn load(file: &[u8]) -> Result<Argument<'static>, String> {
        read(file, file.len() as u64)
            .map_err(|error| error.to_string())
            .and_then(|inner| inner)
    }

    #[test]
    fn other_orders_come_out_row_major() {
        let turned = Shape::with_strides(DataType::Int16, &[2, 3], &[1, 2]).unwrap();
        let data: Vec<u8> = [0i16, 1, 2, 3, 4, 5]
            .iter()
            .flat_map(|x| x.to_ne_bytes())
            .collect();
        let argument = load(&bytes_of(&turned, &data)).unwrap();
        assert_eq!(argument.shape().dims(), [2, 3]);
        assert_eq!(argument.as_slice::<i16>().unwrap(), [0, 2, 4, 1, 3, 5]);
        let same = Shape::with_strides(DataType::Int16, &[2, 2], &[0, 1]).unwrap();
        let argument = load(&bytes_of(&same, &data[..4])).unwrap();
        assert_eq!(argument.as_slice::<i16>().unwrap(), [0, 1, 0, 1]);
    }

    #[test]
    fn short_and_cut_files_are_refused() {
        let shape = Shape::new(DataType::Float, &[2, 3]).unwrap();
        let error = load(&bytes_of(&shape, &[0; 20])).unwrap_err();
        assert!(error.contains("takes 24 bytes, and it has 20"), "{error}");
        let whole = bytes_of(&shape, &[7; 24]);
        load(&whole).unwrap();
        for length in 0..whole.len() {
            assert!(load(&whole[..length]).is_err(), "{length} bytes");
        }
        // A length that is not there takes no memory.
        let mut lying = bytes_of(&shape, &[]);
        lying.truncate(lying.len() - 10);
        lying.extend([0xc6, 0xff, 0xff, 0xff, 0xff]);
        assert!(load(&lying).is_err());
        let bools = Shape::new(DataType::Bool, &[3]).unwrap();
        assert!(
            load(&bytes_of(&bools, &[0, 1, 2]))
                .unwrap_err()
                .contains("0 or 1")
        );
    }
}
