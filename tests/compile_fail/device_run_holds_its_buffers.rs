//! While a run is in flight, its buffers are the device's: nothing borrowed
//! from the set lives on, and the set is not there to be read or filled.
use migraphx::hip::Stream;
use migraphx::{DeviceBindings, DeviceProgram, InputId, Result};

fn output_kept(program: &mut DeviceProgram, set: DeviceBindings, stream: &Stream) -> Result<f32> {
    let y = set.output::<f32>(0)?;
    let run = program.enqueue(set, stream)?; //~ E0505
    drop(run);
    Ok(y[0])
}

fn input_kept(
    program: &mut DeviceProgram,
    mut set: DeviceBindings,
    stream: &Stream,
    x: InputId,
) -> Result<()> {
    let values = set.input_mut::<f32>(x)?;
    let run = program.enqueue(set, stream)?; //~ E0505
    values.fill(1.0);
    run.wait().map(drop)
}

fn buffer_kept(
    program: &mut DeviceProgram,
    set: DeviceBindings,
    stream: &Stream,
    x: InputId,
) -> Result<Vec<f32>> {
    let buffer = set.input_buffer(x)?;
    let run = program.enqueue(set, stream)?; //~ E0505
    let values = buffer.to_vec::<f32>();
    drop(run);
    values
}

fn used_after_enqueue(
    program: &mut DeviceProgram,
    mut set: DeviceBindings,
    stream: &Stream,
    x: InputId,
) -> Result<()> {
    let run = program.enqueue(set, stream)?;
    set.input_mut::<f32>(x)?.fill(1.0); //~ E0382
    run.wait().map(drop)
}

fn main() {
    let _ = (output_kept, input_kept, buffer_kept, used_after_enqueue);
}
