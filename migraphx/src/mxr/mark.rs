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
        out.push(0x80 | (strings.len() + 2) as u8);
        for (key, value) in strings {
            msgpack::put_text(&mut out, key);
            msgpack::put_text(&mut out, value);
        }
        msgpack::put_text(&mut out, "outputs");
        out.push(0xdd);
        out.extend((self.outputs.len() as u32).to_be_bytes());
        for name in &self.outputs {
            msgpack::put_text(&mut out, name);
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
            "key": self.key,
        });
        format!("\"{KEY}\":{value}")
    }

    pub(super) fn of_json(value: &serde_json::Value) -> Self {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let outputs = value.get("outputs").and_then(serde_json::Value::as_array);
        Mark {
            buffers: text("buffers").and_then(|key| Buffers::of_key(&key)),
            architecture: text("architecture"),
            key: text("key"),
            outputs: outputs
                .into_iter()
                .flatten()
                .filter_map(|name| Some(name.as_str()?.to_owned()))
                .collect(),
        }
    }
}
