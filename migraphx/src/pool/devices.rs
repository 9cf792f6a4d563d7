//! Pools with a worker for each of several GPUs.

use std::num::NonZeroUsize;

use super::{Pool, Worker};
use crate::compiled::CompiledProgram;
use crate::error::Result;
use crate::hip::Device;

impl Pool {
    /// Starts a worker for each of these devices, with the program that `load`
    /// gives for it.
    ///
    /// `load` runs on the worker's own thread with the device current, so that a
    /// program is bound to it. A device may be named more than once.
    ///
    /// ```no_run
    /// use migraphx::hip::Device;
    /// use migraphx::{CompiledProgram, Pool};
    ///
    /// let pool = Pool::on_devices(&Device::all(), |_| CompiledProgram::load("model.mxr"))?;
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Pool::new), and [`Error::Hip`](crate::Error::Hip) where a device
    /// cannot be made current.
    pub fn on_devices<F>(devices: &[Device], load: F) -> Result<Self>
    where
        F: Fn(Device) -> Result<CompiledProgram> + Send + Sync + 'static,
    {
        Pool::spawn_on(devices, move |index, device| {
            Worker::new(index, load(device)?)
        })
    }
}

impl<W: 'static> Pool<W> {
    /// Starts a worker for each of these devices, which owns what `make` gives
    /// for it: a [`DeviceProgram`](crate::DeviceProgram) with its bindings and a
    /// stream, say.
    ///
    /// The device is current for the worker's thread, in `make` and in all jobs.
    /// A device may be named more than once.
    ///
    /// ```no_run
    /// use migraphx::hip::{Device, Stream};
    /// use migraphx::{DeviceProgram, OnFailure, Pool};
    ///
    /// let pool = Pool::start_on(&Device::all(), |device| {
    ///     let program = DeviceProgram::load("model.mxr", device)?;
    ///     Ok((program, None, Stream::new(device)?))
    /// })?;
    /// let batches = (0..1000).map(|i| vec![i as f32; 64]);
    /// let run = |(program, set, stream): &mut (DeviceProgram, Option<_>, _), batch: &Vec<f32>| {
    ///     // A failed run keeps its bindings, so that nothing races.
    ///     let mut bindings = match set.take() {
    ///         Some(bindings) => bindings,
    ///         None => program.bindings()?,
    ///     };
    ///     let x = bindings.id("x")?;
    ///     bindings.input_mut::<f32>(x)?.copy_from_slice(batch);
    ///     let bindings = program.run(bindings, stream)?;
    ///     let scores = bindings.output::<f32>(0)?.to_vec();
    ///     *set = Some(bindings);
    ///     Ok::<_, migraphx::Error>(scores)
    /// };
    /// for scores in pool.try_map(OnFailure::Move, batches, run) {
    ///     println!("{:?}", scores?);
    /// }
    /// # Ok::<(), migraphx::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`start`](Pool::start), and [`Error::Hip`](crate::Error::Hip) where a
    /// device cannot be made current.
    pub fn start_on<F>(devices: &[Device], make: F) -> Result<Self>
    where
        F: Fn(Device) -> Result<W> + Send + Sync + 'static,
    {
        Pool::spawn_on(devices, move |_, device| make(device))
    }

    fn spawn_on<F>(devices: &[Device], make: F) -> Result<Self>
    where
        F: Fn(usize, Device) -> Result<W> + Send + Sync + 'static,
    {
        let waiting = NonZeroUsize::new(devices.len()).unwrap_or(NonZeroUsize::MIN);
        let (devices, current) = (devices.to_vec(), devices.to_vec());
        Pool::spawn(
            devices.len(),
            waiting,
            move |index| current[index].enter(),
            move |index| {
                let device = devices[index];
                make(index, device).map_err(|error| error.while_doing(|| format!("on {device}")))
            },
        )
    }
}
