//! The conclusions of the documents that come with the project, and of changed copies of them.

use std::path::Path;

use flashscope_document::conclusion::Conclusion;
use flashscope_document::prediction::{Interval, PredictedValue, PredictionReport};
use flashscope_document::probe::ProbeReport;
use flashscope_document::sweep::Sweep;
use flashscope_document::twin::Twin;
use flashscope_document::what_if::WhatIf;
use flashscope_document::{Simulation, SimulationStatus};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Conclude, with_conclusions};

fn json_of(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(path);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn document<D: DeserializeOwned>(path: &str) -> D {
    serde_json::from_value(json_of(path)).unwrap()
}

const SIMULATION: &str = "results/simulated.flashscope/simulation.json";

fn simulation() -> Simulation<Value> {
    document(SIMULATION)
}

/// Returns the sentences, after checking that each has evidence.
fn texts(conclusions: &[Conclusion]) -> Vec<&str> {
    assert!(conclusions.iter().all(|one| !one.evidence.is_empty()), "{conclusions:?}");
    conclusions.iter().map(|one| one.text.as_str()).collect()
}

#[test]
fn documents_of_every_kind_begin_with_conclusions() {
    let swept: Sweep = document("results/swept.flashscope/sweep.json");
    let what_if: WhatIf = document("results/what-if.flashscope/what-if.json");
    let probe: ProbeReport = document("results/probed.flashscope/probe.json");
    let twins = ["twins/bench-v1.twin.json", "twins/fill-v1.twin.json"].map(document::<Twin>);
    let mut all = vec![simulation().conclude(), swept.conclude(), what_if.conclude()];
    all.push(probe.conclude());
    all.extend(twins.iter().map(Conclude::conclude));
    for conclusions in all {
        let count = texts(&conclusions).len();
        assert!((1..=3).contains(&count), "{conclusions:#?}");
    }
}

#[test]
fn a_few_erases_do_not_stand_for_a_long_run() {
    let mut simulation = simulation();
    simulation.status = SimulationStatus::Complete;
    simulation.write_amplification = Some(2.5);
    simulation.flash_programs = [("host".into(), 40), ("cleaning".into(), 60)].into();
    simulation.warm_up.steady = Some(true);
    let last = |simulation: &Simulation<Value>| {
        let all = simulation.conclude();
        texts(&all).last().map(ToString::to_string).unwrap()
    };
    simulation.erases = [("cleaning".into(), 29)].into();
    assert!(last(&simulation).contains("29 erased blocks, too few"), "{}", last(&simulation));
    simulation.erases = [("cleaning".into(), 30)].into();
    let text = last(&simulation);
    assert!(text.starts_with("The drive programmed 2.50 flash pages"), "{text}");
    assert!(text.contains("1.50 of them for garbage collection: more over-provisioning"), "{text}");
    simulation.total_write_amplification = Some(5.0);
    let text = last(&simulation);
    assert!(
        text.contains("5.00 flash pages per page of new data, 2.00 by the workload times 2.50"),
        "{text}"
    );
    assert!(text.contains("lowers the larger factor, that of the drive"), "{text}");
    simulation.warm_up.steady = Some(false);
    assert!(last(&simulation).contains("warm up longer"), "{}", last(&simulation));
    simulation.erases.clear();
    for (steady, remedy) in [
        (None, "add `--warmup steady`"),
        (Some(false), "warm up longer"),
        (Some(true), "simulate more IOs"),
    ] {
        simulation.warm_up.steady = steady;
        let text = last(&simulation);
        assert!(text.contains("erased no block") && text.contains(remedy), "{text}");
    }
}

#[test]
fn changes_within_the_uncertainty_are_no_changes() {
    let what_if: WhatIf = document("results/what-if.flashscope/what-if.json");
    let found = what_if.conclude();
    assert!(texts(&found)[0].contains("lowers the mean response time by"), "{found:?}");
    let mut unclear = what_if.clone();
    for variant in &mut unclear.variants {
        for one in &mut variant.simulated {
            one.difference.iter_mut().for_each(|difference| difference.sign = 0);
        }
    }
    let found = unclear.conclude();
    assert!(texts(&found)[0].starts_with("No variant changes the mean response time beyond the"));
    let once = WhatIf { repeats: 1, ..what_if };
    let found = once.conclude();
    assert!(texts(&found)[0].contains("how much of it is chance"), "{found:?}");
}

#[test]
fn insignificant_effects_of_a_sweep_are_not_claimed() {
    let mut sweep: Sweep = document("results/swept.flashscope/sweep.json");
    let claims = |sweep: &Sweep| texts(&sweep.conclude()).join(" ");
    assert!(claims(&sweep).contains("the largest effect on average"), "{}", claims(&sweep));
    sweep.effects.iter_mut().for_each(|effect| effect.sign = 0);
    assert!(claims(&sweep).contains("No factor changes IO rate beyond"), "{}", claims(&sweep));
}

#[test]
fn a_prediction_says_how_far_to_trust_it() {
    let predicted = |interval: Option<(f64, f64)>| {
        let interval = interval.map(|(low, high)| Interval { low, high });
        json!(PredictedValue { value: 2.0, interval })
    };
    let report = |interval, not_modelled: &[&str]| -> PredictionReport {
        let value = predicted(interval);
        serde_json::from_value(json!({
            "schema_version": 1, "drive": "sim:demo", "ftl": "page-map", "workload": "uniform", "seed": 1,
            "model": "survivors", "passes": { "warm_up": 1, "counted": 2, "converged": true },
            "host_pages_written": 10, "bytes_written": 40960, "erases": value, "write_amplification": value,
            "equivalent_throughput": value, "ns_per_page": value, "bytes_per_second": value,
            "validation": { "level": 0.9, "cases": 40 }, "not_modelled": not_modelled, "lifetime": null,
            "simulated": null, "wall_ns": 1
        }))
        .unwrap()
    };
    let found = report(Some((1.5, 2.5)), &[]).conclude();
    let known = texts(&found);
    assert_eq!(known.len(), 1);
    assert!(
        known[0].starts_with("Expect a write amplification of 2.00 (1.50 to 2.50)"),
        "{known:?}"
    );
    let found = report(None, &["the write buffer"]).conclude();
    let open = texts(&found);
    assert!(
        open[1].contains("no interval, because the model leaves out the write buffer"),
        "{open:?}"
    );
}

#[test]
fn conclusions_of_third_parties_are_replaced() {
    let mut lies = json_of(SIMULATION);
    lies["conclusions"] = json!([{ "text": "Buy this drive.", "evidence": [] }]);
    let told = with_conclusions::<Simulation<Value>>(lies.clone());
    assert!(!told.to_string().contains("Buy this drive"));
    assert!(told["conclusions"][0]["text"].as_str().unwrap().contains("IO"));
    lies["ios"] = json!("many");
    let damaged = with_conclusions::<Simulation<Value>>(lies);
    assert_eq!(damaged.get("conclusions"), None);
}
