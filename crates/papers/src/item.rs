use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_sim::{Profile, setup};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Claim, ERRATA, Erratum, Figure, Input, InputValue, Inputs, State};

/// A paper that this crate reproduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Paper {
    /// Bouganim, Jónsson and Bonnet, "uFLIP: Understanding Flash IO Patterns", CIDR 2009.
    Uflip,
    /// The slides of the uFLIP talk.
    UflipSlides,
    /// Agrawal et al., "Design Tradeoffs for SSD Performance", USENIX ATC 2008.
    Agrawal,
    /// Boboila and Desnoyers, "Performance Models of Flash-based Solid-State Drives for Real
    /// Workloads", MSST 2011.
    Boboila,
    /// Sun and Zhang, on the internals of flash drives.
    SunZhang,
}

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Paper::Uflip => "uFLIP",
            Paper::UflipSlides => "uFLIP, slides",
            Paper::Agrawal => "Agrawal et al.",
            Paper::Boboila => "Boboila and Desnoyers",
            Paper::SunZhang => "Sun and Zhang",
        })
    }
}

/// A table, a figure or a passage of a paper, which can be reproduced.
pub struct Item {
    /// The identifier, such as `agrawal-table3`.
    pub id: &'static str,
    /// The paper.
    pub paper: Paper,
    /// The location within the paper, such as `Table 3`.
    pub place: &'static str,
    /// The subject.
    pub title: &'static str,
    /// The expected verdict, which a test verifies.
    pub expected: State,
    /// The inputs that users can change.
    pub inputs: &'static [Input],
    /// Runs the experiment and compares its results with the claims.
    pub run: fn(&Run<'_>) -> Result<Outcome, Error>,
}

/// The claims and figures of an item that ran.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// The claims, each with its measured counterpart.
    pub claims: Vec<Claim>,
    /// The redrawn figures.
    pub figures: Vec<Figure>,
}

impl From<Vec<Claim>> for Outcome {
    fn from(claims: Vec<Claim>) -> Outcome {
        Outcome { claims, figures: vec![] }
    }
}

/// The options of a reproduction.
pub struct Run<'a> {
    /// The values of the item's inputs.
    pub inputs: Inputs,
    /// True to run at the paper's own length. A shorter run takes less than a minute.
    pub full: bool,
    /// Set to true to interrupt the run.
    pub stop: &'a AtomicBool,
}

impl Run<'_> {
    /// Parses the profile in the input `name`.
    ///
    /// # Errors
    /// Fails if the value is not a valid profile.
    pub(crate) fn profile(&self, name: &'static str) -> Result<Profile, Error> {
        setup::parse(self.inputs.get(name)).map_err(|error| Error::input(name, &error))
    }

    /// Parses the number in the input `name`.
    ///
    /// # Errors
    /// Fails if the value is not a number.
    pub(crate) fn number<N: FromStr<Err: fmt::Display>>(
        &self,
        name: &'static str,
    ) -> Result<N, Error> {
        self.inputs.get(name).parse().map_err(|error| Error::input(name, &error))
    }

    /// Checks whether the run was interrupted.
    ///
    /// # Errors
    /// Returns [`Error::Interrupted`] if `stop` is set.
    pub(crate) fn check_interrupt(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// The reason why an item has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The value of an input is invalid.
    #[error("input `{name}`: {why}")]
    Input {
        /// The name of the input.
        name: &'static str,
        /// The fault of its value.
        why: String,
    },
    /// The simulated drive fails requests.
    #[error("the simulated drive fails requests: choose another drive with --set drive=")]
    Failed,
    /// The benchmark did not measure the simulated drive; holds its message.
    #[error("cannot measure the simulated drive: {0}")]
    Bench(String),
    /// The run was interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    pub(crate) fn input(name: &'static str, why: &dyn fmt::Display) -> Error {
        Error::Input { name, why: why.to_string() }
    }
}

/// The format version of [`Reproductions`].
pub(crate) const REPRODUCTION_VERSION: u32 = 2;

/// The document that `flashscope reproduce --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reproductions {
    /// The version of the format.
    pub schema_version: u32,
    /// The reproduced items, in the order of the request.
    pub items: Vec<Reproduction>,
    /// The requested items that did not run because of an interruption.
    pub missing: Vec<MissingItem>,
    /// The errata of the papers that the requested items belong to.
    pub errata: Vec<Erratum>,
    /// The worst verdict of the reproduced items.
    pub state: State,
}

/// A requested item that did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MissingItem {
    /// The identifier.
    pub id: &'static str,
    /// The paper.
    pub paper: Paper,
    /// The location within the paper.
    pub place: &'static str,
    /// The subject.
    pub title: &'static str,
}

impl Reproductions {
    /// Combines the reproductions of the first `requested` items, and lists all later ones as
    /// missing.
    #[must_use]
    pub fn new(items: Vec<Reproduction>, requested: &[&Item]) -> Reproductions {
        let state = items.iter().map(|item| item.state).max().unwrap_or(State::AsPrinted);
        let missing = requested.iter().skip(items.len()).map(|item| {
            let Item { id, paper, place, title, .. } = **item;
            MissingItem { id, paper, place, title }
        });
        let concerned =
            |erratum: &&Erratum| requested.iter().any(|item| item.paper == erratum.paper);
        Reproductions {
            schema_version: REPRODUCTION_VERSION,
            missing: missing.collect(),
            errata: ERRATA.iter().filter(concerned).copied().collect(),
            items,
            state,
        }
    }
}

/// The result of reproducing an item.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reproduction {
    /// The identifier of the item.
    pub id: &'static str,
    /// The paper.
    pub paper: Paper,
    /// The location within the paper.
    pub place: &'static str,
    /// The subject.
    pub title: &'static str,
    /// The inputs, with their values in this run.
    pub inputs: Vec<InputValue>,
    /// True if the item ran at the paper's own length.
    pub full: bool,
    /// A shell command that repeats the run.
    pub command: String,
    /// The claims, each with its measured counterpart.
    pub claims: Vec<Claim>,
    /// The redrawn figures.
    pub figures: Vec<Figure>,
    /// The worst verdict of the claims.
    pub state: State,
}

impl Item {
    /// Runs the item.
    ///
    /// # Errors
    /// Fails if an input is invalid, the drive fails, or the run is interrupted.
    pub fn reproduce(&self, run: &Run<'_>) -> Result<Reproduction, Error> {
        run.check_interrupt()?;
        let Outcome { claims, figures } = (self.run)(run)?;
        let state = claims.iter().map(|claim| claim.state).max().unwrap_or(State::NotReproduced);
        let inputs = run.inputs.values(self.inputs);
        let Item { id, paper, place, title, .. } = *self;
        let (full, command) = (run.full, command(id, &inputs, run.full));
        Ok(Reproduction { id, paper, place, title, inputs, full, command, claims, figures, state })
    }
}

/// Returns the shell command that runs an item with these inputs.
fn command(id: &str, inputs: &[InputValue], full: bool) -> String {
    let mut words = vec!["flashscope".into(), "reproduce".into(), id.into()];
    words.extend(full.then(|| "--full".into()));
    for InputValue { name, value, .. } in inputs.iter().filter(|it| it.value != it.published) {
        words.extend(["--set".into(), quote(&format!("{name}={value}"))]);
    }
    words.join(" ")
}

/// Quotes a word for a POSIX shell, if necessary.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "=-_.,:/%+".contains(c);
    if word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_the_changed_inputs_quoted_for_a_shell() {
        let item = crate::item("agrawal-table3").unwrap();
        let mut inputs = Inputs::of(item.inputs);
        let of = |inputs: &Inputs, full| command(item.id, &inputs.values(item.inputs), full);
        assert_eq!(of(&inputs, false), "flashscope reproduce agrawal-table3");
        inputs.set("writes", "7").unwrap();
        inputs.set("drive", "it's?x=1").unwrap();
        assert_eq!(
            of(&inputs, true),
            r"flashscope reproduce agrawal-table3 --full --set 'drive=it'\''s?x=1' --set writes=7"
        );
    }

    #[test]
    fn items_that_did_not_run_and_errata_of_their_papers_are_listed() {
        let requested = ["boboila-figure1", "boboila-equations"].map(|id| crate::item(id).unwrap());
        let run = Run { inputs: Inputs::of(requested[0].inputs), full: false, stop: &false.into() };
        let all = Reproductions::new(vec![requested[0].reproduce(&run).unwrap()], &requested);
        assert_eq!(all.missing.iter().map(|item| item.id).collect::<Vec<_>>(), [requested[1].id]);
        assert!(!all.errata.is_empty() && all.errata.len() < ERRATA.len());
        assert!(all.errata.iter().all(|erratum| erratum.paper == Paper::Boboila));
        assert_eq!(all.state, all.items[0].state);
    }
}
