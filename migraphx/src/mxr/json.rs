//! The header of a JSON program. Its keys are sorted, so the whole file is read.

use std::fmt;
use std::io::Read;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::Fields;
use super::mark::{self, Found, Mark};

pub(super) fn fields(reader: impl Read) -> Result<Fields, String> {
    serde_json::from_reader(reader)
        .map_err(|error| format!("not in JSON format, or damaged ({error})"))
}

/// Whether `reader` holds exactly one whole value.
pub(super) fn check_whole(reader: impl Read) -> Result<(), String> {
    serde_json::from_reader::<_, IgnoredAny>(reader)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a MIGraphX program")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "version" => fields.format_version = Some(map.next_value()?),
                "migraphx_version" => fields.migraphx_version = Some(map.next_value()?),
                "targets" => {
                    // An empty list is written as null.
                    let targets: Option<Vec<serde_json::Value>> = map.next_value()?;
                    let targets = targets.unwrap_or_default();
                    let names = targets.iter().map(|target| {
                        let name = target.get("name").and_then(serde_json::Value::as_str);
                        name.map(str::to_owned)
                            .ok_or_else(|| serde::de::Error::custom("a target has no name"))
                    });
                    fields.targets = Some(names.collect::<Result<_, _>>()?);
                }
                mark::KEY => {
                    let value: serde_json::Value = map.next_value()?;
                    fields.found = Some(Found {
                        mark: Mark::of_json(&value),
                        checksum: None,
                    });
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields)
    }
}
