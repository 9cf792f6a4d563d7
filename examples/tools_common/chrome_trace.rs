//! Trace files in Chrome's format, which Perfetto, `chrome://tracing` and
//! speedscope open: events with a process, a thread, a start and a duration.
//!
//! ```text
//! let mut trace = ChromeTrace::new();
//! trace.process(0, "GPU 0");
//! trace.thread(0, 1, "compute");
//! trace.span(0, 1, "batch 7", "run", start, duration, &[("images", 64.into())]);
//! trace.save(path)?;
//! ```

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

/// Events, in the order in which they are written.
#[derive(Debug, Default)]
pub struct ChromeTrace {
    events: Vec<Value>,
}

impl ChromeTrace {
    pub fn new() -> Self {
        ChromeTrace::default()
    }

    /// Names a process: what the viewer draws as a group of rows.
    pub fn process(&mut self, process: u32, name: &str) {
        self.name("process_name", process, 0, name);
    }

    /// Names a thread of a process: a row.
    pub fn thread(&mut self, process: u32, thread: u32, name: &str) {
        self.name("thread_name", process, thread, name);
    }

    fn name(&mut self, kind: &str, process: u32, thread: u32, name: &str) {
        self.events.push(json!({
            "ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name},
        }));
    }

    /// Something that took time. Spans of one thread may lie inside each other,
    /// and must not overlap otherwise.
    #[allow(clippy::too_many_arguments, reason = "an event has as many fields")]
    pub fn span(
        &mut self,
        process: u32,
        thread: u32,
        name: &str,
        category: &str,
        start: Duration,
        duration: Duration,
        args: &[(&str, Value)],
    ) {
        let args: Map<String, Value> = args
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()))
            .collect();
        self.events.push(json!({
            "ph": "X", "name": name, "cat": category, "pid": process, "tid": thread,
            "ts": microseconds(start), "dur": microseconds(duration), "args": args,
        }));
    }

    /// A value that changes over time, such as a queue's length: a curve.
    pub fn counter(&mut self, process: u32, name: &str, at: Duration, value: f64) {
        self.events.push(json!({
            "ph": "C", "name": name, "pid": process, "tid": 0, "ts": microseconds(at),
            "args": {"value": value},
        }));
    }

    /// Writes to a file beside `path`, then renames it: a process that is killed
    /// leaves no half of a file under that name.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
        let written = File::create(&partial)
            .and_then(|file| self.write(BufWriter::new(file)))
            .and_then(|()| fs::rename(&partial, path));
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        written
    }

    /// Writes the file: an event a line.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        writeln!(to, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        for (index, event) in self.events.iter().enumerate() {
            let comma = if index + 1 < self.events.len() {
                ","
            } else {
                ""
            };
            writeln!(to, "{event}{comma}")?;
        }
        writeln!(to, "]}}")?;
        to.flush()
    }
}

/// The format counts microseconds; fractions are nanoseconds.
fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_the_fields_that_viewers_read() {
        let mut trace = ChromeTrace::new();
        trace.process(3, "GPU \"3\"");
        trace.thread(3, 1, "compute");
        let (start, duration) = (Duration::from_nanos(1_500), Duration::from_millis(2));
        trace.span(
            3,
            1,
            "batch",
            "run",
            start,
            duration,
            &[("images", 64.into())],
        );
        trace.counter(3, "queue", duration, 2.0);
        let mut file = Vec::new();
        trace.write(&mut file).unwrap();
        let file: Value = serde_json::from_slice(&file).unwrap();
        let events = file["traceEvents"].as_array().unwrap();
        assert_eq!(events[0]["args"]["name"], "GPU \"3\"");
        assert_eq!(
            (&events[1]["ph"], &events[1]["tid"]),
            (&json!("M"), &json!(1))
        );
        let span = json!({
            "ph": "X", "name": "batch", "cat": "run", "pid": 3, "tid": 1, "ts": 1.5,
            "dur": 2000.0, "args": {"images": 64},
        });
        assert_eq!(events[2], span);
        assert_eq!(events[3]["args"]["value"], 2.0);
        let mut empty = Vec::new();
        ChromeTrace::new().write(&mut empty).unwrap();
        serde_json::from_slice::<Value>(&empty).unwrap();
    }
}
