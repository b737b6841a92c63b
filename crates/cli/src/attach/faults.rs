//! Reads the faults to inject, and writes a log of the injected faults.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the log of faults: guard::create_output, and only if no file has its name"
    )
)]

use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::anyhow;
use flashscope_attach::{FaultHook, FaultPlan, InjectedFault, Speed};
use flashscope_block::Bytes;
use flashscope_drive::guard;

use super::AttachArgs;
use crate::{Failure, print, usage};

/// The faults to inject, and the log of the injected faults.
pub(super) struct Faults {
    plan: FaultPlan,
    /// The file of the plan.
    path: PathBuf,
    log: Option<PathBuf>,
    started: OnceCell<FaultLog>,
}

impl Faults {
    /// Reads the plan in the file `path`.
    pub(super) fn read(path: &Path, args: &AttachArgs) -> Result<Faults, Failure> {
        let text = fs::read_to_string(path)
            .map_err(|error| usage(anyhow!("cannot read --faults {}: {error}", path.display())))?;
        let plan: FaultPlan =
            text.parse().map_err(|error| usage(anyhow!("--faults {}: {error}", path.display())))?;
        if let Some(rule) = plan.timed_rule().filter(|_| args.speed == Some(Speed::Max)) {
            return Err(usage(anyhow!(
                "--faults {}: rule {rule} depends on the time, but --speed max does not wait: choose another \
                 speed, or select requests by `skip` and `count`",
                path.display()
            )));
        }
        let log = args.fault_log.clone();
        if let Some(log) = log.as_deref().filter(|log| fs::symlink_metadata(log).is_ok()) {
            return Err(usage(anyhow!(
                "--fault-log {} exists: remove it, or choose another name",
                log.display()
            )));
        }
        let rules = plan.rules.len();
        let plural = if rules == 1 { "" } else { "s" };
        print::note(format_args!(
            "flashscope: injecting faults by {rules} rule{plural} of {}",
            path.display()
        ));
        Ok(Faults { plan, path: path.into(), log, started: OnceCell::new() })
    }

    /// Returns the plan and the hook for the drive of this size that is about to be attached, and
    /// starts the log.
    pub(super) fn hook(&self, size: Bytes) -> Result<(FaultPlan, Option<FaultHook>), Failure> {
        if let Some(rule) = self.plan.rule_beyond(size) {
            return Err(usage(anyhow!(
                "--faults {}: rule {rule} begins beyond the end of the drive, which has {size}: choose a smaller `offset`",
                self.path.display()
            )));
        }
        let Some(path) = &self.log else { return Ok((self.plan.clone(), None)) };
        let log = FaultLog::start(path)?;
        let hook = log.tell();
        let _ = self.started.set(log);
        Ok((self.plan.clone(), Some(hook)))
    }

    /// Writes the remaining faults to the log. The hook must have been dropped.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.started.into_inner().map_or(Ok(()), FaultLog::finish)
    }
}

/// A thread that writes injected faults to a CSV file.
struct FaultLog {
    sender: Sender<InjectedFault>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl FaultLog {
    fn start(path: &Path) -> Result<FaultLog, Failure> {
        let file = guard::create_output(path).map_err(usage)?;
        let (sender, faults) = channel();
        let thread = thread::Builder::new().name("fault-log".into());
        Ok(FaultLog { sender, thread: thread.spawn(move || write(&file, &faults))? })
    }

    /// Returns a callback for injected faults.
    fn tell(&self) -> FaultHook {
        let sender = self.sender.clone();
        Box::new(move |fault| {
            let _ = sender.send(fault.clone());
        })
    }

    /// Writes the remaining faults. All callbacks must have been dropped.
    fn finish(self) -> Result<(), Failure> {
        drop(self.sender);
        let written = self.thread.join().map_err(|_| anyhow!("the fault log panicked"))?;
        Ok(written.map_err(|error| anyhow!("cannot write the fault log: {error}"))?)
    }
}

fn write(file: &File, faults: &Receiver<InjectedFault>) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    writeln!(out, "time_ns,rule,effect,op,offset,len")?;
    out.flush()?;
    while let Ok(first) = faults.recv() {
        for fault in std::iter::once(first).chain(faults.try_iter()) {
            let InjectedFault { at, rule, effect, request } = fault;
            let (op, offset, len) = match request {
                Some((op, Bytes(offset), Bytes(len))) => {
                    (op.to_string(), offset.to_string(), len.to_string())
                }
                None => Default::default(),
            };
            writeln!(out, "{},{rule},{effect},{op},{offset},{len}", at.0)?;
        }
        // The flush makes the log complete for readers during the injection, and if the process is
        // killed.
        out.flush()?;
    }
    Ok(())
}
