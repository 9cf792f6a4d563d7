//! A compiled detector, for buffers of the host or on the device, and the sets
//! of buffers that it runs on.

use std::path::Path;

use anyhow::{Context, Result};
use migraphx::hip::Stream;
use migraphx::mxr::{Buffers, Loaded};
use migraphx::{CompiledProgram, DeviceBindings, DeviceProgram, InputId, Inputs, Parameter, Shape};

use crate::contract::Contract;
use crate::pixels::{Element, Pixels};

/// A detector ready to run.
#[allow(clippy::large_enum_variant, reason = "one a card")]
pub enum Detector {
    Host(CompiledProgram),
    Device(DeviceProgram),
}

impl Detector {
    /// `None` for a program that is not compiled.
    pub fn of(loaded: Loaded) -> Option<Self> {
        match loaded {
            Loaded::Compiled(program) => Some(Detector::Host(program)),
            Loaded::Device(program) => Some(Detector::Device(program)),
            _ => None,
        }
    }

    pub fn contract(&self, path: &Path) -> Result<Contract> {
        let (inputs, outputs): (&[Parameter], &[Shape]) = match self {
            Detector::Host(program) => (program.parameters(), program.output_shapes()),
            Detector::Device(program) => (program.parameters(), program.output_shapes()),
        };
        Contract::of(inputs, outputs, path)
    }

    pub fn buffers(&self) -> Buffers {
        match self {
            Detector::Host(_) => Buffers::Host,
            Detector::Device(_) => Buffers::Device,
        }
    }

    pub fn save(&self, path: &Path) -> migraphx::Result<()> {
        match self {
            Detector::Host(program) => program.save(path),
            Detector::Device(program) => program.save(path),
        }
    }

    pub fn to_bytes(&self) -> migraphx::Result<Vec<u8>> {
        match self {
            Detector::Host(program) => program.to_bytes(),
            Detector::Device(program) => program.to_bytes(),
        }
    }
}

/// Buffers for one batch.
pub trait Set: Send {
    /// The images to be filled in.
    fn images(&mut self) -> Result<Pixels<'_>>;
}

/// Host buffers.
pub struct HostSet {
    pub inputs: Inputs<'static>,
    images: InputId,
    element: Element,
}

impl HostSet {
    pub fn new(program: &CompiledProgram, contract: &Contract) -> Result<Self> {
        let inputs = program.inputs()?;
        let images = inputs.id(&contract.input)?;
        Ok(HostSet {
            inputs,
            images,
            element: contract.element,
        })
    }
}

impl Set for HostSet {
    fn images(&mut self) -> Result<Pixels<'_>> {
        Ok(match self.element {
            Element::F32 => Pixels::F32(self.inputs.slice_mut(self.images)?),
            Element::F16 => Pixels::F16(self.inputs.slice_mut(self.images)?),
            Element::U8 => Pixels::U8(self.inputs.slice_mut(self.images)?),
        })
    }
}

/// Device buffers with their pinned host side, and a stream of their own, so
/// that their copies run beside other batches' computing.
pub struct DeviceSet {
    pub bindings: DeviceBindings,
    pub stream: Stream,
    images: InputId,
    element: Element,
}

impl DeviceSet {
    pub fn new(program: &DeviceProgram, contract: &Contract) -> Result<Self> {
        let bindings = program.bindings()?;
        let images = bindings.id(&contract.input)?;
        let stream = Stream::new(program.device())?;
        Ok(DeviceSet {
            bindings,
            stream,
            images,
            element: contract.element,
        })
    }

    /// Queues a run of this set. What `InFlight::wait` gives is this set again.
    pub fn enqueue(self, program: &mut DeviceProgram) -> migraphx::Result<InFlight> {
        let run = program.enqueue(self.bindings, &self.stream)?;
        Ok(InFlight {
            run,
            stream: self.stream,
            images: self.images,
            element: self.element,
        })
    }
}

impl Set for DeviceSet {
    fn images(&mut self) -> Result<Pixels<'_>> {
        Ok(match self.element {
            Element::F32 => Pixels::F32(self.bindings.input_mut(self.images)?),
            Element::F16 => Pixels::F16(self.bindings.input_mut(self.images)?),
            Element::U8 => Pixels::U8(self.bindings.input_mut(self.images)?),
        })
    }
}

/// A set on its way through the device.
pub struct InFlight {
    run: migraphx::PendingRun,
    stream: Stream,
    images: InputId,
    element: Element,
}

impl InFlight {
    pub fn wait(self) -> migraphx::Result<DeviceSet> {
        Ok(DeviceSet {
            bindings: self.run.wait()?,
            stream: self.stream,
            images: self.images,
            element: self.element,
        })
    }
}

/// One batch at a time.
#[allow(clippy::large_enum_variant, reason = "one a process")]
pub enum Session {
    Host(CompiledProgram, HostSet),
    /// The set is back after each run that does not fail.
    Device(DeviceProgram, Option<DeviceSet>),
}

impl Session {
    pub fn new(detector: Detector, contract: &Contract) -> Result<Self> {
        Ok(match detector {
            Detector::Host(program) => {
                let set = HostSet::new(&program, contract)?;
                Session::Host(program, set)
            }
            Detector::Device(program) => {
                let set = DeviceSet::new(&program, contract)?;
                Session::Device(program, Some(set))
            }
        })
    }

    /// Fills the images in, runs, and reads the rows.
    pub fn run<R>(
        &mut self,
        fill: impl FnOnce(Pixels<'_>) -> Result<()>,
        read: impl FnOnce(&[f32]) -> Result<R>,
    ) -> Result<R> {
        match self {
            Session::Host(program, set) => {
                fill(set.images()?)?;
                read(program.run(&mut set.inputs)?.slice(0)?)
            }
            Session::Device(program, place) => {
                let mut set = place.take().context("an earlier run failed")?;
                fill(set.images()?)?;
                let set = place.insert(set.enqueue(program)?.wait()?);
                read(set.bindings.output(0)?)
            }
        }
    }
}
