//! Writes TensorFlow frozen graphs from code: [`Graph`] collects nodes, and
//! [`Graph::into_bytes`] gives the file.
//!
//! Only what our graphs need of the GraphDef schema is here; [`proto`] declares it.
//!
//! ```
//! use testkit::tf::{Elem, Graph};
//!
//! let mut g = Graph::new();
//! g.placeholder("x", Elem::F32, &[-1, 4]);
//! g.constant_f32("b", &[4], &[1.0, 2.0, 3.0, 4.0]);
//! g.node("Add", "y", &["x", "b"], vec![]);
//! assert!(!g.into_bytes().is_empty());
//! ```

mod graph;
pub mod models;
pub mod proto;

pub use graph::{Attr, Elem, Graph};
