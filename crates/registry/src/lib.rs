//! A registry of results that people submit with tokens: measurements, simulations and probes. It
//! validates each submission against its schema and its own records. It serves the published
//! results for searching and viewing, with the web application of `flashscope serve`.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the folder of a registry: created if it does not exist"
    )
)]

mod check;
mod client;
mod db;
mod intake;
mod limits;
mod readers;
mod results;
mod store;
mod submission;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
pub use client::{PreparedSubmission, SubmitError, prepare, send};
use db::Db;
use flashscope_serve::{Access, Problem, api, guarded, with_page};
use governor::Quota;
use intake::Intake;
use results::Results;
use sha2::{Digest, Sha256};
use store::Store;
pub use submission::{
    Content, MeasurementSubmission, Part, PartName, ProbeSubmission, Publication,
    SimulationSubmission, StagedSubmission, Submission,
};
use url::Url;

/// The storage of a registry.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// The registry's folder. It holds the cache, and the embedded database and store unless
    /// `database` and `store` name others.
    pub folder: PathBuf,
    /// A database instead of the embedded one: `postgres://…`.
    pub database: Option<String>,
    /// A store instead of a folder: `s3://bucket/prefix`.
    pub store: Option<Url>,
    /// Options of the store, such as `aws_access_key_id` and `aws_endpoint`.
    pub store_options: Vec<(String, String)>,
}

/// A registry: its database, its store and its folder.
pub struct Registry {
    db: Arc<Db>,
    store: Store,
    folder: PathBuf,
}

/// An error of a registry.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database failed.
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    /// The file of the database belongs to another program.
    #[error(
        "`{0}` is the database of another program, and was not changed: keep the registry in \
         another folder, or name another database"
    )]
    ForeignDatabase(String),
    /// The object store failed.
    #[error("the store: {0}")]
    Store(#[from] object_store::Error),
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A stored document cannot be parsed.
    #[error("a stored document is damaged: {0}")]
    Json(#[from] serde_json::Error),
    /// The system provides no random numbers.
    #[error("the system provides no random numbers: {0}")]
    Random(#[from] getrandom::Error),
    /// The name of a token is invalid, taken or unknown.
    #[error("{0}")]
    Token(String),
}

/// Converts an error into the answer for a client, without internal details.
impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        match error {
            Error::Database(sqlx::Error::PoolTimedOut) => {
                Problem::busy("the registry is busy: try again")
            }
            Error::Store(object_store::Error::NotFound { .. }) => {
                Problem::damaged("the store has lost a file of this result")
            }
            Error::Io(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                Problem::failed("the disk of the registry is full: its operator must free space")
            }
            _ => Problem::failed(
                "the registry failed, perhaps because it cannot reach its database or its store: try again later",
            ),
        }
    }
}

impl Registry {
    /// Opens the registry, or creates it.
    ///
    /// # Errors
    /// Fails if the database or the store cannot be reached.
    pub async fn open(configuration: &Configuration) -> Result<Registry, Error> {
        let folder = &configuration.folder;
        std::fs::create_dir_all(folder)?;
        // Without a sync of the parent folder, a loss of power could remove the folder, although
        // its files are durable.
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

    /// Returns the router of the web application and its API over this registry.
    ///
    /// # Errors
    /// Fails if the cache folder cannot be created.
    pub fn app(self, access: Access) -> Result<Router, Error> {
        let results = Results::new(self.db.clone(), self.store.clone(), self.folder.join("cache"))?;
        let intake = Intake::new(self.db, self.store, self.folder.join("checking"))?;
        let router = with_page(api(results, access).merge(intake.api()));
        let router = readers::limit(router, Quota::per_minute(limits::REQUESTS_PER_ADDRESS_MINUTE));
        Ok(guarded(router, access))
    }

    /// Creates a token with this name. The registry keeps only a hash; the returned token cannot be
    /// shown again.
    ///
    /// # Errors
    /// Fails if the name is invalid or taken.
    pub async fn add_token(&self, name: &str) -> Result<String, Error> {
        let length = name.chars().count();
        if length == 0 || length > limits::NAME || name.chars().any(char::is_control) {
            let message = format!("the name of a token must have 1 to {} characters", limits::NAME);
            return Err(Error::Token(message));
        }
        let mut random = [0; 24];
        getrandom::fill(&mut random)?;
        let token = format!("flashscope_{}", hex::encode(random));
        match self.db.add_token(name, &hash(&token)).await? {
            true => Ok(token),
            false => Err(Error::Token(format!("the token `{name}` exists: remove it first"))),
        }
    }

    /// Removes a token, which ends its right to submit.
    ///
    /// # Errors
    /// Fails if no token has this name.
    pub async fn remove_token(&self, name: &str) -> Result<(), Error> {
        match self.db.remove_token(name).await? {
            true => Ok(()),
            false => Err(Error::Token(format!(
                "there is no token `{name}`: `flashscope registry FOLDER list` lists them"
            ))),
        }
    }

    /// Returns the names of the tokens.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn tokens(&self) -> Result<Vec<String>, Error> {
        self.db.tokens().await
    }
}

/// Returns the stored form of a token, which is random and long enough to need no salt.
fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token))
}

/// Installs the cryptography provider for TLS, which the HTTP and S3 clients of this process share.
fn provide_tls() {
    // An error means that another provider is already installed, which also works.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Runs `work` to its end on the current thread, for commands without a server.
///
/// # Errors
/// Returns the error of `work`, or of the runtime if it cannot start.
pub fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
