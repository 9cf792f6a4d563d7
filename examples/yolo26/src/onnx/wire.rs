//! Protobuf messages as they lie in a file: walked field by field, and written
//! anew with the fields that nobody touches kept byte for byte.

use anyhow::{Context, Result, bail};

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field<'a> {
    pub number: u32,
    pub value: Value<'a>,
    /// The whole field, its number included.
    pub raw: &'a [u8],
}

/// A field's value by the way it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// An integer, a bool, an enum.
    Number(u64),
    /// A string, a message, a packed list.
    Bytes(&'a [u8]),
    /// Four or eight bytes, which nothing here reads.
    Fixed,
}

impl<'a> Field<'a> {
    pub fn bytes(&self) -> Result<&'a [u8]> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => bail!("field {} is no string or message", self.number),
        }
    }

    pub fn text(&self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?)
            .with_context(|| format!("field {} is no text", self.number))
    }

    pub fn number(&self) -> Result<u64> {
        match self.value {
            Value::Number(number) => Ok(number),
            _ => bail!("field {} is no number", self.number),
        }
    }
}

/// The fields of a message, in the order of the file.
pub fn fields(message: &[u8]) -> Result<Vec<Field<'_>>> {
    let mut fields = Vec::new();
    let mut rest = message;
    while !rest.is_empty() {
        let before = rest;
        let (number, value) = field(&mut rest).with_context(|| {
            format!("byte {} of {}", message.len() - before.len(), message.len())
        })?;
        let raw = &before[..before.len() - rest.len()];
        fields.push(Field { number, value, raw });
    }
    Ok(fields)
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<(u32, Value<'a>)> {
    let tag = varint(rest)?;
    let value = match tag & 7 {
        0 => Value::Number(varint(rest)?),
        1 => take(rest, 8).map(|_| Value::Fixed)?,
        2 => {
            let len = varint(rest)?;
            Value::Bytes(take(rest, len)?)
        }
        5 => take(rest, 4).map(|_| Value::Fixed)?,
        kind => bail!("a field of the unknown kind {kind}"),
    };
    match u32::try_from(tag >> 3) {
        Ok(number @ 1..) => Ok((number, value)),
        _ => bail!("a field of the impossible number {}", tag >> 3),
    }
}

fn take<'a>(rest: &mut &'a [u8], len: u64) -> Result<&'a [u8]> {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let Some((taken, left)) = rest.split_at_checked(len) else {
        bail!(
            "{len} bytes are said to follow, but only {} do: it is cut off",
            rest.len()
        );
    };
    *rest = left;
    Ok(taken)
}

fn varint(rest: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    bail!("a number of more than 64 bits")
}

/// A message being written.
#[derive(Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    pub fn new() -> Self {
        Message::default()
    }

    /// A field as it was.
    pub fn raw(&mut self, field: &Field<'_>) {
        self.0.extend_from_slice(field.raw);
    }

    pub fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// A string or a packed list.
    pub fn bytes(&mut self, field: u32, value: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    pub fn text(&mut self, field: u32, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    pub fn message(&mut self, field: u32, value: &Message) {
        self.bytes(field, &value.0);
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_read_back_as_written() {
        let mut message = Message::new();
        message.number(1, u64::MAX);
        message.number(2, 300);
        message.text(1000, "größer");
        message.0.extend([3 << 3 | 5, 1, 2, 3, 4]);
        message.0.extend([4 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8]);
        let bytes = message.into_bytes();
        // 300 as protobuf's own documentation writes it.
        assert_eq!(bytes[11..14], [2 << 3, 0xac, 0x02]);
        let fields = fields(&bytes).unwrap();
        assert_eq!(fields[0].number().unwrap(), u64::MAX);
        assert_eq!(fields[1].number().unwrap(), 300);
        assert_eq!(
            (fields[2].number, fields[2].text().unwrap()),
            (1000, "größer")
        );
        assert_eq!((fields[3].number, fields[3].value), (3, Value::Fixed));
        assert_eq!(fields[4].raw.len(), 9);
        let again: Vec<u8> = fields.iter().flat_map(|f| f.raw).copied().collect();
        assert_eq!(again, bytes);
    }

    #[test]
    fn broken_messages_are_refused() {
        for (bytes, expected) in [
            (
                &[0x0a, 5, 1][..],
                "byte 0 of 3: 5 bytes are said to follow, but only 1",
            ),
            (&[0x08], "cut off"),
            (&[0x0b], "unknown kind 3"),
            (&[0x00, 1], "impossible number 0"),
            (&[0xff; 12], "more than 64 bits"),
            (&[0x0d, 1, 2], "4 bytes are said"),
        ] {
            let error = format!("{:#}", fields(bytes).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
