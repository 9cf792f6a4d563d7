//! Every call of every scenario fails in turn, with statuses of all kinds: the
//! error names the function, and no handle is left or used after its end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::scenarios::SCENARIOS;
use crate::stand_in::StandIn;

/// Two that the header lists, and two that it does not.
const STATUSES: [u32; 4] = [1, 4, 2, 0x8000_0000];

/// `Outputs::slice` asks these first; where one fails, it goes a longer way, which
/// gives the same.
const QUICK_WAY: &[&str] = &[
    "migraphx_arguments_get",
    "migraphx_argument_shape",
    "migraphx_shape_equal",
    "migraphx_argument_buffer",
];
const QUICK_SCENARIOS: &[&str] = &["pool", "trace"];

/// Whether the failure of a call is no error: there is another way, or nobody to
/// tell, or it is an answer.
fn may_pass(scenario: &str, function: &str, nth: u32) -> bool {
    // The object is gone all the same.
    function.ends_with("_destroy")
        || QUICK_SCENARIOS.contains(&scenario) && QUICK_WAY.contains(&function)
        // The library has no operator of the name that is to be registered.
        || (scenario, function, nth) == ("custom_operator", "migraphx_operation_create", 1)
}

/// Runs in a child on a stand-in.
pub fn run(name: &str) {
    let scenario = SCENARIOS.iter().find(|s| s.name == name).unwrap();
    migraphx::version().unwrap();
    let stand_in = StandIn::of_this_process();
    stand_in.reset();
    (scenario.run)().unwrap();
    assert_eq!(stand_in.report(), "", "without a fault");
    // What is done once a process is done by now.
    stand_in.reset();
    (scenario.run)().unwrap();
    let calls = stand_in.calls();
    let (mut tried, mut problems) = (0, Vec::new());
    for (function, count) in &calls {
        for nth in 1..=*count {
            for status in STATUSES {
                stand_in.reset();
                stand_in.fail(function, nth, status);
                let result = catch_unwind(AssertUnwindSafe(scenario.run));
                tried += 1;
                let came = stand_in.has_failed();
                let problem = match result {
                    Err(_) => Some("a panic".to_owned()),
                    // In a pool, who calls how often is not always the same.
                    _ if !came && name == "pool" => None,
                    _ if !came => Some("the call did not come".into()),
                    Ok(result) => judged(function, may_pass(name, function, nth), result),
                };
                let report = stand_in.report();
                if problem.is_some() || !report.is_empty() {
                    let problem = problem.unwrap_or_default();
                    problems.push(format!("{function} {nth} {status}: {problem} {report}"));
                }
            }
        }
    }
    stand_in.reset();
    (scenario.run)().unwrap();
    println!(
        "{name}: {tried} faults in {} calls of {} functions",
        calls.values().sum::<u32>(),
        calls.len()
    );
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// What is wrong with the result of a run in which a call of `function` failed.
fn judged(function: &str, may_pass: bool, result: migraphx::Result<()>) -> Option<String> {
    match result {
        Ok(()) if may_pass => None,
        Ok(()) => Some("no error".into()),
        Err(error) if error.to_string().contains(function) => None,
        Err(error) => Some(format!("another error: {error}")),
    }
}
