use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_sim::{Profile, setup};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Claim, ERRATA, Erratum, Figure, Given, Input, Inputs, State};

/// Where an item is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Paper {
    /// Bouganim, Jónsson and Bonnet, "uFLIP: Understanding Flash IO Patterns", CIDR 2009.
    Uflip,
    /// The slides of uFLIP.
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

/// A table, a figure or a passage of a paper.
pub struct Item {
    /// Its name, such as `agrawal-table3`.
    pub id: &'static str,
    /// Where it is from.
    pub paper: Paper,
    /// Where in there, such as `Table 3`.
    pub place: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// How it stands, which a test holds it to: as printed, or otherwise for reasons that are known.
    pub stands: State,
    /// What it rests on.
    pub inputs: &'static [Input],
    /// Finds out what its claims come to.
    pub run: fn(&Run<'_>) -> Result<Found, Error>,
}

/// What an item comes to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// What is said, and what is found.
    pub claims: Vec<Claim>,
    /// Its pictures, drawn anew.
    pub figures: Vec<Figure>,
}

impl From<Vec<Claim>> for Found {
    fn from(claims: Vec<Claim>) -> Found {
        Found { claims, figures: vec![] }
    }
}

/// How an item is run.
pub struct Run<'a> {
    /// What it rests on.
    pub inputs: Inputs,
    /// Whether it may take as long as it needs; else it takes less than a minute.
    pub full: bool,
    /// Set to end early.
    pub stop: &'a AtomicBool,
}

impl Run<'_> {
    /// The profile that input `drive` names.
    ///
    /// # Errors
    /// Where it names none.
    pub(crate) fn profile(&self, name: &'static str) -> Result<Profile, Error> {
        setup::parse(self.inputs.get(name)).map_err(|error| Error::input(name, &error))
    }

    /// The number that an input is.
    ///
    /// # Errors
    /// Where it is none.
    pub(crate) fn number<N: FromStr<Err: fmt::Display>>(
        &self,
        name: &'static str,
    ) -> Result<N, Error> {
        self.inputs.get(name).parse().map_err(|error| Error::input(name, &error))
    }

    /// Whether it is to go on.
    ///
    /// # Errors
    /// Where it is not.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Why nothing came of an item.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input makes no sense.
    #[error("input `{name}`: {why}")]
    Input {
        /// Which.
        name: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The drive under test fails.
    #[error("the simulated drive fails requests: try another --set drive=")]
    Failed,
    /// It was ended early.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    pub(crate) fn input(name: &'static str, why: &dyn fmt::Display) -> Error {
        Error::Input { name, why: why.to_string() }
    }
}

/// Version of the format of [`Reproductions`].
pub const REPRODUCTION_VERSION: u32 = 1;

/// What `flashscope reproduce --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reproductions {
    /// Version of the format, [`REPRODUCTION_VERSION`].
    pub schema_version: u32,
    /// What was run, in the order in which it was asked for.
    pub items: Vec<Reproduction>,
    /// What was asked for as well, but not run before the end.
    pub missing: Vec<Missing>,
    /// What is wrong in print in the papers that any of these are from.
    pub errata: Vec<Erratum>,
    /// The worst state of what was run.
    pub state: State,
}

/// An item that was asked for, and not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// Its name.
    pub id: &'static str,
    /// Where it is from.
    pub paper: Paper,
    /// Where in there.
    pub place: &'static str,
    /// What it is about.
    pub title: &'static str,
}

impl Reproductions {
    /// What came of the first of these items, and which of them are left.
    #[must_use]
    pub fn new(items: Vec<Reproduction>, asked: &[&Item]) -> Reproductions {
        let state = items.iter().map(|item| item.state).max().unwrap_or(State::Pass);
        let missing = asked.iter().skip(items.len()).map(|item| {
            let Item { id, paper, place, title, .. } = **item;
            Missing { id, paper, place, title }
        });
        let told = |erratum: &&Erratum| asked.iter().any(|item| item.paper == erratum.paper);
        Reproductions {
            schema_version: REPRODUCTION_VERSION,
            missing: missing.collect(),
            errata: ERRATA.iter().filter(told).copied().collect(),
            items,
            state,
        }
    }
}

/// What an item comes to.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Reproduction {
    /// Its name.
    pub id: &'static str,
    /// Where it is from.
    pub paper: Paper,
    /// Where in there.
    pub place: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// What it was run with.
    pub inputs: Vec<Given>,
    /// Whether it took as long as it needed.
    pub full: bool,
    /// What runs it again, in a shell.
    pub command: String,
    /// What it says, and what is found.
    pub claims: Vec<Claim>,
    /// Its pictures, drawn anew.
    pub figures: Vec<Figure>,
    /// The worst state of its claims.
    pub state: State,
}

impl Item {
    /// Runs it.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn reproduce(&self, run: &Run<'_>) -> Result<Reproduction, Error> {
        run.go_on()?;
        let Found { claims, figures } = (self.run)(run)?;
        let state = claims.iter().map(|claim| claim.state).max().unwrap_or(State::Fail);
        let inputs = run.inputs.given(self.inputs);
        let Item { id, paper, place, title, .. } = *self;
        let (full, command) = (run.full, command(id, &inputs, run.full));
        Ok(Reproduction { id, paper, place, title, inputs, full, command, claims, figures, state })
    }
}

/// What runs an item with these inputs.
fn command(id: &str, inputs: &[Given], full: bool) -> String {
    let mut words = vec!["flashscope".into(), "reproduce".into(), id.into()];
    words.extend(full.then(|| "--full".into()));
    for Given { name, value, .. } in inputs.iter().filter(|input| input.value != input.published) {
        words.extend(["--set".into(), quoted(&format!("{name}={value}"))]);
    }
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "=-_.,:/%+".contains(c);
    if word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does the command that runs an item again name the inputs that differ, so that a shell takes them as they are?
    #[test]
    fn commands() {
        let item = crate::item("agrawal-table3").unwrap();
        let mut inputs = Inputs::of(item.inputs);
        let of = |inputs: &Inputs, full| command(item.id, &inputs.given(item.inputs), full);
        assert_eq!(of(&inputs, false), "flashscope reproduce agrawal-table3");
        inputs.set("writes", "7").unwrap();
        inputs.set("drive", "it's?x=1").unwrap();
        assert_eq!(
            of(&inputs, true),
            r"flashscope reproduce agrawal-table3 --full --set 'drive=it'\''s?x=1' --set writes=7"
        );
    }

    // Is what was not run named, and only what is wrong in the papers that were asked for?
    #[test]
    fn what_is_missing() {
        let asked = ["boboila-figure1", "boboila-equations"].map(|id| crate::item(id).unwrap());
        let run = Run { inputs: Inputs::of(asked[0].inputs), full: false, stop: &false.into() };
        let found = Reproductions::new(vec![asked[0].reproduce(&run).unwrap()], &asked);
        assert_eq!(found.missing.iter().map(|item| item.id).collect::<Vec<_>>(), [asked[1].id]);
        assert!(!found.errata.is_empty() && found.errata.len() < ERRATA.len());
        assert!(found.errata.iter().all(|erratum| erratum.paper == Paper::Boboila));
        assert_eq!(found.state, found.items[0].state);
    }
}
