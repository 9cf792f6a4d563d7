//! The check before a run: compares, and allocates nothing.

use super::Allowed;
use super::elements::Layout;
use crate::dtype::DataType;
use crate::error::{Error, Result};
use crate::signature::Parameter;

/// All that is checked before a run of one program.
#[derive(Debug, Clone)]
pub(crate) struct Checks(pub(super) Box<[Check]>);

/// What one operator takes of one parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    /// The parameter, by its position in the signature.
    pub(super) position: usize,
    pub(super) parameter: String,
    pub(super) dtype: DataType,
    /// Where the values lie; `None` for all, row by row.
    pub(super) layout: Option<Layout>,
    /// One for all values, or one for each component: for each coordinate on the
    /// last axis.
    pub(super) allowed: Box<[Allowed]>,
    pub(super) operator: String,
}

impl Checks {
    /// The same with the positions of `parameters`.
    pub(super) fn in_places_of(self, parameters: &[Parameter]) -> Option<Self> {
        let moved = self.0.into_iter().filter_map(|check| {
            let position = parameters
                .iter()
                .position(|p| p.name() == check.parameter)?;
            Some(Check { position, ..check })
        });
        let moved: Box<[Check]> = moved.collect();
        (!moved.is_empty()).then_some(Checks(moved))
    }

    /// `memory` gives the bytes of a parameter by its position.
    pub(crate) fn check<'m>(&self, memory: impl Fn(usize) -> &'m [u8]) -> Result<()> {
        self.0
            .iter()
            .try_for_each(|check| match check.first_wrong(memory(check.position)) {
                None => Ok(()),
                Some(wrong) => Err(check.error(wrong)),
            })
    }
}

/// The first value that is not allowed.
#[derive(Debug, PartialEq, Eq)]
struct Wrong<'a> {
    position: usize,
    value: i128,
    allowed: &'a Allowed,
}

impl Check {
    #[cold]
    fn error(&self, wrong: Wrong<'_>) -> Error {
        Error::IndexOutOfRange {
            parameter: self.parameter.clone(),
            position: wrong.position,
            value: wrong.value,
            allowed: wrong.allowed.clone(),
            operator: self.operator.clone(),
        }
    }

    fn first_wrong(&self, bytes: &[u8]) -> Option<Wrong<'_>> {
        match self.dtype {
            DataType::Int8 => self.scan::<i8>(bytes),
            DataType::Int16 => self.scan::<i16>(bytes),
            DataType::Int32 => self.scan::<i32>(bytes),
            DataType::Int64 => self.scan::<i64>(bytes),
            DataType::Uint8 => self.scan::<u8>(bytes),
            DataType::Uint16 => self.scan::<u16>(bytes),
            DataType::Uint32 => self.scan::<u32>(bytes),
            DataType::Uint64 => self.scan::<u64>(bytes),
            _ => None,
        }
    }

    fn scan<T: Integer>(&self, bytes: &[u8]) -> Option<Wrong<'_>> {
        // SAFETY: any bytes are integers.
        let (_, values, _) = unsafe { bytes.align_to::<T>() };
        let allowed = &*self.allowed;
        let (position, allowed) = match (&self.layout, allowed) {
            (None, [one]) => (first_outside(one, values)?, one),
            (None, allowed) => {
                let mut components = allowed.iter().cycle();
                let is_wrong = |value: &T| {
                    let allowed = components.next();
                    allowed.is_some_and(|allowed| !allowed.holds((*value).into()))
                };
                let position = values.iter().position(is_wrong)?;
                (position, &allowed[position % allowed.len()])
            }
            (Some(layout), allowed) => strided(layout, allowed, values)?,
        };
        Some(Wrong {
            position,
            value: values.get(position).map_or(0, |value| (*value).into()),
            allowed,
        })
    }
}

/// The most frequent case, with nothing else in its loop.
fn first_outside<T: Integer>(allowed: &Allowed, values: &[T]) -> Option<usize> {
    match allowed {
        Allowed::Range(range) => match T::narrowed(*range.start(), *range.end()) {
            Some((least, most)) => values
                .iter()
                .position(|value| *value < least || *value > most),
            None => (!values.is_empty()).then_some(0),
        },
        Allowed::NotZero => values.iter().position(|value| (*value).into() == 0),
    }
}

/// Row after row, a row along the last axis.
fn strided<'a, T: Integer>(
    layout: &Layout,
    allowed: &'a [Allowed],
    values: &[T],
) -> Option<(usize, &'a Allowed)> {
    let (width, step) = match (layout.dims.last(), layout.strides.last()) {
        (Some(dim), Some(stride)) => (*dim, *stride),
        _ => (1, 1),
    };
    let outer = &layout.dims[..layout.dims.len().saturating_sub(1)];
    for row in 0..outer.iter().product() {
        let (mut rest, mut start) = (row, layout.offset);
        for (dim, stride) in outer.iter().zip(&layout.strides).rev() {
            start += rest % dim * stride;
            rest /= dim;
        }
        for column in 0..width {
            let at = start + column * step;
            let allowed = &allowed[column % allowed.len()];
            // A value that is not there is not right either.
            if !values
                .get(at)
                .is_some_and(|value| allowed.holds((*value).into()))
            {
                return Some((at, allowed));
            }
        }
    }
    None
}

trait Integer: Copy + PartialOrd + Into<i128> {
    /// The part of a range that this type holds.
    fn narrowed(least: i64, most: i64) -> Option<(Self, Self)>;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Integer for $type {
            fn narrowed(least: i64, most: i64) -> Option<(Self, Self)> {
                let (least, most) = (i128::from(least), i128::from(most));
                let least = least.max(<$type>::MIN.into());
                let most = most.min(<$type>::MAX.into());
                let held = least <= most;
                held.then(|| (least as $type, most as $type))
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dtype: DataType, allowed: &[Allowed], layout: Option<Layout>) -> Check {
        Check {
            position: 0,
            parameter: "i".into(),
            dtype,
            layout,
            allowed: allowed.into(),
            operator: "gather".into(),
        }
    }

    fn bytes(values: &[i64]) -> &[u8] {
        // SAFETY: integers are bytes.
        unsafe { values.align_to::<u8>() }.1
    }

    /// Position and value.
    fn wrong(check: &Check, bytes: &[u8]) -> Option<(usize, i128)> {
        let wrong = check.first_wrong(bytes)?;
        assert!(!wrong.allowed.holds(wrong.value));
        Some((wrong.position, wrong.value))
    }

    #[test]
    fn the_first_wrong_value_is_found() {
        let all = check(DataType::Int64, &[Allowed::Range(-3..=2)], None);
        assert_eq!(wrong(&all, bytes(&[-3, 2])), None);
        assert_eq!(wrong(&all, bytes(&[0, -4, 3])), Some((1, -4)));
        let range = [Allowed::Range(-1..=300)];
        let small = check(DataType::Uint8, &range, None);
        assert_eq!(wrong(&small, &[0, 255]), None);
        let large = check(DataType::Uint64, &range, None);
        let found = wrong(&large, bytes(&[300, -1]));
        assert_eq!(found, Some((1, u64::MAX.into())));
        let none = check(DataType::Uint8, &[Allowed::Range(-2..=-1)], None);
        assert_eq!(wrong(&none, &[7]), Some((0, 7)));
        let divisor = check(DataType::Int64, &[Allowed::NotZero], None);
        assert_eq!(wrong(&divisor, bytes(&[5, 0])), Some((1, 0)));
    }

    #[test]
    fn components_have_ranges_of_their_own() {
        let allowed = [Allowed::Range(0..=1), Allowed::Range(0..=8)];
        let pairs = check(DataType::Int64, &allowed, None);
        assert_eq!(wrong(&pairs, bytes(&[1, 8, 0, 2])), None);
        assert_eq!(wrong(&pairs, bytes(&[1, 8, 2, 2])), Some((2, 2)));
        // Two columns, one after the other.
        let layout = Layout {
            offset: 0,
            dims: vec![2, 2],
            strides: vec![1, 2],
        };
        let turned = check(DataType::Int64, &allowed, Some(layout));
        assert_eq!(wrong(&turned, bytes(&[1, 1, 8, 8])), None);
        assert_eq!(wrong(&turned, bytes(&[1, 8, 1, 8])), Some((1, 8)));
    }
}
