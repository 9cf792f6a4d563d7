//! The buffers of a run.

use std::ffi::c_void;
use std::sync::Arc;

use crate::argument::{Argument, check_bools};
use crate::dtype::{DataType, Element};
use crate::error::{Error, Result};
use crate::ffi::handle::{ArgumentHandle, ArgumentsHandle, ParametersHandle};
use crate::hip::{Device, DeviceBuffer, PinnedBuffer, Stream};
use crate::inputs::InputId;
use crate::outputs::{self, OutputRef};
use crate::shape::Shape;
use crate::signature::{self, Parameter};

use super::Layout;
use super::times::{Clock, RunTimes};

/// The inputs and outputs of a [`DeviceProgram`](crate::DeviceProgram): memory
/// on its device for each, and pinned memory of the host beside it.
///
/// Writing an input ([`input_mut`](DeviceBindings::input_mut)) fills the host's
/// side, and the next run uploads it; an input that is not written again keeps
/// its value on the device, unless the program itself writes it. A run downloads
/// its outputs ([`output`](DeviceBindings::output)).
///
/// Where data stays on the device, buffers change hands instead of being copied:
/// [`replace_output`](DeviceBindings::replace_output) takes a result out, and
/// [`replace_input`](DeviceBindings::replace_input) puts it into another program's
/// set.
///
/// One set is in use by one run at a time; make several for batches in flight.
/// A set serves every program of equal signature on its device, and moves
/// between threads.
#[doc(alias = "migraphx_program_parameters")]
#[derive(Debug)]
pub struct DeviceBindings {
    layout: Arc<Layout>,
    device: Device,
    map: ParametersHandle,
    /// One for each parameter of the library's.
    buffers: Vec<DeviceBuffer>,
    inputs: Box<[Staged]>,
    results: Box<[Received]>,
    clock: Clock,
}

/// The host's side of an input.
#[derive(Debug, Default)]
struct Staged {
    /// Made when first written.
    host: Option<PinnedBuffer>,
    /// Whether it was written since the last run.
    written: bool,
}

/// The host's side of an output.
#[derive(Debug)]
struct Received {
    wanted: bool,
    /// Where the last run left it.
    found: Option<Found>,
    host: Option<PinnedBuffer>,
    /// Whether `host` holds the last run's result.
    fresh: bool,
}

#[derive(Debug)]
struct Found {
    shape: Shape,
    /// On the device; null once the buffer was given away.
    pointer: *const u8,
}

// SAFETY: the pointers are addresses on the device, and the memory belongs to
// the set or its program; the library's map belongs to the set alone.
unsafe impl Send for DeviceBindings {}

impl DeviceBindings {
    pub(super) fn new(layout: Arc<Layout>, device: Device) -> Result<Self> {
        let map = ParametersHandle::make(|out| {
            // SAFETY: the out pointer is valid.
            unsafe { call!(migraphx_program_parameters_create(out)) }
        })?;
        let received = || Received {
            wanted: true,
            found: None,
            host: None,
            fresh: false,
        };
        let mut set = DeviceBindings {
            device,
            map,
            buffers: Vec::new(),
            inputs: layout.inputs.iter().map(|_| Staged::default()).collect(),
            results: layout
                .signature
                .outputs()
                .iter()
                .map(|_| received())
                .collect(),
            clock: Clock::new(device)?,
            layout,
        };
        let layout = set.layout.clone();
        for (position, parameter) in layout.signature.parameters().iter().enumerate() {
            let buffer = DeviceBuffer::new(device, parameter.shape().bytes())
                .map_err(|error| error.for_parameter(parameter.name()))?;
            set.add(position, &buffer)?;
            set.buffers.push(buffer);
        }
        Ok(set)
    }

    /// The device that the buffers are on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The inputs, sorted by name.
    pub fn parameters(&self) -> &[Parameter] {
        &self.layout.inputs
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.results.len()
    }

    /// Finds an input by its name.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`], with the names that there are.
    pub fn id(&self, name: &str) -> Result<InputId> {
        signature::position(self.parameters(), name).map(InputId::new)
    }

    /// The elements of an input in pinned memory of the host, row-major, to be
    /// filled for the next run, which uploads them.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the input's;
    /// [`Error::InvalidArgument`] for an id of another program; [`Error::Hip`]
    /// and [`Error::OutOfMemory`] where there is no pinned memory to be had (it is
    /// taken when an input is first written).
    pub fn input_mut<T: Element>(&mut self, id: InputId) -> Result<&mut [T]> {
        let index = self.index(id)?;
        self.parameters()[index].check_type(T::DTYPE)?;
        self.staged(index)?.as_mut_slice()
    }

    /// The bytes of an input of any data type but bool, to be filled for the next run.
    ///
    /// # Errors
    /// As [`input_mut`](DeviceBindings::input_mut); [`Error::DataTypeMismatch`]
    /// for bools, which are given by [`set`](DeviceBindings::set).
    pub fn input_bytes_mut(&mut self, id: InputId) -> Result<&mut [u8]> {
        let index = self.index(id)?;
        if self.parameters()[index].shape().dtype() == DataType::Bool {
            self.parameters()[index].check_type(DataType::Uint8)?;
        }
        Ok(self.staged(index)?.as_mut_bytes())
    }

    /// Copies a tensor into an input, for the next run.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] where the input takes another type or other
    /// dimensions; else as [`input_mut`](DeviceBindings::input_mut).
    pub fn set(&mut self, id: InputId, value: &Argument<'_>) -> Result<()> {
        let index = self.index(id)?;
        self.parameters()[index].check_shape(value.shape())?;
        if value.shape().dtype() == DataType::Bool {
            check_bools(value.as_bytes())?;
        }
        let host = self.staged(index)?;
        host.as_mut_bytes().copy_from_slice(value.as_bytes());
        Ok(())
    }

    /// What the last run computed, as downloaded: row-major elements. Nothing is
    /// copied or allocated.
    ///
    /// # Errors
    /// [`Error::DataTypeMismatch`] where `T` is another type than the output's;
    /// [`Error::Output`] where there is none at `index`, nothing was downloaded
    /// (no run yet, or [`set_download`](DeviceBindings::set_download) is off), or
    /// the elements do not lie row-major in one piece (use
    /// [`output_ref`](DeviceBindings::output_ref)).
    pub fn output<T: Element>(&self, index: usize) -> Result<&[T]> {
        let (found, host) = self.downloaded(index)?;
        if found.shape.dtype() == T::DTYPE && found.shape.is_standard() {
            return host.as_slice();
        }
        self.output_ref(index)?.as_slice()
    }

    /// What the last run computed, as downloaded, of any type and layout.
    ///
    /// # Errors
    /// As [`output`](DeviceBindings::output).
    pub fn output_ref(&self, index: usize) -> Result<OutputRef<'_>> {
        let (found, host) = self.downloaded(index)?;
        // SAFETY: the host's side has the shape's bytes and is borrowed with `self`.
        Ok(unsafe { OutputRef::new(index, found.shape.clone(), host.as_bytes().as_ptr()) })
    }

    /// The shape of an output: that of the last run, before that the program's.
    ///
    /// # Errors
    /// [`Error::Output`] where there is none at `index`.
    pub fn output_shape(&self, index: usize) -> Result<&Shape> {
        let result = self.result(index)?;
        Ok(match &result.found {
            Some(found) => &found.shape,
            None => &self.layout.signature.outputs()[index],
        })
    }

    /// Whether runs download an output (they do, at first). Off for what stays
    /// on the device.
    ///
    /// # Errors
    /// [`Error::Output`] where there is none at `index`.
    pub fn set_download(&mut self, index: usize, wanted: bool) -> Result<()> {
        self.result(index)?;
        self.results[index].wanted = wanted;
        Ok(())
    }

    /// The device's side of an input.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an id of another program.
    pub fn input_buffer(&self, id: InputId) -> Result<&DeviceBuffer> {
        let index = self.index(id)?;
        Ok(&self.buffers[self.layout.positions[index]])
    }

    /// Gives an input another buffer on the device, such as another program's
    /// output, and takes the former one. Nothing is copied; what was written on
    /// the host's side and not uploaded is dropped.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] and [`Error::InvalidArgument`] where the buffer is
    /// on another device or of another length; the set stays as it was, and
    /// `buffer` is freed.
    pub fn replace_input(&mut self, id: InputId, buffer: DeviceBuffer) -> Result<DeviceBuffer> {
        let index = self.index(id)?;
        let former = self.replace(self.layout.positions[index], buffer)?;
        self.inputs[index].written = false;
        Ok(former)
    }

    /// The device's side of an output, as the last run left it.
    ///
    /// # Errors
    /// [`Error::Output`] where there is none at `index`, before the first run,
    /// and where the output has no buffer of its own (a program may hand an input
    /// on, or give one result twice).
    pub fn output_buffer(&self, index: usize) -> Result<&DeviceBuffer> {
        Ok(&self.buffers[self.own_buffer(index)?])
    }

    /// Takes the device's side of an output, with what the last run left there,
    /// and gives the next run another buffer for it. Nothing is copied.
    ///
    /// # Errors
    /// As [`output_buffer`](DeviceBindings::output_buffer) and
    /// [`replace_input`](DeviceBindings::replace_input).
    pub fn replace_output(&mut self, index: usize, buffer: DeviceBuffer) -> Result<DeviceBuffer> {
        let position = self.own_buffer(index)?;
        let former = self.replace(position, buffer)?;
        if let Some(found) = &mut self.results[index].found {
            found.pointer = std::ptr::null();
        }
        Ok(former)
    }

    /// Hands the device's side of an output on to an input of `to`, whose former
    /// buffer the next run fills. Neither set is in use but by runs before
    /// `to`'s next one.
    pub(super) fn hand_on(&mut self, index: usize, to: &mut Self, id: InputId) -> Result<()> {
        let output = self.own_buffer(index)?;
        let input = to.layout.positions[to.index(id)?];
        let (ours, theirs) = (&self.buffers[output], &to.buffers[input]);
        to.check_fit(input, ours)?;
        self.check_fit(output, theirs)?;
        self.add(output, theirs)?;
        to.add(input, ours)?;
        std::mem::swap(&mut self.buffers[output], &mut to.buffers[input]);
        to.inputs[id.index()].written = false;
        if let Some(found) = &mut self.results[index].found {
            found.pointer = std::ptr::null();
        }
        Ok(())
    }

    /// Whether runs record when their parts ended (they do not, at first).
    pub fn set_timing(&mut self, wanted: bool) {
        self.clock.want(wanted);
    }

    /// When the parts of the last run ended, where timing was on.
    #[doc(alias = "hipEventElapsedTime")]
    pub fn run_times(&self) -> Option<RunTimes> {
        self.clock.get()
    }

    pub(super) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    pub(super) fn map(&self) -> &ParametersHandle {
        &self.map
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn clock_mut(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// Queues the upload of what was written.
    pub(super) fn upload(&mut self, stream: &Stream) -> Result<()> {
        for (input, position) in self.inputs.iter_mut().zip(&self.layout.positions) {
            let (true, Some(host)) = (input.written, &input.host) else {
                continue;
            };
            // SAFETY: both are of the parameter's length, and the pending run keeps both.
            unsafe { stream.queue_upload(host, &self.buffers[*position]) }?;
            input.written = false;
        }
        Ok(())
    }

    /// Notes where a run's results are, and queues the download of those wanted.
    /// Gives whether one of these lies in no buffer of the set: a constant, or, with
    /// some settings and operators, memory that the program's next run writes.
    pub(super) fn download(&mut self, results: &ArgumentsHandle, stream: &Stream) -> Result<bool> {
        let mut elsewhere = false;
        let count = self.results.len();
        for (index, result) in self.results.iter_mut().enumerate() {
            let place = outputs::place(results, index, count)?;
            result.fresh = false;
            let known = result
                .found
                .as_ref()
                .is_some_and(|found| found.pointer == place.pointer() && place.is_of(&found.shape));
            if !known {
                result.found = Some(Found {
                    shape: place.shape()?,
                    pointer: place.pointer(),
                });
            }
            let Some(found) = &result.found else { continue };
            if !result.wanted {
                continue;
            }
            let bytes = found.shape.bytes();
            if result.host.as_ref().is_none_or(|host| host.len() != bytes) {
                result.host = Some(PinnedBuffer::new(bytes)?);
            }
            let Some(host) = &result.host else { continue };
            let at = found.pointer.addr();
            let inside = |buffer: &DeviceBuffer| {
                let start = buffer.as_raw().addr();
                start <= at && at + bytes <= start + buffer.len()
            };
            elsewhere |= bytes > 0 && !self.buffers.iter().any(inside);
            // SAFETY: a result is memory of the program or of this set, of its shape's
            // length, and lives until the pending run is over, which keeps the host's
            // side. The program's memory is the host's where the device was full.
            unsafe { stream.queue_fetch(found.pointer.cast::<c_void>(), host) }?;
            result.fresh = true;
        }
        Ok(elsewhere)
    }

    fn index(&self, id: InputId) -> Result<usize> {
        match id.index() {
            index if index < self.inputs.len() => Ok(index),
            _ => Err(Error::InvalidArgument(
                "this input id belongs to another program".into(),
            )),
        }
    }

    /// The host's side of an input, about to be written.
    fn staged(&mut self, index: usize) -> Result<&mut PinnedBuffer> {
        let bytes = self.layout.inputs[index].shape().bytes();
        let input = &mut self.inputs[index];
        let host = match input.host.take() {
            Some(host) => host,
            None => {
                // In the host's memory next to it.
                let _current = self.device.enter()?;
                PinnedBuffer::new(bytes)?
            }
        };
        input.written = true;
        Ok(input.host.insert(host))
    }

    fn result(&self, index: usize) -> Result<&Received> {
        self.results.get(index).ok_or_else(|| Error::Output {
            index,
            problem: format!("there are only {} outputs", self.results.len()),
        })
    }

    fn downloaded(&self, index: usize) -> Result<(&Found, &PinnedBuffer)> {
        let result = self.result(index)?;
        match (&result.found, &result.host) {
            (Some(found), Some(host)) if result.fresh => Ok((found, host)),
            _ => Err(Error::Output {
                index,
                problem: match result.wanted {
                    true => "no run has filled it yet".into(),
                    false => "it was not downloaded; switch that on with `set_download`".into(),
                },
            }),
        }
    }

    /// The parameter that an output of the last run fills alone.
    fn own_buffer(&self, index: usize) -> Result<usize> {
        let fail = |problem: &str| Error::Output {
            index,
            problem: problem.into(),
        };
        let found = self.result(index)?.found.as_ref();
        let Some(found) = found.filter(|found| !found.pointer.is_null()) else {
            return Err(fail("no run has filled it since it was made or given away"));
        };
        let at = found.pointer.addr();
        let position = self
            .buffers
            .iter()
            .position(|buffer| buffer.as_raw().addr() == at && buffer.len() == found.shape.bytes());
        let position = position.filter(|position| !self.layout.positions.contains(position));
        let shared = self.results.iter().enumerate().any(|(other, result)| {
            let place = result.found.as_ref().map(|found| found.pointer.addr());
            let inside = |place| (at..at + found.shape.bytes().max(1)).contains(&place);
            other != index && place.is_some_and(inside)
        });
        match position {
            Some(position) if !shared => Ok(position),
            Some(_) => Err(fail("another output lies in the same buffer")),
            None => Err(fail(
                "it has no buffer of its own: the program hands on an input or a constant",
            )),
        }
    }

    fn replace(&mut self, position: usize, buffer: DeviceBuffer) -> Result<DeviceBuffer> {
        self.check_fit(position, &buffer)?;
        self.add(position, &buffer)?;
        Ok(std::mem::replace(&mut self.buffers[position], buffer))
    }

    /// Whether a buffer can serve as that of a parameter.
    fn check_fit(&self, position: usize, buffer: &DeviceBuffer) -> Result<()> {
        let parameter = &self.layout.signature.parameters()[position];
        if buffer.device() != self.device {
            return Err(Error::WrongDevice {
                what: format!("the buffer for `{}`", parameter.name()),
                expected: self.device.to_string(),
                found: buffer.device().to_string(),
            });
        }
        if buffer.len() != parameter.shape().bytes() {
            return Err(Error::InvalidArgument(format!(
                "`{}` ({}) takes a buffer of {} bytes, and was given one of {}",
                parameter.name(),
                parameter.shape(),
                parameter.shape().bytes(),
                buffer.len()
            )));
        }
        Ok(())
    }

    /// Puts a buffer into the library's map. The caller keeps it at `position`.
    fn add(&self, position: usize, buffer: &DeviceBuffer) -> Result<()> {
        let signature = &self.layout.signature;
        let argument = ArgumentHandle::make(|out| {
            let shape = signature.raw_shape(position);
            // SAFETY: the program's own shape, whose bytes the buffer has; C keeps the pointer.
            unsafe { call!(migraphx_argument_create(out, shape, buffer.as_raw())) }
        })?;
        let name = signature.c_name(position);
        // SAFETY: map, name and argument are live; the map copies the argument and
        // replaces one of the same name.
        unsafe {
            call!(migraphx_program_parameters_add(
                self.map.raw(),
                name.as_ptr(),
                argument.raw()
            ))
        }
    }
}
