//! `yolo26` on many nodes at once: `bench` gives each process of MPI its part of the
//! images, starts all clocks together, and tells one report. The other commands are
//! those of `yolo26`.
//!
//! ```text
//! cargo xtask setup --mpi      finds an MPI or makes one, and says how this is built
//! mpirun -n 4 yolo26-mpi bench --weights yolo26s.mxr --data coco.yaml --num-gpus 2
//! ```
//!
//! Processes of one machine take its GPUs in turn, two each here, unless the launcher
//! gives each its own. Compile before, with `yolo26 compile`: else each process does.

#[cfg(feature = "mpi")]
mod world;

use std::process::ExitCode;

#[cfg(feature = "mpi")]
fn main() -> ExitCode {
    yolo26::main_with(world::World::join)
}

#[cfg(not(feature = "mpi"))]
fn main() -> ExitCode {
    eprintln!(
        "error: this yolo26-mpi is built without MPI; `cargo xtask setup --mpi` finds one and says \
         how it is built: cargo build --release -p yolo26-mpi --features mpi"
    );
    ExitCode::FAILURE
}
