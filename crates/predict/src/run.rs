//! Repeats a workload until its prediction has converged, then counts erases and copies.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Pools, PredictError, Request, Requests, SimulatedDrive};
use flashscope_block::Nanos;
use flashscope_document::prediction::Passes;
use flashscope_measure::{Progress, Step};
use flashscope_model::trace::{Space, Total};

/// The number of times that writes must cycle through the written and free pages, and through the
/// log blocks, before counting starts.
const TURNS: f64 = 3.0;

/// The number of cycles before counting starts in a simulation that is compared with a computed
/// long run. With trims, the number of live pages is steady only after ten cycles.
pub const LONG_RUN_TURNS: f64 = 10.0;

/// The number of cycles through the written and free pages after which the warm-up ends without
/// convergence.
const MAX_CYCLES: f64 = 60.0;

/// Maximum difference between the write amplifications of the two halves of the counted passes for
/// a converged prediction, in addition to a margin for chance. See [`changes_little`].
const STEADY: f64 = 0.005;

/// The result of repeating a workload.
pub struct CountedPasses {
    /// The number of passes.
    pub passes: Passes,
    /// The totals over the counted passes.
    pub total: Total,
    /// The simulated time of the counted passes; 0 for a model.
    pub took: Nanos,
}

/// A drive, or a model of a drive, whose work can be counted.
pub trait Countable {
    /// Executes the next request of the host.
    fn request(&mut self, request: Request);

    /// Returns the totals over all requests so far, and the simulated time.
    fn read(&mut self) -> (Total, Nanos);

    /// Returns the number of cycles that the writes made through the log blocks; infinite without
    /// log blocks.
    fn turns(&self) -> f64 {
        f64::INFINITY
    }
}

impl Countable for Pools {
    fn request(&mut self, request: Request) {
        Pools::request(self, request);
    }

    fn read(&mut self) -> (Total, Nanos) {
        (self.total(), Nanos(0))
    }

    fn turns(&self) -> f64 {
        Pools::turns(self)
    }
}

impl Countable for SimulatedDrive {
    fn request(&mut self, request: Request) {
        SimulatedDrive::request(self, request);
    }

    fn read(&mut self) -> (Total, Nanos) {
        self.total()
    }
}

impl CountedPasses {
    /// Repeats the workload until the predicted `pools` have converged, then counts. See
    /// [`CountedPasses::until_steady`].
    ///
    /// # Errors
    /// If nothing is written, or `stop` was set.
    pub fn find(
        pools: &mut Pools,
        requests: &mut Requests,
        watched: (&AtomicBool, &mut dyn Progress),
    ) -> Result<CountedPasses, PredictError> {
        let free_pages = pools.free_pages();
        let turns = (TURNS, free_pages);
        CountedPasses::until_steady(pools, turns, requests, "predicting", watched)
    }

    /// Repeats the workload on a drive with `free_pages` pages in free blocks until it has
    /// converged, then counts. The warm-up has at least `turns` cycles through the written and free
    /// pages. The repetition is the paper's method (Boboila and Desnoyers, section III.C). The
    /// counted passes have two halves, each a third as long as the warm-up. If the write
    /// amplifications of the halves differ, these passes become a part of the warm-up, and further
    /// passes are counted. Reports the completed share of the shortest possible warm-up. Setting
    /// `stop` ends the repetition.
    ///
    /// # Errors
    /// If nothing is written, or `stop` was set.
    pub fn until_steady(
        drive: &mut impl Countable,
        (turns, free_pages): (f64, u64),
        requests: &mut Requests,
        phase: &str,
        (stop, progress): (&AtomicBool, &mut dyn Progress),
    ) -> Result<CountedPasses, PredictError> {
        let mut show = |share| {
            progress.show(&Step::share(phase, share));
            !stop.load(Ordering::Relaxed)
        };
        let mut made = MadePasses { least: turns, free_pages, ..MadePasses::default() };
        while made.min_cycles() < turns && made.turns() < MAX_CYCLES {
            made.pass(drive, requests, &mut show)?;
        }
        loop {
            let (warm_up, (start, begun)) = (made.count, drive.read());
            let half = warm_up.div_ceil(3);
            (0..half).try_for_each(|_| made.pass(drive, requests, &mut show))?;
            let (middle, _) = drive.read();
            (0..half).try_for_each(|_| made.pass(drive, requests, &mut show))?;
            let (end, ended) = drive.read();
            let is_steady = changes_little(&middle.since(&start), &end.since(&middle));
            let converged = is_steady && made.min_cycles() >= turns;
            if converged || made.turns() >= MAX_CYCLES {
                let passes = Passes { warm_up, counted: 2 * half, converged };
                let took = ended - begun;
                return Ok(CountedPasses { passes, total: end.since(&start), took });
            }
        }
    }
}

/// Returns `passes` with a warm-up for a simulation. In the counted passes, the host writes `pages`
/// pages. The warm-up writes the logical and free pages of `space` as often as the minimum warm-up
/// of a model.
#[must_use]
pub fn steady_passes(passes: Passes, pages: u64, space: Space) -> Passes {
    let turn = f64::from(space.logical_blocks) + f64::from(space.free_blocks);
    let pass = ratio(pages.max(1), u64::from(passes.counted.max(1)));
    let warm_up = TURNS * turn * f64::from(space.pages_per_block) / pass;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let warm_up = warm_up.ceil() as u32;
    Passes { warm_up, ..passes }
}

/// Executes the same passes on other pools and returns the totals of the counted passes.
///
/// # Errors
/// If nothing is written.
pub fn repeat_passes(
    passes: &Passes,
    pools: &mut Pools,
    requests: &mut Requests,
) -> Result<Total, PredictError> {
    let pass = |pools: &mut Pools| {
        requests.pass(&mut |request| pools.request(request))?;
        Ok(())
    };
    let (before, after) = put(passes, pools, pass, Pools::total)?;
    Ok(after.since(&before))
}

/// Executes the same passes on the simulator. Returns the totals of the counted passes and their
/// simulated time. Reports the completed share of all passes. Setting `stop` ends the simulation.
///
/// # Errors
/// If nothing is written, or `stop` was set.
pub fn simulate_passes(
    passes: &Passes,
    simulated: &mut SimulatedDrive,
    requests: &mut Requests,
    (stop, progress): (&AtomicBool, &mut dyn Progress),
) -> Result<(Total, Nanos), PredictError> {
    let mut show = |share| {
        progress.show(&Step::share("simulating", share));
        !stop.load(Ordering::Relaxed)
    };
    let (all, mut done) = (f64::from(passes.warm_up + passes.counted), 0.0);
    let pass = |simulated: &mut SimulatedDrive| {
        let each = &mut |request| simulated.request(request);
        requests.pass_while(&mut || show(done / all), each)?;
        done += 1.0;
        if show(done / all) { Ok(()) } else { Err(PredictError::Interrupted) }
    };
    let (before, after) = put(passes, simulated, pass, |simulated| simulated.total())?;
    Ok((after.0.since(&before.0), after.1 - before.1))
}

/// Runs the passes on a drive. Returns the counters before the counted passes, and after them.
fn put<D, T>(
    passes: &Passes,
    drive: &mut D,
    mut pass: impl FnMut(&mut D) -> Result<(), PredictError>,
    read: impl Fn(&mut D) -> T,
) -> Result<(T, T), PredictError> {
    (0..passes.warm_up).try_for_each(|_| pass(drive))?;
    let before = read(drive);
    (0..passes.counted).try_for_each(|_| pass(drive))?;
    Ok((before, read(drive)))
}

/// The passes made so far.
#[derive(Default)]
struct MadePasses {
    /// The minimum number of cycles.
    least: f64,
    free_pages: u64,
    count: u32,
    touched: TouchedPages,
    written: u64,
    /// The number of cycles through the log blocks so far.
    log_turns: f64,
}

impl MadePasses {
    /// Executes a pass. Reports the completed share of the shortest possible warm-up to `show`,
    /// which returns false to stop.
    fn pass(
        &mut self,
        drive: &mut impl Countable,
        requests: &mut Requests,
        show: &mut dyn FnMut(f64) -> bool,
    ) -> Result<(), PredictError> {
        let share = (self.min_cycles() / self.least).max(self.turns() / MAX_CYCLES).min(1.0);
        // Each pass of a trace writes the same pages.
        let touches = self.count == 0 || matches!(requests, Requests::Endless { .. });
        let touched = &mut self.touched;
        self.written += requests.pass_while(&mut || show(share), &mut |request| {
            if touches && request.is_write() {
                touched.add(request);
            }
            drive.request(request);
        })?;
        self.count += 1;
        self.log_turns = drive.turns();
        if show(share) { Ok(()) } else { Err(PredictError::Interrupted) }
    }

    /// Returns the number of cycles that writes made through the written and free pages.
    fn turns(&self) -> f64 {
        ratio(self.written, self.touched.pages + self.free_pages)
    }

    /// Returns the number of cycles through the written and free pages or through the log blocks,
    /// whichever is smaller.
    fn min_cycles(&self) -> f64 {
        self.turns().min(self.log_turns)
    }
}

/// Returns true if the write amplifications of two totals differ by no more than [`STEADY`] and a
/// margin for chance. The margin is twice the standard error of a mean over as many blocks as the
/// first total erased.
fn changes_little(one: &Total, other: &Total) -> bool {
    let error = 1.0 / one.erasures.max(1.0).sqrt();
    let (one, other) = (one.write_amplification(), other.write_amplification());
    (one - other).abs() <= (STEADY + error) * (other - 1.0) + STEADY
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
