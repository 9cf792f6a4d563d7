//! A line a figure.

/// Prints figures and remembers whether one missed its bar.
#[derive(Default)]
pub struct Report {
    figures: usize,
    missed: usize,
}

impl Report {
    /// A figure that may be at most `bar`; without a bar it is only told.
    pub fn figure(&mut self, what: &str, value: f64, unit: &str, more: &str, bar: Option<f64>) {
        self.figures += 1;
        let verdict = match bar {
            None => "-".to_owned(),
            Some(bar) if value <= bar => format!("bar {bar}  ok"),
            Some(bar) => {
                self.missed += 1;
                format!("bar {bar}  MISSED")
            }
        };
        // Counts are whole.
        let value = match value.fract() == 0.0 && unit != "x C" {
            true => format!("{value}"),
            false => format!("{value:.3}"),
        };
        println!("{what:<40} {value:>6} {unit:<12} {more:<24} {verdict}");
    }

    /// The last line; whether every bar is met.
    pub fn finish(self) -> bool {
        println!("{} figures, {} missed", self.figures, self.missed);
        self.missed == 0
    }
}
