//! What the tests, benches and the demo of `migraphx` share: small writers of
//! ONNX models ([`onnx`]) and TensorFlow graphs ([`tf`]), little models made with
//! them ([`models`], [`tf::models`]), a classifier to quantize ([`cnn`]), a
//! hand-made object detector with YOLO26's output contract ([`net`]), and pictures
//! of known objects for it ([`scene`]); [`demo`] writes both to a folder. [`scenes`]
//! are what a detector is trained and measured on, [`photos`] what decoding is.
//! [`held`] says whether a process holds more and more.

#![warn(missing_docs)]

pub mod cnn;
pub mod demo;
mod files;
pub mod held;
pub mod models;
pub mod net;
pub mod onnx;
pub mod photos;
pub mod picture;
pub mod rng;
pub mod scene;
pub mod scenes;
pub mod tf;
