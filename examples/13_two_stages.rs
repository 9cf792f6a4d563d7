//! Two programs on one GPU, the second of which reads what the first computed
//! where it lies: nothing crosses the bus in between. On a host without a GPU
//! it says what was looked for.
//!
//! `cargo run --example 13_two_stages` (on virtual GPUs: see `12_devices`)

use migraphx::hip::{Device, Stream};
use migraphx::{CompileOptions, DeviceProgram, OnnxOptions, Result};

fn main() -> Result<()> {
    let device = match Device::new(0) {
        Ok(device) => device,
        Err(reason) => {
            println!("{reason}");
            return Ok(());
        }
    };
    let compile = |model: &[u8]| -> Result<DeviceProgram> {
        let program = OnnxOptions::new().parse_bytes(model)?;
        program.compile_for_device(device, &CompileOptions::new())
    };
    // sum = x + x and product = x * x; then z = x + y.
    let mut first = compile(&testkit::models::two_outputs(&[4]))?;
    let mut second = compile(&testkit::models::add(&[4]))?;
    let stream = Stream::new(device)?;

    let (mut a, mut b) = (first.bindings()?, second.bindings()?);
    let (source, left, right) = (a.id("x")?, b.id("x")?, b.id("y")?);
    // What stays on the device is not downloaded.
    a.set_download(0, false)?;
    a.set_download(1, false)?;
    for step in 1..=3 {
        let values = a.input_mut::<f32>(source)?;
        for (i, value) in values.iter_mut().enumerate() {
            *value = (step * (i + 1)) as f32;
        }
        // Both results of the first become inputs of the second: buffers change
        // places, and the host waits once, at the end.
        let run = first.enqueue(a, &stream)?;
        let links = [(0, left), (1, right)];
        let run = run.then(&mut second, b, &links, &stream)?;
        let mut sets = run.wait_all()?.into_iter();
        (a, b) = (
            sets.next().expect("the first"),
            sets.next().expect("the second"),
        );
        println!("2x + x*x = {:?}", b.output::<f32>(0)?);
    }
    Ok(())
}
