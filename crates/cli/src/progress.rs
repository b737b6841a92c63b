//! Progress on standard error: a bar on a terminal, lines elsewhere.

use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Nanos};
#[cfg(feature = "serve")]
use flashscope_command::PartialResult;
use flashscope_command::{Progress, Step, Unit};
use flashscope_drive::Clock;
use indicatif::{ProgressBar, ProgressStyle};

use crate::print::{self, escape_untrusted, notice};
#[cfg(feature = "serve")]
use crate::running;
use crate::{Failure, stop};

/// Returns the style of a bar with or without a known total.
fn style(has_total: bool) -> ProgressStyle {
    let template = match has_total {
        true => "{percent:>3} % {wide_msg} {bar:24} {prefix:>12}",
        false => "{wide_msg} {elapsed:>4}",
    };
    ProgressStyle::with_template(template).expect("the template is well formed")
}

fn empty_bar() -> ProgressBar {
    ProgressBar::no_length().with_style(style(false))
}

/// Sets the message, escaped: the bar prints it unchanged.
#[allow(clippy::disallowed_methods, reason = "the message is escaped here")]
fn set_message(bar: &ProgressBar, message: &str) {
    bar.set_message(escape_untrusted(message).into_owned());
}

#[allow(clippy::disallowed_methods, reason = "the prefix is a number with a unit")]
fn show_left(bar: &ProgressBar, left: Option<Nanos>) {
    bar.set_prefix(left.map(time_left).unwrap_or_default());
}

/// The status line at the bottom of a terminal. Prints nothing elsewhere, nor with `--quiet`.
#[cfg(feature = "attach")]
pub(crate) struct Line(ProgressBar);

#[cfg(feature = "attach")]
impl Line {
    pub(crate) fn new() -> Line {
        if print::terminal().quiet {
            return Line(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{wide_msg}");
        Line(ProgressBar::new_spinner().with_style(style.expect("the template is well formed")))
    }

    /// Replaces the text.
    pub(crate) fn show(&self, text: &str) {
        set_message(&self.0, text);
    }
}

#[cfg(feature = "attach")]
impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A progress bar that appears only after a delay. Short operations show no bar.
pub(crate) struct LateBar {
    clock: Clock,
    /// The time from which the bar is shown.
    from: Nanos,
    phase: Option<Phase>,
    bar: Option<ProgressBar>,
    /// The time of the next line of progress, if standard error is not a terminal.
    line_due: Nanos,
}

/// A phase of a command. The time left is estimated within a phase.
struct Phase {
    name: String,
    began: Nanos,
    /// The work that was done before the phase began, as for a resumed benchmark.
    done_before: u64,
}

impl Phase {
    /// Returns the estimated time left; `None` before enough work is done for an estimate.
    fn left(&self, now: Nanos, done: u64, total: u64) -> Option<Nanos> {
        let took = now.since(self.began);
        let done_since = done.saturating_sub(self.done_before);
        if took < MIN_PHASE_FOR_ESTIMATE || done_since == 0 || done >= total {
            return None;
        }
        let left = u128::from(took.0) * u128::from(total - done) / u128::from(done_since);
        Some(Nanos(u64::try_from(left).unwrap_or(u64::MAX)))
    }
}

/// The delay before a bar appears.
const DELAY: Nanos = Nanos::secs(2);

/// The minimum duration of a phase before its time left can be estimated.
const MIN_PHASE_FOR_ESTIMATE: Nanos = Nanos::secs(1);

/// The interval between lines of progress, if standard error is not a terminal.
const LINES_EVERY: Nanos = Nanos::secs(10);

impl LateBar {
    pub(crate) fn new() -> LateBar {
        LateBar::after(DELAY)
    }

    /// Creates a bar that appears immediately.
    pub(crate) fn at_once() -> LateBar {
        LateBar::after(Nanos(0))
    }

    fn after(delay: Nanos) -> LateBar {
        let clock = Clock::new();
        let now = clock.now();
        LateBar { from: now + delay, clock, phase: None, bar: None, line_due: now + LINES_EVERY }
    }

    /// Reports the bytes done of a phase, and the total if it is known.
    pub(crate) fn show(&mut self, phase: &str, done: u64, total: Option<u64>) {
        Progress::show(self, &Step::of(phase, done, total, Unit::Bytes));
    }

    /// Enters a phase, if it differs from the current one.
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

    /// Leaves the current phase, and prints its duration with `--verbose`.
    fn leave(&mut self) {
        let Some(phase) = self.phase.take().filter(|_| print::terminal().verbose) else { return };
        let took = self.clock.now().since(phase.began);
        self.aside(|| notice!("flashscope: {}: {took}", phase.name));
    }

    /// Hides the bar while `print` prints.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Runs `work` to its end and shows its progress. Ctrl-C sets the flag that `work` receives.
    pub(crate) fn watch<T>(
        mut self,
        work: impl FnOnce(&'static AtomicBool, &mut LateBar) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let done = work(stop::flag()?, &mut self);
        self.finish();
        done
    }

    pub(crate) fn finish(&mut self) {
        self.leave();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Draws a step as a bar.
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

    /// Prints a step as a line, if the interval has passed.
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

/// Formats a time left, rounded up to seconds.
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
        let left = self.phase.as_ref().and_then(|phase| phase.left(now, done, total?));
        #[cfg(feature = "serve")]
        running::live().into_iter().for_each(|live| live.show(step, left));
        if now < self.from || print::terminal().quiet {
            return;
        }
        let text = if detail.is_empty() { name } else { detail };
        let words = match (total, unit) {
            (Some(_), _) | (None, Unit::Share) => text.to_owned(),
            (None, Unit::Bytes) => format!("{text}: {} so far", Bytes(done)),
            (None, Unit::Count) => format!("{text}: {done} so far"),
        };
        match print::is_terminal() {
            true => self.draw(&words, step, left),
            false => self.line(now, &words, step, left),
        }
    }

    fn note(&mut self, text: &str) {
        #[cfg(feature = "serve")]
        running::live().into_iter().for_each(|live| live.note(text));
        print::note(format_args!("note: {text}"));
    }

    #[cfg(feature = "serve")]
    fn found(&mut self, result: &PartialResult<'_>) {
        running::live().into_iter().for_each(|live| live.found(result));
    }

    #[cfg(feature = "serve")]
    fn shows_results(&self) -> bool {
        running::live().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_the_phase_and_is_at_least_a_second() {
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
