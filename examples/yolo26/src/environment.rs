//! The environment switches of the published run script, as options.
//!
//! C code reads them once, some of it before `main` where the library is linked.
//! So the program starts itself anew with them set, before it does anything else.

use std::process::Command;

use anyhow::{Result, bail};
use clap::Args;

use crate::cli::yes_no;

/// Switches that are left alone unless given.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Environment switches (left as they are unless given)")]
pub struct Environment {
    /// MIGRAPHX_ENABLE_NHWC: convolutions work channels-last. Read by MIGraphX when
    /// it compiles for a GPU; a .mxr keeps what it was compiled with
    #[arg(long, global = true, value_parser = yes_no, num_args = 0..=1,
          default_missing_value = "true", value_name = "BOOL")]
    pub nhwc: Option<bool>,
    /// MIGRAPHX_ENABLE_CUTLASS: by its name, CUTLASS-like kernels. Set by published
    /// scripts for Hygon's DTK; MIGraphX 7.1 does not read it
    #[arg(long, global = true, value_parser = yes_no, num_args = 0..=1,
          default_missing_value = "true", value_name = "BOOL")]
    pub cutlass: Option<bool>,
    /// HIP_ALLOC_INITIALIZE: by its name, whether new device memory is filled.
    /// Published scripts for DTK set 0; AMD's HIP 6.2 does not read it
    #[arg(long, global = true, value_parser = yes_no, num_args = 0..=1,
          default_missing_value = "true", value_name = "BOOL")]
    pub alloc_initialize: Option<bool>,
    /// HIP_USE_GRAPH_QUEUE_POOL: by its name, HIP graphs share a pool of queues.
    /// Published scripts for DTK set 1; AMD's HIP 6.2 does not read it
    #[arg(long, global = true, value_parser = yes_no, num_args = 0..=1,
          default_missing_value = "true", value_name = "BOOL")]
    pub graph_queue_pool: Option<bool>,
    /// HIP_KERNEL_EVENT_SYSTENFENCE (spelled so): by its name, a system-wide memory
    /// fence at a kernel's event. Published scripts for DTK set 1; AMD's HIP 6.2
    /// does not read it
    #[arg(long, global = true, value_parser = yes_no, num_args = 0..=1,
          default_missing_value = "true", value_name = "BOOL")]
    pub kernel_event_systenfence: Option<bool>,
    /// HSA_FORCE_FINE_GRAIN_PCIE: device memory that others reach over PCIe while a
    /// kernel runs. Read by ROCr (AMD's HSA runtime) at its start; the published
    /// script says HAS_…, which nothing reads
    #[arg(long, global = true, value_parser = yes_no, num_args = 0..=1,
          default_missing_value = "true", value_name = "BOOL")]
    pub fine_grain_pcie: Option<bool>,
    /// Any other variable, as NAME=VALUE; may be given several times
    #[arg(long, global = true, value_parser = assignment, value_name = "NAME=VALUE")]
    pub set_env: Vec<(String, String)>,
}

impl Environment {
    /// The variables to set, in order.
    pub fn variables(&self) -> Vec<(String, String)> {
        let named = [
            ("MIGRAPHX_ENABLE_NHWC", self.nhwc),
            ("MIGRAPHX_ENABLE_CUTLASS", self.cutlass),
            ("HIP_ALLOC_INITIALIZE", self.alloc_initialize),
            ("HIP_USE_GRAPH_QUEUE_POOL", self.graph_queue_pool),
            (
                "HIP_KERNEL_EVENT_SYSTENFENCE",
                self.kernel_event_systenfence,
            ),
            ("HSA_FORCE_FINE_GRAIN_PCIE", self.fine_grain_pcie),
        ];
        let named = named.into_iter().filter_map(|(name, value)| {
            let value = if value? { "1" } else { "0" };
            Some((name.to_owned(), value.to_owned()))
        });
        named.chain(self.set_env.iter().cloned()).collect()
    }

    /// Starts this program anew where a variable is not as asked for. Returns
    /// where all are.
    pub fn settle(&self) -> Result<()> {
        // The last of one name counts.
        let wanted: std::collections::BTreeMap<_, _> = self.variables().into_iter().collect();
        let as_asked = |(name, value): (&String, &String)| {
            std::env::var_os(name).is_some_and(|found| found == **value)
        };
        if wanted.iter().all(as_asked) {
            return Ok(());
        }
        let mut again = Command::new(std::env::current_exe()?);
        again.args(std::env::args_os().skip(1)).envs(&wanted);
        #[cfg(unix)]
        let error = std::os::unix::process::CommandExt::exec(&mut again);
        #[cfg(not(unix))]
        let error = "set the variables before it is started";
        bail!("cannot start this program anew with {wanted:?}: {error}")
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains('\0') => {
            Ok((name.into(), value.into()))
        }
        _ => Err("say NAME=VALUE".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    fn variables(words: &str) -> Result<Vec<(String, String)>, clap::Error> {
        let line = format!("yolo26 bench --data d --weights w.mxr {words}");
        Ok(Cli::try_parse_from(line.split_whitespace())?
            .environment
            .variables())
    }

    #[test]
    fn only_what_is_given_is_set() {
        assert!(variables("").unwrap().is_empty());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            variables("--nhwc --alloc-initialize no --set-env A=b=c --set-env B=").unwrap(),
            [
                pair("MIGRAPHX_ENABLE_NHWC", "1"),
                pair("HIP_ALLOC_INITIALIZE", "0"),
                pair("A", "b=c"),
                pair("B", ""),
            ]
        );
        for words in ["--set-env =x", "--set-env x", "--nhwc perhaps"] {
            assert!(variables(words).is_err(), "{words}");
        }
    }
}
