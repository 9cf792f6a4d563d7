//! Finds the parameters that reach an operator as indices or divisors.

use std::collections::{BTreeSet, HashMap};

use super::check::{Check, Checks};
use super::operators::{self, Sign, Use, plain, positions};
use super::source::{self, Piece, Source};
use super::{Allowed, Found, IndexInput};
use crate::buffers;
use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::instructions::{Line, lines};
use crate::signature::Parameter;

/// Looks through the text of a program.
pub(super) fn in_text(text: &str, parameters: &[Parameter]) -> Result<Found> {
    // A line with such a name in it does not say where the name ends.
    let blurred = |name: &str| name.contains(['(', ')', ',']) || name.contains(char::is_control);
    let blurred = |name: &str| blurred(name) || name.contains(" = ") || name.contains(" -> ");
    if parameters.iter().any(|parameter| blurred(parameter.name())) {
        return Ok(unknown(parameters));
    }
    // Most programs have no such operator.
    if lines(text).all(|line| operators::uses(&line, &|_| None).is_empty()) {
        return Ok(Found::default());
    }
    let mut reading = Reading::new(text, parameters);
    for line in reading.order.clone() {
        reading.read(&line)?;
    }
    Ok(reading.found())
}

/// Nothing can be said: every input of integers may be one.
pub(super) fn unknown(parameters: &[Parameter]) -> Found {
    let integers = parameters.iter().filter(|p| p.shape().dtype().is_integer());
    let integers = integers.filter(|p| !buffers::is_output(p.name()));
    let listed = integers.map(|parameter| IndexInput {
        parameter: parameter.name().to_owned(),
        operator: "an operator that is not known".to_owned(),
        allowed: Vec::new(),
        checked: false,
    });
    Found {
        inputs: listed.collect(),
        checks: None,
    }
}

struct Reading<'a> {
    parameters: &'a [Parameter],
    /// The main module's lines, then those of the modules that it runs.
    order: Vec<Line<'a>>,
    lines: HashMap<&'a str, Line<'a>>,
    sources: HashMap<&'a str, Source>,
    /// Names of the main module.
    main: BTreeSet<&'a str>,
    inputs: Vec<IndexInput>,
    checks: Vec<Check>,
}

impl<'a> Reading<'a> {
    fn new(text: &'a str, parameters: &'a [Parameter]) -> Self {
        let starts = text.match_indices("module: \"").map(|(at, _)| at);
        let starts: Vec<usize> = starts
            .filter(|at| *at == 0 || text[..*at].ends_with('\n'))
            .chain([text.len()])
            .collect();
        let texts = starts.windows(2).map(|ends| &text[ends[0]..ends[1]]);
        let is_main = |text: &&str| text.starts_with("module: \"main\"");
        let (main, others): (Vec<&str>, Vec<&str>) = texts.partition(is_main);
        let main: Vec<Line<'a>> = main.iter().flat_map(|text| lines(text)).collect();
        let names = main.iter().map(|line| line.name).collect();
        let mut order = main;
        order.extend(others.iter().flat_map(|text| lines(text)));
        Reading {
            parameters,
            lines: order.iter().map(|line| (line.name, *line)).collect(),
            order,
            sources: HashMap::new(),
            main: names,
            inputs: Vec::new(),
            checks: Vec::new(),
        }
    }

    fn read(&mut self, line: &Line<'a>) -> Result<()> {
        let argument = |at: usize| self.lines.get(line.inputs().nth(at)?).copied();
        let uses = match self.by_element(line) {
            Some((name, allowed)) => vec![(name, allowed)],
            None => operators::uses(line, &argument)
                .into_iter()
                .filter_map(|Use { argument, allowed }| {
                    Some((line.inputs().nth(argument)?, allowed))
                })
                .filter(|(name, _)| !self.is_harmless_dividend(line, name))
                .collect(),
        };
        for (name, allowed) in uses {
            self.used(line, name, allowed)?;
        }
        let source = self.source(line);
        self.sources.insert(line.name, source);
        Ok(())
    }

    fn source(&self, line: &Line<'a>) -> Source {
        if line.operator.starts_with("@param") {
            return self.parameter(line);
        }
        if line.operator.starts_with("@literal") {
            return Source::literal(line.arguments);
        }
        if let Some(raised) = self.raised(line) {
            return raised;
        }
        let none = Source::default();
        let inputs: Vec<&Source> = line
            .inputs()
            .map(|name| self.sources.get(name).unwrap_or(&none))
            .collect();
        let dims: Vec<Option<Vec<usize>>> = line
            .inputs()
            .map(|name| self.lines.get(name).and_then(Line::dims))
            .collect();
        source::result(line, &inputs, &dims)
    }

    fn parameter(&self, line: &Line<'a>) -> Source {
        if !self.main.contains(line.name) {
            // What a module's own parameter stands for is decided by its caller.
            let callers = self
                .order
                .iter()
                .filter(|caller| caller.arguments.contains("), ["));
            let given = callers
                .flat_map(Line::inputs)
                .filter_map(|name| self.sources.get(name));
            return Source::computed(given.flat_map(Source::parameters).collect());
        }
        let position = self.parameters.iter().position(|p| p.name() == line.name);
        match position {
            None => Source::default(),
            Some(position) => match line.dtype().filter(|dtype| dtype.is_integer()) {
                Some(dtype) => Source::parameter(position, dtype, line.dims().as_deref()),
                None => Source::computed(BTreeSet::from([position])),
            },
        }
    }

    /// Notes that `line` uses the value `name`.
    fn used(&mut self, line: &Line<'a>, name: &str, allowed: Vec<Allowed>) -> Result<()> {
        let Some(source) = self.sources.get(name).cloned() else {
            return Ok(());
        };
        if let (Some((least, most)), false) = (source.bounds, allowed.is_empty()) {
            let fits =
                |allowed: &Allowed| allowed.holds(least.into()) && allowed.holds(most.into());
            if !allowed.iter().all(fits) && allowed.len() == 1 && source.constant {
                return Err(constant(line, (least, most), &allowed[0]));
            }
            return Ok(());
        }
        let operator = plain(line);
        for piece in &source.pieces {
            let check = self.check(operator, piece, &allowed);
            let allowed = check.as_ref().map(|check| check.allowed.to_vec());
            self.list(
                piece.parameter,
                operator,
                allowed.unwrap_or_default(),
                check.is_some(),
            );
            self.checks
                .extend(check.filter(|check| !self.checks.contains(check)));
        }
        let is_dividend = operator == "div" && line.inputs().next() == Some(name);
        for other in source.others.iter().filter(|_| !is_dividend) {
            self.list(*other, operator, Vec::new(), false);
        }
        Ok(())
    }

    fn list(&mut self, position: usize, operator: &str, allowed: Vec<Allowed>, checked: bool) {
        let input = IndexInput {
            parameter: self.parameters[position].name().to_owned(),
            operator: operator.to_owned(),
            allowed,
            checked,
        };
        if !self.inputs.contains(&input) {
            self.inputs.push(input);
        }
    }

    /// What is to be checked of the piece's parameter, where that can be said.
    fn check(&self, operator: &str, piece: &Piece, allowed: &[Allowed]) -> Option<Check> {
        let parameter = &self.parameters[piece.parameter];
        let (elements, dtype) = (&piece.elements, parameter.shape().dtype());
        let uniform = allowed.iter().all(|other| other == &allowed[0]);
        let allowed: Vec<Allowed> = match elements.layout() {
            _ if allowed.is_empty() => return None,
            _ if uniform => vec![allowed[0].clone()],
            // The components that lie in this piece.
            Some(layout) if elements.is_ordered() => {
                let width = *layout.dims.last()?;
                allowed.get(piece.start..piece.start + width)?.to_vec()
            }
            None if elements.is_ordered() && piece.start == 0 => allowed.to_vec(),
            _ => return None,
        };
        let allowed: Option<Vec<Allowed>> = allowed
            .into_iter()
            .map(|allowed| before(piece, dtype, allowed))
            .collect();
        let whole = elements.layout().is_none_or(|layout| {
            elements.is_ordered() && layout.is_all_of(parameter.shape().elements())
        });
        Some(Check {
            position: piece.parameter,
            parameter: parameter.name().to_owned(),
            dtype,
            layout: elements
                .layout()
                .filter(|_| !whole)
                .map(|layout| layout.clone().once_each(uniform)),
            allowed: allowed?.into(),
            operator: operator.to_owned(),
        })
    }

    /// Skips what copies and spreads.
    fn behind(&self, mut name: &'a str) -> Option<&Line<'a>> {
        // No line is its own argument, but a text may be anything.
        for _ in 0..self.lines.len() {
            let line = self.lines.get(name)?;
            match plain(line) {
                "contiguous" | "identity" | "multibroadcast" | "scalar" => {
                    name = first_input(line)?;
                }
                _ => return Some(line),
            }
        }
        None
    }

    /// `where(v < 0, v + n, v)`: exporters count from the end this way.
    fn raised(&self, line: &Line<'a>) -> Option<Source> {
        let [condition, changed, kept] = inputs(line)?;
        let value = (plain(line) == "where").then(|| self.behind(kept))??;
        let mut condition = self.behind(condition)?;
        if plain(condition) == "convert" {
            condition = self.behind(first_input(condition)?)?;
        }
        let [compared, zero] = inputs(condition)?;
        let less = plain(condition) == "less" && self.is(zero, 0);
        let changed = self.behind(changed).filter(|line| plain(line) == "add")?;
        let [a, b] = inputs(changed)?;
        let same = |name| {
            self.behind(name)
                .is_some_and(|line| line.name == value.name)
        };
        let (added, from) = if same(a) { (b, a) } else { (a, b) };
        let by = self.number(added).filter(|by| *by > 0)?;
        if !less || !same(compared) || !same(from) {
            return None;
        }
        let mut source = self.sources.get(kept)?.clone();
        if source.pieces.iter().any(|piece| piece.raised.is_some()) {
            return None;
        }
        source
            .pieces
            .iter_mut()
            .for_each(|piece| piece.raised = Some(by));
        Some(source)
    }

    /// `gather(reshape(data), base + (indices - along) * stride)` is what the
    /// library makes of ONNX's `GatherElements`: the indices, and their range.
    fn by_element(&self, line: &Line<'a>) -> Option<(&'a str, Vec<Allowed>)> {
        let [data, position] = inputs(line)?;
        let whole = (plain(line) == "gather").then(|| self.behind(data))??;
        let [data] = inputs(whole).filter(|_| plain(whole) == "reshape")?;
        let [_, product] = inputs(self.behind(position).filter(|line| plain(line) == "add")?)?;
        let [difference, stride] = inputs(self.behind(product).filter(|l| plain(l) == "mul")?)?;
        let difference = self
            .behind(difference)
            .filter(|line| plain(line) == "sub")?;
        let [indices, along] = inputs(difference)?;
        let (data, shape) = (
            self.lines.get(data)?.dims()?,
            self.lines.get(indices)?.dims()?,
        );
        let stride = usize::try_from(self.number(stride)?).ok()?;
        let axis = axis_of(&data, stride, &shape, self.sources.get(along)?.bounds)?;
        // From the end only the outermost ones come out right.
        let outermost = data[..axis].iter().all(|dim| *dim == 1);
        let sign = if outermost { Sign::Any } else { Sign::Positive };
        Some((indices, vec![positions(data[axis], sign)?]))
    }

    /// Whether a dividend cannot meet a divisor of -1.
    fn is_harmless_dividend(&self, line: &Line<'a>, name: &str) -> bool {
        let divisor = line.inputs().nth(1).and_then(|name| self.sources.get(name));
        let bounds = divisor.and_then(|source| source.bounds);
        plain(line) == "div"
            && line.inputs().next() == Some(name)
            && bounds.is_some_and(|(least, most)| least > -1 || most < -1)
    }

    fn number(&self, name: &str) -> Option<i64> {
        let source = self.sources.get(name).filter(|source| source.constant)?;
        source
            .bounds
            .filter(|(least, most)| least == most)
            .map(|(value, _)| value)
    }

    fn is(&self, name: &str, value: i64) -> bool {
        self.number(name) == Some(value)
    }

    fn found(self) -> Found {
        let checks = self.checks.into_boxed_slice();
        Found {
            inputs: self.inputs,
            checks: (!checks.is_empty()).then_some(Checks(checks)),
        }
    }
}

fn inputs<'a, const N: usize>(line: &Line<'a>) -> Option<[&'a str; N]> {
    let all: Vec<&'a str> = line.inputs().collect();
    all.try_into().ok()
}

fn first_input<'a>(line: &Line<'a>) -> Option<&'a str> {
    line.inputs().next()
}

/// What the parameter may hold, where the operator takes `allowed` after all
/// that lies between. `None` where that is no range.
fn before(piece: &Piece, dtype: DataType, allowed: Allowed) -> Option<Allowed> {
    let (least, most) = piece.kept;
    match (allowed, piece.raised) {
        (Allowed::Range(range), raised) => {
            let (start, end) = (*range.start(), *range.end());
            let start = match raised {
                None => start,
                // All from -by to -1 have to land within.
                Some(by) if start <= 0 && end >= by - 1 => -by,
                Some(_) => return None,
            };
            Some(Allowed::Range(start.max(least)..=end.min(most)))
        }
        // A conversion may make a zero of other values.
        (Allowed::NotZero, None) if piece.kept == source::held(dtype) => Some(Allowed::NotZero),
        (Allowed::NotZero, _) => None,
    }
}

/// The axis along which neighbours are `stride` apart in packed data.
fn axis_of(
    data: &[usize],
    stride: usize,
    indices: &[usize],
    along: Option<(i64, i64)>,
) -> Option<usize> {
    let inner = |axis: usize| data[axis + 1..].iter().product::<usize>();
    let mut candidates = (0..data.len()).filter(|axis| inner(*axis) == stride);
    let (first, last) = (candidates.next()?, candidates.next_back());
    if indices.len() != data.len() {
        return None;
    }
    match last {
        None => Some(first),
        // Of several, all but the first have one element, so that a range for the
        // first is safe for all where the indices have one row along it.
        Some(_) if data[first] == 1 || indices[first] == 1 => Some(first),
        // `along` holds each index's own coordinate on the axis.
        Some(last) => match along? {
            (0, 0) => Some(last),
            _ => Some(first),
        },
    }
}

#[cold]
fn constant(line: &Line<'_>, (least, most): (i64, i64), allowed: &Allowed) -> Error {
    let wrong = if allowed.holds(least.into()) {
        most
    } else {
        least
    };
    Error::InvalidArgument(format!(
        "a constant of the program is {wrong}, and the operator `{}` ({}) takes {allowed}; MIGraphX \
         would read or write outside of the tensor, or end the process: mend the model",
        plain(line),
        line.name
    ))
}
