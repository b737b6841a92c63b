//! Several workloads on one drive at once: each tenant has its own namespace and submission queue.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Io, Nanos, Op};
use flashscope_document::{LatencyNs, TenantResult};
use flashscope_measure::{Gauge, IoCallback, Latencies, Length, Load, Outcome, Session, WarmUp};
use flashscope_sim::Drive;
use flashscope_sim::host::{Arbitration, Host, Namespaces, QueueClass};
use flashscope_trace::ReplayError;
use flashscope_workload::Stream;
use flashscope_workload::state::{Fill, InitialContents};
use flashscope_workload::synthetic::{Ios, Target, Workload};
use serde::{Deserialize, Serialize};

use super::load::DEFAULT_IOS;
use super::reading::Reading;
use super::survey::survey;
use super::{Error, Hooks, Work};

/// Maximum number of tenants of a drive.
const MAX_TENANTS: usize = 256;

/// The gauge of a simulation with tenants.
pub(crate) const GAUGE: Gauge<Host<Drive>, Reading> = Gauge {
    read: |host| Reading::of(host.device()),
    metric: Reading::write_amplification,
    erases: Reading::erases,
};

/// A tenant of a drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    /// The name in the results.
    pub name: String,
    /// The class of the submission queue.
    #[serde(default)]
    pub class: QueueClass,
    /// The workload, with any fields to set after `?`; a trace is `trace:FILE`. Offsets count from
    /// the start of the namespace.
    pub workload: String,
}

/// The error for a text that is not a tenant.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{0}` is not a tenant: write NAME=WORKLOAD or NAME:CLASS=WORKLOAD, where CLASS is urgent, high, medium or low"
)]
pub struct TenantError(String);

impl FromStr for Tenant {
    type Err = TenantError;

    fn from_str(text: &str) -> Result<Tenant, TenantError> {
        let error = || TenantError(text.into());
        let (head, workload) = text.split_once('=').ok_or_else(error)?;
        let (name, class) = match head.split_once(':') {
            None => (head, QueueClass::default()),
            Some((name, class)) => {
                let known = QueueClass::ALL.into_iter().find(|known| known.name() == class);
                (name, known.ok_or_else(error)?)
            }
        };
        if name.trim().is_empty() || name.contains('?') || workload.is_empty() {
            return Err(error());
        }
        Ok(Tenant { name: name.trim().into(), class, workload: workload.into() })
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tenant { name, class, workload } = self;
        match class {
            QueueClass::Medium => write!(f, "{name}={workload}"),
            class => write!(f, "{name}:{}={workload}", class.name()),
        }
    }
}

/// The IOs of a tenant, moved to its namespace.
struct InNamespace {
    stream: Box<dyn Stream + Send>,
    start: Bytes,
}

impl Stream for InNamespace {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        let io = self.stream.next(previous)?;
        Some(Io { offset: io.offset + self.start, ..io })
    }
}

/// A stream without IOs, for a tenant that does not run.
struct Absent;

impl Stream for Absent {
    fn next(&mut self, _previous: Nanos) -> Option<Io> {
        None
    }
}

/// A tenant that is ready to run.
struct Ready {
    tenant: Tenant,
    stream: InNamespace,
    queue_depth: u32,
    open_loop: bool,
    is_endless: bool,
    error: Option<ReplayError>,
}

/// The measurements of a tenant.
#[derive(Default)]
struct Measurements {
    latencies: Latencies,
    bytes: [Bytes; Op::ALL.len()],
}

/// The tenants of a drive, ready to run.
pub(crate) struct Tenants {
    ready: Vec<Ready>,
    namespaces: Namespaces,
    arbitration: Arbitration,
    measured: Vec<Measurements>,
}

impl Tenants {
    /// Opens the workloads of all tenants. If `only` is given, only this tenant runs.
    pub(crate) fn open(
        work: &Work,
        drive: &Drive,
        only: Option<usize>,
        stop: &AtomicBool,
        hooks: &mut dyn Hooks,
    ) -> Result<Tenants, Error> {
        let info = drive.info();
        check(work)?;
        let count = u32::try_from(work.tenants.len()).expect("at most 256");
        let namespaces = Namespaces::of(info, count);
        let mut ready = Vec::new();
        for (nth, tenant) in work.tenants.iter().enumerate() {
            let target = Target {
                capacity: namespaces.size,
                logical_block: info.logical_block,
                filled: work.fill != Fill::None,
                seed: work.seed.wrapping_add(nth as u64),
            };
            let runs = only.is_none_or(|only| only == nth);
            let workload =
                flashscope_trace::open_workload(&tenant.workload, &target).map_err(|error| {
                    Error::Tenant { name: tenant.name.clone(), error: Box::new(error.into()) }
                })?;
            let depth = depth(work, &workload, info.queue_depth)?;
            let opened = open(tenant, workload, runs, stop, hooks)?;
            let stream = InNamespace { start: namespaces.start(nth), stream: opened.0 };
            let (is_endless, open_loop, error) = opened.1;
            let queue_depth = if runs { depth } else { 0 };
            ready.push(Ready {
                tenant: tenant.clone(),
                stream,
                queue_depth,
                open_loop,
                is_endless,
                error,
            });
        }
        let measured = ready.iter().map(|_| Measurements::default()).collect();
        Ok(Tenants { ready, namespaces, arbitration: work.arbitration, measured })
    }

    /// Returns the load of all tenants together.
    pub(crate) fn load(&self, work: &Work, fill: InitialContents) -> Result<Load, Error> {
        let endless = self.ready.iter().any(|tenant| tenant.is_endless);
        let all_endless = self.ready.iter().all(|tenant| tenant.is_endless);
        let default = if all_endless { WarmUp::Steady } else { WarmUp::None };
        let length = match super::load::length(work, endless, None)? {
            Length::Whole if endless => Length::Ios(DEFAULT_IOS),
            length => length,
        };
        Ok(Load {
            fill,
            warm_up: work.warm_up.unwrap_or(default),
            length,
            queue_depth: self.ready.iter().map(|tenant| tenant.queue_depth).max().unwrap_or(1),
            open_loop: self.ready.iter().all(|tenant| tenant.open_loop),
            seed: work.seed,
        })
    }

    /// Returns the drive with a submission queue for each tenant.
    pub(crate) fn host(&self, drive: Drive) -> Host<Drive> {
        let classes: Vec<_> = self.ready.iter().map(|tenant| tenant.tenant.class).collect();
        Host::new(drive, self.namespaces, &classes, self.arbitration)
    }

    /// Runs the session, and passes every measured IO to `each`, if it is given.
    pub(crate) fn play(
        &mut self,
        session: Session<'_, Host<Drive>, Reading>,
        mut each: Option<&mut IoCallback<'_>>,
    ) -> Result<Outcome<Reading>, Error> {
        let namespaces = self.namespaces;
        let depths: Vec<u32> = self.ready.iter().map(|tenant| tenant.queue_depth).collect();
        let mut streams: Vec<_> = self.ready.iter_mut().map(|tenant| &mut tenant.stream).collect();
        let measured = &mut self.measured;
        let mut count = |io: &Io, at: Nanos, latency: Nanos| {
            let tenant = &mut measured[namespaces.at(io.offset)];
            tenant.latencies.push(io.op, latency);
            tenant.bytes[usize::from(io.op.code())] += io.len;
            if let Some(each) = &mut each {
                each(io, at, latency);
            }
        };
        let outcome =
            session.run_tenants(&mut streams, &depths, |io| namespaces.at(io.offset), &mut count);
        let error = self.ready.iter_mut().find_map(|tenant| tenant.error.take()?.take());
        error.map_or(Ok(outcome), |error| Err(error.into()))
    }

    /// Returns the results of all tenants for a measurement of duration `took`.
    pub(crate) fn results(&self, took: Nanos) -> Vec<TenantResult> {
        let ready = self.ready.iter().zip(&self.measured).enumerate();
        ready.map(|(nth, (ready, measured))| self.result(nth, ready, measured, took)).collect()
    }

    fn result(
        &self,
        nth: usize,
        ready: &Ready,
        measured: &Measurements,
        took: Nanos,
    ) -> TenantResult {
        let Measurements { latencies, bytes } = measured;
        let ios = latencies.all().count();
        let bytes = |op: Op| bytes[usize::from(op.code())];
        let of = |op| latencies.of(op).and_then(LatencyNs::of);
        TenantResult {
            name: ready.tenant.name.clone(),
            workload: ready.tenant.workload.clone(),
            class: ready.tenant.class.name().into(),
            offset_bytes: self.namespaces.start(nth),
            length_bytes: self.namespaces.size,
            queue_depth: ready.queue_depth,
            ios,
            ios_per_second: rate(ios, took),
            bytes_read: bytes(Op::Read),
            bytes_written: bytes(Op::Write),
            bytes_trimmed: bytes(Op::Trim),
            latency_ns: LatencyNs::of(latencies.all()),
            read_latency_ns: of(Op::Read),
            write_latency_ns: of(Op::Write),
            alone: None,
            slowdown: None,
        }
    }
}

/// Returns IOs per second; `None` if no time passed.
fn rate(ios: u64, took: Nanos) -> Option<f64> {
    #[allow(clippy::cast_precision_loss)] // exact up to 2^53 IOs
    let rate = ios as f64 / took.as_secs_f64();
    Some(rate).filter(|rate| rate.is_finite())
}

fn check(work: &Work) -> Result<(), Error> {
    if work.tenants.len() > MAX_TENANTS {
        return Err(Error::Tenants { most: MAX_TENANTS });
    }
    let mut names: Vec<&str> = work.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::TenantTwice { name: pair[0].into() }),
        None => Ok(()),
    }
}

/// Returns the number of IOs that a tenant keeps in flight.
fn depth(work: &Work, workload: &Workload, device_depth: u32) -> Result<u32, Error> {
    let most = 65_535;
    let requested = workload.queue_depth.or(work.queue_depth);
    let depth = requested.unwrap_or(if workload.open_loop { device_depth } else { 1 });
    match depth {
        0 => Err(Error::NoDepth),
        depth if depth > most => Err(Error::TooDeep { requested: depth, accepted: most }),
        depth => Ok(depth),
    }
}

type StreamOfTenant = (Box<dyn Stream + Send>, (bool, bool, Option<ReplayError>));

/// Opens the stream of a tenant, which stays empty unless the tenant runs. Also returns whether the
/// stream is endless, whether it is an open loop, and the error of a trace.
fn open(
    tenant: &Tenant,
    workload: Workload,
    runs: bool,
    stop: &AtomicBool,
    hooks: &mut dyn Hooks,
) -> Result<StreamOfTenant, Error> {
    let open_loop = workload.open_loop;
    Ok(match workload.ios {
        Ios::Runs(_) => return Err(Error::TenantRuns { name: tenant.name.clone() }),
        Ios::Trace(_) if !runs => (Box::new(Absent), (false, open_loop, None)),
        Ios::Endless(_) | Ios::Application(_) if !runs => {
            (Box::new(Absent), (true, open_loop, None))
        }
        Ios::Endless(generator) => (generator, (true, open_loop, None)),
        Ios::Application(application) => (application, (true, open_loop, None)),
        Ios::Trace(playback) => {
            survey(&playback, stop, hooks)?;
            let replay = flashscope_trace::replay(&playback)?;
            let error = replay.error();
            (Box::new(replay), (false, open_loop, Some(error)))
        }
    })
}

#[cfg(test)]
mod tests;
