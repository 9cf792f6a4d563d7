//! The table that ends a benchmark, in the layout of the published script.

use std::fmt;
use std::time::Duration;

/// What one worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Real images; padding does not count.
    pub images: usize,
    /// Time inside the runs.
    pub time: Duration,
}

impl Tally {
    fn fps(&self) -> f64 {
        if self.images == 0 {
            0.0
        } else {
            self.images as f64 / self.time.as_secs_f64()
        }
    }
}

/// What a worker is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Gpu,
    Worker,
}

impl Kind {
    /// For a MIGraphX target.
    pub fn of(target: &str) -> Self {
        if target == "gpu" {
            Kind::Gpu
        } else {
            Kind::Worker
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Gpu => "GPU",
            Kind::Worker => "Worker",
        }
    }

    /// Within a sentence.
    fn singular(self) -> &'static str {
        match self {
            Kind::Gpu => "GPU",
            Kind::Worker => "worker",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Kind::Gpu => "GPUs",
            Kind::Worker => "workers",
        }
    }
}

/// The table; one tally a worker.
pub struct Report {
    pub kind: Kind,
    pub workers: Vec<Tally>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rule, line) = ("=".repeat(60), "-".repeat(60));
        let (n, name) = (self.workers.len(), self.kind.name());
        let total: f64 = self.workers.iter().map(Tally::fps).sum();
        let time: f64 = self.workers.iter().map(|w| w.time.as_secs_f64()).sum();
        writeln!(
            f,
            "{rule}\n{n}-{} INFERENCE COMPLETE\n{rule}",
            name.to_uppercase()
        )?;
        for (i, worker) in self.workers.iter().enumerate() {
            writeln!(
                f,
                "{name} {i}: {:.2} FPS ({} images)",
                worker.fps(),
                worker.images
            )?;
        }
        writeln!(f, "{line}")?;
        writeln!(
            f,
            "Total FPS across all {n} {}: {total:.2} samples/s",
            self.kind.plural()
        )?;
        let (one, mean) = (self.kind.singular(), time / n as f64);
        writeln!(f, "Average inference time per {one}: {mean:.4}s")?;
        writeln!(f, "{rule}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_published_run() {
        let worker = |ms| Tally {
            images: 625,
            time: Duration::from_micros(ms),
        };
        let report = Report {
            kind: Kind::Gpu,
            workers: vec![worker(378_613), worker(380_000)],
        };
        let expected = "\
============================================================
2-GPU INFERENCE COMPLETE
============================================================
GPU 0: 1650.76 FPS (625 images)
GPU 1: 1644.74 FPS (625 images)
------------------------------------------------------------
Total FPS across all 2 GPUs: 3295.50 samples/s
Average inference time per GPU: 0.3793s
============================================================
";
        assert_eq!(report.to_string(), expected);
    }

    #[test]
    fn a_worker_without_images_has_no_speed() {
        let report = Report {
            kind: Kind::of("ref"),
            workers: vec![Tally::default()],
        };
        let text = report.to_string();
        assert!(text.contains("1-WORKER INFERENCE COMPLETE"), "{text}");
        assert!(text.contains("Worker 0: 0.00 FPS (0 images)"), "{text}");
    }
}
