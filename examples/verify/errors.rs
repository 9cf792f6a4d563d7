//! How far two tensors are apart.

use std::fmt;

use anyhow::{Result, bail};
use half::{bf16, f16};
use migraphx::{DataType, OutputRef};

/// What is still the same, as `migraphx-driver verify` has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    pub rms: f64,
    pub atol: f64,
    pub rtol: f64,
}

impl Tolerance {
    pub const SINGLE: Self = Tolerance {
        rms: 1e-3,
        atol: 1e-3,
        rtol: 1e-3,
    };
    pub const HALF: Self = Tolerance {
        rms: 8e-2,
        atol: 4e-2,
        rtol: 4e-2,
    };
}

/// The difference of one output.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors {
    /// Root of the mean square difference, as a part of the largest value.
    pub rms: f64,
    /// The largest difference, and where it is.
    pub largest: f64,
    pub at: usize,
    /// Elements over the tolerance, and how many there are.
    pub over: usize,
    pub elements: usize,
    tolerance: Tolerance,
}

impl Errors {
    pub fn of(
        found: &OutputRef<'_>,
        expected: &OutputRef<'_>,
        tolerance: &Tolerance,
    ) -> Result<Self> {
        let (shape, wanted) = (found.shape(), expected.shape());
        if (shape.dtype(), shape.dims()) != (wanted.dtype(), wanted.dims()) {
            bail!("an output is {shape}, and {wanted} in the reference");
        }
        Ok(Errors::between(
            &values(found)?,
            &values(expected)?,
            tolerance,
        ))
    }

    /// A number that is none differs from all others by infinity; two such are equal.
    pub fn between(found: &[f64], expected: &[f64], tolerance: &Tolerance) -> Self {
        let difference = |a: f64, b: f64| match a == b || (a.is_nan() && b.is_nan()) {
            true => 0.0,
            false if (a - b).is_nan() => f64::INFINITY,
            false => (a - b).abs(),
        };
        let mut errors = Errors {
            rms: 0.0,
            largest: 0.0,
            at: 0,
            over: 0,
            elements: expected.len(),
            tolerance: *tolerance,
        };
        let (mut squares, mut scale) = (0.0, f64::MIN_POSITIVE);
        for (index, (a, b)) in found.iter().zip(expected).enumerate() {
            let error = difference(*a, *b);
            squares += error * error;
            for value in [a, b].into_iter().filter(|value| value.is_finite()) {
                scale = value.abs().max(scale);
            }
            if error > errors.largest {
                (errors.largest, errors.at) = (error, index);
            }
            let relative = if b.is_finite() { b.abs() } else { 0.0 };
            errors.over += usize::from(error > tolerance.atol + tolerance.rtol * relative);
        }
        if !expected.is_empty() {
            errors.rms = (squares / expected.len() as f64).sqrt() / scale;
        }
        errors
    }

    pub fn agree(&self) -> bool {
        self.rms <= self.tolerance.rms && self.over == 0
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rms {:.2e}, largest {:.2e}", self.rms, self.largest)?;
        if self.largest > 0.0 {
            write!(f, " (element {})", self.at)?;
        }
        match self.over {
            0 => write!(f, ", all {} elements in tolerance", self.elements),
            over => write!(f, ", {over} of {} elements over it", self.elements),
        }
    }
}

fn values(output: &OutputRef<'_>) -> Result<Vec<f64>> {
    macro_rules! to_f64 {
        ($type:ty, $value:ident => $f64:expr) => {
            output
                .to_vec::<$type>()?
                .into_iter()
                .map(|$value| $f64)
                .collect()
        };
    }
    Ok(match output.shape().dtype() {
        DataType::Float => to_f64!(f32, x => x.into()),
        DataType::Double => output.to_vec()?,
        DataType::Half => to_f64!(f16, x => x.to_f64()),
        DataType::Bf16 => to_f64!(bf16, x => x.to_f64()),
        DataType::Int8 => to_f64!(i8, x => x.into()),
        DataType::Int16 => to_f64!(i16, x => x.into()),
        DataType::Int32 => to_f64!(i32, x => x.into()),
        DataType::Int64 => to_f64!(i64, x => x as f64),
        DataType::Uint8 => to_f64!(u8, x => x.into()),
        DataType::Uint16 => to_f64!(u16, x => x.into()),
        DataType::Uint32 => to_f64!(u32, x => x.into()),
        DataType::Uint64 => to_f64!(u64, x => x as f64),
        DataType::Bool => output
            .to_bools()?
            .into_iter()
            .map(|x| f64::from(u8::from(x)))
            .collect(),
        other => bail!("outputs of type {other} are not compared"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(found: &[f64], expected: &[f64]) -> Errors {
        Errors::between(found, expected, &Tolerance::SINGLE)
    }

    #[test]
    fn the_rms_error_is_a_part_of_the_largest_value() {
        let errors = between(&[3.0, 0.0, -10.0, 4.0], &[0.0, 0.0, -10.0, 0.0]);
        // sqrt((9 + 16) / 4) / 10
        assert!((errors.rms - 0.25).abs() < 1e-12, "{errors}");
        assert_eq!((errors.largest, errors.at, errors.over), (4.0, 3, 2));
        assert!(!errors.agree());
    }

    #[test]
    fn one_wrong_element_among_many_is_seen() {
        let mut found = vec![1.0; 10_000_000];
        found[77] = 1.5;
        let errors = between(&found, &vec![1.0; 10_000_000]);
        assert!(errors.rms < 1e-3 && !errors.agree());
        assert!(between(&[100.05], &[100.0]).agree());
    }

    #[test]
    fn what_is_no_number_agrees_with_its_like_only() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        assert!(between(&[nan, inf, 1.0], &[nan, inf, 1.0]).agree());
        for (a, b) in [(nan, 1.0), (1.0, nan), (inf, -inf), (inf, 1.0), (1.0, inf)] {
            assert!(!between(&[a], &[b]).agree(), "{a} {b}");
        }
        assert!(between(&[], &[]).agree());
        // Not even where the RMS error decides alone.
        let rms_only = Tolerance {
            atol: inf,
            ..Tolerance::HALF
        };
        assert!(!Errors::between(&[nan], &[1.0], &rms_only).agree());
    }
}
