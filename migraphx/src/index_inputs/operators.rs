//! What MIGraphX's operators take for positions in memory and divide by, from
//! their `compute` in the sources of 7.1 and from runs on `ref`.

use super::Allowed;
use crate::dtype::DataType;
use crate::instructions::Line;

/// An argument whose values an operator uses unchecked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// Which argument.
    pub(super) argument: usize,
    /// As in [`IndexInput::allowed`](super::IndexInput::allowed): empty where it
    /// is not known.
    pub(super) allowed: Vec<Allowed>,
}

/// The name of an operator, without the target's: `gather` of `ref::gather`.
pub(super) fn plain<'a>(line: &Line<'a>) -> &'a str {
    line.operator.rsplit("::").next().unwrap_or(line.operator)
}

/// What `line` uses. `argument` gives the line that an argument is, by its number.
pub(super) fn uses<'a>(line: &Line<'_>, argument: &dyn Fn(usize) -> Option<Line<'a>>) -> Vec<Use> {
    let dims = |at: usize| argument(at)?.dims();
    let use_of = |argument, allowed: Option<Vec<Allowed>>| Use {
        argument,
        allowed: allowed.unwrap_or_default(),
    };
    let inputs = line.inputs().count();
    let count = || argument(1)?.last_dim();
    let number = |name: &str| line.ints(name).and_then(|values| values.first().copied());
    match plain(line) {
        "gather" => vec![use_of(1, along(dims(0), number("axis"), Sign::Any))],
        name if name.starts_with("scatter_") => match number("skip_out_of_bounds") {
            Some(0) | None => vec![use_of(1, along(dims(0), number("axis"), Sign::Any))],
            Some(_) => Vec::new(),
        },
        "gathernd" => {
            let skipped = number("batch_dims").and_then(|skipped| usize::try_from(skipped).ok());
            let ranges = components(dims(0), count(), skipped, Sign::Any);
            vec![use_of(1, ranges)]
        }
        // Negative ones are not turned round: they are written before the tensor.
        name if name.starts_with("scatternd_") => {
            vec![use_of(
                1,
                components(dims(0), count(), Some(0), Sign::Positive),
            )]
        }
        "roialign" => vec![use_of(2, along(dims(0), Some(0), Sign::Positive))],
        "rnn" | "gru" | "lstm" => vec![use_of(4, lengths(dims(0)))],
        "rnn_var_sl_shift_output" | "rnn_var_sl_shift_sequence" | "rnn_var_sl_last_output" => {
            vec![use_of(1, lengths(dims(0)))]
        }
        "div" => division(line.dtype()),
        // A start behind its end makes a tensor of 2⁶⁴ elements.
        "slice" | "resize" => (1..inputs).map(|at| use_of(at, None)).collect(),
        "group_query_attention" => vec![use_of(5, None)],
        _ => Vec::new(),
    }
}

/// Whether a position may count from the end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Any,
    Positive,
}

/// The positions in `size` elements.
pub(super) fn positions(size: usize, sign: Sign) -> Option<Allowed> {
    let size = i64::try_from(size).ok()?;
    Some(Allowed::Range(match sign {
        Sign::Any => -size..=size - 1,
        Sign::Positive => 0..=size - 1,
    }))
}

fn along(dims: Option<Vec<usize>>, axis: Option<i64>, sign: Sign) -> Option<Vec<Allowed>> {
    let (dims, axis) = (dims?, axis?);
    let axis = if axis < 0 {
        axis + dims.len() as i64
    } else {
        axis
    };
    let size = *dims.get(usize::try_from(axis).ok()?)?;
    Some(vec![positions(size, sign)?])
}

/// An index of `count` components, from dimension `skipped` of the data on.
fn components(
    data: Option<Vec<usize>>,
    count: Option<usize>,
    skipped: Option<usize>,
    sign: Sign,
) -> Option<Vec<Allowed>> {
    let (data, count, skipped) = (data?, count?, skipped?);
    let dims = data.get(skipped..skipped + count)?;
    dims.iter().map(|dim| positions(*dim, sign)).collect()
}

/// Lengths of sequences: the last element of none is before the tensor.
fn lengths(sequences: Option<Vec<usize>>) -> Option<Vec<Allowed>> {
    let longest = i64::try_from(*sequences?.first()?).ok()?;
    Some(vec![Allowed::Range(1..=longest)])
}

/// The processor traps on the division of integers by zero, and of the least by -1.
fn division(dtype: Option<DataType>) -> Vec<Use> {
    let least = match dtype {
        Some(DataType::Int32) => Some(i64::from(i32::MIN)),
        Some(DataType::Int64) => Some(i64::MIN),
        Some(dtype) if dtype.is_integer() => None,
        _ => return Vec::new(),
    };
    let divisor = Use {
        argument: 1,
        allowed: vec![Allowed::NotZero],
    };
    let dividend = least.map(|least| Use {
        argument: 0,
        allowed: vec![Allowed::Range(least + 1..=i64::MAX)],
    });
    std::iter::once(divisor).chain(dividend).collect()
}
