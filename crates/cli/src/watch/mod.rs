//! The command `flashscope watch`.

mod text;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, anyhow};
use flashscope_attach::DriveStatus;
use flashscope_block::Nanos;
use flashscope_command::watch::{
    CONTENT_TYPE, NO_DRIVE, SourceReading, Watch, WatchArgs, WatchState, metrics, outcome, printed,
};
use flashscope_document::watch::{DriveWatch, WatchSource, WatchedDrive};
use flashscope_drive::Clock;
use flashscope_serve::{Access, metrics_page, serve_beside};

use crate::print::notice;
use crate::{Failure, print, runtime, stop, usage};

/// The interval at which the flag of Ctrl-C is checked.
const CHECK_EVERY: Duration = Duration::from_millis(50);

pub(crate) fn watch(args: &WatchArgs) -> Result<(), Failure> {
    if let Some(file) = args.print {
        let mut out = print::data();
        return Ok(out.write_all(printed(file).as_bytes()).and_then(|()| out.flush())?);
    }
    if !args.once && args.listen.is_none() && args.output.folder.is_none() {
        return Err(usage(anyhow!(
            "there is nothing to do with the readings: give --once for a table, --listen for Prometheus or --output for a \
             folder"
        )));
    }
    let folder = runtime::folder();
    let mut watch = Watch::start(args, Box::new(move || attached(&folder)))?;
    if args.once {
        watch.read();
        let state = watch.state();
        print::document(args.json, &state.report, || text::table(&state.report))?;
        return outcome(&state);
    }
    let stop = stop::clean_end_flag()?;
    follow(args, &mut watch, stop)?;
    watch.finish()
}

/// Reads the drives at intervals until `stop` is set.
fn follow(args: &WatchArgs, watch: &mut Watch, stop: &AtomicBool) -> Result<(), Failure> {
    let clock = Clock::new();
    let mut due = clock.now();
    watch.read();
    let latest = Arc::new(Mutex::new(watch.state()));
    if let Some(address) = args.listen {
        listen(address, &latest)?;
    }
    if let Some(folder) = &args.output.folder {
        print::note(format_args!("flashscope: storing readings in {}", folder.display()));
    }
    {
        let first = locked(&latest);
        if first.report.drives.is_empty() && first.failures.attached.is_none() {
            notice!("flashscope: {NO_DRIVE}");
        }
    }
    let mut failed = Failures::default();
    loop {
        failed.notice(&locked(&latest));
        due = (due + args.interval).max(clock.now());
        while clock.now() < due {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let left = due.since(clock.now()).max(Nanos(1));
            sleep(CHECK_EVERY.min(Duration::from_nanos(left.0)));
        }
        watch.read();
        *locked(&latest) = watch.state();
    }
}

fn locked(state: &Mutex<WatchState>) -> MutexGuard<'_, WatchState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The drives and the parts of the watch that failed in the last round, with the reasons.
#[derive(Default)]
struct Failures(Vec<(String, String)>);

impl Failures {
    /// Prints the failures that are new.
    fn notice(&mut self, state: &WatchState) {
        let of_drive = |drive: &DriveWatch| Some((drive.drive.name.clone(), drive.error.clone()?));
        let of_drives = state.report.drives.iter().filter_map(of_drive);
        let of_watch = state.failures.named().map(|(part, error)| (part.into(), error.into()));
        let failed: Vec<(String, String)> = of_drives.chain(of_watch).collect();
        for (name, error) in failed.iter().filter(|one| !self.0.contains(one)) {
            notice!("flashscope: {name}: {error}");
        }
        self.0 = failed;
    }
}

/// Serves the metrics of the last report until the process ends.
fn listen(address: SocketAddr, latest: &Arc<Mutex<WatchState>>) -> Result<(), Failure> {
    if Access::of(&address) == Access::Network {
        notice!(
            "flashscope: everyone who can reach {address} sees the health of the drives, without a password"
        );
    }
    let latest = Arc::clone(latest);
    let text = move || metrics(&locked(&latest));
    let make = move |access| metrics_page(Box::new(text), CONTENT_TYPE, access);
    let bound = serve_beside(make, address).map_err(|error: io::Error| {
        usage(anyhow!("cannot listen at {address}: {error}; choose another address with --listen"))
    })?;
    // A closed standard output is not an error.
    let _ = print::line(print::text_lines(), &format_args!("http://{bound}/metrics"));
    Ok(())
}

/// Reads the drives that processes of this user have attached.
fn attached(folder: &Path) -> anyhow::Result<Vec<SourceReading>> {
    let drives = flashscope_attach::attached_drives(folder)
        .with_context(|| format!("cannot list attached drives: {}", folder.display()))?;
    Ok(drives.into_iter().map(reading).collect())
}

fn reading(status: DriveStatus) -> SourceReading {
    let DriveStatus { process, drive, places, health, .. } = status;
    // The path or address stays the same when the drive is attached again.
    let name = places.into_iter().next().unwrap_or_else(|| format!("process {process}"));
    let model = Some(drive.model.unwrap_or(drive.name));
    let no_health =
        anyhow!("{name} reports no health: it is a real drive; watch its device instead");
    SourceReading {
        drive: WatchedDrive { name, source: WatchSource::Attached, model, serial: None },
        at: None,
        health: health.map(|health| (health, None)).ok_or(no_health),
    }
}
