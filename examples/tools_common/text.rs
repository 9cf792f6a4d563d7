//! Numbers for people.

use std::time::Duration;

/// `1536` as `1.5 KiB`.
pub fn bytes(count: usize) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} bytes");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Milliseconds with three digits behind the point.
pub fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_have_a_unit_that_fits() {
        let text = [1023, 1024, 1536, 1 << 20, (1 << 20) - 1, 5 << 40, 5 << 50].map(super::bytes);
        let expected = [
            "1023 bytes",
            "1.0 KiB",
            "1.5 KiB",
            "1.0 MiB",
            "1.0 MiB",
            "5.0 TiB",
            "5120.0 TiB",
        ];
        assert_eq!(text, expected);
    }
}
