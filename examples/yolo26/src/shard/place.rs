//! A process among those of its launcher, by the launcher's variables.
//!
//! What they mean is read in the launchers' own sources: in a batch script and in
//! the shell of `salloc` Slurm sets SLURM_NTASKS, and rank 0, but no step.

use anyhow::{Context, Result, anyhow, bail};

use super::{Asked, Shard};

/// A process among those that share the images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its part.
    pub shard: Shard,
    /// Its number among those of its machine.
    pub local: usize,
    /// How many its machine has, as far as is known.
    pub beside: usize,
    /// Who says so, as `SLURM_PROCID=2, SLURM_NTASKS=4`; empty where nobody does.
    pub by: String,
}

impl Place {
    /// Nobody shares.
    pub fn alone() -> Self {
        Place {
            shard: Shard::WHOLE,
            local: 0,
            beside: 1,
            by: String::new(),
        }
    }

    /// By `--shard`, else by the launcher's variables, which `variable` reads.
    pub fn settle(asked: Option<Asked>, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let launched = match asked {
            Some(Asked::No) => return Ok(Place::alone()),
            _ => Place::launched(variable).map_err(|reason| {
                anyhow!("{reason:#}; --shard no leaves the launcher's variables alone")
            })?,
        };
        Ok(match asked {
            Some(Asked::Part(shard)) => Place {
                shard,
                by: "--shard".into(),
                ..launched
            },
            _ => launched,
        })
    }

    fn launched(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let number = |name: &str| -> Result<Option<usize>> {
            let Some(value) = set(name) else {
                return Ok(None);
            };
            let number = value.parse().ok();
            Ok(Some(number.with_context(|| {
                format!("{name}={value} is not a whole number")
            })?))
        };
        let first = |names: &[&str]| match names.iter().find(|name| set(name).is_some()) {
            Some(name) => number(name),
            None => Ok(None),
        };
        for launcher in LAUNCHERS {
            let Some(rank) = number(launcher.rank)? else {
                continue;
            };
            if launcher.rank == SLURM && set("SLURM_JOB_ID").is_some() && !in_step(&set) {
                continue;
            }
            let mut sizes = launcher.size.iter().map(|name| (*name, number(name)));
            let size = sizes.find(|(_, size)| !matches!(size, Ok(None)));
            let (by, of) = match size {
                Some((name, of)) => (name, of?.unwrap_or_default()),
                None if rank == 0 => continue,
                None => bail!(
                    "{}={rank}, but {} is not set: how many share the images?",
                    launcher.rank,
                    launcher.size[0]
                ),
            };
            if rank >= of {
                bail!(
                    "{}={rank}, and {by}={of}: there is no such part",
                    launcher.rank
                );
            }
            return Ok(Place {
                shard: Shard { index: rank, of },
                local: first(launcher.local)?.unwrap_or(0),
                beside: first(launcher.beside)?.unwrap_or(1).max(1),
                by: format!("{}={rank}, {by}={of}", launcher.rank),
            });
        }
        Ok(Place::alone())
    }
}

const SLURM: &str = "SLURM_PROCID";

struct Launcher {
    rank: &'static str,
    /// The first that is set counts.
    size: &'static [&'static str],
    local: &'static [&'static str],
    beside: &'static [&'static str],
}

/// The innermost first: `mpirun` within a job of Slurm starts its own helpers as
/// tasks of Slurm, whose variables the ranks inherit.
const LAUNCHERS: [Launcher; 3] = [
    Launcher {
        rank: "OMPI_COMM_WORLD_RANK",
        size: &["OMPI_COMM_WORLD_SIZE"],
        local: &["OMPI_COMM_WORLD_LOCAL_RANK"],
        beside: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
    },
    // MPICH and its kin, and Slurm as their launcher.
    Launcher {
        rank: "PMI_RANK",
        size: &["PMI_SIZE"],
        local: &["MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"],
        beside: &["MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"],
    },
    Launcher {
        rank: SLURM,
        // A step may have fewer tasks than the job.
        size: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        local: &["SLURM_LOCALID"],
        beside: &["SLURM_NTASKS_PER_NODE"],
    },
];

/// Whether `srun` started this process; batch scripts and interactive shells have
/// a rank, too, but are no step or one of Slurm's own high numbers.
fn in_step(set: &dyn Fn(&str) -> Option<String>) -> bool {
    let step = set("SLURM_STEP_ID").and_then(|step| step.parse::<u32>().ok());
    step.is_some_and(|step| step < 0xffff_fff0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(asked: Option<&str>, variables: &str) -> Result<Place> {
        let read = |name: &str| {
            let mut pairs = variables
                .split_whitespace()
                .filter_map(|p| p.split_once('='));
            let (_, value) = pairs.find(|(n, _)| *n == name)?;
            Some(value.to_owned())
        };
        Place::settle(asked.map(|text| text.parse().unwrap()), &read)
    }

    fn settled(asked: Option<&str>, variables: &str) -> (String, usize) {
        let place = place(asked, variables).unwrap();
        (place.shard.to_string(), place.local)
    }

    #[test]
    fn launchers_say_the_part() {
        let ompi = "OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1";
        assert_eq!(settled(None, ompi), ("5/8".into(), 1));
        let slurm = "SLURM_JOB_ID=9 SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_LOCALID=1";
        assert_eq!(settled(None, slurm), ("3/8".into(), 1));
        // A step of four tasks in a job of eight.
        let step = format!("{slurm} SLURM_STEP_NUM_TASKS=4");
        assert_eq!(settled(None, &step), ("3/4".into(), 1));
        // Open MPI's own count, not that of its helpers on each node.
        assert_eq!(settled(None, &format!("{ompi} {slurm}")), ("5/8".into(), 1));
        let hydra = "PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=2";
        assert_eq!(settled(None, hydra), ("2/4".into(), 2));
        let srun = format!("PMI_RANK=3 PMI_SIZE=8 {slurm}");
        assert_eq!(settled(None, &srun), ("3/8".into(), 1));
        let by = place(None, slurm).unwrap().by;
        assert_eq!(by, "SLURM_PROCID=3, SLURM_NTASKS=8");
    }

    #[test]
    fn a_shell_within_an_allocation_is_alone() {
        let job = "SLURM_JOB_ID=9 SLURM_NTASKS=8";
        for variables in [
            "",
            "SLURM_NTASKS=8",
            "SLURM_PROCID=0",
            "SLURM_PROCID= SLURM_NTASKS=8",
            // salloc; a batch script; the interactive step.
            job,
            &format!("{job} SLURM_PROCID=0 SLURM_LOCALID=0"),
            &format!("{job} SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_STEP_ID=4294967290"),
        ] {
            assert_eq!(
                place(None, variables).unwrap(),
                Place::alone(),
                "{variables}"
            );
        }
    }

    #[test]
    fn the_option_goes_before_the_variables() {
        let slurm = "SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_LOCALID=1";
        assert_eq!(settled(Some("1/2"), slurm), ("1/2".into(), 1));
        assert_eq!(settled(Some("no"), slurm), ("0/1".into(), 0));
        assert_eq!(settled(Some("no"), "SLURM_PROCID=x"), ("0/1".into(), 0));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (variables, expected) in [
            ("SLURM_PROCID=x SLURM_NTASKS=2", "SLURM_PROCID=x is not a"),
            ("SLURM_PROCID=1 SLURM_NTASKS=-2", "SLURM_NTASKS=-2 is not a"),
            ("PMI_RANK=2 PMI_SIZE=2", "PMI_RANK=2, and PMI_SIZE=2"),
            ("OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE is not set"),
            (
                "PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=x",
                "MPI_LOCALRANKID=x is not a",
            ),
        ] {
            let error = format!("{:#}", place(None, variables).unwrap_err());
            assert!(error.contains(expected), "{variables}: {error}");
            assert!(error.contains("--shard no"), "{error}");
        }
    }
}
