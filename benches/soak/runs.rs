//! Runs of a small program, refilled and bound: no drift, nothing left behind.

use crate::{Subject, watch};
use anyhow::{Result, ensure};
use migraphx::{CompileOptions, CompiledProgram, OnnxOptions, Target};
use testkit::held::Looks;

pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "run, refilled set",
        rounds: [30_000, 1_000_000],
        run: refilled,
    },
    Subject {
        name: "run, bound anew",
        rounds: [30_000, 1_000_000],
        run: bound,
    },
    Subject {
        name: "run_once, everything anew",
        rounds: [10_000, 200_000],
        run: anew,
    },
];

/// Inputs that take turns; each must always give what it gave first.
const TURNS: usize = 7;

/// `y = x · w` of 4 by 4: sums, whose last bits would show another order.
pub fn program() -> migraphx::Result<CompiledProgram> {
    let weights: Vec<f32> = (0..16).map(|i| (i as f32 * 0.71).sin()).collect();
    OnnxOptions::new()
        .parse_bytes(&testkit::models::matmul(4, 4, 4, &weights))?
        .compile(&Target::reference()?, &CompileOptions::new())
}

pub fn input(turn: usize) -> [f32; 16] {
    std::array::from_fn(|i| ((turn * 16 + i) as f32 * 0.37).cos())
}

/// What came first for each input.
struct First([Option<Vec<u32>>; TURNS]);

impl First {
    fn new() -> Self {
        First(std::array::from_fn(|_| None))
    }

    /// Bit by bit.
    fn same(&mut self, round: usize, found: &[f32]) -> Result<()> {
        let first = &mut self.0[round % TURNS];
        let bits = found.iter().map(|value| value.to_bits());
        match first {
            None => *first = Some(bits.collect()),
            Some(first) => ensure!(
                bits.eq(first.iter().copied()),
                "round {round} gave {found:?}, and the same input gave {first:?} as bits at first"
            ),
        }
        Ok(())
    }
}

fn refilled(rounds: usize) -> Result<Looks> {
    let mut program = program()?;
    let mut inputs = program.inputs()?;
    let x = inputs.id("x")?;
    let (mut first, mut round) = (First::new(), 0);
    watch(rounds, || {
        inputs
            .slice_mut::<f32>(x)?
            .copy_from_slice(&input(round % TURNS));
        first.same(round, program.run(&mut inputs)?.slice(0)?)?;
        round += 1;
        Ok(())
    })
}

fn bound(rounds: usize) -> Result<Looks> {
    let data: [[f32; 16]; TURNS] = std::array::from_fn(input);
    let mut program = program()?;
    let mut inputs = program.inputs()?;
    let x = inputs.id("x")?;
    let (mut first, mut round) = (First::new(), 0);
    watch(rounds, || {
        inputs.bind(x, &data[round % TURNS])?;
        first.same(round, program.run(&mut inputs)?.slice(0)?)?;
        round += 1;
        Ok(())
    })
}

fn anew(rounds: usize) -> Result<Looks> {
    let mut program = program()?;
    let (mut first, mut round) = (First::new(), 0);
    watch(rounds, || {
        let x = input(round % TURNS);
        let x = migraphx::Argument::from_slice(&x, &[4, 4])?;
        first.same(round, program.run_once(&[("x", x)])?.slice(0)?)?;
        round += 1;
        Ok(())
    })
}
