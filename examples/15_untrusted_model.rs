//! A stranger's model, run in a child process with limits: whatever the model
//! makes of MIGraphX there, this process goes on.
//!
//! `cargo run --example 15_untrusted_model`

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use migraphx::{CompileOptions, OnnxOptions, Target};
use testkit::models;
use testkit::onnx::{Elem, Graph, fixed};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
/// Set in the child.
const CHILD: &str = "MIGRAPHX_EXAMPLE_CHILD";

// What the child may take: seconds of its threads together, time in all, memory.
const CPU: u64 = 1;
const CLOCK: Duration = Duration::from_secs(20);
const MEMORY: u64 = 4 << 30;

fn main() -> Result<()> {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    let floats = |count: usize| 1.5f32.to_ne_bytes().repeat(count);
    let sum = models::add(&[3]);
    show("a sum", &sum, &floats(6));
    show("half a file", &sum[..40], &[]);
    let indices = |last: i64| [0i64.to_ne_bytes(), last.to_ne_bytes()].concat();
    let inputs = [floats(6), indices(3)].concat();
    show("an index out of range", &models::gather(3, 2, 2), &inputs);
    // Computed in the model, where nothing but MIGraphX sees it.
    let inputs = [indices(1 << 40), floats(3)].concat();
    show("a computed index", &computed_index(), &inputs);
    show("1 TiB of memory", &models::add(&[1 << 20, 1 << 18]), &[]);
    let product = models::matmul(2048, 2048, 2048, &[0.5; 2048 * 2048]);
    show("much work", &product, &floats(2048 * 2048));
    println!("and this process goes on");
    Ok(())
}

fn show(what: &str, model: &[u8], inputs: &[u8]) {
    match run_apart(model, inputs) {
        Ok(result) => println!("{what}: {result:?}"),
        Err(problem) => println!("{what}: {problem}"),
    }
}

/// Runs a model in a child process: `inputs` are the bytes of all its inputs, in
/// the order of their names. Gives the first result, of floats.
fn run_apart(model: &[u8], inputs: &[u8]) -> Result<Vec<f32>> {
    let mut command = Command::new(std::env::current_exe()?);
    // Also take out of its environment what is secret.
    command.env(CHILD, "1").stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(limit) };
    let mut child = command.spawn()?;
    let mut to = child.stdin.take().unwrap();
    let (from, said) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let length = (model.len() as u64).to_ne_bytes();
    let given = [&length, model, inputs];
    std::thread::scope(|scope| {
        // A child that dies reads no more: that is no error of its own.
        scope.spawn(move || given.iter().try_for_each(|part| to.write_all(part)));
        let result = scope.spawn(|| read_most(from, 64 << 20));
        let said = scope.spawn(|| read_most(said, 64 << 10));
        let start = Instant::now();
        let status = loop {
            match child.try_wait()? {
                Some(status) => break status,
                None if start.elapsed() > CLOCK => child.kill()?,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let (result, said) = (result.join().unwrap(), said.join().unwrap());
        match (status.code(), status.signal()) {
            (Some(0), _) => {
                let floats = result.chunks_exact(4).map(|bytes| bytes.try_into());
                Ok(floats
                    .map(|f| f.map(f32::from_ne_bytes))
                    .collect::<Result<_, _>>()?)
            }
            (_, Some(libc::SIGXCPU)) => Err(format!("used up its {CPU} s").into()),
            (_, Some(signal)) => Err(format!("died of signal {signal}").into()),
            _ => Err(String::from_utf8_lossy(&said).trim().into()),
        }
    })
}

/// What a child says is not trusted either, so its length has a limit.
fn read_most(from: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = from.take(most).read_to_end(&mut bytes);
    bytes
}

/// In the child, before it becomes this program again.
fn limit() -> io::Result<()> {
    let limits = [
        (libc::RLIMIT_AS, MEMORY, MEMORY),
        (libc::RLIMIT_CPU, CPU, CPU + 1), // SIGXCPU, and SIGKILL a second later
        (libc::RLIMIT_CORE, 0, 0),
        (libc::RLIMIT_FSIZE, 0, 0), // pipes are no files
    ];
    let done = |result| match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    for (what, rlim_cur, rlim_max) in limits {
        // SAFETY: the kernel copies the limit.
        done(unsafe { libc::setrlimit(what, &libc::rlimit { rlim_cur, rlim_max }) })?;
    }
    // SAFETY: takes numbers only.
    done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
}

/// The child: reads a model and its inputs, and writes the first result.
fn child() -> Result<()> {
    let mut from = io::stdin().lock();
    let (mut length, mut model) = ([0; 8], Vec::new());
    from.read_exact(&mut length)?;
    let length = u64::from_ne_bytes(length);
    from.by_ref().take(length).read_to_end(&mut model)?;
    let program = OnnxOptions::new().parse_bytes(&model)?;
    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    let mut inputs = program.inputs()?;
    for parameter in program.parameters() {
        let id = inputs.id(parameter.name())?;
        from.read_exact(inputs.bytes_mut(id)?)?;
    }
    let outputs = program.run(&mut inputs)?;
    outputs.slice::<f32>(0)?; // what the parent takes
    io::stdout().write_all(outputs.get(0)?.as_bytes())?;
    Ok(())
}

/// `y = x[i + i]`
fn computed_index() -> Vec<u8> {
    let mut graph = Graph::new("computed");
    graph.input("i", Elem::I64, &fixed(&[2]));
    graph.input("x", Elem::F32, &fixed(&[3]));
    graph.node("Add", &["i", "i"], &["at"], vec![]);
    graph.node("Gather", &["x", "at"], &["y"], vec![]);
    graph.output("y", Elem::F32, &fixed(&[2]));
    graph.into_bytes()
}
