//! The model's input as memory: images one behind the other, in the type that
//! the model takes.

use std::fmt;

use clap::ValueEnum;
use half::f16;
use migraphx::DataType;
use serde::{Deserialize, Serialize};

/// How the model takes its images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// (N, 3, S, S), 0 to 1.
    F32,
    /// (N, 3, S, S), 0 to 1.
    F16,
    /// (N, S, S, 3), 0 to 255: as images are decoded. The model scales and turns them.
    U8,
}

impl Element {
    pub fn of(dtype: DataType) -> Option<Self> {
        match dtype {
            DataType::Float => Some(Element::F32),
            DataType::Half => Some(Element::F16),
            DataType::Uint8 => Some(Element::U8),
            _ => None,
        }
    }

    /// Bytes a value.
    pub fn size(self) -> usize {
        match self {
            Element::F32 => 4,
            Element::F16 => 2,
            Element::U8 => 1,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Element::F32 => "f32",
            Element::F16 => "f16",
            Element::U8 => "u8",
        })
    }
}

/// Values to be filled in.
#[derive(Debug)]
pub enum Pixels<'a> {
    F32(&'a mut [f32]),
    F16(&'a mut [f16]),
    U8(&'a mut [u8]),
}

impl<'a> Pixels<'a> {
    /// Values.
    pub fn len(&self) -> usize {
        match self {
            Pixels::F32(values) => values.len(),
            Pixels::F16(values) => values.len(),
            Pixels::U8(values) => values.len(),
        }
    }

    /// The same memory for a shorter while.
    pub fn again(&mut self) -> Pixels<'_> {
        match self {
            Pixels::F32(values) => Pixels::F32(values),
            Pixels::F16(values) => Pixels::F16(values),
            Pixels::U8(values) => Pixels::U8(values),
        }
    }

    /// The first `at` values, and the others.
    pub fn split_at(self, at: usize) -> (Pixels<'a>, Pixels<'a>) {
        match self {
            Pixels::F32(values) => {
                let (a, b) = values.split_at_mut(at);
                (Pixels::F32(a), Pixels::F32(b))
            }
            Pixels::F16(values) => {
                let (a, b) = values.split_at_mut(at);
                (Pixels::F16(a), Pixels::F16(b))
            }
            Pixels::U8(values) => {
                let (a, b) = values.split_at_mut(at);
                (Pixels::U8(a), Pixels::U8(b))
            }
        }
    }

    /// Pieces of `image` values; what is left at the end is none.
    pub fn images(self, image: usize) -> impl Iterator<Item = Pixels<'a>> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let all = rest.take()?;
            if all.len() < image {
                return None;
            }
            let (one, others) = all.split_at(image);
            rest = Some(others);
            Some(one)
        })
    }

    /// Zeros, which the model takes as black.
    pub fn clear(&mut self) {
        match self {
            Pixels::F32(values) => values.fill(0.0),
            Pixels::F16(values) => values.fill(f16::ZERO),
            Pixels::U8(values) => values.fill(0),
        }
    }

    /// As they lie in memory, little-endian.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Pixels::F32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Pixels::F16(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Pixels::U8(values) => values.to_vec(),
        }
    }

    /// Takes over another's values.
    ///
    /// # Panics
    ///
    /// Where they are of another type or number.
    pub fn copy_from(&mut self, other: &Values) {
        match (self, other) {
            (Pixels::F32(values), Values::F32(other)) => values.copy_from_slice(other),
            (Pixels::F16(values), Values::F16(other)) => values.copy_from_slice(other),
            (Pixels::U8(values), Values::U8(other)) => values.copy_from_slice(other),
            _ => panic!("values of another type"),
        }
    }
}

/// Values of one's own.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    F32(Vec<f32>),
    F16(Vec<f16>),
    U8(Vec<u8>),
}

impl Values {
    /// So many zeros.
    pub fn zeros(element: Element, len: usize) -> Self {
        match element {
            Element::F32 => Values::F32(vec![0.0; len]),
            Element::F16 => Values::F16(vec![f16::ZERO; len]),
            Element::U8 => Values::U8(vec![0; len]),
        }
    }

    pub fn pixels(&mut self) -> Pixels<'_> {
        match self {
            Values::F32(values) => Pixels::F32(values),
            Values::F16(values) => Pixels::F16(values),
            Values::U8(values) => Pixels::U8(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_falls_into_its_images() {
        for element in [Element::F32, Element::F16, Element::U8] {
            let mut values = Values::zeros(element, 7);
            let mut pixels = values.pixels();
            assert_eq!(pixels.len(), 7);
            let sizes: Vec<usize> = pixels.again().images(3).map(|one| one.len()).collect();
            assert_eq!(sizes, [3, 3]);
            pixels.clear();
            let other = values.clone();
            values.pixels().copy_from(&other);
        }
    }
}
