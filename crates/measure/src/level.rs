//! Runs that count only once a drive has become used to them.

use flashscope_block::{Bytes, Completion, Flash};
use flashscope_result::grid::{GridRule, Inside, Level};
use flashscope_result::manifest::Run;
use flashscope_result::methodology::{EndedBy, Precision};
use flashscope_stats::{Interval, Ratio};
use flashscope_workload::pattern::{Reference, UniformWrites};

use crate::steady::Criterion;

/// Waits until what a byte comes to is level, and then finds what that is.
///
/// What has to be level is what the drive programs for each byte, where it tells: that has no noise
/// but that of the writes. Elsewhere it is the response time for each byte.
pub(crate) struct Leveling {
    rule: GridRule,
    precision: Option<Precision>,
    /// Bytes in a window.
    window: u64,
    /// Bytes and ns of the current window so far, and what the drive told when it began.
    bytes: u64,
    nanos: u64,
    flash: Option<Flash>,
    seen: u64,
    /// What each window before the IOs that count came to.
    values: Vec<f64>,
    counting: Option<Counting>,
}

/// What counts of a run.
struct Counting {
    steady: bool,
    /// IOs before.
    ignored: u64,
    /// What the drive told when it began.
    flash: Option<Flash>,
    /// ns for each byte.
    cost: Ratio,
    /// Windows so far.
    windows: u32,
}

/// What came of waiting for a drive.
pub(crate) struct Leveled {
    level: Level,
    ignored: u64,
}

impl Leveling {
    /// Of `writes`, to a drive that tells `flash` of itself now.
    pub(crate) fn new(
        rule: &GridRule,
        writes: &UniformWrites,
        precision: Option<Precision>,
        flash: Option<Flash>,
    ) -> Leveling {
        Leveling {
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

    /// Takes an IO that was answered; what ends the run, if something does. `flash` is what the drive
    /// tells then.
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

    /// What the window that ends now came to.
    #[allow(clippy::cast_precision_loss)]
    fn value(&self, flash: Option<Flash>) -> f64 {
        let programmed =
            flash.zip(self.flash).map(|(now, then)| now.programmed.0 - then.programmed.0);
        programmed.unwrap_or(self.nanos) as f64 / self.bytes as f64
    }

    /// Lets IOs count from now on, if the drive is used to them or never will be.
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
            self.counting = Some(Counting { steady, ignored, flash, cost, windows: 0 });
        }
    }

    /// What ends the run after a window that counts, if something does.
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

    /// The ns for each byte with their interval; `None` while too few IOs count.
    pub(crate) fn interval(&self) -> Option<Interval> {
        self.counting.as_ref()?.cost.interval(self.precision.unwrap_or_default().confidence)
    }

    /// What came of it so far; `flash` is what the drive tells now.
    pub(crate) fn outcome(&self, flash: Option<Flash>) -> Leveled {
        let begun = self.counting.as_ref();
        let since = begun.and_then(|counting| counting.flash).zip(flash);
        let inside = since.map(|(then, now)| Inside {
            block_bytes: now.block,
            erasures: now.erasures - then.erasures,
            programmed_bytes: Bytes(now.programmed.0 - then.programmed.0),
        });
        let steady = begun.is_some_and(|counting| counting.steady);
        let ignored = begun.map_or(self.seen, |counting| counting.ignored);
        Leveled { level: Level { steady, inside }, ignored }
    }
}

impl Leveled {
    /// Notes it of the run that it came of.
    pub(crate) fn note(self, run: &mut Run) {
        run.level = Some(self.level);
        if let Reference::Uniform { writes } = &mut run.reference {
            writes.io_ignore = self.ignored;
        }
    }
}
