//! A stranger's model, run in a child process with limits: whatever the model
//! makes of MIGraphX there, this process goes on.
//!
//! `cargo run --example 15_untrusted_model`

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use migraphx::{CompileOptions, OnnxOptions, Target};
use testkit::onnx::{Elem, Graph, fixed};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Set in the child.
const CHILD: &str = "MIGRAPHX_EXAMPLE_CHILD";
/// What the child may take: seconds of all its threads, and of the clock; bytes of address space.
const (CPU, CLOCK, MEMORY): (u64, Duration, u64) = (2, Duration::from_secs(20), 4 << 30);

fn main() -> Result<()> {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    let sum = testkit::models::add(&[3]);
    show("a sum", &sum, &floats(6));
    show("half a file", &sum[..40], &[]);
    let rows = testkit::models::gather(3, 2, 2);
    show("an index out of range", &rows, &[floats(6), integers(&[0, 3])].concat());
    // Computed in the model, where nothing but MIGraphX sees it.
    show("a computed index", &computed_index(), &[integers(&[0, 1 << 40]), floats(3)].concat());
    show("1 TiB of results", &one_hot(), &integers(&[0, 1 << 38]));
    show("much work", &product(2048), &floats(2 * 2048 * 2048));
    println!("and this process goes on");
    Ok(())
}

fn show(what: &str, model: &[u8], inputs: &[u8]) {
    let start = Instant::now();
    let outcome = run_apart(model, inputs);
    let took = start.elapsed().as_millis();
    match outcome {
        Ok(result) => println!("{what:<22} {took:>5} ms  result: {result:?}"),
        Err(problem) => println!("{what:<22} {took:>5} ms  {problem}"),
    }
}

/// Runs a model in a child process: `inputs` are the bytes of all its inputs, in
/// the order of their names. Gives the first result, of floats.
fn run_apart(model: &[u8], inputs: &[u8]) -> Result<Vec<f32>, String> {
    let text = |error: io::Error| error.to_string();
    let mut command = Command::new(std::env::current_exe().map_err(text)?);
    command.env(CHILD, "1"); // and take out of its environment what is secret
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(limit) };
    let mut child = command.spawn().map_err(text)?;
    let (mut to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let said = child.stderr.take().unwrap();
    let length = (model.len() as u64).to_ne_bytes();
    std::thread::scope(|scope| {
        // A child that dies reads no more: that is no error of its own. And what it
        // says is not trusted either, so its length is limited.
        scope.spawn(move || [&length, model, inputs].iter().try_for_each(|part| to.write_all(part)));
        let result = scope.spawn(move || read_all(from, 64 << 20));
        let said = scope.spawn(move || read_all(said, 64 << 10));
        let start = Instant::now();
        let status = loop {
            match child.try_wait().map_err(text)? {
                Some(status) => break status,
                None if start.elapsed() > CLOCK => child.kill().map_err(text)?,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let (result, said) = (result.join().unwrap(), said.join().unwrap());
        let said = String::from_utf8_lossy(&said).into_owned();
        match (status.code(), status.signal()) {
            (Some(0), _) => Ok(result.chunks_exact(4).map(|v| f32::from_ne_bytes(v.try_into().unwrap())).collect()),
            (_, Some(libc::SIGXCPU)) => Err(format!("used up its {CPU} s of processor time")),
            (_, Some(signal)) => Err(format!("died of signal {signal}")),
            _ => Err(format!("refused: {}", said.trim())),
        }
    })
}

fn read_all(from: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = from.take(most).read_to_end(&mut bytes);
    bytes
}

/// In the child, before it becomes this program again.
fn limit() -> io::Result<()> {
    let limits = [
        (libc::RLIMIT_AS, MEMORY),
        (libc::RLIMIT_CPU, CPU),
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_FSIZE, 0), // no files; pipes are none
    ];
    let done = |result: i32| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    for (what, most) in limits {
        let rlim_max = most + u64::from(what == libc::RLIMIT_CPU); // a second for SIGXCPU
        let limit = libc::rlimit { rlim_cur: most, rlim_max };
        // SAFETY: the pointer leads to a limit; the kernel copies it.
        done(unsafe { libc::setrlimit(what, &limit) })?;
    }
    // SAFETY: takes numbers only.
    done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
}

/// The child: reads a model and inputs, and writes the first result.
fn child() -> Result<()> {
    let mut from = io::stdin().lock();
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let mut model = Vec::new();
    from.by_ref().take(u64::from_ne_bytes(length)).read_to_end(&mut model)?;
    let program = OnnxOptions::new().parse_bytes(&model)?;
    let mut program = program.compile(&Target::reference()?, &CompileOptions::new())?;
    let mut inputs = program.inputs()?;
    let names: Vec<String> = inputs.parameters().iter().map(|p| p.name().to_owned()).collect();
    for name in names {
        let id = inputs.id(&name)?;
        from.read_exact(inputs.bytes_mut(id)?)?;
    }
    let outputs = program.run(&mut inputs)?;
    outputs.slice::<f32>(0)?; // what the parent takes
    io::stdout().write_all(outputs.get(0)?.as_bytes())?;
    Ok(())
}

fn floats(count: usize) -> Vec<u8> {
    1.5f32.to_ne_bytes().repeat(count)
}

fn integers(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn computed_index() -> Vec<u8> {
    let mut graph = Graph::new("computed");
    graph.input("i", Elem::I64, &fixed(&[2]));
    graph.input("x", Elem::F32, &fixed(&[3]));
    graph.node("Add", &["i", "i"], &["at"], vec![]);
    graph.node("Gather", &["x", "at"], &["y"], vec![]);
    graph.output("y", Elem::F32, &fixed(&[2]));
    graph.into_bytes()
}

fn one_hot() -> Vec<u8> {
    let mut graph = Graph::new("one_hot");
    graph.input("at", Elem::I64, &fixed(&[1]));
    graph.input("depth", Elem::I64, &fixed(&[1]));
    graph.constant_f32("off_on", &[2], &[0.0, 1.0]);
    graph.node("OneHot", &["at", "depth", "off_on"], &["y"], vec![]);
    graph.output("y", Elem::F32, &[]);
    graph.into_bytes()
}

fn product(n: usize) -> Vec<u8> {
    let mut graph = Graph::new("product");
    graph.input("a", Elem::F32, &fixed(&[n, n]));
    graph.input("b", Elem::F32, &fixed(&[n, n]));
    graph.node("MatMul", &["a", "b"], &["y"], vec![]);
    graph.output("y", Elem::F32, &fixed(&[n, n]));
    graph.into_bytes()
}
