//! The fault injector, which decides the effect of faults on each request.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;

use flashscope_block::{Bytes, Errno, Nanos, Op};

use super::plan::{Effect, FaultPlan, FaultPlanError, Rule};
use super::range_set::RangeSet;
use super::{FaultEffect, Presence};
use crate::lock;
use crate::request::{Request, RequestError};

/// A request that a fault affected, or a cut of all connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectedFault {
    /// The time since the drive was attached, on the clock of the drive. It is the arrival time of
    /// the request, for a stall the time of the reply without the stall, or the time of the cut.
    pub at: Nanos,
    /// The name of the rule.
    pub rule: String,
    /// The effect of the rule.
    pub effect: FaultEffect,
    /// The operation, first byte and length of the request; `None` for a cut of all connections.
    pub request: Option<(Op, Bytes, Bytes)>,
}

/// A hook that is called for each affected request, and for each cut of all connections. Of the
/// cuts at certain times since the last request or check, at most the last [`MAX_REPORTS`] are
/// reported.
pub type FaultHook = Box<dyn FnMut(&InjectedFault) + Send>;

/// The decision about a request that arrives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    /// The error with which the request fails; a request with an error is not executed.
    pub(crate) error: Option<RequestError>,
    /// The delay that a fault adds to the reply.
    pub(crate) delay: Nanos,
}

impl Fate {
    fn failing(error: impl Into<RequestError>) -> Fate {
        Fate { error: Some(error.into()), delay: Nanos(0) }
    }
}

/// The faults of an attached drive.
pub(crate) struct FaultInjector {
    rules: Vec<Rule>,
    seed: u64,
    /// The time on the drive's clock when the drive was attached.
    origin: Nanos,
    state: Mutex<State>,
}

struct State {
    rules: Vec<RuleState>,
    /// The time up to which cuts at certain times were reported.
    reported_until: Option<Nanos>,
    /// The number of cuts at requests.
    cuts_at_requests: u64,
    /// The times of the last cuts at requests, with the number of the rule.
    last_cuts: VecDeque<(Nanos, usize)>,
    /// The end of the drive's absence after cuts at requests, with the number of the rule.
    absent_until: Option<(Nanos, usize)>,
    hook: Option<FaultHook>,
}

struct RuleState {
    random: fastrand::Rng,
    /// The number of requests to which the rule applied.
    matched: u64,
    /// The number of these requests that the rule chose.
    chosen: u64,
    /// The number of requests that the rule affected. A cut also affects requests in flight.
    affected: u64,
    /// The complete units that were written or trimmed while the rule applied.
    healed: RangeSet,
}

/// The maximum number of cuts at requests whose times are stored. A request in flight that an older
/// cut lost ends at a later cut.
const LAST_CUTS: usize = 64;

/// The maximum number of cuts that are reported at once.
const MAX_REPORTS: usize = 1000;

impl FaultInjector {
    /// Creates the injector for a drive whose clock shows `origin`. `hook` is called for each
    /// fault.
    ///
    /// # Errors
    /// An error if the plan has no rule, or an invalid rule.
    pub(crate) fn new(
        plan: &FaultPlan,
        origin: Nanos,
        hook: Option<FaultHook>,
    ) -> Result<FaultInjector, FaultPlanError> {
        let rules = plan.rules()?;
        let mut seeds = fastrand::Rng::with_seed(plan.seed);
        let state = |_: &Rule| RuleState {
            random: seeds.fork(),
            matched: 0,
            chosen: 0,
            affected: 0,
            healed: RangeSet::default(),
        };
        let states = rules.iter().map(state).collect();
        let state = Mutex::new(State {
            rules: states,
            reported_until: None,
            cuts_at_requests: 0,
            last_cuts: VecDeque::new(),
            absent_until: None,
            hook,
        });
        Ok(FaultInjector { rules, seed: plan.seed, origin, state })
    }

    /// Returns the decision about a request that arrives at `now`, on the clock of the drive.
    pub(crate) fn at_arrival(&self, request: &Request, now: Nanos) -> Fate {
        let at = self.since(now);
        let mut state = lock(&self.state);
        self.report_cuts(at, &mut state);
        if let Some(number) = self.absence(at, &state).or_else(|| self.cut(request, at, &mut state))
        {
            state.affect(number, &self.rules[number], at, request);
            return Fate::failing(RequestError::Lost);
        }
        for (number, rule) in self.rules.iter().enumerate() {
            if !rule.applies(request, at) {
                continue;
            }
            let of_rule = &mut state.rules[number];
            let (fate, is_affected) = match rule.effect {
                Effect::Delay(delay) => (Fate { error: None, delay }, of_rule.chooses(rule)),
                Effect::Error(errno) => (Fate::failing(errno), of_rule.chooses(rule)),
                Effect::MediaError(unit) => {
                    let hits = self.hits_a_bad_unit(number, unit, request, &of_rule.healed);
                    (Fate::failing(Errno::EIO), hits)
                }
                Effect::Stall | Effect::Cut | Effect::CutAtRequest(_) => continue,
            };
            if is_affected {
                state.affect(number, rule, at, request);
                return fate;
            }
        }
        Fate::default()
    }

    /// Cuts the connections if a rule chooses this request, and returns the number of the rule.
    fn cut(&self, request: &Request, at: Nanos, state: &mut State) -> Option<usize> {
        for (number, rule) in self.rules.iter().enumerate() {
            let Effect::CutAtRequest(absence) = rule.effect else { continue };
            if rule.applies(request, at) && state.rules[number].chooses(rule) {
                let until = (Nanos(at.0.saturating_add(absence.0)), number);
                state.absent_until = state.absent_until.max(Some(until));
                state.cuts_at_requests += 1;
                state.last_cuts.truncate(LAST_CUTS - 1);
                state.last_cuts.push_front((at, number));
                state.tell(rule, at, None);
                return Some(number);
            }
        }
        None
    }

    /// Returns the time at which the reply to a request is due, and its result. The request arrived
    /// at `arrived`; without stalls and cuts, its reply is due at `completed`.
    pub(crate) fn at_completion(
        &self,
        request: &Request,
        arrived: Nanos,
        completed: Nanos,
        result: Result<(), RequestError>,
    ) -> (Nanos, Result<(), RequestError>) {
        if result == Err(RequestError::Lost) {
            return (completed, result);
        }
        let (arrived, mut due) = (self.since(arrived), self.since(completed));
        let mut state = lock(&self.state);
        if result.is_ok() {
            self.heal(request, due, &mut state);
        }
        for (number, rule) in self.rules.iter().enumerate() {
            let end = rule.window.end(due).filter(|_| rule.effect == Effect::Stall);
            if let Some(end) = end.filter(|_| rule.concerns(request)) {
                state.affect(number, rule, due, request);
                due = end;
            }
        }
        let begins = self.cuts().filter_map(|(number, rule)| {
            rule.window.next_begin(arrived).map(|begin| (begin, number))
        });
        // A request that arrives at the very time of a cut counts as later than the cut, and is not
        // in flight.
        let in_flight = |(begin, _): &(Nanos, usize)| *begin > arrived && *begin <= due;
        let cuts = begins.chain(state.last_cuts.iter().copied());
        let Some((at, number)) = cuts.filter(in_flight).min() else {
            return (self.origin + due, result);
        };
        state.affect(number, &self.rules[number], at, request);
        (self.origin + at, Err(RequestError::Lost))
    }

    /// Returns the state of the connections at `now`, on the clock of the drive. Reports the cuts
    /// since the last call.
    pub(crate) fn presence(&self, now: Nanos) -> Presence {
        let at = self.since(now);
        let mut state = lock(&self.state);
        self.report_cuts(at, &mut state);
        let by_time: u64 = self.cuts().map(|(_, rule)| rule.window.begun(at)).sum();
        let cuts = by_time + state.cuts_at_requests;
        let is_present = self.absence(at, &state).is_none();
        Presence { is_present, cuts }
    }

    /// Reports the cuts at certain times up to `at`, in their order, that were not reported yet.
    fn report_cuts(&self, at: Nanos, state: &mut State) {
        let last = state.reported_until;
        if state.hook.is_none() || last.is_some_and(|last| last >= at) {
            return;
        }
        state.reported_until = Some(at);
        let begins = self.cuts().flat_map(|(number, rule)| {
            let begins = rule.window.begins(last, at, MAX_REPORTS as u64);
            begins.map(move |begin| (begin, number))
        });
        let mut begins: Vec<(Nanos, usize)> = begins.collect();
        begins.sort_unstable();
        for (begin, number) in begins.split_off(begins.len().saturating_sub(MAX_REPORTS)) {
            state.tell(&self.rules[number], begin, None);
        }
    }

    /// Returns the rules that cut the connections at certain times, with their numbers.
    fn cuts(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.rules.iter().enumerate().filter(|(_, rule)| rule.effect == Effect::Cut)
    }

    /// Returns the number of the rule that makes the drive absent at `at`.
    fn absence(&self, at: Nanos, state: &State) -> Option<usize> {
        let by_time = self.cuts().filter(|(_, rule)| rule.window.contains(at));
        let by_request = state.absent_until.filter(|(until, _)| at < *until);
        by_time.map(|(number, _)| number).next().or(by_request.map(|(_, number)| number))
    }

    /// Returns the number of requests that each rule affected, by the name of the rule.
    pub(crate) fn counts(&self) -> Vec<(String, u64)> {
        let state = lock(&self.state);
        let affected = state.rules.iter().map(|rule| rule.affected);
        self.rules.iter().map(|rule| rule.name.clone()).zip(affected).collect()
    }

    /// Returns the time since the drive was attached.
    fn since(&self, now: Nanos) -> Nanos {
        Nanos(now.0.saturating_sub(self.origin.0))
    }

    fn hits_a_bad_unit(
        &self,
        rule: usize,
        unit: u64,
        request: &Request,
        healed: &RangeSet,
    ) -> bool {
        let all = units(request, unit, &self.rules[rule].range);
        let written = whole_units(request, unit);
        let is_bad = |number: &u64| self.was_bad(rule, *number) && !healed.contains(*number);
        match request.op {
            Op::Read => all.into_iter().any(|number| is_bad(&number)),
            Op::Write => {
                all.into_iter().any(|number| !written.contains(&number) && is_bad(&number))
            }
            Op::Trim | Op::Flush => false,
        }
    }

    /// Returns true for a unit that had a media error when the rule began.
    fn was_bad(&self, rule: usize, unit: u64) -> bool {
        let seed = self.seed ^ unit.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (rule as u64) << 56;
        fastrand::Rng::with_seed(seed).f64() < self.rules[rule].probability
    }

    /// Heals the complete units in the range of a write or a trim that completed at `at`.
    fn heal(&self, request: &Request, at: Nanos, state: &mut State) {
        if !matches!(request.op, Op::Write | Op::Trim) {
            return;
        }
        for (rule, state) in self.rules.iter().zip(&mut state.rules) {
            let Effect::MediaError(unit) = rule.effect else { continue };
            if rule.applies(request, at) {
                state.healed.insert(whole_units(request, unit));
            }
        }
    }
}

impl Rule {
    /// Returns true if the rule applies to a request at the time `at`.
    fn applies(&self, request: &Request, at: Nanos) -> bool {
        self.window.contains(at) && self.concerns(request)
    }

    /// Returns true for a request of the rule's operations that touches its range. A flush matches
    /// only a rule without a range.
    fn concerns(&self, request: &Request) -> bool {
        let (start, end) = (request.offset.0, (request.offset + request.len).0);
        let touches = match request.op {
            Op::Flush => self.range == (0..u64::MAX),
            _ => start < self.range.end && end > self.range.start,
        };
        touches && self.ops[usize::from(request.op.code())]
    }
}

impl RuleState {
    /// Counts a request to which the rule applies, and decides whether it is affected.
    fn chooses(&mut self, rule: &Rule) -> bool {
        self.matched += 1;
        if self.matched <= rule.skip || self.chosen >= rule.count {
            return false;
        }
        let is_chosen = rule.probability >= 1.0 || self.random.f64() < rule.probability;
        self.chosen += u64::from(is_chosen);
        is_chosen
    }
}

impl State {
    /// Counts a request that a rule affects, and reports it.
    fn affect(&mut self, number: usize, rule: &Rule, at: Nanos, request: &Request) {
        self.rules[number].affected += 1;
        self.tell(rule, at, Some(request));
    }

    fn tell(&mut self, rule: &Rule, at: Nanos, request: Option<&Request>) {
        if let Some(hook) = &mut self.hook {
            let request = request.map(|request| (request.op, request.offset, request.len));
            hook(&InjectedFault { at, rule: rule.name.clone(), effect: rule.kind, request });
        }
    }
}

/// Returns the units that a request touches within a range.
fn units(request: &Request, unit: u64, range: &Range<u64>) -> Range<u64> {
    let start = request.offset.0.max(range.start);
    let end = (request.offset + request.len).0.min(range.end);
    start / unit..end.div_ceil(unit).max(start / unit)
}

/// Returns the units that a request covers completely.
fn whole_units(request: &Request, unit: u64) -> Range<u64> {
    let start = request.offset.0.div_ceil(unit);
    start..((request.offset + request.len).0 / unit).max(start)
}
