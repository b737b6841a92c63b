//! A registry of results, which people submit with tokens: measurements, simulations and probes, validated
//! against the schema and against themselves (do the facts follow from the records?), searched, and looked
//! at as on a shelf of one's own.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the folder of a registry: made where it is not there"
    )
)]

mod check;
mod client;
mod db;
mod desk;
mod limits;
mod readers;
mod results;
mod store;
mod submission;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
pub use client::{Prepared, SubmitError, prepare, send};
use db::Db;
use desk::Desk;
use flashscope_serve::{Access, Problem, api, guarded, with_page};
use governor::Quota;
use results::Results;
use sha2::{Digest, Sha256};
use store::Store;
pub use submission::{
    Content, MeasurementSubmission, Part, PartName, ProbeSubmission, Published,
    SimulationSubmission, Staged, Submission,
};
use url::Url;

/// Where a registry keeps what it has.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// The folder of the registry: the embedded database and store, unless others are named, and
    /// what is kept at hand.
    pub folder: PathBuf,
    /// A database instead of the embedded one: `postgres://…`.
    pub database: Option<String>,
    /// A store instead of a folder: `s3://bucket/prefix`.
    pub store: Option<Url>,
    /// Options of the store, such as `aws_access_key_id` and `aws_endpoint`.
    pub store_options: Vec<(String, String)>,
}

/// A registry.
pub struct Registry {
    db: Arc<Db>,
    store: Store,
    folder: PathBuf,
}

/// Why a registry does not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database.
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    /// The store of records.
    #[error("the store: {0}")]
    Store(#[from] object_store::Error),
    /// A file.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Something that was kept is not what it was.
    #[error("what was kept is damaged: {0}")]
    Json(#[from] serde_json::Error),
    /// No randomness is to be had.
    #[error("the system gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
    /// The name of a token.
    #[error("{0}")]
    Token(String),
}

/// What a client is told of it: nothing of the inside.
impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        match error {
            Error::Database(sqlx::Error::PoolTimedOut) => {
                Problem::busy("the registry is busy: ask again")
            }
            Error::Store(object_store::Error::NotFound { .. }) => {
                Problem::damaged("a file of this result is lost")
            }
            Error::Io(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                Problem::failed("the registry's disk is full: whoever keeps it has to make room")
            }
            _ => Problem::failed(
                "the registry cannot reach its database or its store: ask again later",
            ),
        }
    }
}

impl Registry {
    /// Opens the registry, or makes one.
    ///
    /// # Errors
    /// Its database or its store cannot be reached.
    pub async fn open(configuration: &Configuration) -> Result<Registry, Error> {
        let folder = &configuration.folder;
        std::fs::create_dir_all(folder)?;
        // Its name is to survive a loss of power as what is put there does.
        if let Some(above) = std::path::absolute(folder)?.parent() {
            std::fs::File::open(above)?.sync_all()?;
        }
        let embedded = || Db::embedded(&folder.join("registry.sqlite"));
        let db = Db::open(&configuration.database.clone().unwrap_or_else(embedded)).await?;
        let store = match &configuration.store {
            Some(url) => Store::at(url, &configuration.store_options)?,
            None => Store::folder(&folder.join("store"))?,
        };
        Ok(Registry { db: Arc::new(db), store, folder: folder.clone() })
    }

    /// The application over this registry, and its API.
    ///
    /// # Errors
    /// The folder for what is kept at hand cannot be made.
    pub fn app(self, access: Access) -> Result<Router, Error> {
        let results = Results::new(self.db.clone(), self.store.clone(), self.folder.join("cache"))?;
        let desk = Desk::new(self.db, self.store, self.folder.join("checking"))?;
        let router = with_page(api(results, access).merge(desk.api()));
        let router = readers::limited(router, Quota::per_minute(limits::ASKED_A_MINUTE));
        Ok(guarded(router, access))
    }

    /// A new token of this name; it is told once and kept as a hash alone.
    ///
    /// # Errors
    /// There is one of this name.
    pub async fn add_token(&self, name: &str) -> Result<String, Error> {
        let length = name.chars().count();
        if length == 0 || length > limits::NAME || name.chars().any(char::is_control) {
            let message = format!("the name of a token has 1 to {} characters", limits::NAME);
            return Err(Error::Token(message));
        }
        let mut random = [0; 24];
        getrandom::fill(&mut random)?;
        let token = format!("flashscope_{}", hex::encode(random));
        match self.db.add_token(name, &hash(&token)).await? {
            true => Ok(token),
            false => Err(Error::Token(format!("there is a token `{name}`: remove it first"))),
        }
    }

    /// Removes a token: nothing can be submitted with it any more.
    ///
    /// # Errors
    /// There is none of this name.
    pub async fn remove_token(&self, name: &str) -> Result<(), Error> {
        match self.db.remove_token(name).await? {
            true => Ok(()),
            false => Err(Error::Token(format!("there is no token `{name}`"))),
        }
    }

    /// The names of the tokens.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub async fn tokens(&self) -> Result<Vec<String>, Error> {
        self.db.tokens().await
    }
}

/// As what a token is kept: it is random and long enough that no salt is needed.
fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token))
}

/// Lets clients of this process speak TLS: none of them brings the cryptography along.
fn provide_tls() {
    // Another one was installed before, perhaps: either will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Waits for `work` with a registry where there is no server.
///
/// # Errors
/// Those of `work`, and where no thread can be had.
pub fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
