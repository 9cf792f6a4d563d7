//! What Ultralytics' exporter writes into a file besides the graph.

use crate::names::Names;

/// The exporter's notes; empty where the file has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// What the model is for, `detect` say.
    pub task: Option<String>,
    /// The sides of the images are a multiple of this.
    pub stride: Option<usize>,
    /// Pixels a side that the exporter was asked for.
    pub imgsz: Option<usize>,
    /// The class names.
    pub names: Names,
}

impl Metadata {
    /// Takes over one of the file's entries, where it is one of these.
    pub fn add(&mut self, key: &str, value: &str) {
        match key {
            "task" => self.task = Some(value.into()),
            "stride" => self.stride = numbers(value).last().copied(),
            "imgsz" => self.imgsz = numbers(value).first().copied(),
            "names" => self.names = names(value),
            _ => {}
        }
    }
}

/// `[640, 640]`.
fn numbers(text: &str) -> Vec<usize> {
    let digits = text.split(|c: char| !c.is_ascii_digit());
    digits.filter_map(|n| n.parse().ok()).collect()
}

/// A Python dict of numbers and strings: `{0: 'person', 1: "it's"}`.
fn names(text: &str) -> Names {
    let mut names = Names::new();
    let mut rest = text;
    while let Some((before, quote, after)) = next_quote(rest) {
        let number = before.trim_matches(|c: char| !c.is_ascii_digit()).parse();
        let mut name = String::new();
        let mut chars = after.char_indices();
        rest = "";
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => name.extend(chars.next().map(|(_, c)| c)),
                c if c == quote => {
                    rest = &after[at + 1..];
                    break;
                }
                c => name.push(c),
            }
        }
        if let Ok(number) = number {
            names.insert(number, name);
        }
    }
    names
}

fn next_quote(text: &str) -> Option<(&str, char, &str)> {
    let at = text.find(['\'', '"'])?;
    Some((&text[..at], text[at..].chars().next()?, &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_those_of_the_exporter() {
        let mut notes = Metadata::default();
        for (key, value) in [
            ("description", "Ultralytics YOLO26n model"),
            ("task", "detect"),
            ("stride", "32"),
            ("imgsz", "[128, 160]"),
            ("names", r#"{0: 'person', 7: "it's", 12: 'a \'b\''}"#),
        ] {
            notes.add(key, value);
        }
        let names = [(0, "person"), (7, "it's"), (12, "a 'b'")];
        let expected = Metadata {
            task: Some("detect".into()),
            stride: Some(32),
            imgsz: Some(128),
            names: names.map(|(i, s)| (i, s.to_owned())).into(),
        };
        assert_eq!(notes, expected);
        assert!(super::names("").is_empty());
    }
}
