//! What must compile: a program and its inputs in one struct that steps, moves
//! to another thread, and lends its outputs; two sets refilled in turn; a
//! bound buffer that outlives its set.
use migraphx::{CompiledProgram, InputId, Inputs, Outputs, OwnedOutputs, Program, Target};

struct Stepper {
    program: CompiledProgram,
    inputs: Inputs<'static>,
    x: InputId,
}

impl Stepper {
    fn step(&mut self, value: f32) -> migraphx::Result<Outputs<'_>> {
        self.inputs.slice_mut::<f32>(self.x)?.fill(value);
        self.program.run(&mut self.inputs)
    }
}

fn moves(mut stepper: Stepper) -> std::thread::JoinHandle<f32> {
    std::thread::spawn(move || {
        let outputs = stepper.step(1.0).unwrap();
        outputs.slice::<f32>(0).unwrap()[0]
    })
}

fn in_turn(program: &mut CompiledProgram) -> migraphx::Result<Vec<OwnedOutputs>> {
    let (mut a, mut b) = (program.inputs()?, program.inputs()?);
    let x = a.id("x")?;
    let mut results = Vec::new();
    for value in 0..4_u8 {
        a.slice_mut::<f32>(x)?.fill(value.into());
        results.push(program.run(&mut a)?.into_owned()?);
        std::mem::swap(&mut a, &mut b);
    }
    Ok(results)
}

fn bound(program: &mut CompiledProgram, data: &[f32]) -> migraphx::Result<f32> {
    let mut inputs = program.inputs()?;
    let x = inputs.id("x")?;
    inputs.bind(x, data)?;
    let outputs = program.run(&mut inputs)?;
    let first = outputs.slice::<f32>(0)?[0];
    drop(outputs);
    inputs.slice_mut::<f32>(x).map(|own| own.len()).ok();
    Ok(first)
}

fn send<T: Send>() {}
fn sync<T: Sync>() {}

fn main() {
    send::<Stepper>();
    send::<Program>();
    send::<OwnedOutputs>();
    send::<Target>();
    sync::<Target>();
    send::<migraphx::Error>();
    sync::<migraphx::Error>();
    let _ = (moves, in_turn, bound);
}
