//! What results are shown from: folders of this machine, or a registry.

use std::sync::Arc;

use flashscope_analysis::Facts;
use flashscope_analysis::view::{Overviews, Viewer};
use flashscope_report::Shelf;
use flashscope_result::marks::Marks;
use flashscope_result::sweep::Explored;
use flashscope_result::what_if::WhatIf;
use flashscope_result::{Error, Manifest, ResultFolder};
use serde_json::Value;

use crate::limits;
use crate::problem::Problem;
use crate::shelf::ShelfQuery;

/// Results by their ids. Everything here may block.
pub trait Library: Send + Sync + 'static {
    /// The results that are asked for.
    ///
    /// # Errors
    /// What is wrong with the query.
    fn shelf(&self, query: &ShelfQuery) -> Result<Shelf, Problem>;

    /// The measurement `id`, opened, with its facts.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    fn open(&self, id: &str) -> Result<Arc<Opened>, Problem>;

    /// Lets the records of `runs` lie in the folder of `opened`.
    ///
    /// # Errors
    /// They cannot be had.
    fn fetch(&self, opened: &Opened, runs: &[u32]) -> Result<(), Problem>;

    /// The corrections of the summary grid of `opened`.
    ///
    /// # Errors
    /// They are damaged.
    fn marks(&self, opened: &Opened) -> Result<Marks, Problem>;

    /// Keeps corrections beside the measurement `id`.
    ///
    /// # Errors
    /// They are not of this measurement, or none are kept here.
    fn set_marks(&self, id: &str, marks: &Marks) -> Result<(), Problem>;

    /// The simulation `id` as it was written.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    fn simulation(&self, id: &str) -> Result<Value, Problem>;

    /// The probe `id` as it was written.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    fn probe(&self, id: &str) -> Result<Value, Problem>;

    /// The sweep `id` with its points.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    fn sweep(&self, id: &str) -> Result<Explored, Problem>;

    /// The what-if `id`.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    fn what_if(&self, id: &str) -> Result<WhatIf, Problem>;
}

/// A measurement that is open.
pub struct Opened {
    /// Stands for it in addresses.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Tells it from the same result at another time.
    pub version: String,
    /// Where its records lie.
    pub folder: ResultFolder,
    /// What was measured, and how.
    pub manifest: Manifest,
    /// What was found.
    pub facts: Arc<Facts>,
    overviews: Overviews,
}

impl Opened {
    /// A measurement that was just opened.
    pub fn new(
        id: String,
        name: String,
        version: String,
        folder: ResultFolder,
        manifest: Manifest,
        facts: Arc<Facts>,
    ) -> Opened {
        let overviews = Overviews::new(limits::processors());
        Opened { id, name, version, folder, manifest, facts, overviews }
    }

    /// What is wrong with it, without where it lies on this machine.
    pub fn problem(&self, error: &Error) -> Problem {
        let path = self.folder.path().display().to_string();
        Problem::damaged(error.to_string().replace(&path, &self.name))
    }

    /// What makes views of it.
    pub fn viewer(&self) -> Viewer<'_> {
        let Opened { folder, manifest, facts, overviews, .. } = self;
        Viewer { folder, manifest, facts, overviews }
    }
}
