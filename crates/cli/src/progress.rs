//! Progress on standard error, where that is a terminal.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Nanos};
use flashscope_drive::Clock;
use flashscope_instrument::{Onlooker, Step, Unit};
use indicatif::{ProgressBar, ProgressStyle};

use crate::print::{escape_untrusted, notice};
use crate::{Failure, stop};

/// A bar of something of which it is known how much it is, or not.
fn style(known: bool) -> ProgressStyle {
    let template = match known {
        true => "{percent:>3} % {wide_msg} {bar:24} {eta:>4} left",
        false => "{wide_msg} {elapsed:>4}",
    };
    ProgressStyle::with_template(template).expect("the template is well formed")
}

fn empty_bar() -> ProgressBar {
    ProgressBar::no_length().with_style(style(false))
}

/// A bar prints its message as it is.
#[allow(clippy::disallowed_methods, reason = "it is escaped here")]
fn set_message(bar: &ProgressBar, message: &str) {
    bar.set_message(escape_untrusted(message).into_owned());
}

/// The last line of a terminal; nothing elsewhere.
pub struct Line(ProgressBar);

impl Line {
    pub fn new() -> Line {
        let style = ProgressStyle::with_template("{wide_msg}");
        Line(ProgressBar::new_spinner().with_style(style.expect("the template is well formed")))
    }

    /// Replaces what it says.
    pub fn show(&self, words: &str) {
        set_message(&self.0, words);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Progress of what is mostly done before one could read it: shown only after a while.
pub struct LateBar {
    clock: Clock,
    /// When it may be shown.
    from: Nanos,
    shown: Option<(ProgressBar, String)>,
}

/// After so long, progress is shown.
const PATIENCE: Nanos = Nanos::secs(2);

impl LateBar {
    pub fn new() -> LateBar {
        LateBar::after(PATIENCE)
    }

    /// One that is shown at once.
    pub fn at_once() -> LateBar {
        LateBar::after(Nanos(0))
    }

    fn after(patience: Nanos) -> LateBar {
        let clock = Clock::new();
        LateBar { from: clock.now() + patience, clock, shown: None }
    }

    /// So much of `what` is done, of how much, where that is known.
    pub fn show(&mut self, what: &str, done: u64, total: Option<u64>) {
        Onlooker::show(self, &Step { phase: what, now: "", done, total, unit: Unit::Bytes });
    }

    /// The bar of a phase, once there is one.
    fn bar(&mut self, what: &str) -> Option<&ProgressBar> {
        if self.shown.is_none() && self.clock.now() < self.from {
            return None;
        }
        let (bar, shown) = self.shown.get_or_insert_with(|| (empty_bar(), what.into()));
        if *shown != what {
            // The time that is left follows from what this phase alone has taken.
            bar.reset();
            *shown = what.into();
        }
        Some(bar)
    }

    /// Does something that prints, with the bar out of its way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.shown {
            Some((bar, _)) => bar.suspend(print),
            None => print(),
        }
    }

    /// Does something that is shown until it is done, or stopped.
    pub fn watch<T>(
        mut self,
        work: impl FnOnce(&'static AtomicBool, &mut LateBar) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let done = work(stop::flag()?, &mut self);
        self.finish();
        done
    }

    pub fn finish(&self) {
        if let Some((bar, _)) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

impl Onlooker for LateBar {
    fn show(&mut self, step: &Step<'_>) {
        let Step { phase, now, done, total, unit } = *step;
        let Some(bar) = self.bar(phase) else { return };
        let what = if now.is_empty() { phase } else { now };
        if total.is_some() != bar.length().is_some() {
            bar.set_style(style(total.is_some()));
            bar.unset_length();
        }
        match (total, unit) {
            (Some(total), _) => {
                set_message(bar, what);
                bar.set_length(total);
                bar.set_position(done);
            }
            (None, Unit::Bytes) => set_message(bar, &format!("{what}: {} so far", Bytes(done))),
            (None, Unit::Count) => set_message(bar, &format!("{what}: {done} so far")),
            (None, Unit::Share) => set_message(bar, what),
        }
    }

    fn note(&mut self, text: &str) {
        notice!("note: {text}");
    }
}
