//! Opens results of any kind for a comparison.

use std::sync::Arc;

use flashscope_analysis::compare::{Contestant, Subject, compare, is_compared};
use flashscope_document::Simulation;
use flashscope_document::comparison::Comparison;
use flashscope_document::prediction::PredictionReport;
use flashscope_document::twin::TwinPrediction;
use flashscope_document::what_if::Variant;
use flashscope_report::ResultKind;
use flashscope_result::prediction::is_of_twin;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::library::{Library, OpenMeasurement};
use crate::limits;
use crate::problem::Problem;

/// A result with its name in the comparison.
struct Competitor {
    name: String,
    content: Content,
}

enum Content {
    Measurement(Arc<OpenMeasurement>),
    Simulation(Box<Simulation<Value>>),
    WhatIf { variant: Box<Variant>, repeats: u32 },
    Prediction(Box<PredictionReport>),
    TwinPrediction(Box<TwinPrediction>),
}

/// Compares the results `ids` with the first. A what-if stands for its baseline and its simulated
/// variants.
pub(crate) fn comparison(library: &dyn Library, ids: &[String]) -> Result<Comparison, Problem> {
    let mut all = Vec::new();
    for id in ids {
        all.extend(opened(library, id)?);
    }
    if all.len() > limits::COMPARED {
        let most = limits::COMPARED;
        return Err(Problem::bad_request(format!(
            "at most {most} results can be compared at once: a what-if counts as its baseline and each of its variants"
        )));
    }
    let contestants: Vec<Contestant> = all.iter().map(Competitor::contestant).collect();
    let found = compare(&contestants, None);
    let of_measurements = all.iter().all(|one| matches!(one.content, Content::Measurement(_)));
    match (1..all.len()).find(|result| !of_measurements && !is_compared(&found, *result)) {
        None => Ok(found),
        Some(result) => {
            let (first, other) = (&all[0].name, &all[result].name);
            Err(Problem::bad_request(format!(
                "`{other}` cannot be compared with `{first}`, because they share no workload and quantity: run the same \
                 workload at the same queue depth on both"
            )))
        }
    }
}

/// Opens a result. A what-if yields a competitor for its baseline and for each simulated variant.
fn opened(library: &dyn Library, id: &str) -> Result<Vec<Competitor>, Problem> {
    let one = |content| Ok(vec![Competitor { name: id.into(), content }]);
    match library.kind(id)? {
        ResultKind::Measurement => {
            let measured = library.open(id)?;
            let name = measured.name.clone();
            Ok(vec![Competitor { name, content: Content::Measurement(measured) }])
        }
        ResultKind::Simulation => one(Content::Simulation(parsed(library.simulation(id)?, id)?)),
        ResultKind::Prediction => {
            let prediction = library.prediction(id)?;
            match is_of_twin(&prediction) {
                true => one(Content::TwinPrediction(parsed(prediction, id)?)),
                false => one(Content::Prediction(parsed(prediction, id)?)),
            }
        }
        ResultKind::WhatIf => {
            let what_if = library.what_if(id)?;
            let repeats = what_if.repeats;
            let simulated = what_if.all().filter(|variant| !variant.simulated.is_empty());
            let compared = simulated.map(|variant| Competitor {
                name: format!("{id}, {}", variant.name),
                content: Content::WhatIf { variant: Box::new(variant.clone()), repeats },
            });
            Ok(compared.collect())
        }
        ResultKind::Probe | ResultKind::Sweep | ResultKind::Twin => {
            Err(Problem::bad_request(format!(
                "`{id}` cannot be compared: compare measurements, simulations, what-ifs and predictions"
            )))
        }
    }
}

fn parsed<T: DeserializeOwned>(document: Value, id: &str) -> Result<Box<T>, Problem> {
    let parsed = serde_json::from_value(document);
    parsed.map(Box::new).map_err(|error| Problem::damaged(format!("`{id}` is damaged: {error}")))
}

impl Competitor {
    fn contestant(&self) -> Contestant<'_> {
        let subject = match &self.content {
            Content::Measurement(one) => {
                Subject::Measurement { manifest: &one.manifest, facts: &one.facts }
            }
            Content::Simulation(simulation) => Subject::Simulation(simulation),
            Content::WhatIf { variant, repeats } => Subject::WhatIf { variant, repeats: *repeats },
            Content::Prediction(prediction) => Subject::Prediction(prediction),
            Content::TwinPrediction(prediction) => Subject::TwinPrediction(prediction),
        };
        Contestant::new(&self.name, subject)
    }
}
