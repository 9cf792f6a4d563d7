//! Where a value's elements come from, operator by operator.

use std::collections::BTreeSet;

use super::elements::Elements;
use super::operators::plain;
use crate::dtype::DataType;
use crate::instructions::Line;

/// What is known of a value.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    /// Elements of parameters that are in it as they are.
    pub(super) pieces: Vec<Piece>,
    /// Parameters that it was computed from otherwise.
    pub(super) others: BTreeSet<usize>,
    /// The least and the greatest of its elements, where no parameter decides.
    pub(super) bounds: Option<(i64, i64)>,
    /// Whether `bounds` are values that it holds.
    pub(super) constant: bool,
}

/// Elements of one parameter in a value.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) parameter: usize,
    pub(super) elements: Elements,
    /// The values that no conversion on the way has changed.
    pub(super) kept: (i64, i64),
    /// What is added to those below zero.
    pub(super) raised: Option<i64>,
    /// Where it begins along the last axis of the value.
    pub(super) start: usize,
}

impl Source {
    /// A parameter of integers.
    pub(super) fn parameter(parameter: usize, dtype: DataType, dims: Option<&[usize]>) -> Self {
        Source {
            pieces: vec![Piece {
                parameter,
                elements: Elements::all(dims),
                kept: held(dtype),
                raised: None,
                start: 0,
            }],
            ..Source::default()
        }
    }

    /// Something computed from parameters.
    pub(super) fn computed(others: BTreeSet<usize>) -> Self {
        Source {
            others,
            ..Source::default()
        }
    }

    /// `@literal{1, 2}`; of more than ten elements the text shows none.
    pub(super) fn literal(text: &str) -> Self {
        let values = text
            .strip_prefix('{')
            .and_then(|rest| rest.split('}').next());
        let values: Option<Vec<i64>> = values.and_then(|list| {
            list.split(',')
                .map(|value| value.trim().parse().ok())
                .collect()
        });
        let bounds = values.and_then(|all| Some((*all.iter().min()?, *all.iter().max()?)));
        Source {
            bounds,
            constant: bounds.is_some(),
            ..Source::default()
        }
    }

    /// All parameters that it depends on.
    pub(super) fn parameters(&self) -> impl Iterator<Item = usize> {
        let pieces = self.pieces.iter().map(|piece| piece.parameter);
        pieces.chain(self.others.iter().copied())
    }

    /// The same parameters, with nothing known of how.
    fn blurred(&self) -> Self {
        Source::computed(self.parameters().collect())
    }

    fn each(&self, change: impl Fn(Elements) -> Elements) -> Self {
        let mut source = self.clone();
        // A part of a value does not move as the whole does.
        let partial = source.pieces.len() > 1 || source.pieces.iter().any(|piece| piece.start > 0);
        for piece in &mut source.pieces {
            let elements = piece.elements.clone();
            piece.elements = match partial {
                true => elements.unordered(),
                false => change(elements),
            };
        }
        source
    }

    /// Keeps what the type holds too.
    fn converted(&self, dtype: Option<DataType>) -> Self {
        let Some(dtype) = dtype.filter(|dtype| dtype.is_integer()) else {
            return self.blurred();
        };
        if self.pieces.iter().any(|piece| piece.raised.is_some()) {
            return self.blurred();
        }
        let mut source = self.clone();
        let (least, most) = held(dtype);
        for piece in &mut source.pieces {
            piece.kept = (piece.kept.0.max(least), piece.kept.1.min(most));
        }
        source.bounds = self
            .bounds
            .filter(|bounds| bounds.0 >= least && bounds.1 <= most);
        source
    }

    fn sliced(&self, line: &Line<'_>) -> Self {
        let [piece] = self.pieces.as_slice() else {
            return self.blurred();
        };
        let known = line.ints("axes").zip(line.ints("starts"));
        let elements = known.and_then(|(axes, starts)| {
            let whole = piece.start == 0;
            let elements = piece.elements.clone();
            elements
                .sliced(&axes, &starts, line.dims().as_deref())
                .filter(|_| whole)
        });
        match elements {
            None => self.blurred(),
            Some(elements) => {
                let mut source = self.clone();
                source.pieces[0].elements = elements;
                source
            }
        }
    }
}

/// What an operator makes of its inputs. `dims` are those of each input.
pub(super) fn result(line: &Line<'_>, inputs: &[&Source], dims: &[Option<Vec<usize>>]) -> Source {
    let first = || inputs.first().copied().cloned().unwrap_or_default();
    let out = line.dims();
    match plain(line) {
        // What compiling for a target puts between is no more than a copy.
        "identity" | "contiguous" | "layout" | "copy_to_gpu" | "copy" | "sync_stream" => first(),
        "reshape" | "reshape_lazy" | "flatten" | "squeeze" | "unsqueeze" => {
            first().each(|elements| elements.reshaped(out.as_deref()))
        }
        "transpose" => {
            let permutation = line.ints("permutation");
            first().each(|elements| elements.transposed(permutation.as_deref()))
        }
        "multibroadcast" => {
            let own = dims.first().and_then(|dims| Some(dims.as_ref()?.len()));
            let axis = out
                .as_ref()
                .zip(own)
                .and_then(|(out, own)| out.len().checked_sub(own));
            first().each(|elements| elements.spread(out.as_deref(), axis))
        }
        "broadcast" => {
            let axis = line
                .ints("axis")
                .and_then(|axis| usize::try_from(*axis.first()?).ok());
            first().each(|elements| elements.spread(out.as_deref(), axis))
        }
        "scalar" => first().each(Elements::unordered),
        "convert" => first().converted(line.dtype()),
        "slice" if inputs.len() == 1 => first().sliced(line),
        "concat" => concatenated(line, inputs, dims),
        "clip" => clipped(inputs),
        // What comes out is within bounds that no value moves.
        "argmax" | "argmin" | "nonzero" | "equal" | "less" | "greater" | "not" | "isnan"
        | "isinf" | "logical_and" | "logical_or" | "logical_xor" | "dimensions_of"
        | "nonmaxsuppression" => Source::default(),
        "get_tuple_elem" if line.ints("index") == Some(vec![1]) => Source::default(),
        // Elements of the data, not of the indices.
        "gather" | "gathernd" => first().blurred(),
        "where" => of_all(inputs.get(1..).unwrap_or_default()),
        _ => of_all(inputs),
    }
}

fn of_all(inputs: &[&Source]) -> Source {
    Source::computed(inputs.iter().flat_map(|input| input.parameters()).collect())
}

/// Pieces beside each other, along the last axis or another.
fn concatenated(line: &Line<'_>, inputs: &[&Source], dims: &[Option<Vec<usize>>]) -> Source {
    let mut source = Source::default();
    let rank = dims.iter().flatten().next().map_or(0, Vec::len) as i64;
    let axis = line.ints("axis").and_then(|axis| axis.first().copied());
    let axis = axis.map(|axis| if axis < 0 { axis + rank } else { axis });
    // Where the next input begins; `None` once that is not known.
    let mut start = (axis.is_some() && dims.iter().all(Option::is_some)).then_some(0);
    let constant = |input: &&Source| input.bounds.is_some();
    for (input, dims) in inputs.iter().zip(dims) {
        source.others.extend(&input.others);
        for piece in &input.pieces {
            let mut piece = piece.clone();
            match start {
                Some(start) => piece.start += start,
                None => piece.elements = piece.elements.unordered(),
            }
            source.pieces.push(piece);
        }
        if axis == Some(rank - 1) {
            let width = dims.as_ref().and_then(|dims| dims.last().copied());
            start = start.zip(width).map(|(start, width)| start + width);
        }
    }
    if inputs.iter().all(constant) {
        let bounds = inputs.iter().filter_map(|input| input.bounds);
        source.bounds = bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        source.constant = inputs.iter().all(|input| input.constant);
    }
    source
}

fn clipped(inputs: &[&Source]) -> Source {
    let [_, least, most] = inputs else {
        return of_all(inputs);
    };
    match (least.bounds, most.bounds) {
        (Some((least, _)), Some((_, most))) if least <= most => Source {
            bounds: Some((least, most)),
            ..Source::default()
        },
        _ => of_all(inputs),
    }
}

/// The values of an integer type, as far as an `i64` holds them.
pub(super) fn held(dtype: DataType) -> (i64, i64) {
    match dtype {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Uint8 => (0, u8::MAX.into()),
        DataType::Uint16 => (0, u16::MAX.into()),
        DataType::Uint32 => (0, u32::MAX.into()),
        DataType::Uint64 => (0, i64::MAX),
        _ => (i64::MIN, i64::MAX),
    }
}
