//! The state of a running command, for its own page (`--live`) and for the shelf that contains its
//! result.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use anyhow::anyhow;
use flashscope_block::Nanos;
use flashscope_command::{PartialResult, Step};
use flashscope_document::running::{RunningCommand, RunningResult, RunningStatus};
use flashscope_drive::Clock;
use flashscope_serve::{Access, Commands, StateSource, running, serve_beside};
use flashscope_status::{StatusSocket, status_of, statuses};

use crate::print::{self, notice};
use crate::{Failure, runtime, stop, usage};

/// The kind of the status of a running command.
const STATUS: &str = "running";

/// The command of this process, if a page may show it.
static RUNNING: OnceLock<Arc<LiveCommand>> = OnceLock::new();

/// The time that open pages have to receive the end of the command.
const FINAL_UPDATE_TIME: Duration = Duration::from_millis(750);

/// The interval at which the flag of Ctrl-C is checked.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// A command that a page may show.
pub(crate) struct LiveCommand {
    state: Mutex<RunningCommand>,
    changes: AtomicU64,
    clock: Clock,
    began: Nanos,
    /// True if the command has a page of its own.
    has_page: bool,
    /// The socket by which shelves find the command.
    socket: Mutex<Option<StatusSocket>>,
}

impl LiveCommand {
    /// Changes the state.
    fn change(&self, change: impl FnOnce(&mut RunningCommand)) {
        change(&mut self.locked());
        self.changes.fetch_add(1, Ordering::Release);
    }

    fn locked(&self) -> MutexGuard<'_, RunningCommand> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshot(&self) -> (u64, RunningCommand) {
        let changes = self.changes.load(Ordering::Acquire);
        let mut state = self.locked().clone();
        if state.status == RunningStatus::Running {
            state.elapsed_ns = self.clock.now().since(self.began);
        }
        (changes, state)
    }

    /// Sets the current step and the time left in its phase.
    pub(crate) fn show(&self, step: &Step<'_>, left: Option<Nanos>) {
        self.change(|state| {
            state.phase = step.phase.into();
            state.now = step.now.into();
            (state.done, state.total, state.left_ns) = (step.done, step.total, left);
        });
    }

    pub(crate) fn note(&self, text: &str) {
        self.change(|state| state.note(text));
    }

    /// Adds a partial result to its chart and to the list.
    pub(crate) fn found(&self, result: &PartialResult<'_>) {
        let PartialResult { chart, x_axis, series, x, what, value, unit } = *result;
        self.change(|state| {
            if !chart.is_empty() {
                state.plot(chart, x_axis, unit, series, [x, value]);
            }
            if !what.is_empty() {
                state.found(RunningResult { what: what.into(), value, unit });
            }
        });
    }
}

/// Returns the command, if a page may show it.
pub(crate) fn live() -> Option<&'static LiveCommand> {
    RUNNING.get().map(AsRef::as_ref)
}

/// Makes this command visible: on its own page at `address`, and on shelves that contain its
/// result, `output`.
pub(crate) fn start(address: Option<SocketAddr>, output: Option<PathBuf>) -> Result<(), Failure> {
    if address.is_none() && output.is_none() {
        return Ok(());
    }
    #[allow(clippy::disallowed_methods, reason = "the command line reads its arguments")]
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    let clock = Clock::new();
    let began = clock.now();
    let output = output.and_then(|output| std::path::absolute(output).ok());
    let state = RunningCommand {
        output: output.as_ref().map(|output| output.display().to_string()),
        ..RunningCommand::new(format!("flashscope {}", words.join(" ")))
    };
    let command = Arc::new(LiveCommand {
        state: Mutex::new(state),
        changes: AtomicU64::new(0),
        clock,
        began,
        has_page: address.is_some(),
        socket: Mutex::new(None),
    });
    if output.is_some() {
        let shown = Arc::clone(&command);
        // Without the socket, the command runs, but shelves do not show it.
        let socket = StatusSocket::start(&runtime::folder(), STATUS, move || shown.snapshot().1);
        *command.socket.lock().unwrap_or_else(PoisonError::into_inner) = socket.ok();
    }
    let _ = RUNNING.set(Arc::clone(&command));
    address.map_or(Ok(()), |address| open_page(address, command))
}

/// Starts the page of this command.
fn open_page(address: SocketAddr, command: Arc<LiveCommand>) -> Result<(), Failure> {
    if Access::of(&address) == Access::Network {
        notice!(
            "flashscope: everyone who can reach {address} sees the progress, without a password"
        );
    }
    let watched: Arc<StateSource> = Arc::new(move || command.snapshot());
    let served = serve_beside(|access| running(watched, access), address);
    let address = served.map_err(|error| {
        usage(anyhow!("cannot listen at {address}: {error}; choose another address with --live"))
    })?;
    notice!("flashscope: the progress is at http://{address}/");
    Ok(())
}

/// Returns access to the commands of this user that write a result.
pub(crate) fn commands() -> Commands {
    Commands {
        // A folder that cannot be read shows no command.
        all: Box::new(|| statuses(&runtime::folder(), STATUS).unwrap_or_default()),
        one: Box::new(|process| status_of(&runtime::folder(), STATUS, process)),
    }
}

/// Shows how the command ended. Its own page then stays until Ctrl-C in a terminal, unless Ctrl-C
/// ended the
/// command.
pub(crate) fn finish(outcome: &Result<(), Failure>) {
    let Some(command) = live() else { return };
    let elapsed = command.clock.now().since(command.began);
    command.change(|state| {
        state.elapsed_ns = elapsed;
        state.left_ns = None;
        (state.status, state.error) = match outcome {
            Ok(()) => (RunningStatus::Done, None),
            Err(Failure::Interrupted(error)) => {
                (RunningStatus::Interrupted, Some(format!("{error:#}")))
            }
            Err(failure) => (RunningStatus::Failed, Some(failure.message())),
        };
    });
    drop(command.socket.lock().unwrap_or_else(PoisonError::into_inner).take());
    if !command.has_page {
        return;
    }
    let is_interrupted = matches!(outcome, Err(Failure::Interrupted(_)));
    sleep(FINAL_UPDATE_TIME);
    if !print::is_terminal() || is_interrupted {
        return;
    }
    notice!("flashscope: the command has ended; its page stays until Ctrl-C");
    while !stop::is_set() {
        sleep(CHECK_EVERY);
    }
}
