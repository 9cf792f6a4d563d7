//! What the tests, benches and the demo of `migraphx` share: a small ONNX
//! writer ([`onnx`]), little models made with it ([`models`]), a hand-made
//! object detector with YOLO26's output contract ([`net`]), and pictures of
//! known objects for it ([`scene`]); [`demo`] writes both to a folder.

#![warn(missing_docs)]

pub mod demo;
pub mod models;
pub mod net;
pub mod onnx;
mod rng;
pub mod scene;
