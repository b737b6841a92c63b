//! The state that the endpoints of the API share.

use axum::body::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::commands::CommandsOfShelf;
use crate::guard::Access;
use crate::library::Library;
use crate::what_if::{HasWhatIfs, WhatIfService};
use crate::work::Work;

/// The state that the endpoints share.
pub(crate) struct App {
    pub library: Box<dyn Library>,
    pub work: Work,
    pub access: Access,
    pub what_if_service: WhatIfService,
    /// The running commands that write to the shelf, if the server knows them.
    pub commands: Option<CommandsOfShelf>,
    /// A cache of answers that were computed from records.
    pub answers: Cache<String, Bytes, Weight>,
}

#[derive(Clone)]
pub(crate) struct Weight;

impl Weighter<String, Bytes> for Weight {
    fn weight(&self, key: &String, answer: &Bytes) -> u64 {
        (key.len() + answer.len()) as u64
    }
}

impl HasWhatIfs for App {
    fn what_if_service(&self) -> &WhatIfService {
        &self.what_if_service
    }
}
