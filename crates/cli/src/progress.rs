//! Progress on standard error: a bar on a terminal, lines elsewhere.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Nanos};
use flashscope_command::{Progress, Step, Unit};
use flashscope_drive::Clock;
use indicatif::{ProgressBar, ProgressStyle};

use crate::print::{self, escape_untrusted, notice};
use crate::{Failure, stop};

/// A bar of something of which it is known how much it is, or not.
fn style(known: bool) -> ProgressStyle {
    let template = match known {
        true => "{percent:>3} % {wide_msg} {bar:24} {prefix:>12}",
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

#[allow(clippy::disallowed_methods, reason = "it is a number with a unit")]
fn show_left(bar: &ProgressBar, left: Option<Nanos>) {
    bar.set_prefix(left.map(time_left).unwrap_or_default());
}

/// The last line of a terminal; nothing elsewhere.
#[cfg(feature = "attach")]
pub struct Line(ProgressBar);

#[cfg(feature = "attach")]
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

#[cfg(feature = "attach")]
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
    phase: Option<Phase>,
    bar: Option<ProgressBar>,
    /// When the next line is due, where there is no bar.
    line_due: Nanos,
}

/// One phase of a command, by which the time left is estimated.
struct Phase {
    name: String,
    began: Nanos,
    /// How much of it was done when it began, such as by the run that a benchmark goes on with.
    done_before: u64,
}

impl Phase {
    /// The time that is left, once enough was done to tell.
    fn left(&self, now: Nanos, done: u64, total: u64) -> Option<Nanos> {
        let took = now.since(self.began);
        let done_since = done.saturating_sub(self.done_before);
        if took < TELLING || done_since == 0 || done >= total {
            return None;
        }
        let left = u128::from(took.0) * u128::from(total - done) / u128::from(done_since);
        Some(Nanos(u64::try_from(left).unwrap_or(u64::MAX)))
    }
}

/// After so long, progress is shown.
const PATIENCE: Nanos = Nanos::secs(2);

/// After so much of a phase, the time that is left can be told.
const TELLING: Nanos = Nanos::secs(1);

/// Without a terminal there is a line of progress after so long, and another each time as much has passed.
const LINES_EVERY: Nanos = Nanos::secs(10);

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
        let now = clock.now();
        LateBar { from: now + patience, clock, phase: None, bar: None, line_due: now + LINES_EVERY }
    }

    /// So much of `what` is done, of how much, where that is known.
    pub fn show(&mut self, what: &str, done: u64, total: Option<u64>) {
        Progress::show(self, &Step { phase: what, now: "", done, total, unit: Unit::Bytes });
    }

    /// Notes that a phase began, where it did. The time that is left follows from what this phase alone has taken.
    fn enter(&mut self, name: &str, done: u64) {
        if self.phase.as_ref().is_some_and(|phase| phase.name == name) {
            return;
        }
        self.leave();
        self.phase = Some(Phase { name: name.into(), began: self.clock.now(), done_before: done });
        if let Some(bar) = &self.bar {
            bar.reset();
        }
    }

    /// States how long the phase took that ends, where the user wants to know.
    fn leave(&mut self) {
        let Some(phase) = self.phase.take().filter(|_| print::terminal().verbose) else { return };
        let took = self.clock.now().since(phase.began);
        self.aside(|| notice!("flashscope: {}: {took}", phase.name));
    }

    /// Does something that prints, with the bar out of its way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
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

    pub fn finish(&mut self) {
        self.leave();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Shows a step on a bar.
    fn draw(&mut self, words: &str, step: &Step<'_>, left: Option<Nanos>) {
        let bar = self.bar.get_or_insert_with(empty_bar);
        if step.total.is_some() != bar.length().is_some() {
            bar.set_style(style(step.total.is_some()));
            bar.unset_length();
        }
        set_message(bar, words);
        if let Some(total) = step.total {
            bar.set_length(total);
            bar.set_position(step.done);
            show_left(bar, left);
        }
    }

    /// Prints a step, if a line is due.
    fn line(&mut self, now: Nanos, words: &str, step: &Step<'_>, left: Option<Nanos>) {
        if now < self.line_due {
            return;
        }
        self.line_due = now + LINES_EVERY;
        let share = step.total.filter(|total| *total > 0).map(|total| {
            format!("{} %, ", u128::from(step.done.min(total)) * 100 / u128::from(total))
        });
        let left = left.map(|left| format!(", {}", time_left(left)));
        notice!("flashscope: {}{words}{}", share.unwrap_or_default(), left.unwrap_or_default());
    }
}

/// A time that is left, in whole seconds, and never none.
fn time_left(left: Nanos) -> String {
    let seconds = left.0.div_ceil(1_000_000_000).max(1);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s left"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s left"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min left"),
    }
}

impl Progress for LateBar {
    fn show(&mut self, step: &Step<'_>) {
        let Step { phase: name, now: detail, done, total, unit } = *step;
        self.enter(name, done);
        let now = self.clock.now();
        if now < self.from || print::terminal().quiet {
            return;
        }
        let what = if detail.is_empty() { name } else { detail };
        let words = match (total, unit) {
            (Some(_), _) | (None, Unit::Share) => what.to_owned(),
            (None, Unit::Bytes) => format!("{what}: {} so far", Bytes(done)),
            (None, Unit::Count) => format!("{what}: {done} so far"),
        };
        let left = self.phase.as_ref().and_then(|phase| phase.left(now, done, total?));
        match print::is_terminal() {
            true => self.draw(&words, step, left),
            false => self.line(now, &words, step, left),
        }
    }

    fn note(&mut self, text: &str) {
        print::note(format_args!("note: {text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_what_the_phase_did_and_is_never_nothing() {
        let phase = Phase { name: String::new(), began: Nanos::secs(10), done_before: 20 };
        assert_eq!(phase.left(Nanos::secs(14), 60, 100), Some(Nanos::secs(4)));
        assert_eq!(phase.left(Nanos::secs(14), 20, 100), None);
        assert_eq!(phase.left(Nanos::secs(14), 100, 100), None);
        assert_eq!(phase.left(Nanos(10_500_000_000), 60, 100), None);
        assert_eq!(time_left(Nanos(1)), "1 s left");
        assert_eq!(time_left(Nanos::secs(125)), "2 min 05 s left");
        assert_eq!(time_left(Nanos::secs(7260)), "2 h 01 min left");
    }
}
