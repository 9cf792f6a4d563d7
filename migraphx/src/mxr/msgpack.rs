//! As much of MessagePack as a header needs: a reader that knows where values end.

use std::io::{Read, sink};

use super::Fields;
use super::mark::{self, Found};
use crate::buffers::Buffers;

/// Nothing that MIGraphX writes is nested deeper than about 20. Its reader calls
/// itself for each level: some 3,700 overflow the stack of a Rust thread.
const MAX_DEPTH: usize = 128;
/// No name or version is longer.
const MAX_TEXT: u64 = 256;
/// A note on an input: its name, and a range for each component of an index.
const MAX_NOTE: u64 = 64 << 10;

/// Reads the fields of the header; they come first, so little is read.
pub(super) fn fields(reader: impl Read) -> Result<Fields, String> {
    let mut reader = Reader::new(reader);
    let Value::Map(keys) = reader.value().map_err(|error| not_a_program(&error))? else {
        return Err(not_a_program("it does not begin with a map"));
    };
    let mut fields = Fields::default();
    for _ in 0..keys {
        match reader.text()?.as_str() {
            "version" => fields.format_version = Some(reader.unsigned()?),
            "migraphx_version" => fields.migraphx_version = Some(reader.text()?),
            "targets" => fields.targets = Some(reader.target_names()?),
            mark::KEY => {
                fields.found = Some(reader.mark()?);
                fields.mark_end = reader.at;
            }
            // MIGraphX writes no such key.
            "checksum" => return Err("the mark before its checksum is damaged".into()),
            _ => reader.skip(0)?,
        }
        if let Fields {
            format_version: Some(_),
            migraphx_version: Some(_),
            targets: Some(_),
            ..
        } = fields
        {
            break;
        }
    }
    Ok(fields)
}

/// Whether `reader` holds exactly one whole value.
pub(super) fn check_whole(reader: impl Read) -> Result<(), String> {
    let mut reader = Reader::new(reader);
    reader.skip(0)?;
    match reader.from.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err("there is more after its end".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// Refuses what is nested too deep.
pub(super) fn check_depth(depth: usize) -> Result<(), String> {
    match depth {
        0..=MAX_DEPTH => Ok(()),
        _ => Err(format!("it is nested more than {MAX_DEPTH} deep")),
    }
}

fn not_a_program(problem: &str) -> String {
    format!("not in MessagePack format: {problem}")
}

/// Where the second entry of a program's map begins, and the map's head.
/// `None` where it is laid out otherwise.
pub(super) fn second_entry(start: &[u8]) -> Option<(u8, usize)> {
    let head = *start.first()?;
    let mut reader = Reader::new(start);
    let Ok(Value::Map(1..15)) = reader.value() else {
        return None;
    };
    let first = reader.text().ok()?;
    reader.unsigned().ok()?;
    (first == "version" && head & 0xf0 == 0x80).then_some((head, reader.at as usize))
}

/// Writes a text of at most 65,535 bytes; more is cut.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    let most = text.len().min(usize::from(u16::MAX));
    let length = (0..=most).rev().find(|at| text.is_char_boundary(*at));
    let length = length.unwrap_or(0);
    match length {
        0..32 => out.push(0xa0 | length as u8),
        _ => {
            out.push(0xda);
            out.extend((length as u16).to_be_bytes());
        }
    }
    out.extend(&text.as_bytes()[..length]);
}

pub(crate) struct Reader<R> {
    from: R,
    /// Bytes read so far.
    at: u64,
}

/// The head of a value: what it is, or how much follows.
pub(crate) enum Value {
    Nil,
    Bool(bool),
    Unsigned(u64),
    /// Below zero.
    Negative(i64),
    Float(f64),
    Text(u64),
    Bytes(u64),
    /// With its type.
    Extension(u64),
    Array(u64),
    Map(u64),
}

fn signed(number: i64) -> Value {
    u64::try_from(number).map_or(Value::Negative(number), Value::Unsigned)
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(from: R) -> Self {
        Reader { from, at: 0 }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        self.from
            .read_exact(&mut bytes)
            .map_err(|_| "it ends too early".to_owned())?;
        self.at += N as u64;
        Ok(bytes)
    }

    /// A big-endian number of `size` bytes.
    fn number(&mut self, size: usize) -> Result<u64, String> {
        (0..size).try_fold(0, |number, _| {
            Ok(number << 8 | u64::from(self.bytes::<1>()?[0]))
        })
    }

    pub(crate) fn value(&mut self) -> Result<Value, String> {
        let [head] = self.bytes()?;
        Ok(match head {
            0x00..=0x7f => Value::Unsigned(head.into()),
            0x80..=0x8f => Value::Map((head & 0x0f).into()),
            0x90..=0x9f => Value::Array((head & 0x0f).into()),
            0xa0..=0xbf => Value::Text((head & 0x1f).into()),
            0xc0 => Value::Nil,
            0xc2 | 0xc3 => Value::Bool(head == 0xc3),
            0xe0..=0xff => signed((head as i8).into()),
            0xc1 => return Err("it holds a byte that means nothing".into()),
            0xc4..=0xc6 => Value::Bytes(self.number(1 << (head - 0xc4))?),
            0xc7..=0xc9 => Value::Extension(self.number(1 << (head - 0xc7))? + 1),
            0xca => Value::Float(f32::from_be_bytes(self.bytes()?).into()),
            0xcb => Value::Float(f64::from_be_bytes(self.bytes()?)),
            0xcc..=0xcf => Value::Unsigned(self.number(1 << (head - 0xcc))?),
            0xd0 => signed(i8::from_be_bytes(self.bytes()?).into()),
            0xd1 => signed(i16::from_be_bytes(self.bytes()?).into()),
            0xd2 => signed(i32::from_be_bytes(self.bytes()?).into()),
            0xd3 => signed(i64::from_be_bytes(self.bytes()?)),
            0xd4..=0xd8 => Value::Extension((1 << (head - 0xd4)) + 1),
            0xd9..=0xdb => Value::Text(self.number(1 << (head - 0xd9))?),
            0xdc..=0xdd => Value::Array(self.number(2 << (head - 0xdc))?),
            0xde..=0xdf => Value::Map(self.number(2 << (head - 0xde))?),
        })
    }

    pub(crate) fn unsigned(&mut self) -> Result<u64, String> {
        match self.value()? {
            Value::Unsigned(number) => Ok(number),
            _ => Err("a number is expected in its header".into()),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, String> {
        self.text_of(MAX_TEXT)
    }

    fn text_of(&mut self, most: u64) -> Result<String, String> {
        match self.value()? {
            Value::Text(length) if length <= most => {
                let mut text = Vec::new();
                let read = (&mut self.from).take(length).read_to_end(&mut text);
                match read {
                    Ok(read) if read as u64 == length => {
                        self.at += length;
                        String::from_utf8(text).map_err(|_| "a name in it is not UTF-8".into())
                    }
                    _ => Err("it ends too early".into()),
                }
            }
            _ => Err("a short text is expected in its header".into()),
        }
    }

    /// Appends the `length` bytes of a value whose head was read. No more memory is
    /// taken than `whole`, the length of the file.
    pub(crate) fn bytes_into(
        &mut self,
        length: u64,
        whole: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        if length > whole {
            return Err("it ends too early".into());
        }
        let read = (&mut self.from).take(length).read_to_end(out);
        match read {
            Ok(read) if read as u64 == length => {
                self.at += length;
                Ok(())
            }
            Ok(_) => Err("it ends too early".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// `[{"name": …}, …]`
    fn target_names(&mut self) -> Result<Vec<String>, String> {
        let Value::Array(count) = self.value()? else {
            return Err("`targets` is no list".into());
        };
        let mut names = Vec::new();
        for _ in 0..count {
            let Value::Map(keys) = self.value()? else {
                return Err("a target is no map".into());
            };
            for _ in 0..keys {
                if self.text()? == "name" {
                    names.push(self.text()?);
                } else {
                    self.skip(0)?;
                }
            }
        }
        if names.len() as u64 != count {
            return Err("a target has no name".into());
        }
        Ok(names)
    }

    /// What this crate has added.
    fn mark(&mut self) -> Result<Found, String> {
        let mut found = Found::default();
        let Value::Map(keys) = self.value()? else {
            return Err(format!("`{}` is no map", mark::KEY));
        };
        for _ in 0..keys {
            match self.text()?.as_str() {
                "buffers" => found.mark.buffers = Buffers::of_key(&self.text()?),
                "architecture" => found.mark.architecture = Some(self.text()?),
                "outputs" => found.mark.outputs = self.texts(MAX_TEXT)?,
                "index_inputs" => found.mark.index_inputs = Some(self.texts(MAX_NOTE)?),
                "key" => found.mark.key = Some(self.text()?),
                "checksum" => found.checksum = u32::try_from(self.unsigned()?).ok(),
                _ => self.skip(0)?,
            }
        }
        Ok(found)
    }

    fn texts(&mut self, most: u64) -> Result<Vec<String>, String> {
        let Value::Array(count) = self.value()? else {
            return Err("a list is expected in its header".into());
        };
        (0..count).map(|_| self.text_of(most)).collect()
    }

    /// Reads past so many bytes.
    pub(crate) fn pass(&mut self, length: u64) -> Result<(), String> {
        let passed = std::io::copy(&mut (&mut self.from).take(length), &mut sink());
        if passed.map_err(|error| error.to_string())? != length {
            return Err("it ends too early".into());
        }
        self.at += length;
        Ok(())
    }

    /// Reads past one value.
    pub(crate) fn skip(&mut self, depth: usize) -> Result<(), String> {
        check_depth(depth)?;
        let inner = match self.value()? {
            Value::Text(length) | Value::Bytes(length) | Value::Extension(length) => {
                self.pass(length)?;
                0
            }
            Value::Array(count) => count,
            Value::Map(count) => 2 * count,
            _ => 0,
        };
        (0..inner).try_for_each(|_| self.skip(depth + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::mark::Mark;
    use super::*;

    const HEADER: &[u8] =
        b"\x85\xa7version\x07\xb0migraphx_version\xa62.14.0\xa7targets\x91\x81\xa4name\xa3ref";

    #[test]
    fn the_header_is_read_without_the_rest() {
        let fields = fields(HEADER).unwrap();
        assert_eq!(fields.format_version, Some(7));
        assert_eq!(fields.migraphx_version.as_deref(), Some("2.14.0"));
        assert_eq!(fields.targets.unwrap(), ["ref"]);
    }

    #[test]
    fn a_mark_reads_back_as_written() {
        let mark = Mark {
            buffers: Some(Buffers::Device),
            architecture: Some("gfx90a:sramecc+:xnack-, and more than 31 bytes of it".into()),
            outputs: vec!["main:#output_0".into(), "größe".into()],
            index_inputs: Some(vec!["{}".into(), "a long note ".repeat(100)]),
            key: Some("0123456789abcdef".repeat(4)),
        };
        let (head, at) = second_entry(HEADER).unwrap();
        let marked = [&mark.to_msgpack()[..], &[0xfe, 0xdc, 0xba, 0x98]].concat();
        let file = [&[head + 1], &HEADER[1..at], &marked, &HEADER[at..]].concat();
        let fields = fields(&file[..]).unwrap();
        assert_eq!(fields.mark_end as usize, at + marked.len());
        let found = fields.found.unwrap();
        assert_eq!((found.mark, found.checksum), (mark, Some(0xfedc_ba98)));
        assert_eq!(fields.targets.unwrap(), ["ref"]);
        // Other layouts are left alone.
        assert!(second_entry(b"\x82\xa1a\x01").is_none());
        assert!(second_entry(b"\x8f\xa7version\x07").is_none());
        assert!(second_entry(b"").is_none());
    }

    #[test]
    fn cut_files_are_refused_at_every_length() {
        for length in 0..HEADER.len() {
            assert!(fields(&HEADER[..length]).is_err(), "{length} bytes");
        }
        assert!(fields(&b"\x93abc"[..]).is_err());
        assert!(fields(&b"<html>"[..]).is_err());
    }

    #[test]
    fn values_of_every_kind_are_skipped() {
        let value =
            b"\x9f\xc0\xc2\xc4\x01x\xc7\x01\x05x\xca\0\0\0\0\xcb\0\0\0\0\0\0\0\0\xcc\x80\xd1\0\0\
            \xd6\x01abcd\xd9\x02hi\xdc\0\x01\x01\xde\0\x01\xa1a\x02\xff\x81\xa1b\x90\xa3end";
        check_whole(&value[..]).unwrap();
        check_whole(&value[..value.len() - 1]).unwrap_err();
        check_whole(&[value, &b"x"[..]].concat()[..]).unwrap_err();
    }

    #[test]
    fn endless_nesting_ends() {
        check_whole(&[0x91; 100_000][..]).unwrap_err();
    }

    #[test]
    fn enormous_counts_take_no_memory() {
        fields(&b"\x81\xdb\xff\xff\xff\xff"[..])
            .map(|_| ())
            .unwrap_err();
        check_whole(&b"\xdd\xff\xff\xff\xff"[..]).unwrap_err();
        check_whole(&b"\xc6\xff\xff\xff\xff"[..]).unwrap_err();
    }
}
