//! Questions: a baseline and its variants.

use flashscope_block::Device;
use flashscope_document::what_if::{Change, Variant, WHAT_IF_VERSION, WhatIf, WhatIfStatus};
use flashscope_sim::budget::Budget;
use flashscope_workload::state::Fill;
use flashscope_workload::synthetic::Target;

use crate::SimulationRequest;
use crate::sweep::{SpaceError, Trial, fields};

/// The name of the baseline.
pub const BASE: &str = "baseline";

/// Maximum number of variants of a question.
pub(crate) const MAX_VARIANTS: usize = 1000;

/// Maximum number of simulations of a variant.
pub const MAX_REPEATS: u32 = 10_000;

/// An error in a question.
#[derive(Debug, thiserror::Error)]
pub enum WhatIfError {
    /// An unknown field.
    #[error(transparent)]
    Field(#[from] SpaceError),
    /// A variant without changes.
    #[error(
        "`{change}` changes nothing: write it like `over_provisioning=0.28` or \
         `ftl=fast,over_provisioning=0.1`"
    )]
    NoChange {
        /// The text of the change.
        change: String,
    },
    /// Two variants with the same name.
    #[error("two variants are named `{name}`: give them different names")]
    Twice {
        /// The name.
        name: String,
    },
    /// No variants, or too many.
    #[error("a what-if has at least one variant, at most {MAX_VARIANTS}")]
    Variants,
    /// The number of repeats is out of range.
    #[error("repeats: give a whole number from 1 to {MAX_REPEATS}")]
    Repeats,
    /// The baseline cannot be simulated.
    #[error(transparent)]
    Base(#[from] crate::Error),
}

/// A request for a variant. Without a name, the variant is named after its changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantRequest {
    /// The name of the variant.
    pub name: Option<String>,
    /// The fields to change.
    pub changes: Vec<Change>,
}

/// A what-if question: a baseline and variants of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The requests: the baseline, then each variant.
    requests: Vec<SimulationRequest>,
    named: Vec<(String, Vec<Change>)>,
    repeats: u32,
}

/// Parses changes, `field=value,field=value`. A part without `=` continues the previous value, so
/// values may contain commas.
///
/// # Errors
/// If the text sets nothing, or sets an unknown field; the error then names the nearest known
/// field.
pub fn changes(text: &str) -> Result<Vec<Change>, WhatIfError> {
    let mut changes: Vec<Change> = Vec::new();
    for part in text.split(',') {
        match (part.split_once('='), changes.last_mut()) {
            (Some((field, value)), _) => {
                let (field, value) = (field.trim().to_owned(), value.trim().to_owned());
                fields::known("a drive or workload", &field)?;
                changes.push(Change { field, value });
            }
            (None, Some(last)) => last.value += &format!(",{}", part.trim()),
            (None, None) => return Err(WhatIfError::NoChange { change: text.into() }),
        }
    }
    Ok(changes)
}

impl Question {
    /// Creates the question of how each variant differs from `base`, with `repeats` simulations of
    /// each. The drive of `base` must fit in `memory`.
    ///
    /// # Errors
    /// If the question is invalid. A variant that cannot be simulated is not an error here; the
    /// answer gives the reason.
    pub fn new(
        base: SimulationRequest,
        variants: Vec<VariantRequest>,
        repeats: u32,
        memory: &Budget,
    ) -> Result<Question, WhatIfError> {
        if !(1..=MAX_VARIANTS).contains(&variants.len()) {
            return Err(WhatIfError::Variants);
        }
        if !(1..=MAX_REPEATS).contains(&repeats) {
            return Err(WhatIfError::Repeats);
        }
        check_base(&base, memory)?;
        let mut requests = vec![base];
        let mut named = vec![(BASE.to_owned(), Vec::new())];
        for VariantRequest { name, changes } in variants {
            let name = name.unwrap_or_else(|| name_of(&changes));
            if changes.is_empty() {
                return Err(WhatIfError::NoChange { change: name });
            }
            if named.iter().any(|(taken, _)| *taken == name) {
                return Err(WhatIfError::Twice { name });
            }
            for Change { field, .. } in &changes {
                fields::known("a drive or workload", field)?;
            }
            let settings: Vec<(&str, String)> = changes
                .iter()
                .map(|Change { field, value }| (field.as_str(), value.clone()))
                .collect();
            requests.push(fields::set(&requests[0], &settings));
            named.push((name, changes));
        }
        Ok(Question { requests, named, repeats })
    }

    /// Returns the requests: the baseline, then each variant.
    #[must_use]
    pub fn requests(&self) -> &[SimulationRequest] {
        &self.requests
    }

    /// Returns the number of simulations of each variant.
    #[must_use]
    pub fn repeats(&self) -> u32 {
        self.repeats
    }

    /// Returns all trials: of the baseline, then of each variant.
    #[must_use]
    pub fn trials(&self) -> Vec<Trial> {
        let trial = |point: usize, request: &SimulationRequest, repeat: u32| Trial {
            point: u32::try_from(point).unwrap_or(u32::MAX),
            repeat,
            levels: Vec::new(),
            request: request.repeated(repeat),
        };
        let of =
            |(point, request)| (0..self.repeats).map(move |repeat| trial(point, request, repeat));
        self.requests.iter().enumerate().flat_map(of).collect()
    }

    /// Returns the document without any results.
    pub(super) fn unanswered(&self) -> WhatIf {
        let mut all =
            self.requests.iter().zip(&self.named).map(|(request, (name, changes))| Variant {
                name: name.clone(),
                changes: changes.clone(),
                drive: request.drive.clone(),
                workload: request.work.workload.clone(),
                closed_form: None,
                not_predicted: None,
                status: None,
                reason: None,
                simulated: Vec::new(),
                disagreement: None,
            });
        WhatIf {
            schema_version: WHAT_IF_VERSION,
            status: WhatIfStatus::Unfinished,
            conclusions: Vec::new(),
            seed: self.requests[0].work.seed,
            repeats: self.repeats,
            base: all.next().expect("the first request is the baseline"),
            variants: all.collect(),
        }
    }
}

/// Formats changes as on the command line.
fn name_of(changes: &[Change]) -> String {
    let texts: Vec<String> =
        changes.iter().map(|Change { field, value }| format!("{field}={value}")).collect();
    texts.join(", ")
}

/// Checks that the drive and the workload of the baseline exist and fit together, and that `memory`
/// suffices.
fn check_base(base: &SimulationRequest, memory: &Budget) -> Result<(), crate::Error> {
    let info = crate::drive(&base.drive, memory)?.info().clone();
    let target = Target {
        capacity: info.capacity,
        logical_block: info.logical_block,
        filled: base.work.fill != Fill::None,
        seed: base.work.seed,
    };
    flashscope_trace::open_workload(&base.work.workload, &target)?;
    Ok(())
}
