//! Conclusions: each document begins with a few sentences that state findings and advice. The
//! sentences follow from the data of the document. The terminal, the page and Python therefore show
//! the same sentences. Each claim is significant according to the intervals of its numbers.

mod depths;
mod measurement;
mod prediction;
mod probe;
mod simulation;
mod sweep;
#[cfg(test)]
mod tests;
mod twin;
mod uflip;
mod what_if;

use flashscope_document::Simulation;
use flashscope_document::conclusion::Conclusion;
use flashscope_document::prediction::PredictionReport;
use flashscope_document::probe::ProbeReport;
use flashscope_document::sweep::Sweep;
use flashscope_document::twin::{Twin, TwinPrediction};
use flashscope_document::what_if::WhatIf;
use flashscope_result::prediction::is_of_twin;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use measurement::conclusions;

/// A document that begins with conclusions.
pub trait Conclude: Sized {
    /// Returns the conclusions from the data of the document, the most important first.
    fn conclude(&self) -> Vec<Conclusion>;

    /// Returns the list of conclusions in the document, to replace it.
    fn conclusions_mut(&mut self) -> &mut Vec<Conclusion>;

    /// Returns the document with its conclusions.
    #[must_use]
    fn with_conclusions(mut self) -> Self {
        *self.conclusions_mut() = self.conclude();
        self
    }
}

/// Implements [`Conclude`] for documents, each by a function of this folder.
macro_rules! conclude {
    ($($document:ty => $conclusions:path),* $(,)?) => {
        $(impl Conclude for $document {
            fn conclude(&self) -> Vec<Conclusion> {
                $conclusions(self)
            }

            fn conclusions_mut(&mut self) -> &mut Vec<Conclusion> {
                &mut self.conclusions
            }
        })*
    };
}

conclude! {
    Sweep => sweep::conclusions,
    WhatIf => what_if::conclusions,
    ProbeReport => probe::conclusions,
    PredictionReport => prediction::conclusions,
    Twin => twin::conclusions,
    TwinPrediction => twin::of_prediction,
}

impl<O> Conclude for Simulation<O> {
    fn conclude(&self) -> Vec<Conclusion> {
        simulation::conclusions(self)
    }

    fn conclusions_mut(&mut self) -> &mut Vec<Conclusion> {
        &mut self.conclusions
    }
}

/// Does the same as [`with_conclusions`] for the prediction of a model or of a twin.
#[must_use]
pub fn prediction_with_conclusions(json: Value) -> Value {
    match is_of_twin(&json) {
        true => with_conclusions::<TwinPrediction>(json),
        false => with_conclusions::<PredictionReport>(json),
    }
}

/// Replaces the conclusions of a document in JSON by the conclusions that follow from its data.
/// Documents of earlier versions have no conclusions, and documents of third parties may contain
/// false conclusions. A damaged document has no conclusions.
#[must_use]
pub fn with_conclusions<D: Conclude + DeserializeOwned + Serialize>(mut json: Value) -> Value {
    let conclusions = serde_json::from_value::<D>(json.clone()).map(|document| document.conclude());
    if let Value::Object(fields) = &mut json {
        fields.remove("conclusions");
        let value = conclusions.ok().filter(|all| !all.is_empty()).map(serde_json::to_value);
        if let Some(Ok(value)) = value {
            fields.insert("conclusions".into(), value);
        }
    }
    json
}
