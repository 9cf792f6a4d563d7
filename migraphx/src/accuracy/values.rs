//! The elements of an output as numbers.

use half::{bf16, f16};

use crate::dtype::{DataType, Fp8E4M3Fn, Fp8E4M3FnUz, Fp8E5M2, Fp8E5M2FnUz};
use crate::error::{Error, Result};
use crate::outputs::OutputRef;

/// Row-major.
pub(super) enum Values {
    Floats(Vec<f64>),
    /// Wide enough for the difference of any two.
    Integers(Vec<i128>),
}

impl Values {
    pub(super) fn of(output: &OutputRef<'_>, index: usize) -> Result<Self> {
        macro_rules! floats {
            ($type:ty, $value:expr) => {
                Values::Floats(output.to_vec::<$type>()?.into_iter().map($value).collect())
            };
        }
        macro_rules! integers {
            ($type:ty) => {
                Values::Integers(
                    output
                        .to_vec::<$type>()?
                        .into_iter()
                        .map(i128::from)
                        .collect(),
                )
            };
        }
        Ok(match output.shape().dtype() {
            DataType::Float => floats!(f32, f64::from),
            DataType::Double => floats!(f64, f64::from),
            DataType::Half => floats!(f16, f64::from),
            DataType::Bf16 => floats!(bf16, f64::from),
            DataType::Fp8E4M3Fn => floats!(Fp8E4M3Fn, |x| E4M3FN.value(x.0)),
            DataType::Fp8E4M3FnUz => floats!(Fp8E4M3FnUz, |x| E4M3FNUZ.value(x.0)),
            DataType::Fp8E5M2 => floats!(Fp8E5M2, |x| E5M2.value(x.0)),
            DataType::Fp8E5M2FnUz => floats!(Fp8E5M2FnUz, |x| E5M2FNUZ.value(x.0)),
            DataType::Int8 => integers!(i8),
            DataType::Int16 => integers!(i16),
            DataType::Int32 => integers!(i32),
            DataType::Int64 => integers!(i64),
            DataType::Uint8 => integers!(u8),
            DataType::Uint16 => integers!(u16),
            DataType::Uint32 => integers!(u32),
            DataType::Uint64 => integers!(u64),
            DataType::Bool => {
                let bools = output.to_bools()?.into_iter();
                Values::Integers(bools.map(i128::from).collect())
            }
            other @ (DataType::Tuple | DataType::Fp4x2) => {
                return Err(Error::Output {
                    index,
                    problem: format!("values of type {other} cannot be compared"),
                });
            }
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Values::Floats(values) => values.len(),
            Values::Integers(values) => values.len(),
        }
    }

    pub(super) fn float(&self, at: usize) -> f64 {
        match self {
            Values::Floats(values) => values[at],
            Values::Integers(values) => values[at] as f64,
        }
    }

    /// How far the elements at `at` are apart, exactly for integers.
    pub(super) fn distance(&self, other: &Values, at: usize) -> f64 {
        match (self, other) {
            (Values::Integers(a), Values::Integers(b)) => (a[at] - b[at]).unsigned_abs() as f64,
            _ => (self.float(at) - other.float(at)).abs(),
        }
    }
}

/// An 8-bit float format.
struct Fp8 {
    mantissa_bits: u32,
    bias: i32,
    special: Special,
}

/// What stands for no finite number.
enum Special {
    /// The largest exponent, as in IEEE 754: infinities and NaNs.
    Exponent,
    /// All bits after the sign: NaN.
    AllOnes,
    /// The bits of negative zero: NaN.
    NegativeZero,
}

const E4M3FN: Fp8 = Fp8 {
    mantissa_bits: 3,
    bias: 7,
    special: Special::AllOnes,
};
const E4M3FNUZ: Fp8 = Fp8 {
    mantissa_bits: 3,
    bias: 8,
    special: Special::NegativeZero,
};
const E5M2: Fp8 = Fp8 {
    mantissa_bits: 2,
    bias: 15,
    special: Special::Exponent,
};
const E5M2FNUZ: Fp8 = Fp8 {
    mantissa_bits: 2,
    bias: 16,
    special: Special::NegativeZero,
};

impl Fp8 {
    fn value(&self, bits: u8) -> f64 {
        let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
        let exponent = i32::from((bits & 0x7f) >> self.mantissa_bits);
        let mantissa = bits & ((1 << self.mantissa_bits) - 1);
        let largest = 0x7f >> self.mantissa_bits;
        match self.special {
            Special::Exponent if exponent == largest && mantissa == 0 => {
                return sign * f64::INFINITY;
            }
            Special::Exponent if exponent == largest => return f64::NAN,
            Special::AllOnes if bits & 0x7f == 0x7f => return f64::NAN,
            Special::NegativeZero if bits == 0x80 => return f64::NAN,
            _ => {}
        }
        let fraction = f64::from(mantissa) / f64::from(1u32 << self.mantissa_bits);
        match exponent {
            0 => sign * fraction * 2f64.powi(1 - self.bias),
            _ => sign * (1.0 + fraction) * 2f64.powi(exponent - self.bias),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest, smallest and special values by the tables of the formats' papers
    /// ("FP8 Formats for Deep Learning"; the FNUZ ones as AMD and Graphcore have them).
    #[test]
    fn bits_are_numbers() {
        assert_eq!(E4M3FN.value(0x7e), 448.0);
        assert_eq!(E4M3FN.value(0xfe), -448.0);
        assert_eq!(E4M3FN.value(0x01), 2f64.powi(-9));
        assert_eq!(E4M3FN.value(0x38), 1.0);
        assert!(E4M3FN.value(0x7f).is_nan() && E4M3FN.value(0xff).is_nan());
        assert_eq!(E4M3FNUZ.value(0x7f), 240.0);
        assert_eq!(E4M3FNUZ.value(0x40), 1.0);
        assert!(E4M3FNUZ.value(0x80).is_nan());
        assert_eq!(E5M2.value(0x7b), 57344.0);
        assert_eq!(E5M2.value(0x01), 2f64.powi(-16));
        assert_eq!(E5M2.value(0xfc), f64::NEG_INFINITY);
        assert!(E5M2.value(0x7d).is_nan());
        assert_eq!(E5M2FNUZ.value(0x7f), 57344.0);
        assert_eq!(E5M2FNUZ.value(0x00), 0.0);
        assert!(E5M2FNUZ.value(0x80).is_nan());
    }
}
