//! Reads Protocol Buffers, as far as the checks of models need it.

/// Bytes that are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What stands in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Fixed64,
    /// A string, bytes, a message, or a packed list.
    Bytes(&'a [u8]),
    Fixed32,
}

/// The fields of a message, each with its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let length = 1 + self.0.iter().take(10).position(|byte| byte & 0x80 == 0)?;
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        let bits = bytes.iter().enumerate();
        // Of the tenth byte one bit counts; C++ drops the others as well.
        Some(bits.fold(0, |value, (at, byte)| {
            value | u64::from(byte & 0x7f).wrapping_shl(7 * at as u32)
        }))
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let length = usize::try_from(length).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = u32::try_from(self.varint()?).ok()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed64)?,
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed32)?,
            // Groups went out of use long before TensorFlow.
            _ => return None,
        };
        (tag >> 3 > 0).then_some((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field().ok_or(Malformed);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

pub(crate) fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed)
}

/// The varints that are packed into `bytes`.
pub(crate) fn varints(bytes: &[u8]) -> Result<Vec<u64>, Malformed> {
    let mut rest = Fields(bytes);
    let mut values = Vec::new();
    while !rest.0.is_empty() {
        values.push(rest.varint().ok_or(Malformed)?);
    }
    Ok(values)
}

/// How many varints are packed into `bytes`.
pub(crate) fn count_varints(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| *byte & 0x80 == 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_one_by_one() {
        // 1: 300, 2: "ab", 5: four bytes
        let bytes = [0x08, 0xac, 0x02, 0x12, 2, b'a', b'b', 0x2d, 1, 2, 3, 4];
        let fields: Result<Vec<_>, _> = Fields(&bytes).collect();
        let expected = vec![
            (1, Value::Varint(300)),
            (2, Value::Bytes(b"ab")),
            (5, Value::Fixed32),
        ];
        assert_eq!(fields, Ok(expected));
        for cut in [2, 4, 6, 9] {
            let fields: Result<Vec<_>, _> = Fields(&bytes[..cut]).collect();
            assert_eq!(fields, Err(Malformed), "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_field_is_said() {
        for bytes in [&[0x00, 0x00][..], &[0x0b], &[0xff; 11], &[0x12, 0xff, 0xff]] {
            assert!(Fields(bytes).any(|field| field.is_err()), "{bytes:?}");
        }
        let minus_one = [0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        let value = Fields(&minus_one).next().unwrap().unwrap().1;
        assert_eq!(value, Value::Varint(u64::MAX));
        assert_eq!(varints(&[1, 0xac, 0x02]), Ok(vec![1, 300]));
        assert_eq!(varints(&[1, 0xac]), Err(Malformed));
    }
}
