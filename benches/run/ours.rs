//! The loops of the C side (`c-baseline`), written with `migraphx`.

use c_baseline::Loop;
use migraphx::{
    Argument, CompileOptions, CompiledProgram, InputId, Inputs, OnnxOptions, Outputs, Target,
};

/// A program whose f32 inputs and output hold `elements` each.
pub struct Ours<'b> {
    program: CompiledProgram,
    sets: [Inputs<'b>; 2],
    ids: Vec<InputId>,
    names: Vec<String>,
    /// The input data, row by row.
    rows: &'b [f32],
    elements: usize,
}

impl<'b> Ours<'b> {
    pub fn new(model: &[u8], rows: &'b [f32], elements: usize) -> migraphx::Result<Self> {
        let program = OnnxOptions::new().parse_bytes(model)?;
        let program = program.compile(&Target::reference()?, &CompileOptions::new())?;
        let sets = [program.inputs()?, program.inputs()?];
        let names: Vec<String> = program
            .parameters()
            .iter()
            .map(|parameter| parameter.name().to_owned())
            .collect();
        let ids: migraphx::Result<_> = names.iter().map(|name| sets[0].id(name)).collect();
        Ok(Ours {
            program,
            ids: ids?,
            sets,
            names,
            rows,
            elements,
        })
    }

    /// The last elements of the outputs of `runs` runs, added up.
    pub fn run(&mut self, which: Loop, runs: usize) -> migraphx::Result<f64> {
        let (elements, count) = (self.elements, self.rows.len() / self.elements);
        let rows = self.rows;
        let row = |run: usize| &rows[run % count * elements..][..elements];
        let Ours { program, sets, .. } = self;
        let last = |outputs: Outputs<'_>| -> migraphx::Result<f64> {
            Ok(f64::from(outputs.slice::<f32>(0)?[elements - 1]))
        };
        let mut sum = 0.0;
        match which {
            Loop::Kept | Loop::Unasked => {
                fill(&mut sets[0], &self.ids, row(0))?;
                for _ in 0..runs {
                    sum += last(program.run(&mut sets[0])?)?;
                }
            }
            Loop::Refill => {
                for run in 0..runs {
                    fill(&mut sets[0], &self.ids, row(run))?;
                    sum += last(program.run(&mut sets[0])?)?;
                }
            }
            Loop::Turns => {
                for run in 0..runs {
                    let set = &mut sets[run % 2];
                    fill(set, &self.ids, row(run))?;
                    sum += last(program.run(set)?)?;
                }
            }
            Loop::Rebind => {
                for run in 0..runs {
                    for id in &self.ids {
                        sets[0].bind(*id, row(run))?;
                    }
                    sum += last(program.run(&mut sets[0])?)?;
                }
            }
            Loop::Anew => {
                for run in 0..runs {
                    let mut tensors = Vec::with_capacity(self.names.len());
                    for name in &self.names {
                        tensors.push((&**name, Argument::from_slice(row(run), &[elements])?));
                    }
                    let outputs = program.run_once(&tensors)?;
                    sum += f64::from(outputs.slice::<f32>(0)?[elements - 1]);
                }
            }
        }
        Ok(sum)
    }
}

fn fill(set: &mut Inputs<'_>, ids: &[InputId], row: &[f32]) -> migraphx::Result<()> {
    for id in ids {
        set.slice_mut::<f32>(*id)?.copy_from_slice(row);
    }
    Ok(())
}
