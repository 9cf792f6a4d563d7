//! The ways to run a program, which must give one result.

use crate::case_runner::cycle::{At, Stop};
use crate::case_runner::index::Stage;
use crate::case_runner::tensor::Tensor;
use migraphx::{CompiledProgram, DataType, Error, Inputs};

/// Runs by the convenience call and, where every parameter is given and no
/// other, through an input set and after saving and loading too: all must say
/// the same.
pub fn run(
    program: &mut CompiledProgram,
    inputs: &[(String, Tensor)],
) -> Result<Vec<Tensor>, Stop> {
    let once = run_once(program, inputs);
    let mut given: Vec<&str> = inputs.iter().map(|(name, _)| name.as_str()).collect();
    let mut wanted: Vec<&str> = program.parameters().iter().map(|p| p.name()).collect();
    given.sort_unstable();
    wanted.sort_unstable();
    if given != wanted {
        return once;
    }
    let once = agree("an input set", once, run_set(program, inputs))?;
    let loaded = program
        .to_bytes()
        .and_then(|bytes| CompiledProgram::load_bytes(&bytes));
    let again = loaded
        .at(Stage::Load)
        .and_then(|mut loaded| run_once(&mut loaded, inputs));
    match again {
        // 7.1.1 mixes up the parameters of a loaded `Loop` body, and says so.
        Err(Stop::Refused {
            error: Error::Api { .. },
            ..
        }) => Ok(once),
        again => agree("the program saved and loaded", Ok(once), again),
    }
}

/// `once`, if the other way gave the same values, or an error as well.
fn agree(
    other: &str,
    once: Result<Vec<Tensor>, Stop>,
    result: Result<Vec<Tensor>, Stop>,
) -> Result<Vec<Tensor>, Stop> {
    match (once, result) {
        (Ok(once), Ok(result)) if once == result => Ok(once),
        (Ok(_), Ok(_)) => Err(format!("{other} gives other values").into()),
        (Err(stop @ Stop::Refused { .. }), Err(Stop::Refused { .. })) => Err(stop),
        (Ok(_), Err(Stop::Refused { error, .. })) => {
            Err(format!("run_once works, {other} is refused: {error}").into())
        }
        (Err(Stop::Refused { error, .. }), Ok(_)) => {
            Err(format!("{other} works, run_once is refused: {error}").into())
        }
        (_, Err(broken)) | (Err(broken), _) => Err(broken),
    }
}

fn run_once(
    program: &mut CompiledProgram,
    inputs: &[(String, Tensor)],
) -> Result<Vec<Tensor>, Stop> {
    let arguments = inputs
        .iter()
        .map(|(name, tensor)| Ok((name.as_str(), tensor.argument()?)))
        .collect::<migraphx::Result<Vec<_>>>()
        .at(Stage::Run)?;
    let outputs = program.run_once(&arguments).at(Stage::Run)?;
    (0..outputs.len())
        .map(|i| Ok(Tensor::from_output(&outputs.get(i).at(Stage::Run)?)))
        .collect()
}

/// Twice through one set, the second time refilled in place.
fn run_set(
    program: &mut CompiledProgram,
    inputs: &[(String, Tensor)],
) -> Result<Vec<Tensor>, Stop> {
    let mut set = program.inputs().at(Stage::Run)?;
    for (name, tensor) in inputs {
        let id = set.id(name).at(Stage::Run)?;
        if is_dynamic(program, name) {
            set.resize(id, &tensor.dims).at(Stage::Run)?;
        }
        set.set(id, &tensor.argument().at(Stage::Run)?)
            .at(Stage::Run)?;
    }
    let first = collect(program, &mut set)?;
    for (name, tensor) in inputs {
        let id = set.id(name).at(Stage::Run)?;
        if tensor.dtype == DataType::Bool {
            set.set(id, &tensor.argument().at(Stage::Run)?)
                .at(Stage::Run)?;
        } else {
            set.bytes_mut(id)
                .at(Stage::Run)?
                .copy_from_slice(&tensor.bytes);
        }
    }
    let second = collect(program, &mut set)?;
    if first != second {
        return Err("a refilled set gives other values".to_owned().into());
    }
    Ok(first)
}

fn is_dynamic(program: &CompiledProgram, name: &str) -> bool {
    let parameter = program.parameters().iter().find(|p| p.name() == name);
    parameter.is_some_and(|p| p.shape().is_dynamic())
}

fn collect(program: &mut CompiledProgram, set: &mut Inputs<'_>) -> Result<Vec<Tensor>, Stop> {
    let outputs = program.run(set).at(Stage::Run)?;
    (0..outputs.len())
        .map(|i| Ok(Tensor::from_output(&outputs.get(i).at(Stage::Run)?)))
        .collect()
}
