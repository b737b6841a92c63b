//! The command `flashscope attach`.

mod activity;
mod args;
mod faults;
mod record;
mod simulated;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_attach::{
    Answer, AttachedDrive, Export, Hooks, RoundTrip, Speed, Store, Timing, fuse, nbd, nvme, ublk,
};
use flashscope_block::{Bytes, Device, NullDevice, Op};
use flashscope_command::drives::{self, NULL_CAPACITY};
use flashscope_drive::{Access, Clock, Contents, OpenOptions, StoreHeader};
use serde_json::json;

use crate::print::notice;
use crate::progress::LateBar;
use crate::{Failure, print, stop, usage};

use activity::Activity;
pub(crate) use args::AttachArgs;
use faults::Faults;
use record::Recorder;

/// The default number of requests in flight on a real drive.
const QUEUE_DEPTH: u32 = 32;

/// The default address, with the port that is assigned to NBD.
const NBD_ADDRESS: &str = "127.0.0.1:10809";

pub(crate) fn attach(args: &AttachArgs) -> Result<(), Failure> {
    let stop = stop::clean_end_flag()?;
    let recorder = args.record.as_deref().map(Recorder::start).transpose()?;
    let faults = args.faults.as_deref().map(|plan| Faults::read(plan, args)).transpose()?;
    serve(args, stop, Outputs { recorder: recorder.as_ref(), faults: faults.as_ref() })?;
    faults.map_or(Ok(()), Faults::finish)?;
    recorder.map_or(Ok(()), Recorder::finish)
}

/// The recipients of requests and faults.
#[derive(Clone, Copy)]
struct Outputs<'a> {
    recorder: Option<&'a Recorder>,
    faults: Option<&'a Faults>,
}

impl Outputs<'_> {
    /// Returns the hooks of a drive of this size that is about to be attached.
    fn hooks(&self, size: Bytes) -> Result<Hooks, Failure> {
        let completion = self.recorder.map(Recorder::tell);
        let faults = self.faults.map(|faults| faults.hook(size)).transpose()?;
        Ok(Hooks { completion, faults })
    }
}

/// A function that measures the round trip of the transport without a drive.
type MeasureRoundTrip<'a> = &'a dyn Fn() -> Result<RoundTrip, Failure>;

/// Attaches the drive, for any transport.
fn open<A: Answer>(
    args: &AttachArgs,
    stop: &AtomicBool,
    outputs: Outputs<'_>,
    round_trip: MeasureRoundTrip<'_>,
) -> Result<AttachedDrive<A>, Failure> {
    let name = args.drive.as_str();
    if name == "null:" {
        if args.fill.is_some() {
            return Err(usage(anyhow!(
                "--fill is for sim: drives; `null:` has no contents to fill"
            )));
        }
        let clock = Clock::new();
        let size = args.size.unwrap_or(NULL_CAPACITY);
        let queue_depth = args.queue_depth.unwrap_or(QUEUE_DEPTH);
        let mut null = NullDevice::new(size, queue_depth, move || clock.now());
        check_namespaces(args, &mut null)?;
        return simulated(args, Box::new(null), (size, true, 0), outputs, round_trip);
    }
    if let Some(spec) = name.strip_prefix("sim:") {
        if args.queue_depth.is_some() {
            return Err(usage(anyhow!(
                "--queue-depth is for real drives; set the depth of a simulated one with interface.queue_depth, as in \
                 'sim:demo?interface.queue_depth=8'"
            )));
        }
        let (drive, seed) = simulated::open(spec, args, stop)?;
        let (size, trims) = (args.size.unwrap_or(drive.info().capacity), drive.trims());
        return simulated(args, Box::new(drive), (size, trims, seed), outputs, round_trip);
    }
    real(args, outputs)
}

/// Attaches a simulated drive, with a store for its data.
fn simulated<A: Answer>(
    args: &AttachArgs,
    device: Box<dyn Device + Send>,
    (size, trims, seed): (Bytes, bool, u64),
    outputs: Outputs<'_>,
    round_trip: MeasureRoundTrip<'_>,
) -> Result<AttachedDrive<A>, Failure> {
    if args.consent.destroy_data_on.is_some() {
        return Err(usage(anyhow!(
            "--destroy-data-on is for real drives; `{}` is simulated",
            args.drive
        )));
    }
    let block = device.info().logical_block;
    if size == Bytes(0) || !size.is_multiple_of(block) {
        return Err(usage(anyhow!(
            "--size {} B must be a positive multiple of the logical block, {block}",
            size.0
        )));
    }
    let store = store(args, size, seed)?;
    let export = Export {
        trims,
        writable: !args.read_only.is_set,
        ..Export::new(args.drive.clone(), (size, block))
    };
    let mut bar = LateBar::new();
    let mut progress = |done: Bytes, total: Bytes| {
        bar.show("writing the contents of the store to the drive", done.0, Some(total.0));
    };
    let timing = match args.speed.unwrap_or(Speed::Times(1.0)) {
        Speed::Max => Speed::Max.into(),
        speed => Timing { speed, round_trip: round_trip()? },
    };
    let attached = AttachedDrive::simulated(
        device,
        export,
        store,
        timing,
        outputs.hooks(size)?,
        &mut progress,
    )?;
    bar.finish();
    Ok(attached)
}

/// Refuses namespaces that do not fit a simulated drive, before it is filled and its store is
/// created.
fn check_namespaces(args: &AttachArgs, device: &mut dyn Device) -> Result<(), Failure> {
    let info = device.info();
    let size = args.size.unwrap_or(info.capacity);
    let export = Export::new(args.drive.clone(), (size, info.logical_block));
    let export = Export {
        zones: device.zones().map(|zones| zones.limits()),
        handles: device.placed().map(|placed| placed.limits()),
        keeps_metadata: args.store.is_none(),
        ..export
    };
    nvme::check_namespaces(&export, &args.namespace).map_err(usage)
}

/// Opens the store for the data of a simulated drive.
fn store(args: &AttachArgs, size: Bytes, seed: u64) -> Result<Store, Failure> {
    let Some(path) = &args.store else {
        if args.consent.ignore_open_by_others {
            return Err(usage(anyhow!(
                "--ignore-open-by-others is for real drives and --store: the data of `{}` is in memory; remove the option",
                args.drive
            )));
        }
        return Ok(Store::memory(size)?);
    };
    let header = StoreHeader { drive: args.drive.clone(), size, seed };
    let store = Store::file(path, &header, args.consent.ignore_open_by_others).map_err(usage)?;
    if store.was_cut() {
        notice!(
            "flashscope: {} was not closed cleanly the last time, as after a power cut: data that was not \
             flushed may be lost",
            path.display()
        );
    }
    Ok(store)
}

/// Attaches a real drive, which needs no store.
fn real<A: Answer>(args: &AttachArgs, outputs: Outputs<'_>) -> Result<AttachedDrive<A>, Failure> {
    for (is_given, option) in [
        (args.store.is_some(), "--store"),
        (args.size.is_some(), "--size"),
        (args.fill.is_some(), "--fill"),
        (args.speed.is_some(), "--speed"),
    ] {
        if is_given {
            return Err(usage(anyhow!(
                "{option} is for simulated drives; `{}` is a real drive",
                args.drive
            )));
        }
    }
    let access = match args.read_only.is_set {
        true => Access::ReadOnly,
        false => Access::Write { confirmation: args.consent.destroy_data_on.clone() },
    };
    let options = drives::options(&args.drive)?;
    let ignore_open_by_others = args.consent.ignore_open_by_others;
    let queue_depth = args.queue_depth.unwrap_or(QUEUE_DEPTH);
    let options = OpenOptions { access, ignore_open_by_others, queue_depth, ..options };
    let (contents, info) = Contents::open(&options).map_err(usage)?;
    let export = Export {
        writable: !args.read_only.is_set,
        ..Export::new(info.name.clone(), (info.capacity, info.logical_block))
    };
    let hooks = outputs.hooks(info.capacity)?;
    Ok(AttachedDrive::real(info, contents, export, hooks)?)
}

/// Serves the drive over the chosen transport until `stop` is set.
fn serve(args: &AttachArgs, stop: &AtomicBool, outputs: Outputs<'_>) -> Result<(), Failure> {
    if let Some(folder) = &args.fuse {
        let round_trip = || fuse::round_trip().map_err(fuse_failure);
        let drive = Arc::new(open(args, stop, outputs, &round_trip)?);
        let activity = Activity::start(args, &drive)?;
        let (its_drive, place) = (Arc::clone(&drive), |file: &Path| file.display().to_string());
        let ready = |file: &Path| announce(args, &its_drive, &activity, "fuse", &place(file));
        return fuse::serve(folder, drive, stop, ready).map_err(fuse_failure);
    }
    if args.ublk {
        let round_trip = || ublk::round_trip().map_err(usage);
        let drive = Arc::new(open(args, stop, outputs, &round_trip)?);
        let activity = Activity::start(args, &drive)?;
        let ready = |device: &Path| {
            announce(args, &drive, &activity, "ublk", &device.display().to_string());
        };
        return ublk::serve(&drive, stop, ready).map_err(usage);
    }
    if let Some(address) = &args.nvme_tcp {
        return serve_nvme(args, address, stop, outputs);
    }
    let address = args.nbd.as_deref().unwrap_or(NBD_ADDRESS).parse().map_err(usage)?;
    let listener = nbd::Listener::bind(&address).map_err(usage)?;
    let round_trip = || nbd::round_trip(&address).map_err(Failure::from);
    let drive = Arc::new(open(args, stop, outputs, &round_trip)?);
    let activity = Activity::start(args, &drive)?;
    announce(args, &drive, &activity, "nbd", &listener.address().uri());
    nbd::serve(listener, drive, args.exclusive, stop).map_err(Failure::from)
}

/// Serves the drive over NVMe/TCP until `stop` is set.
fn serve_nvme(
    args: &AttachArgs,
    address: &str,
    stop: &AtomicBool,
    outputs: Outputs<'_>,
) -> Result<(), Failure> {
    let listener = nvme::Listener::bind(address).map_err(usage)?;
    let round_trip = || nvme::round_trip().map_err(Failure::from);
    let drive = Arc::new(open(args, stop, outputs, &round_trip)?);
    let activity = Activity::start(args, &drive)?;
    let options = nvme::SubsystemOptions {
        nqn: args.nqn.clone(),
        hosts: args.allow_host.clone(),
        namespaces: args.namespace.clone(),
    };
    let bound = listener.address();
    let ready = |nqn: &str| {
        let place = format!("nvme+tcp://{bound}/{nqn}");
        announce(args, &drive, &activity, "nvme_tcp", &place);
    };
    nvme::serve(listener, &drive, &options, stop, ready).map_err(|error| match error {
        nvme::Error::Namespaces(error) => usage(error),
        error => Failure::from(error),
    })
}

fn fuse_failure(error: fuse::Error) -> Failure {
    match error {
        fuse::Error::StillOpen(_) | fuse::Error::System { .. } => Failure::from(error),
        _ => usage(error),
    }
}

/// Prints the address of the drive. A closed standard output is not an error.
fn announce<A: Answer>(
    args: &AttachArgs,
    drive: &AttachedDrive<A>,
    activity: &Activity,
    way: &str,
    place: &str,
) {
    activity.attached_at(place);
    let export = drive.export();
    let attached = flashscope_report::AttachedDrive {
        drive: export.name.clone(),
        size_bytes: export.size,
        logical_block_bytes: export.logical_block,
        way: way.into(),
        place: place.into(),
        round_trip_ns: drive.round_trip().map(|trip| trip.of(Op::Read, Bytes::kib(4))),
        page: activity.page(),
    };
    let _ = match args.json.is_given {
        true => print::line(print::json_lines(), &json!(attached)),
        false => {
            print::line(print::text_lines(), &flashscope_report::attached(&attached).trim_end())
        }
    };
}
