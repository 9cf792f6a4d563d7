//! The runner behind `tests/cases.rs`: one row of an `index.tsv` is one test,
//! run in a process of its own so that an abort or a hang fails that row only.

pub mod args;
pub mod child;
pub mod compare;
pub mod cycle;
pub mod index;
pub mod judge;
pub mod leak;
pub mod meta;
pub mod npz;
pub mod parent;
pub mod tensor;
pub mod text;
pub mod ways;
