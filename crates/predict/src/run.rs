//! Repeats a workload until its prediction has converged, then counts.

use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::Nanos;
use flashscope_measure::{Progress, Step};
use flashscope_model::trace::Total;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pools, PredictError, Request, Requests, SimulatedDrive};

/// The repetitions of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Passes {
    /// Passes before counting starts.
    pub warm_up: u32,
    /// Passes that are counted.
    pub counted: u32,
    /// True if the warm-up was long enough for the prediction to converge.
    pub converged: bool,
}

/// How often the writes must cycle through the pages written, the free pages and the log blocks before counting starts.
const TURNS: f64 = 3.0;

/// The cycles through the pages after which the warm-up ends without convergence, if the log blocks cycle too slowly.
const MOST_TURNS: f64 = 60.0;

/// The result of repeating a workload.
pub struct CountedPasses {
    /// The number of passes.
    pub passes: Passes,
    /// The totals over the counted passes.
    pub total: Total,
}

impl Passes {
    /// Repeats the workload until `pools` have converged, then counts a third as many passes. Such repetition is the paper's
    /// method (Boboila and Desnoyers, section III.C). Reports the share of the warm-up. Setting `stop` ends it.
    ///
    /// # Errors
    /// If nothing is written, or `stop` was set.
    pub fn find(
        pools: &mut Pools,
        free_pages: u64,
        requests: &mut Requests,
        (stop, progress): (&AtomicBool, &mut dyn Progress),
    ) -> Result<CountedPasses, PredictError> {
        let mut show = |share| {
            progress.show(&Step::share("predicting", share));
            !stop.load(Ordering::Relaxed)
        };
        let (mut warm_up, mut written, mut touched) = (0, 0, TouchedPages::default());
        let mut share = 0.0;
        let converged = loop {
            let is_first = warm_up == 0;
            written += requests.pass_while(&mut || show(share), &mut |request| {
                if is_first && request.is_write() {
                    touched.add(request);
                }
                pools.request(request);
            })?;
            warm_up += 1;
            let turns = ratio(written, touched.pages + free_pages);
            let least = turns.min(pools.turns());
            share = (least / TURNS).max(turns / MOST_TURNS).min(1.0);
            if !show(share) {
                return Err(PredictError::Interrupted);
            }
            if least >= TURNS || turns >= MOST_TURNS {
                break least >= TURNS;
            }
        };
        let passes = Passes { warm_up, counted: warm_up.div_ceil(3), converged };
        let rest = Passes { warm_up: 0, ..passes };
        Ok(CountedPasses { passes, total: rest.counted(pools, requests, &mut || show(1.0))? })
    }

    /// Repeats the same passes on other pools and returns the totals of the counted ones.
    ///
    /// # Errors
    /// If nothing is written.
    pub fn repeat(
        &self,
        pools: &mut Pools,
        requests: &mut Requests,
    ) -> Result<Total, PredictError> {
        self.counted(pools, requests, &mut || true)
    }

    /// Does the same while `go_on` returns true.
    fn counted(
        &self,
        pools: &mut Pools,
        requests: &mut Requests,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Total, PredictError> {
        let pass = |pools: &mut Pools| {
            requests.pass_while(go_on, &mut |request| pools.request(request))?;
            Ok(())
        };
        let (before, after) = self.put(pools, pass, Pools::total)?;
        Ok(after.since(&before))
    }

    /// Repeats the same passes on the simulator. Returns the totals of the counted ones and their simulated time. Reports
    /// the share of all passes. Setting `stop` ends it.
    ///
    /// # Errors
    /// If nothing is written, or `stop` was set.
    pub fn simulate(
        &self,
        simulated: &mut SimulatedDrive,
        requests: &mut Requests,
        (stop, progress): (&AtomicBool, &mut dyn Progress),
    ) -> Result<(Total, Nanos), PredictError> {
        let mut show = |share| {
            progress.show(&Step::share("simulating", share));
            !stop.load(Ordering::Relaxed)
        };
        let (all, mut done) = (f64::from(self.warm_up + self.counted), 0.0);
        let pass = |simulated: &mut SimulatedDrive| {
            let each = &mut |request| simulated.request(request);
            requests.pass_while(&mut || show(done / all), each)?;
            done += 1.0;
            if show(done / all) { Ok(()) } else { Err(PredictError::Interrupted) }
        };
        let (before, after) = self.put(simulated, pass, |simulated| simulated.total())?;
        Ok((after.0.since(&before.0), after.1 - before.1))
    }

    /// Runs the passes on a drive. Returns the counters before the counted passes, and after them.
    fn put<D, T>(
        &self,
        drive: &mut D,
        mut pass: impl FnMut(&mut D) -> Result<(), PredictError>,
        read: impl Fn(&mut D) -> T,
    ) -> Result<(T, T), PredictError> {
        (0..self.warm_up).try_for_each(|_| pass(drive))?;
        let before = read(drive);
        (0..self.counted).try_for_each(|_| pass(drive))?;
        Ok((before, read(drive)))
    }
}

/// The set of pages written at least once, as bits.
#[derive(Default)]
struct TouchedPages {
    words: Vec<u64>,
    pages: u64,
}

impl TouchedPages {
    fn add(&mut self, request: Request) {
        for page in request.page..request.page.saturating_add(request.pages()) {
            let (word, bit) = ((page / 64) as usize, 1 << (page % 64));
            if word >= self.words.len() {
                self.words.resize(word + 1, 0);
            }
            self.pages += u64::from(self.words[word] & bit == 0);
            self.words[word] |= bit;
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use flashscope_block::{Bytes, Data, Io, Op};

    use super::*;

    #[test]
    fn rewritten_pages_count_once() {
        let mut touched = TouchedPages::default();
        for (offset, len) in [(0, 4), (2, 4), (100, 1), (0, 6)] {
            let (offset, len) = (Bytes(offset * 2048), Bytes(len * 2048));
            let io = Io { op: Op::Write, stream: 0, offset, len, data: Data::Random, at: Nanos(0) };
            touched.add(Request::of(&io, 2048).unwrap());
        }
        assert_eq!(touched.pages, 7);
    }
}
