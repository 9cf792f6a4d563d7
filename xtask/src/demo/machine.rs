//! What the demo runs on.

use crate::finder::Found;
use crate::setup::{self, gpu_sim};
use std::fs;
use std::path::{Path, PathBuf};

/// What `gpu-sim` plays where nothing else is said.
const VIRTUAL: usize = 8;

/// The kernel driver lists AMD's GPUs here, Hygon's DCUs too; CPUs have a `gpu_id` of 0.
const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";

#[derive(Debug, PartialEq)]
pub enum Machine {
    /// The private copy of MIGraphX, on virtual GPUs: their prefix.
    Virtual(PathBuf),
    /// The machine's own MIGraphX, and how many GPUs it has.
    Own(usize),
}

impl Machine {
    /// Makes the virtual GPUs where they are to be used.
    pub fn of(found: &Found) -> Result<Machine, String> {
        Ok(match found.prefix {
            true => Machine::Virtual(gpu_sim::ensure(&setup::Options::default())?),
            false => Machine::Own(count(Path::new(NODES))),
        })
    }

    pub fn target(&self) -> &'static str {
        match self {
            Machine::Own(0) => "ref",
            _ => "gpu",
        }
    }

    pub fn workers(&self) -> usize {
        match self {
            Machine::Virtual(_) => VIRTUAL,
            // Threads on the CPU target.
            Machine::Own(0) => 2,
            Machine::Own(gpus) => *gpus,
        }
    }

    pub fn cards(&self) -> String {
        match self {
            Machine::Virtual(_) => format!("{VIRTUAL} virtual GPUs"),
            Machine::Own(0) => "two threads of `ref`".into(),
            Machine::Own(1) => "one GPU".into(),
            Machine::Own(gpus) => format!("{gpus} GPUs"),
        }
    }

    pub fn text(&self) -> String {
        match self {
            Machine::Virtual(_) => format!(
                "MIGraphX's own gpu target, on {VIRTUAL} virtual GPUs: the CPU plays them. What they \
                 compute is real; how fast they do it means nothing"
            ),
            Machine::Own(0) => format!(
                "the machine's own MIGraphX, and no GPU ({NODES} lists none): the CPU target `ref`, \
                 which is slow"
            ),
            Machine::Own(_) => format!("the machine's own MIGraphX, on {}", self.cards()),
        }
    }

    pub fn about_speed(&self) -> Option<String> {
        match self {
            Machine::Virtual(_) => Some(format!(
                "the {VIRTUAL} GPUs were virtual, played by this CPU: the images per second above say \
                 nothing about a GPU"
            )),
            Machine::Own(0) => Some("that was the CPU target: no GPU was used".into()),
            Machine::Own(_) => None,
        }
    }

    /// For the programs that run on it.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        match self {
            Machine::Virtual(place) => vec![
                ("MIGRAPHX_LIB_DIR", place.join("lib").display().to_string()),
                // Without a compiler kernels would compute nothing, and only say so.
                ("GPU_SIM_JIT", "clang".into()),
            ],
            Machine::Own(_) => Vec::new(),
        }
    }
}

fn count(nodes: &Path) -> usize {
    let Ok(entries) = fs::read_dir(nodes) else {
        return 0;
    };
    let ids = entries
        .flatten()
        .filter_map(|node| fs::read_to_string(node.path().join("gpu_id")).ok());
    ids.filter(|id| !matches!(id.trim(), "" | "0")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_a_gpu_id_are_counted() {
        let nodes = std::env::temp_dir().join(format!("xtask-nodes-{}", std::process::id()));
        for (node, id) in [("0", "0\n"), ("1", "51234\n"), ("2", "4711\n"), ("3", "")] {
            fs::create_dir_all(nodes.join(node)).unwrap();
            fs::write(nodes.join(node).join("gpu_id"), id).unwrap();
        }
        fs::create_dir_all(nodes.join("4")).unwrap();
        assert_eq!(count(&nodes), 2);
        fs::remove_dir_all(&nodes).unwrap();
        assert_eq!(count(&nodes), 0);
    }

    #[test]
    fn virtual_gpus_are_called_so() {
        let machine = Machine::Virtual("/v".into());
        assert_eq!((machine.target(), machine.workers()), ("gpu", 8));
        for text in [
            machine.text(),
            machine.cards(),
            machine.about_speed().unwrap(),
        ] {
            assert!(text.contains("virtual"), "{text}");
        }
        assert!(Machine::Own(0).text().contains("no GPU"));
        assert_eq!(Machine::Own(4).about_speed(), None);
    }
}
