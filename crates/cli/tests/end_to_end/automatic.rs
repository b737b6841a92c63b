//! Tests that runs that end at a target precision are as precise as long runs, with fewer IOs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{OpenedResult, Scratch};

/// The number of IOs of a reference run.
const FIXED: u64 = 5120;

/// Returns the relative half-width of the interval of the mean, and the number of counted IOs, of
/// each run.
fn precision(measured: &OpenedResult) -> BTreeMap<(String, String, i64), (f64, u64)> {
    let facts = measured.json("facts.json");
    let facts = facts["runs"].as_array().unwrap();
    let mut all = BTreeMap::new();
    for benchmark in &measured.manifest.micro_benchmarks {
        for (experiment, run) in benchmark
            .experiments
            .iter()
            .flat_map(|e| e.runs.iter().map(|run| (e.name.clone(), run)))
        {
            let Some(facts) = facts.iter().find(|facts| facts["run"] == run.id) else { continue };
            let number = |value: &Value| value.as_f64().unwrap();
            let mean = &facts["latency_ns"]["mean"];
            let half = (number(&mean["high"]) - number(&mean["low"])) / 2.0;
            let found = (half / number(&mean["value"]), facts["ios"].as_u64().unwrap());
            all.insert((benchmark.name.clone(), experiment, run.value), found);
        }
    }
    all
}

// On drives of every kind, at least 98 % of the runs that reach a precision of 2 % with 5,120 IOs
// also reach it
// with automatic lengths.
#[test]
fn runs_reach_the_precision_with_a_third_of_the_ios() {
    let place = Scratch::in_memory();
    let (mut shares, mut missed) = (Vec::new(), 0);
    for drive in ["demo", "flashsim-2009", "sun-zhang-kingston", "transcend-module", "mtron"] {
        let bench = |name: String, more: &[&str]| {
            let drive = format!("sim:{drive}");
            let short =
                ["--only", "granularity,order", "--target-size", "256MiB", "--repeats", "1"];
            place.run(&[&["bench", &drive, "--output", &name][..], &short, more].concat()).ok();
            precision(&place.result(&name))
        };
        let fixed = bench(format!("{drive}-fixed"), &["--io-count", &FIXED.to_string()]);
        let found = bench(format!("{drive}-found"), &["--preparation-io-count", "8192"]);
        for (run, _) in fixed.iter().filter(|(_, (precision, _))| *precision <= 0.02) {
            let (precision, ios) = found[run];
            missed += u32::from(precision > 0.02);
            #[allow(clippy::cast_precision_loss)]
            shares.push(ios as f64 / FIXED as f64);
        }
    }
    shares.sort_by(f64::total_cmp);
    let median = shares[shares.len() / 2];
    println!("{} runs, {missed} missed, median share {median:.2}", shares.len());
    assert!(shares.len() > 150);
    assert!(f64::from(missed) <= 0.02 * shares.len() as f64, "{missed} of {}", shares.len());
    assert!(median <= 1.0 / 3.0, "{median}");
}
