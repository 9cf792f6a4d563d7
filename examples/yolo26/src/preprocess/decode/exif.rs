//! The orientation in EXIF data, read as OpenCV reads it: whatever the type and
//! number of values are said to be, two bytes.

use image::metadata::Orientation;

/// Of a TIFF header and what follows it; upright where there is none.
pub fn orientation(exif: Option<&[u8]>) -> Orientation {
    exif.and_then(value)
        .and_then(|value| Orientation::from_exif(u8::try_from(value).ok()?))
        .unwrap_or(Orientation::NoTransforms)
}

fn value(exif: &[u8]) -> Option<u16> {
    let little = match exif.get(..4)? {
        b"II\x2a\0" => true,
        b"MM\0\x2a" => false,
        _ => return None,
    };
    let short = |at: usize| -> Option<u16> {
        let bytes = exif.get(at..)?.first_chunk()?;
        Some(if little {
            u16::from_le_bytes(*bytes)
        } else {
            u16::from_be_bytes(*bytes)
        })
    };
    let long = |at: usize| -> Option<u32> {
        let (a, b) = (u32::from(short(at)?), u32::from(short(at + 2)?));
        Some(if little { b << 16 | a } else { a << 16 | b })
    };
    let directory = long(4)? as usize;
    let entries = usize::from(short(directory)?);
    (0..entries)
        .map(|i| directory + 2 + 12 * i)
        .find(|at| short(*at) == Some(0x0112))
        .and_then(|at| short(at + 8))
}
