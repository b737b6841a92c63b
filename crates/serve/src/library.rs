//! The source of results: folders of this machine, or a registry.

use std::sync::Arc;

use flashscope_analysis::view::{Overviews, Viewer};
use flashscope_document::Manifest;
use flashscope_document::facts::Facts;
use flashscope_document::marks::Marks;
use flashscope_document::sweep::ExploredSweep;
use flashscope_document::twin::Twin;
use flashscope_document::what_if::WhatIf;
use flashscope_report::{ResultKind, Shelf};
use flashscope_result::{Error, ResultFolder};
use serde_json::Value;

use crate::limits;
use crate::problem::Problem;
use crate::shelf::query::ShelfQuery;

/// Access to results by their ids. All methods may block.
pub trait Library: Send + Sync + 'static {
    /// Returns the results that match a query.
    ///
    /// # Errors
    /// If the query is invalid.
    fn shelf(&self, query: &ShelfQuery) -> Result<Shelf, Problem>;

    /// Returns the kind of the result `id`.
    ///
    /// # Errors
    /// If there is no such result.
    fn kind(&self, id: &str) -> Result<ResultKind, Problem>;

    /// Opens the measurement `id`, with its facts.
    ///
    /// # Errors
    /// If there is no such result, or it is damaged.
    fn open(&self, id: &str) -> Result<Arc<OpenMeasurement>, Problem>;

    /// Makes the records of `runs` available in the folder of `opened`.
    ///
    /// # Errors
    /// If the records are not available.
    fn fetch(&self, opened: &OpenMeasurement, runs: &[u32]) -> Result<(), Problem>;

    /// Returns the user's corrections of the summary grid of `opened`.
    ///
    /// # Errors
    /// If the corrections are damaged.
    fn marks(&self, opened: &OpenMeasurement) -> Result<Marks, Problem>;

    /// Saves the user's corrections of the measurement `id`.
    ///
    /// # Errors
    /// If a corrected experiment does not belong to this measurement, or if the library is
    /// read-only.
    fn set_marks(&self, id: &str, marks: &Marks) -> Result<(), Problem>;

    /// Returns the document of the simulation `id`.
    ///
    /// # Errors
    /// If there is no such result, or it is damaged.
    fn simulation(&self, id: &str) -> Result<Value, Problem>;

    /// Returns the document of the probe `id`.
    ///
    /// # Errors
    /// If there is no such result, or it is damaged.
    fn probe(&self, id: &str) -> Result<Value, Problem>;

    /// Returns the sweep `id` with its points.
    ///
    /// # Errors
    /// If there is no such result, or it is damaged.
    fn sweep(&self, id: &str) -> Result<ExploredSweep, Problem>;

    /// Returns the what-if `id`.
    ///
    /// # Errors
    /// If there is no such result, or it is damaged.
    fn what_if(&self, id: &str) -> Result<WhatIf, Problem>;

    /// Returns the twin `id`.
    ///
    /// # Errors
    /// If there is no such result, or it is damaged.
    fn twin(&self, id: &str) -> Result<Twin, Problem>;

    /// Returns the document of the prediction `id`.
    ///
    /// # Errors
    /// If there is no such result, or it is damaged.
    fn prediction(&self, id: &str) -> Result<Value, Problem>;
}

/// An open measurement.
pub struct OpenMeasurement {
    /// The id in addresses.
    pub id: String,
    /// The display name.
    pub name: String,
    /// The version of the contents, which changes when the result changes.
    pub version: String,
    /// The folder with the records.
    pub folder: ResultFolder,
    /// The manifest: what was measured, and how.
    pub manifest: Manifest,
    /// The findings of the analysis.
    pub facts: Arc<Facts>,
    overviews: Overviews,
}

impl OpenMeasurement {
    /// Wraps a measurement that was just opened.
    pub fn new(
        id: String,
        name: String,
        version: String,
        folder: ResultFolder,
        manifest: Manifest,
        facts: Arc<Facts>,
    ) -> OpenMeasurement {
        let overviews = Overviews::new(limits::processors());
        OpenMeasurement { id, name, version, folder, manifest, facts, overviews }
    }

    /// Converts an error into a problem, and replaces the path on this machine by the name of the
    /// result.
    pub fn problem(&self, error: &Error) -> Problem {
        let path = self.folder.path().display().to_string();
        Problem::damaged(error.to_string().replace(&path, &self.name))
    }

    /// Returns the viewer that computes views of the measurement.
    pub fn viewer(&self) -> Viewer<'_> {
        let OpenMeasurement { folder, manifest, facts, overviews, .. } = self;
        Viewer { folder, manifest, facts, overviews }
    }
}
