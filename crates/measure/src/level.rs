//! Runs of a grid: IOs count only once the cost of a byte is level.

use flashscope_block::{Bytes, Completion, Flash};
use flashscope_document::grid::{GridRule, Inside, Level};
use flashscope_document::manifest::Run;
use flashscope_document::methodology::{EndedBy, Precision};
use flashscope_stats::{Interval, Ratio};
use flashscope_workload::pattern::{Reference, UniformWrites};

use crate::steady::Criterion;

/// Waits until the cost of a byte is level, and then measures the response time per byte.
///
/// If the drive reports the bytes that it programs, the wait rests on the programmed bytes per
/// written byte, which vary only with the writes. On other drives, it rests on the response time.
pub(crate) struct LevelDetector {
    rule: GridRule,
    precision: Option<Precision>,
    /// Bytes in a window.
    window: u64,
    /// The bytes of the current window so far.
    bytes: u64,
    /// The sum of the response times in the current window so far, in nanoseconds.
    nanos: u64,
    /// The flash counters at the start of the current window.
    flash: Option<Flash>,
    seen: u64,
    /// The cost in each window before the IOs that count.
    values: Vec<f64>,
    counting: Option<CountedPart>,
}

/// The part of a run that counts.
struct CountedPart {
    steady: bool,
    /// The number of IOs before the counted part.
    ignored: u64,
    /// The flash counters at the start of the counted part.
    flash: Option<Flash>,
    /// Cost in ns per byte.
    cost: Ratio,
    /// Windows so far.
    windows: u32,
}

/// The level that a drive reached in a run.
pub(crate) struct LevelOutcome {
    level: Level,
    ignored: u64,
}

impl LevelDetector {
    /// Creates the detector for `writes` to a drive whose flash counters are `flash` now.
    pub(crate) fn new(
        rule: &GridRule,
        writes: &UniformWrites,
        precision: Option<Precision>,
        flash: Option<Flash>,
    ) -> LevelDetector {
        LevelDetector {
            rule: *rule,
            precision,
            window: rule.window(writes).0,
            bytes: 0,
            nanos: 0,
            flash,
            seen: 0,
            values: Vec::new(),
            counting: None,
        }
    }

    /// Counts a completed IO. Returns the reason if it ends the run. `flash` returns the flash
    /// counters at that moment.
    #[allow(clippy::cast_precision_loss)] // far below 2^53 ns and bytes
    pub(crate) fn take(
        &mut self,
        completion: &Completion,
        flash: impl FnOnce() -> Option<Flash>,
    ) -> Option<EndedBy> {
        let (nanos, bytes) = (completion.latency().0, completion.io.len.0);
        self.seen += 1;
        self.bytes += bytes;
        self.nanos += nanos;
        if let Some(counting) = &mut self.counting {
            counting.cost.push(nanos as f64, bytes as f64);
        }
        if self.bytes < self.window {
            return None;
        }
        let flash = flash();
        let value = self.value(flash);
        (self.bytes, self.nanos, self.flash) = (0, 0, flash);
        match &mut self.counting {
            Some(counting) => {
                counting.windows += 1;
                self.is_over()
            }
            None => {
                self.values.push(value);
                self.begin(flash);
                None
            }
        }
    }

    /// Returns the cost in the window that ends now.
    #[allow(clippy::cast_precision_loss)]
    fn value(&self, flash: Option<Flash>) -> f64 {
        let programmed =
            flash.zip(self.flash).map(|(now, then)| now.programmed.0 - then.programmed.0);
        programmed.unwrap_or(self.nanos) as f64 / self.bytes as f64
    }

    /// Starts to count IOs if the cost is level, or after the last window in which it could become
    /// level.
    fn begin(&mut self, flash: Option<Flash>) {
        let rule = &self.rule;
        let level = Criterion {
            windows: rule.windows as usize,
            range: rule.range,
            slope: rule.slope,
            most: rule.most_windows as usize,
        };
        let steady = level.holds(&self.values);
        if steady || self.values.len() >= level.most {
            let (ignored, cost) = (self.seen, Ratio::default());
            self.counting = Some(CountedPart { steady, ignored, flash, cost, windows: 0 });
        }
    }

    /// Returns the reason if the run ends after a window that counts.
    fn is_over(&self) -> Option<EndedBy> {
        let windows = self.counting.as_ref()?.windows;
        let known = match (self.precision, self.interval()) {
            (Some(wanted), Some(found)) => found.relative_precision() <= wanted.relative,
            (Some(_), None) => false,
            (None, _) => true,
        };
        match windows {
            _ if windows < self.rule.least_counted => None,
            _ if known => Some(EndedBy::Precision),
            _ => (windows >= self.rule.most_counted).then_some(EndedBy::Bytes),
        }
    }

    /// Returns the ns per byte with its interval; `None` while too few IOs count.
    pub(crate) fn interval(&self) -> Option<Interval> {
        self.counting.as_ref()?.cost.interval(self.precision.unwrap_or_default().confidence)
    }

    /// Returns the level so far. `flash` holds the flash counters now.
    pub(crate) fn outcome(&self, flash: Option<Flash>) -> LevelOutcome {
        let begun = self.counting.as_ref();
        let since = begun.and_then(|counting| counting.flash).zip(flash);
        let inside = since.map(|(then, now)| Inside {
            block_bytes: now.block,
            erasures: now.erasures - then.erasures,
            programmed_bytes: Bytes(now.programmed.0 - then.programmed.0),
        });
        let steady = begun.is_some_and(|counting| counting.steady);
        let ignored = begun.map_or(self.seen, |counting| counting.ignored);
        LevelOutcome { level: Level { steady, inside }, ignored }
    }
}

impl LevelOutcome {
    /// Writes the level into its run.
    pub(crate) fn note(self, run: &mut Run) {
        run.level = Some(self.level);
        if let Reference::Uniform { writes } = &mut run.reference {
            writes.io_ignore = self.ignored;
        }
    }
}
