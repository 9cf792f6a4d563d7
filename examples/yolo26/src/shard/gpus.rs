//! Which GPUs of its machine a process takes.

use std::str::FromStr;

use anyhow::{Result, bail};

/// What `--first-gpu` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstGpu {
    /// By the process's number on its machine.
    #[default]
    Auto,
    /// This one.
    Number(usize),
}

impl FromStr for FirstGpu {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(FirstGpu::Auto),
            number => match number.parse() {
                Ok(number) => Ok(FirstGpu::Number(number)),
                Err(_) => Err("say the number of a GPU, or auto".into()),
            },
        }
    }
}

/// Variables by which a launcher gives each process GPUs of its own, which it then
/// counts from 0.
pub const VISIBLE: [&str; 3] = [
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
];

impl FirstGpu {
    /// The first GPU of a process that takes `gpus` of the `seen` ones.
    ///
    /// Where all GPUs of the machine are seen by each of its processes, they take
    /// them in turn. Where fewer are seen and a launcher's variable is set
    /// (`visible`), it has given each its own.
    pub fn settle(self, local: usize, gpus: usize, seen: usize, visible: bool) -> Result<usize> {
        match self {
            FirstGpu::Number(number) => Ok(number),
            FirstGpu::Auto if seen >= (local + 1) * gpus => Ok(local * gpus),
            // Alone on its machine: whoever asks for GPU 7 of 3 is told.
            FirstGpu::Auto if visible || local == 0 => Ok(0),
            FirstGpu::Auto => bail!(
                "this is process {local} (from 0) of this machine with {gpus} GPUs each, and it sees \
                 {seen}: start fewer on a machine; if each has GPUs of its own, say --first-gpu 0"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_machine_take_its_gpus_in_turn() {
        let auto = |local, gpus, seen, visible| FirstGpu::Auto.settle(local, gpus, seen, visible);
        // Four of two GPUs each on a machine of eight.
        let all: Vec<_> = (0..4).map(|l| auto(l, 2, 8, true).unwrap()).collect();
        assert_eq!(all, [0, 2, 4, 6]);
        // Each sees its own two.
        let own: Vec<_> = (0..4).map(|l| auto(l, 2, 2, true).unwrap()).collect();
        assert_eq!(own, [0, 0, 0, 0]);
        let error = auto(1, 2, 3, false).unwrap_err().to_string();
        assert!(
            error.contains("it sees 3") && error.contains("--first-gpu 0"),
            "{error}"
        );
        assert_eq!(FirstGpu::Number(5).settle(1, 2, 3, false).unwrap(), 5);
        assert_eq!("auto".parse(), Ok(FirstGpu::Auto));
        assert!("-1".parse::<FirstGpu>().is_err());
    }
}
