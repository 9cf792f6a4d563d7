//! All processes that `mpirun` started.

use anyhow::{Context, Result};
use mpi::Threading;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use yolo26::Nodes;

/// MPI, as this process sees it.
pub struct World {
    all: SimpleCommunicator,
    /// Those of this machine.
    beside: SimpleCommunicator,
    // Dropped last: it ends MPI.
    _universe: Universe,
}

impl World {
    /// Joins the others. Only the thread that calls this may use it.
    pub fn join() -> Result<Box<dyn Nodes>> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled)
            .context("MPI was started before in this process")?;
        if threading < Threading::Funneled {
            anyhow::bail!("this MPI allows no threads beside its own, and each GPU has one");
        }
        let all = universe.world();
        Ok(Box::new(World {
            beside: all.split_shared(all.rank()),
            all,
            _universe: universe,
        }))
    }
}

fn number(of_mpi: i32) -> usize {
    usize::try_from(of_mpi).expect("MPI counts from 0")
}

impl Nodes for World {
    fn rank(&self) -> usize {
        number(self.all.rank())
    }

    fn size(&self) -> usize {
        number(self.all.size())
    }

    fn local_rank(&self) -> usize {
        number(self.beside.rank())
    }

    fn local_size(&self) -> usize {
        number(self.beside.size())
    }

    fn meet(&self) {
        self.all.barrier();
    }

    fn gather(&self, bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        let first = self.all.process_at_rank(0);
        let length = i32::try_from(bytes.len()).expect("a report is no two gigabytes");
        if self.all.rank() != 0 {
            first.gather_into(&length);
            first.gather_varcount_into(bytes);
            return None;
        }
        let mut lengths = vec![0; self.size()];
        first.gather_into_root(&length, &mut lengths[..]);
        let ends = lengths.iter().scan(0, |end: &mut i32, length| {
            *end = end.checked_add(*length)?;
            Some(*end)
        });
        let starts: Vec<i32> = ends
            .zip(&lengths)
            .map(|(end, length)| end - length)
            .collect();
        assert_eq!(
            starts.len(),
            lengths.len(),
            "all reports are no two gigabytes"
        );
        let mut text = vec![0; lengths.iter().map(|length| number(*length)).sum()];
        let mut parts = PartitionMut::new(&mut text[..], &lengths[..], &starts[..]);
        first.gather_varcount_into_root(bytes, &mut parts);
        let mut rest = &text[..];
        let each = lengths.iter().map(|length| {
            let (one, more) = rest.split_at(number(*length));
            rest = more;
            one.to_vec()
        });
        Some(each.collect())
    }

    fn abort(&self) -> ! {
        self.all.abort(1)
    }
}
