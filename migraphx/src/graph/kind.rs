//! What attributes and inputs of operators can be.

use crate::dtype::DataType;
use crate::graph::attribute::Attribute;

/// What an attribute can be.
pub(super) enum Kind {
    Flag,
    /// At least 0, and few enough that products of two do not wrap.
    Size,
    /// As a size, at least 1.
    Positive,
    Int,
    Float,
    Sizes,
    Positives,
    Ints,
    Type,
    /// One of these names, by its position for the library.
    Choice(&'static [&'static str]),
}

/// What the elements of the inputs can be.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Types {
    /// Any number or bool.
    Numbers,
    /// Integer division by zero ends the process.
    Floats,
    Integers,
    Tuple,
    /// The rule looks.
    Ruled,
}

impl Types {
    pub(super) fn hold(self, dtype: DataType) -> bool {
        use DataType::*;
        match self {
            Types::Numbers => !matches!(dtype, DataType::Tuple | Fp4x2),
            Types::Floats => matches!(
                dtype,
                Half | Float | Double | Bf16 | Fp8E4M3Fn | Fp8E4M3FnUz | Fp8E5M2 | Fp8E5M2FnUz
            ),
            Types::Integers => matches!(
                dtype,
                Uint8 | Int8 | Uint16 | Int16 | Uint32 | Int32 | Uint64 | Int64
            ),
            Types::Tuple => dtype == DataType::Tuple,
            Types::Ruled => true,
        }
    }

    pub(super) fn describe(self) -> &'static str {
        match self {
            Types::Numbers | Types::Ruled => "numbers or bools",
            Types::Floats => "floats",
            Types::Integers => "integers",
            Types::Tuple => "a tuple",
        }
    }
}

impl Kind {
    /// The value as the operator has it, or what it should be.
    pub(super) fn read(&self, value: &Attribute) -> Result<Attribute, String> {
        let each = |kind: Kind, of: &str| match value {
            Attribute::List(values) => values
                .iter()
                .map(|value| kind.read(value))
                .collect::<Result<Vec<_>, _>>()
                .map(Attribute::List)
                .map_err(|_| of.to_owned()),
            _ => Err(of.to_owned()),
        };
        let named = |names: &[&str]| {
            let position = match value {
                Attribute::Text(text) => names.iter().position(|name| name == text),
                _ => None,
            };
            position.ok_or_else(|| format!("one of {names:?}"))
        };
        match self {
            Kind::Flag => match value {
                Attribute::Bool(_) => Ok(value.clone()),
                _ => Err("true or false".into()),
            },
            Kind::Size => within(value, 0).ok_or_else(|| "a size from 0 on".into()),
            Kind::Positive => within(value, 1).ok_or_else(|| "a size from 1 on".into()),
            Kind::Int => within(value, i32::MIN.into()).ok_or_else(|| "an integer".into()),
            // The `gpu` target writes it into source code, where `inf` is no number and
            // what does not compile ends the process.
            Kind::Float => match (value, integer(value)) {
                (Attribute::Float(number), _) if number.abs() <= f32::MAX.into() => {
                    Ok(value.clone())
                }
                (_, Some(value)) => Ok(Attribute::Float(value as f64)),
                _ => Err("a finite number of single precision".into()),
            },
            Kind::Sizes => each(Kind::Size, "a list of sizes from 0 on"),
            Kind::Positives => each(Kind::Positive, "a list of sizes from 1 on"),
            Kind::Ints => each(Kind::Int, "a list of integers"),
            Kind::Type => match value {
                Attribute::DataType(dtype) if Types::Numbers.hold(*dtype) => Ok(value.clone()),
                _ => Err("a `DataType` of numbers".into()),
            },
            Kind::Choice(names) => named(names).map(|position| position.into()),
        }
    }
}

fn integer(value: &Attribute) -> Option<i64> {
    match value {
        Attribute::Int(value) => Some(*value),
        Attribute::Unsigned(value) => i64::try_from(*value).ok(),
        _ => None,
    }
}

/// An integer from `least` to what a C `int` holds, which is what the library
/// keeps some of them in.
fn within(value: &Attribute, least: i64) -> Option<Attribute> {
    integer(value)
        .filter(|value| (least..=i32::MAX.into()).contains(value))
        .map(Attribute::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_turned_to_what_the_operator_has() {
        let mode = Kind::Choice(&["average", "max"]);
        assert_eq!(mode.read(&"max".into()), Ok(Attribute::Unsigned(1)));
        assert!(mode.read(&"median".into()).unwrap_err().contains("average"));
        assert!(mode.read(&1.into()).is_err());
        assert_eq!(Kind::Float.read(&2.into()), Ok(Attribute::Float(2.0)));
        for wrong in [f64::INFINITY, f64::NAN, 1e39] {
            assert!(Kind::Float.read(&wrong.into()).is_err(), "{wrong}");
        }
        for wrong in [
            Attribute::from(-1),
            1.5.into(),
            u64::MAX.into(),
            (1i64 << 31).into(),
        ] {
            assert!(Kind::Size.read(&wrong).is_err(), "{wrong}");
        }
        assert!(Kind::Positives.read(&[1, 0].into()).is_err());
        assert!(Kind::Ints.read(&[-1, 3].into()).is_ok());
        // As the library would take it for a size, or a float for an axis.
        assert!(Kind::Type.read(&2.into()).is_err());
        assert!(Kind::Int.read(&true.into()).is_err());
    }
}
