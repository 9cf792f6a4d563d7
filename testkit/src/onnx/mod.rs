//! Writes ONNX models from code: [`Graph`] collects nodes, constants, inputs
//! and outputs, and [`Graph::into_bytes`] gives the file.
//!
//! Only what our models need of the ONNX schema is here; [`proto`] declares it.
//!
//! ```
//! use testkit::onnx::{Dim, Elem, Graph};
//!
//! let mut g = Graph::new("double");
//! g.input("x", Elem::F32, &[Dim::Symbol("n"), Dim::Fixed(4)]);
//! g.constant_f32("two", &[1], &[2.0]);
//! g.node("Mul", &["x", "two"], &["y"], vec![]);
//! g.output("y", Elem::F32, &[Dim::Symbol("n"), Dim::Fixed(4)]);
//! assert!(!g.into_bytes().is_empty());
//! ```

mod graph;
pub mod proto;

pub use graph::{Attr, Dim, Elem, Graph, fixed};
