//! What this crate adds to the files that it saves: one more key in their top
//! map, which MIGraphX passes over (7.1.1 was tried).

use super::msgpack;
use crate::buffers::Buffers;

/// The key.
pub(super) const KEY: &str = "migraphx-rs";

/// What is known of a program beside what MIGraphX stores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    /// Of a compiled program.
    pub(crate) buffers: Option<Buffers>,
    /// Of the device that it was compiled for.
    pub(crate) architecture: Option<String>,
    /// Parameters that are outputs, of a program for buffers on the device.
    pub(crate) outputs: Vec<String>,
    /// Inputs that are indices, of a compiled program; none where nobody looked.
    pub(crate) index_inputs: Option<Vec<String>>,
    /// Of an entry of a cache.
    pub(crate) key: Option<String>,
}

/// A mark as found in a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Found {
    pub(super) mark: Mark,
    /// CRC-32 of all other bytes of the file.
    pub(super) checksum: Option<u32>,
}

/// Bytes that the checksum takes, at the end of the mark.
pub(super) const CHECKSUM: usize = 4;

impl Mark {
    /// The key and its value, as they stand in a MessagePack map, up to the
    /// checksum, which follows with its highest byte first.
    pub(super) fn to_msgpack(&self) -> Vec<u8> {
        let mut out = Vec::new();
        msgpack::put_text(&mut out, KEY);
        let strings = [
            ("buffers", self.buffers.map(Buffers::key)),
            ("architecture", self.architecture.as_deref()),
            ("key", self.key.as_deref()),
        ];
        let strings: Vec<_> = strings
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect();
        let lists = [
            ("outputs", Some(&self.outputs)),
            ("index_inputs", self.index_inputs.as_ref()),
        ];
        let lists: Vec<_> = lists
            .into_iter()
            .filter_map(|(key, list)| Some((key, list?)))
            .collect();
        out.push(0x80 | (strings.len() + lists.len() + 1) as u8);
        for (key, value) in strings {
            msgpack::put_text(&mut out, key);
            msgpack::put_text(&mut out, value);
        }
        for (key, list) in lists {
            msgpack::put_text(&mut out, key);
            out.push(0xdd);
            out.extend((list.len() as u32).to_be_bytes());
            for text in list {
                msgpack::put_text(&mut out, text);
            }
        }
        msgpack::put_text(&mut out, "checksum");
        out.push(0xce);
        out
    }

    /// The key and its value, as they stand in a JSON object. JSON is for
    /// people, who may edit it: no checksum.
    pub(super) fn to_json(&self) -> String {
        let value = serde_json::json!({
            "architecture": self.architecture,
            "buffers": self.buffers.map(Buffers::key),
            "outputs": self.outputs,
            "index_inputs": self.index_inputs,
            "key": self.key,
        });
        format!("\"{KEY}\":{value}")
    }

    pub(super) fn of_json(value: &serde_json::Value) -> Self {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let texts = |key: &str| -> Option<Vec<String>> {
            let texts = value.get(key)?.as_array()?.iter();
            Some(
                texts
                    .filter_map(|text| Some(text.as_str()?.to_owned()))
                    .collect(),
            )
        };
        Mark {
            buffers: text("buffers").and_then(|key| Buffers::of_key(&key)),
            architecture: text("architecture"),
            outputs: texts("outputs").unwrap_or_default(),
            index_inputs: texts("index_inputs"),
            key: text("key"),
        }
    }
}
