//! The text of a program, taken apart as far as checks need it.

use std::collections::{HashMap, HashSet};

use crate::dtype::DataType;

/// One line: `name = operator[attributes](arguments) -> shape`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) operator: &'a str,
    /// Attributes and arguments.
    pub(crate) arguments: &'a str,
    pub(crate) shape: &'a str,
}

/// All modules' lines, without those that define nothing.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" = ")?;
        let (call, shape) = rest.rsplit_once(" -> ").unwrap_or((rest, ""));
        let end = call.find(['[', '(', '{', ' ']).unwrap_or(call.len());
        let (operator, arguments) = call.split_at(end);
        Some(Line {
            name,
            operator,
            arguments,
            shape,
        })
    })
}

impl<'a> Line<'a> {
    /// Whether its result has no elements: `float_type, {0, 4}, {4, 1}`.
    fn is_empty(&self) -> bool {
        let dims = self
            .shape
            .split_once('{')
            .and_then(|(_, rest)| rest.split('}').next());
        dims.is_some_and(|dims| dims.split(',').any(|dim| dim.trim() == "0"))
    }

    /// The sizes of its result, where they are fixed; none for a scalar.
    pub(crate) fn dims(&self) -> Option<Vec<usize>> {
        let (_, rest) = self.shape.split_once("_type, {")?;
        let (dims, strides) = rest.split_once("}, {")?;
        if (dims, strides.split('}').next()) == ("1", Some("0")) {
            return Some(Vec::new());
        }
        dims.split(',').map(|dim| dim.trim().parse().ok()).collect()
    }

    /// The last of the sizes, where that one is fixed; 1 for a scalar.
    pub(crate) fn last_dim(&self) -> Option<usize> {
        if let Some(dims) = self.dims() {
            return Some(dims.last().copied().unwrap_or(1));
        }
        let (_, last) = self.shape.rsplit_once("[ ")?;
        let mut bounds = last.split(',').map(|bound| bound.trim().parse().ok());
        let (least, most) = (bounds.next()??, bounds.next()??);
        (least == most).then_some(least)
    }

    /// The type of its result.
    pub(crate) fn dtype(&self) -> Option<DataType> {
        let shape = self.shape.strip_prefix("dynamic, ").unwrap_or(self.shape);
        let (name, _) = shape.split_once("_type, {")?;
        DataType::ALL
            .iter()
            .copied()
            .find(|known| known.name() == name)
    }

    /// An attribute that is a number or, in braces, a list of such.
    pub(crate) fn ints(&self, attribute: &str) -> Option<Vec<i64>> {
        let attributes = self.arguments.strip_prefix('[')?;
        let starts = attributes.match_indices(attribute).map(|(at, _)| at);
        let value = starts
            .filter(|at| *at == 0 || attributes[..*at].ends_with(','))
            .find_map(|at| attributes[at + attribute.len()..].strip_prefix('='))?;
        let list = match value.strip_prefix('{') {
            Some(list) => list.split('}').next()?,
            None => value.split([',', ']']).next()?,
        };
        let numbers = list
            .split(',')
            .map(str::trim)
            .filter(|number| !number.is_empty());
        numbers.map(|number| number.parse().ok()).collect()
    }

    /// The names of the values that it takes, as far as they hold no brackets.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let rest = self.arguments.rsplit_once('(').map_or("", |(_, rest)| rest);
        let names = rest.split_once(')').map_or("", |(names, _)| names);
        names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
    }
}

/// The first value without elements that is computed from the program's inputs:
/// what is computed of constants alone is gone once the program is compiled.
pub(crate) fn computed_empty(text: &str) -> Option<Line<'_>> {
    let mut constants = HashSet::new();
    lines(text).find(|line| {
        let mut inputs = line.inputs().peekable();
        let constant = line.operator == "@literal"
            || (inputs.peek().is_some() && inputs.all(|name| constants.contains(name)));
        if constant {
            constants.insert(line.name);
        }
        !constant && !line.operator.starts_with('@') && line.is_empty()
    })
}

/// A parameter that the program gives back as it is.
pub(crate) fn handed_on(text: &str) -> Option<&str> {
    let known: HashMap<&str, Line<'_>> = lines(text).map(|line| (line.name, line)).collect();
    let returns = lines(text).filter(|line| line.operator == "@return");
    let mut results = returns.flat_map(|line| line.inputs());
    results.find_map(|name| {
        let mut line = known.get(name)?;
        // No line is its own argument, but a text may be anything.
        for _ in 0..known.len() {
            match line.operator {
                "identity" => line = known.get(line.inputs().next()?)?,
                operator if operator.starts_with("@param") => return Some(line.name),
                _ => return None,
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let text = "module: \"main\"\n\
            @0 = @literal{inf} -> float_type, {1}, {0}\n\
            x = @param:x -> float_type, {2, 4}, {4, 1}\n\
            @5 = slice[axes={0},starts={1},ends={1}](x) -> float_type, {0, 4}, {4, 1}\n\
            @6 = dot(@5,@1) -> float_type, {0, 3}, {3, 1}\n\
            @7 = @return(@6)\n";
        let read: Vec<Line<'_>> = lines(text).collect();
        assert_eq!(read.len(), 5);
        assert_eq!((read[0].operator, read[0].arguments), ("@literal", "{inf}"));
        assert_eq!((read[2].operator, read[2].name), ("slice", "@5"));
        assert_eq!(read[3].shape, "float_type, {0, 3}, {3, 1}");
        let inputs = |at: usize| read[at].inputs().collect::<Vec<_>>();
        assert_eq!((inputs(0), inputs(3)), (vec![], vec!["@5", "@1"]));
        assert_eq!((read[4].operator, read[4].shape), ("@return", ""));
        assert_eq!(computed_empty(text).unwrap().name, "@5");
    }

    #[test]
    fn shapes_and_attributes_are_read() {
        let text = "@1 = slice[axes={0, 1},starts={-1},ends={}](x,@2) -> int32_type, {2, 1}, {9, 1}\n\
            @2 = gather[axis=-1](x,@1) -> float_type, {1}, {0}\n\
            @3 = contiguous(i) -> dynamic, int64_type, {[ 1, 4, {} ], [ 2, 2, {} ]}\n";
        let read: Vec<Line<'_>> = lines(text).collect();
        assert_eq!(read[0].dims(), Some(vec![2, 1]));
        assert_eq!(read[0].dtype(), Some(DataType::Int32));
        assert_eq!(read[0].ints("axes"), Some(vec![0, 1]));
        assert_eq!(read[0].ints("starts"), Some(vec![-1]));
        assert_eq!(read[0].ints("ends"), Some(vec![]));
        assert_eq!(read[0].ints("xes"), None);
        assert_eq!(
            (read[1].dims(), read[1].ints("axis")),
            (Some(vec![]), Some(vec![-1]))
        );
        let last = |at: usize| read[at].last_dim();
        assert_eq!((last(0), last(1), last(2)), (Some(1), Some(1), Some(2)));
        assert_eq!(
            (read[2].dims(), read[2].dtype()),
            (None, Some(DataType::Int64))
        );
    }

    #[test]
    fn parameters_that_are_results_are_found() {
        let text = |result: &str| {
            format!(
                "x = @param:x -> float_type, {{1..4, 4}}\n@1 = identity(x) -> float_type, {{1..4, 4}}\n\
                 @2 = identity(@1) -> float_type, {{1..4, 4}}\n@3 = relu(x) -> float_type, {{1..4, 4}}\n\
                 @4 = @return(@3,{result})\n"
            )
        };
        assert_eq!(handed_on(&text("x")), Some("x"));
        assert_eq!(handed_on(&text("@2")), Some("x"));
        assert_eq!(handed_on(&text("@3")), None);
    }

    #[test]
    fn constants_may_be_empty() {
        let text = "@0 = @literal{} -> float_type, {0}, {1}\n\
            @1 = convert[target_type=1](@0) -> half_type, {0}, {1}\n\
            x = @param:x -> float_type, {10, 4}, {4, 1}\n\
            @3 = relu(x) -> float_type, {10, 4}, {4, 1}\n\
            @4 = @return(@3)\n";
        assert!(computed_empty(text).is_none());
    }
}
