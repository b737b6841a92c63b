use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use flashscope_document::SimulationStatus;

use flashscope_document::sweep::{Level, Row, RowStatus};
use flashscope_sim::budget::Budget;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Simulation, SimulationRequest, simulate_within};

/// A simulation of a sweep, as data that can run on any machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The number of the point, from 0, in the order of the sweep.
    pub point: u32,
    /// The repeat of the point, from 0.
    pub repeat: u32,
    /// The level of each factor; `None` for a factor that a condition drops.
    pub levels: Vec<Option<Level>>,
    /// The simulation to run.
    pub request: SimulationRequest,
}

/// Runs a trial, with memory of this budget. The same trial gives the same row on any machine.
/// Returns `None` if `stop` was set.
#[must_use]
pub fn run_trial(trial: &Trial, memory: &Budget, stop: &AtomicBool) -> Option<Row> {
    let mut row = Row {
        point: trial.point,
        repeat: trial.repeat,
        levels: trial.levels.clone(),
        status: RowStatus::Done,
        reason: None,
        numbers: BTreeMap::new(),
    };
    match simulate_within(&trial.request, memory, stop, &mut ()) {
        Ok(done) => {
            match done.simulation.status {
                SimulationStatus::Interrupted => return None,
                SimulationStatus::Complete => {}
                SimulationStatus::Failed => {
                    let failure = done.simulation.error.clone().unwrap_or_default();
                    row.status = RowStatus::Failed;
                    row.reason = Some(failure + &done.reason.unwrap_or_default());
                }
            }
            row.numbers = numbers(&done.simulation);
        }
        Err(crate::Error::Interrupted) => return None,
        Err(error) => {
            row.status = if error.is_input() { RowStatus::Impossible } else { RowStatus::Failed };
            row.reason = Some(error.to_string());
        }
    }
    Some(row)
}

/// The numbers in the document that are not results.
const NOT_RESULTS: [&str; 4] = ["schema_version", "seed", "wall_ns", "speed"];

/// Returns every numeric result of a simulation, by its dotted path.
fn numbers(simulation: &Simulation) -> BTreeMap<String, f64> {
    let mut numbers = BTreeMap::new();
    let Ok(Value::Object(document)) = serde_json::to_value(simulation) else { return numbers };
    for (key, value) in &document {
        if !NOT_RESULTS.contains(&key.as_str()) {
            collect(key, value, &mut numbers);
        }
    }
    numbers
}

fn collect(path: &str, value: &Value, numbers: &mut BTreeMap<String, f64>) {
    match value {
        Value::Number(number) => {
            numbers.extend(number.as_f64().map(|number| (path.to_owned(), number)));
        }
        Value::Object(inner) => {
            for (key, value) in inner {
                collect(&format!("{path}.{key}"), value, numbers);
            }
        }
        _ => {}
    }
}

/// Returns the names of all numeric results, from a short simulation of a small drive with reads,
/// writes, trims and garbage collection.
pub(super) fn number_names() -> Vec<String> {
    let work = crate::Work {
        workload: "uniform?reads=0.3&trims=0.1&size=64KiB".into(),
        warm_up: Some(flashscope_measure::WarmUp::Capacities(1.0)),
        ios: Some(500),
        ..crate::Work::default()
    };
    let drive = "demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&\
                 flash.blocks_per_plane=64";
    let result =
        crate::simulate(&SimulationRequest { drive: drive.into(), work }, &false.into(), &mut ());
    result.map(|done| numbers(&done.simulation).into_keys().collect()).unwrap_or_default()
}
