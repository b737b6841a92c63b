//! The fault plan: a TOML file of rules.

use std::fmt::Display;
use std::str::FromStr;

use flashscope_block::{Bytes, Errno, Nanos, Op};
use serde::{Deserialize, Deserializer};

use super::window::Window;

/// A plan of faults, parsed from a TOML file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    /// The seed of the random choices. The same requests in the same order get the same faults.
    #[serde(default)]
    pub seed: u64,
    /// The rules, each a table `[[fault]]`. Of the rules with the effects `delay`, `error` and
    /// `media-error`, only the first that affects a request applies to it. Rules with other effects
    /// always apply.
    #[serde(default, rename = "fault")]
    pub rules: Vec<FaultRule>,
}

/// A rule: an effect, and the requests and times to which it applies.
///
/// Times count from the moment at which the drive was attached, on the clock of the drive.
#[derive(Debug, Clone, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// The name in metrics and in the log: lower-case letters, digits and hyphens [default:
    /// `fault-1` for the first rule].
    pub name: Option<String>,
    /// The effect.
    pub effect: FaultEffect,
    /// The operations: `read`, `write`, `trim`, `flush` [default: all].
    pub ops: Option<Vec<Op>>,
    /// The first byte of the range, such as `"1GiB"` [default: the start of the drive].
    #[serde(default, deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub offset: Option<Bytes>,
    /// The length of the range; a request that touches the range is affected [default: up to the
    /// end of the drive].
    #[serde(default, deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub len: Option<Bytes>,
    /// The fraction of matching requests that are affected or, for `media-error`, the fraction of
    /// units that are bad: above 0, at most 1 [default: 1].
    pub probability: Option<f64>,
    /// The number of matching requests to skip before the first affected request [default: 0].
    pub skip: Option<u64>,
    /// The maximum number of affected requests [default: no limit].
    pub count: Option<u64>,
    /// The start, such as `"30s"` [default: when the drive is attached].
    #[serde(default, deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub from: Option<Nanos>,
    /// The duration from the start [default: no end].
    #[serde(default, rename = "for", deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub duration: Option<Nanos>,
    /// The interval between two starts [default: a single start].
    #[serde(default, deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub every: Option<Nanos>,
    /// For `delay`: the delay of each reply.
    #[serde(default, deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub delay: Option<Nanos>,
    /// For `error`: the error [default: `io`].
    pub error: Option<InjectedError>,
    /// For `media-error`: the size of a unit, which is either bad or good [default: 4 KiB].
    #[serde(default, deserialize_with = "parsed")]
    #[schemars(with = "Option<String>")]
    pub unit: Option<Bytes>,
}

/// The effect of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultEffect {
    /// Replies are delayed by `delay`.
    Delay,
    /// Replies that are due between the start and the end are sent at the end.
    Stall,
    /// The request is not executed, and fails with `error`.
    Error,
    /// Reads of bad units fail, and writes of a part of a bad unit fail too. A write or a trim of a
    /// complete unit heals the unit.
    MediaError,
    /// All connections are cut without replies to requests in flight; clients may connect again at
    /// once. Without connections (FUSE, ublk), requests in flight fail. The cut happens at the
    /// start. With `ops`, a range, `probability`, `skip` or `count`, it happens at each affected
    /// request instead.
    Reset,
    /// Like `reset`, and no client can connect until the end. Without connections, all requests
    /// fail until the end.
    Disappear,
}

impl Display for FaultEffect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            FaultEffect::Delay => "delay",
            FaultEffect::Stall => "stall",
            FaultEffect::Error => "error",
            FaultEffect::MediaError => "media-error",
            FaultEffect::Reset => "reset",
            FaultEffect::Disappear => "disappear",
        })
    }
}

/// An error of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InjectedError {
    /// `EIO`. Over NVMe: Unrecovered Read Error, Write Fault or, for a flush, Internal Error.
    Io,
    /// `ENOSPC`. Over NVMe: Capacity Exceeded.
    NoSpace,
    /// `EROFS`. Over NVMe: Namespace is Write Protected.
    ReadOnly,
}

impl InjectedError {
    fn errno(self) -> Errno {
        match self {
            InjectedError::Io => Errno::EIO,
            InjectedError::NoSpace => Errno::ENOSPC,
            InjectedError::ReadOnly => Errno(libc::EROFS),
        }
    }
}

/// The reason why a plan of faults cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultPlanError {
    /// The text is not TOML, or has an invalid field.
    #[error("{0}")]
    Text(String),
    /// There are no rules.
    #[error("it has no rule: add a table [[fault]] with an effect")]
    Empty,
    /// A rule is invalid.
    #[error("rule {number} ({name}): {problem}")]
    Rule {
        /// The number of the rule, from 1.
        number: usize,
        /// Its name.
        name: String,
        /// The problem and its remedy.
        problem: String,
    },
}

/// A rule whose fields agree with its effect.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) kind: FaultEffect,
    pub(super) effect: Effect,
    /// True for each affected operation, by [`Op::code`].
    pub(super) ops: [bool; 4],
    pub(super) range: std::ops::Range<u64>,
    pub(super) probability: f64,
    pub(super) skip: u64,
    pub(super) count: u64,
    pub(super) window: Window,
}

/// An effect with its parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Delay(Nanos),
    Stall,
    Error(Errno),
    /// The size of a unit in bytes.
    MediaError(u64),
    /// The connections are cut at each start, and the drive is absent in the window.
    Cut,
    /// The connections are cut at each affected request, and the drive is absent for this time.
    CutAtRequest(Nanos),
}

impl FromStr for FaultPlan {
    type Err = FaultPlanError;

    fn from_str(text: &str) -> Result<FaultPlan, FaultPlanError> {
        let plan: FaultPlan = toml::from_str(text)
            .map_err(|error| FaultPlanError::Text(error.to_string().trim_end().into()))?;
        plan.rules().map(|_| plan)
    }
}

impl FaultPlan {
    /// Returns the number of the first rule that depends on the time, from 1.
    ///
    /// Such a rule needs a clock that runs by itself. At [`crate::Speed::Max`], the clock of the
    /// drive advances with its requests only.
    #[must_use]
    pub fn timed_rule(&self) -> Option<usize> {
        let is_timed = |rule: &FaultRule| {
            let has_times = [rule.from, rule.duration, rule.every, rule.delay];
            has_times.iter().any(Option::is_some)
                || (rule.effect == FaultEffect::Reset && !rule.cuts_at_requests())
        };
        self.rules.iter().position(is_timed).map(|at| at + 1)
    }

    /// Returns the number, from 1, of the first rule whose range begins at or beyond the end of a
    /// drive of `size` bytes.
    #[must_use]
    pub fn rule_beyond(&self, size: Bytes) -> Option<usize> {
        let is_beyond = |rule: &FaultRule| rule.offset.is_some_and(|offset| offset >= size);
        self.rules.iter().position(is_beyond).map(|at| at + 1)
    }

    /// Returns the checked rules.
    pub(super) fn rules(&self) -> Result<Vec<Rule>, FaultPlanError> {
        if self.rules.is_empty() {
            return Err(FaultPlanError::Empty);
        }
        let mut rules: Vec<Rule> = Vec::new();
        for (rule, number) in self.rules.iter().zip(1..) {
            let name = rule.name.clone().unwrap_or_else(|| format!("fault-{number}"));
            let checked = rule.check(&name).and_then(|rule| {
                let is_new = rules.iter().all(|other| other.name != rule.name);
                is_new.then_some(rule).ok_or("another rule has this name: choose one".into())
            });
            rules.push(checked.map_err(|problem| FaultPlanError::Rule {
                number,
                name,
                problem,
            })?);
        }
        Ok(rules)
    }
}

impl FaultRule {
    fn check(&self, name: &str) -> Result<Rule, String> {
        self.check_fields()?;
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err("a name has lower-case letters, digits and hyphens only".into());
        }
        let probability = self.probability.unwrap_or(1.0);
        if !(probability > 0.0 && probability <= 1.0) {
            return Err(format!("probability {probability}: give a number above 0, and at most 1"));
        }
        let offset = self.offset.unwrap_or(Bytes(0)).0;
        let end = self.len.map_or(u64::MAX, |len| offset.saturating_add(len.0));
        if end <= offset {
            return Err("the range is empty: give `len` more than 0 bytes".into());
        }
        let mut ops = [self.ops.is_none(); 4];
        for op in self.ops.iter().flatten() {
            ops[usize::from(op.code())] = true;
        }
        if !ops.contains(&true) {
            return Err("`ops` is empty: leave it out for all operations".into());
        }
        if self.ops.as_ref().is_some_and(|ops| ops.iter().all(|op| *op == Op::Flush))
            && (offset, end) != (0, u64::MAX)
        {
            return Err("a flush has no range: remove `offset` and `len`".into());
        }
        Ok(Rule {
            name: name.into(),
            kind: self.effect,
            effect: self.effect()?,
            ops,
            range: offset..end,
            probability,
            skip: self.skip.unwrap_or(0),
            count: self.count.unwrap_or(u64::MAX),
            window: self.window()?,
        })
    }

    /// Checks that each given field belongs to the effect.
    fn check_fields(&self) -> Result<(), String> {
        use FaultEffect::{Delay, Disappear, Error, MediaError, Reset, Stall};
        let all = [Delay, Stall, Error, MediaError, Reset, Disappear];
        let fields: [(&str, bool, &[FaultEffect]); 11] = [
            ("ops", self.ops.is_some(), &[Delay, Stall, Error, Reset, Disappear]),
            ("offset", self.offset.is_some(), &all),
            ("len", self.len.is_some(), &all),
            (
                "probability",
                self.probability.is_some(),
                &[Delay, Error, MediaError, Reset, Disappear],
            ),
            ("skip", self.skip.is_some(), &[Delay, Error, Reset, Disappear]),
            ("count", self.count.is_some(), &[Delay, Error, Reset, Disappear]),
            ("for", self.duration.is_some(), &[Delay, Stall, Error, Disappear]),
            ("every", self.every.is_some(), &[Delay, Stall, Error, Reset, Disappear]),
            ("delay", self.delay.is_some(), &[Delay]),
            ("error", self.error.is_some(), &[Error]),
            ("unit", self.unit.is_some(), &[MediaError]),
        ];
        match fields.iter().find(|(_, given, of)| *given && !of.contains(&self.effect)) {
            Some((field, ..)) => Err(format!("`{field}` is not for this effect: remove it")),
            None if self.every.is_some() && self.cuts_at_requests() => {
                Err("a cut at requests has no `every`: remove it, or the choice of requests".into())
            }
            None => Ok(()),
        }
    }

    /// Returns true for a reset or a disappearance that requests cause, not the time.
    fn cuts_at_requests(&self) -> bool {
        let is_cut = matches!(self.effect, FaultEffect::Reset | FaultEffect::Disappear);
        let places = self.ops.is_some() || self.offset.is_some() || self.len.is_some();
        let choice = self.probability.is_some() || self.skip.is_some() || self.count.is_some();
        is_cut && (places || choice)
    }

    fn effect(&self) -> Result<Effect, String> {
        Ok(match self.effect {
            FaultEffect::Delay => match self.delay.filter(|delay| delay.0 > 0) {
                Some(delay) => Effect::Delay(delay),
                None => return Err("add `delay`, such as delay = \"10ms\"".into()),
            },
            FaultEffect::Stall if self.duration.is_none() => {
                return Err("add the duration of the stall, such as for = \"10s\"".into());
            }
            FaultEffect::Stall => Effect::Stall,
            FaultEffect::Error => Effect::Error(self.error.unwrap_or(InjectedError::Io).errno()),
            FaultEffect::MediaError => match self.unit.unwrap_or(Bytes::kib(4)).0 {
                0..512 => return Err("`unit` is below 512 bytes: use \"4KiB\", or more".into()),
                unit => Effect::MediaError(unit),
            },
            FaultEffect::Reset if self.cuts_at_requests() => Effect::CutAtRequest(Nanos(0)),
            FaultEffect::Disappear if self.cuts_at_requests() => {
                Effect::CutAtRequest(self.duration.unwrap_or(Nanos::MAX))
            }
            FaultEffect::Reset | FaultEffect::Disappear => Effect::Cut,
        })
    }

    fn window(&self) -> Result<Window, String> {
        let is_reset = self.effect == FaultEffect::Reset;
        let len = match self.cuts_at_requests() {
            true => None,
            false if is_reset => Some(Nanos(0)),
            false => self.duration,
        };
        if !is_reset && self.duration == Some(Nanos(0)) {
            return Err("`for` is 0: give a duration, such as \"10s\"".into());
        }
        match (self.every, len) {
            (Some(every), _) if every.0 == 0 => {
                return Err("`every` is 0: give an interval, such as \"60s\"".into());
            }
            (Some(_), None) => {
                return Err("`every` needs `for`: add the duration of each fault".into());
            }
            (Some(every), Some(len)) if len > every => {
                return Err("`for` is longer than `every`: give a shorter `for`".into());
            }
            _ => {}
        }
        Ok(Window { from: self.from.unwrap_or(Nanos(0)), len, every: self.every })
    }
}

/// Deserializes a quantity from its text.
fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}
