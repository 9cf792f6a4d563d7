//! What a card says of itself, for both libraries that play HIP: `../hip` (devices
//! in host memory) and `../cuda` (those of an NVIDIA machine).

pub mod architectures;
pub mod properties;
