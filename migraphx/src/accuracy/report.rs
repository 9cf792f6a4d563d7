//! The numbers of a comparison.

use std::fmt;

use super::values::Values;
use crate::error::{Error, Result};
use crate::outputs::OutputRef;
use crate::shape::Shape;

/// What [`compare`](super::compare) found; prints as a table.
#[derive(Debug, Clone)]
pub struct Report {
    outputs: Vec<OutputAccuracy>,
    sums: Vec<Sums>,
    samples: usize,
}

/// How far one output was off, over all elements of all samples.
///
/// The errors and the cosine are over the pairs in which both values are finite.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OutputAccuracy {
    /// Its position.
    pub index: usize,
    /// Its shape in the reference.
    pub shape: Shape,
    /// How many values were compared, those that are not finite included.
    pub values: usize,
    /// The largest magnitude of a finite value of the reference: errors are large or
    /// small beside it.
    pub largest: f64,
    /// The largest difference.
    pub max_error: f64,
    /// The mean difference.
    pub mean_error: f64,
    /// The root of the mean of the squared differences.
    pub rms_error: f64,
    /// The cosine between all values of the reference and of the candidate: 1
    /// where they are the same up to a factor. 1 also where all are zeros, and 0
    /// where those of one side are.
    pub cosine: f64,
    /// Pairs where one value is infinite or no number and the other is not the
    /// same. (An infinity and the same one, or two NaNs, agree.)
    pub mismatched: usize,
}

/// What the numbers are worked out from.
#[derive(Debug, Clone, Default)]
struct Sums {
    finite: usize,
    error: f64,
    squared_error: f64,
    product: f64,
    squared_reference: f64,
    squared_candidate: f64,
}

impl Report {
    pub(super) fn new(outputs: &[Shape]) -> Self {
        let output = |(index, shape): (usize, &Shape)| OutputAccuracy {
            index,
            shape: shape.clone(),
            values: 0,
            largest: 0.0,
            max_error: 0.0,
            mean_error: 0.0,
            rms_error: 0.0,
            cosine: 1.0,
            mismatched: 0,
        };
        Report {
            outputs: outputs.iter().enumerate().map(output).collect(),
            sums: vec![Sums::default(); outputs.len()],
            samples: 0,
        }
    }

    /// The outputs, in their order.
    pub fn outputs(&self) -> &[OutputAccuracy] {
        &self.outputs
    }

    /// How many inputs the programs were run on.
    pub fn samples(&self) -> usize {
        self.samples
    }

    pub(super) fn count_sample(&mut self) {
        self.samples += 1;
    }

    pub(super) fn add(
        &mut self,
        index: usize,
        reference: &OutputRef<'_>,
        candidate: &OutputRef<'_>,
    ) -> Result<()> {
        if reference.shape().dims() != candidate.shape().dims() {
            return Err(Error::Output {
                index,
                problem: format!(
                    "it is {} in the reference and {} in the candidate",
                    reference.shape(),
                    candidate.shape()
                ),
            });
        }
        let (reference, candidate) = (Values::of(reference, index)?, Values::of(candidate, index)?);
        self.add_values(index, &reference, &candidate);
        Ok(())
    }

    fn add_values(&mut self, index: usize, reference: &Values, candidate: &Values) {
        let (output, sums) = (&mut self.outputs[index], &mut self.sums[index]);
        for at in 0..reference.len() {
            let (expected, found) = (reference.float(at), candidate.float(at));
            if expected.is_finite() {
                output.largest = output.largest.max(expected.abs());
            }
            if !expected.is_finite() || !found.is_finite() {
                let agree = expected == found || (expected.is_nan() && found.is_nan());
                output.mismatched += usize::from(!agree);
                continue;
            }
            let error = reference.distance(candidate, at);
            output.max_error = output.max_error.max(error);
            sums.finite += 1;
            sums.error += error;
            sums.squared_error += error * error;
            sums.product += expected * found;
            sums.squared_reference += expected * expected;
            sums.squared_candidate += found * found;
        }
        output.values += reference.len();
        let count = sums.finite.max(1) as f64;
        output.mean_error = sums.error / count;
        output.rms_error = (sums.squared_error / count).sqrt();
        output.cosine = sums.cosine();
    }
}

impl Sums {
    fn cosine(&self) -> f64 {
        match (self.squared_reference == 0.0, self.squared_candidate == 0.0) {
            (true, true) => 1.0,
            (true, false) | (false, true) => 0.0,
            (false, false) => {
                let lengths = self.squared_reference.sqrt() * self.squared_candidate.sqrt();
                (self.product / lengths).clamp(-1.0, 1.0)
            }
        }
    }
}

/// A line an output, under a heading.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heading = [
            "output",
            "values",
            "largest",
            "max error",
            "mean error",
            "rms error",
            "cosine",
            "mismatched",
        ];
        let mut rows = vec![heading.map(str::to_owned)];
        rows.extend(self.outputs.iter().map(|output| {
            [
                format!("{}: {}", output.index, output.shape),
                output.values.to_string(),
                number(output.largest),
                number(output.max_error),
                number(output.mean_error),
                number(output.rms_error),
                format!("{:.6}", output.cosine),
                output.mismatched.to_string(),
            ]
        }));
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: [usize; 8] = std::array::from_fn(width);
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{:<1$}", row[0], widths[0])?;
            for (cell, width) in row.iter().zip(widths).skip(1) {
                write!(f, "  {cell:>width$}")?;
            }
        }
        Ok(())
    }
}

/// Four digits, as people read them.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        0.001..10_000.0 => {
            let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 6);
            format!("{value:.*}", digits as usize)
        }
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;

    fn report(pairs: &[(Values, Values)]) -> OutputAccuracy {
        let mut report = Report::new(&[Shape::new(DataType::Float, &[1]).unwrap()]);
        for (reference, candidate) in pairs {
            report.add_values(0, reference, candidate);
        }
        report.outputs[0].clone()
    }

    fn floats(values: &[f64]) -> Values {
        Values::Floats(values.to_vec())
    }

    #[test]
    fn numbers_are_those_worked_out_by_hand() {
        // Differences 1, 2, 0 and, in a second sample, 3.
        let found = report(&[
            (floats(&[3.0, -4.0, 0.0]), floats(&[2.0, -2.0, 0.0])),
            (floats(&[12.0]), floats(&[9.0])),
        ]);
        assert_eq!((found.values, found.mismatched), (4, 0));
        assert_eq!((found.largest, found.max_error), (12.0, 3.0));
        assert_eq!(found.mean_error, 1.5);
        assert_eq!(found.rms_error, (14.0f64 / 4.0).sqrt());
        // |reference| = 13, |candidate| = √89, product 6 + 8 + 108.
        assert!((found.cosine - 122.0 / (13.0 * 89.0f64.sqrt())).abs() < 1e-15);
    }

    #[test]
    fn what_is_not_finite_is_counted_and_not_measured() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let found = report(&[(
            floats(&[nan, inf, -inf, 1.0, nan, inf, inf, 2.0]),
            floats(&[nan, inf, -inf, 1.5, 0.0, 9.0, -inf, nan]),
        )]);
        assert_eq!((found.values, found.mismatched), (8, 4));
        assert_eq!((found.max_error, found.mean_error), (0.5, 0.5));
        assert_eq!((found.largest, found.cosine), (2.0, 1.0));
    }

    #[test]
    fn integers_are_measured_exactly() {
        // As f64 both are 2^63.
        let found = report(&[(
            Values::Integers(vec![i128::from(i64::MAX), -3]),
            Values::Integers(vec![i128::from(i64::MAX) - 1, -3]),
        )]);
        assert_eq!((found.max_error, found.mean_error), (1.0, 0.5));
    }

    #[test]
    fn zeros_have_a_cosine() {
        assert_eq!(report(&[(floats(&[0.0]), floats(&[0.0]))]).cosine, 1.0);
        assert_eq!(report(&[(floats(&[0.0]), floats(&[1.0]))]).cosine, 0.0);
        assert_eq!(report(&[(floats(&[2.0]), floats(&[-1.0]))]).cosine, -1.0);
    }

    #[test]
    fn a_table_has_a_line_an_output() {
        let shape = |dims: &[usize]| Shape::new(DataType::Float, dims).unwrap();
        let mut report = Report::new(&[shape(&[1, 10]), shape(&[2])]);
        report.add_values(0, &floats(&[100.0]), &floats(&[100.25]));
        report.add_values(1, &floats(&[1e-5, f64::NAN]), &floats(&[0.0, 1.0]));
        let expected = "\
output            values    largest  max error  mean error  rms error    cosine  mismatched
0: float [1, 10]       1      100.0     0.2500      0.2500     0.2500  1.000000           0
1: float [2]           2  1.000e-5   1.000e-5   1.000e-5  1.000e-5  0.000000           1";
        let normal = |text: &str| -> Vec<Vec<String>> {
            let words = |line: &str| {
                line.split("  ")
                    .map(|w| w.trim().to_owned())
                    .filter(|w| !w.is_empty())
                    .collect()
            };
            text.lines().map(words).collect()
        };
        let text = report.to_string();
        assert_eq!(normal(&text), normal(expected), "\n{text}");
        let lengths: Vec<usize> = text.lines().map(str::len).collect();
        assert!(
            lengths.iter().all(|length| *length == lengths[0]),
            "\n{text}"
        );
    }
}
