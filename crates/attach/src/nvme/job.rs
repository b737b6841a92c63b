//! Commands of several requests to the drive, some of which start only after others are complete.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use flashscope_block::{Bytes, Op, StreamId, ZoneState};

use super::connection::{Connection, Recipient};
use super::io::pieces;
use super::pdu::Completion;
use super::plan::{self, Erase, Plan};
use super::protection::{ExtendedCopy, ExtendedRead};
use super::status::Status;
use super::subsystem::Subsystem;
use crate::attached::AttachedDrive;
use crate::lock;
use crate::request::{CompletedRequest, PendingRequest, Request, RequestError, ZoneError};
use crate::zones::{ZoneChange, ZoneSelection};

/// The maximum number of bytes of a trim that erases; a larger zone is reset by one trim.
const ERASE_STEP: u64 = 1 << 30;

/// The maximum number of bytes of a request that erases by writing zeros.
const ZERO_STEP: u64 = 8 << 20;

/// The maximum number of requests that erase at the same time.
const ERASE_BATCH: usize = 16;

/// A command that needs several requests.
#[derive(Debug)]
pub(super) struct Job {
    connection: Arc<Connection>,
    id: u16,
    cost: u64,
    state: Mutex<State>,
    steps: Sender<Step>,
}

#[derive(Debug)]
struct State {
    rest: Rest,
    /// The number of requests in flight.
    open: usize,
    status: Status,
    /// True if a fault cuts the connection: the command gets no reply.
    is_lost: bool,
    /// The data of the reads, by their index in the step.
    data: Vec<Vec<u8>>,
    /// The metadata of the reads, by their index in the step.
    metadata: Vec<Vec<u8>>,
}

/// The remaining work of a job.
#[derive(Debug)]
enum Rest {
    /// No request: the command is complete, with the data that were read if `returns_data`.
    End { returns_data: bool },
    /// No request: [`Job::process_read`] checks the blocks and metadata of the read in flight.
    Extended(ExtendedRead),
    /// A read, whose data are returned.
    Read(Request, Option<ExtendedRead>),
    /// A write of the data that were read.
    Write { to: Bytes, durable: bool, stream: StreamId, extended: Option<ExtendedCopy> },
    /// An erasure of everything from this byte on.
    Erase { erase: Erase, from: u64 },
    /// The shutdown of the controller.
    ShutDown,
}

/// A message to the thread of [`run`], which submits the later requests of jobs.
#[derive(Debug)]
pub(super) enum Step {
    /// All requests of a job are complete.
    Next(Arc<Job>),
    /// The thread ends.
    Stop,
}

impl Job {
    /// Starts the job for a plan. Returns its first requests, or an empty list if the thread of
    /// [`run`] submits them.
    pub(super) fn start(
        connection: &Arc<Connection>,
        (id, cost): (u16, u64),
        plan: Plan,
        steps: &Sender<Step>,
    ) -> Vec<PendingRequest<Recipient>> {
        let (requests, rest) = match plan {
            Plan::One(request, _) | Plan::ResetZones(request) => {
                (vec![request], Rest::End { returns_data: false })
            }
            Plan::All(requests) => (requests, Rest::End { returns_data: false }),
            Plan::DurableRead(read, rest) => (vec![plan::flush()], Rest::Read(read, rest)),
            Plan::Copy { reads, to, durable, stream, extended } => {
                (reads, Rest::Write { to, durable, stream, extended })
            }
            Plan::Erase(erase) => (Vec::new(), Rest::Erase { erase, from: 0 }),
            Plan::ShutDown => (vec![plan::flush()], Rest::ShutDown),
            // Zones and handles need no job.
            Plan::Zones(_) | Plan::Placement(_) => (Vec::new(), Rest::End { returns_data: false }),
        };
        let state = State {
            rest,
            open: 0,
            status: Status::SUCCESS,
            is_lost: false,
            data: Vec::new(),
            metadata: Vec::new(),
        };
        let job = Arc::new(Job {
            connection: Arc::clone(connection),
            id,
            cost,
            state: Mutex::new(state),
            steps: steps.clone(),
        });
        if requests.is_empty() {
            let _ = steps.send(Step::Next(job));
            return Vec::new();
        }
        job.pending(requests)
    }

    /// Returns requests whose replies go to this job.
    fn pending(self: &Arc<Job>, requests: Vec<Request>) -> Vec<PendingRequest<Recipient>> {
        let mut state = lock(&self.state);
        state.open = requests.len();
        state.data = vec![Vec::new(); requests.len()];
        state.metadata = vec![Vec::new(); requests.len()];
        let pending = requests.into_iter().enumerate().map(|(place, request)| {
            let from = Recipient::part(Arc::clone(self), place);
            PendingRequest { request, from }
        });
        pending.collect()
    }

    /// Processes the reply to a request. The last reply starts the next step of the command.
    pub(super) fn answered(self: &Arc<Job>, place: usize, answered: CompletedRequest<()>) {
        let mut state = lock(&self.state);
        state.open -= 1;
        match answered.result {
            Ok(()) if answered.request.op == Op::Read => state.read(place, answered.request),
            Ok(()) => {}
            // The zones of an erased namespace are empty or offline (Zoned Namespace Command Set
            // Specification 1.1, section 2.1.1.3).
            Err(RequestError::Zone(ZoneError::Offline))
                if matches!(state.rest, Rest::Erase { .. }) => {}
            Err(error) => {
                state.is_lost |= error == RequestError::Lost;
                state.status = Status::of(answered.request.op, error);
            }
        }
        let is_last = state.open == 0;
        drop(state);
        if is_last {
            let _ = self.steps.send(Step::Next(Arc::clone(self)));
        }
    }

    /// Checks the blocks that a read returned with their metadata.
    pub(super) fn process_read(&self, read: &mut Request) {
        let mut state = lock(&self.state);
        let Rest::Extended(rest) = &state.rest else { return };
        if let Err(status) = rest.finish(read) {
            state.status = status;
        }
        state.rest = Rest::End { returns_data: true };
    }

    /// Submits the requests that follow, or completes the command.
    fn go_on(self: &Arc<Job>, subsystem: &Subsystem, drive: &AttachedDrive<Recipient>) {
        let mut state = lock(&self.state);
        let (mut status, data) = (state.status, std::mem::take(&mut state.data));
        let rest = std::mem::replace(&mut state.rest, Rest::End { returns_data: false });
        let next = match rest {
            Rest::Erase { erase, from } if status == Status::SUCCESS => {
                subsystem.namespaces().erased_until(erase, from);
                if from == 0 {
                    // Read-only zones would keep their data. A zone that cannot be taken offline
                    // keeps its state, and the erasure includes it.
                    let _ = drive.change_zones(ZoneChange::TakeOffline, ZoneSelection::All);
                }
                let offline = offline_zones(subsystem, drive);
                let (requests, end) = erasing(subsystem, erase, from, &offline);
                state.rest = Rest::Erase { erase, from: end };
                requests
            }
            Rest::Read(read, rest) if status == Status::SUCCESS => {
                state.rest = rest.map_or(Rest::End { returns_data: true }, Rest::Extended);
                vec![read]
            }
            Rest::Write { to, durable, stream, extended } if status == Status::SUCCESS => {
                let metadata = std::mem::take(&mut state.metadata);
                match extended.map(|rest| rest.finish(&data, &metadata)).transpose() {
                    Ok(metadata) => {
                        let write = write_of(&data, to, durable);
                        vec![Request { stream, metadata, ..write }]
                    }
                    Err(failed) => {
                        status = failed;
                        Vec::new()
                    }
                }
            }
            rest => {
                drop(state);
                return self.complete(subsystem, rest, status, data.concat());
            }
        };
        if next.is_empty() {
            let rest = std::mem::replace(&mut state.rest, Rest::End { returns_data: false });
            drop(state);
            return self.complete(subsystem, rest, status, Vec::new());
        }
        drop(state);
        drive.submit(&mut self.pending(next));
    }

    fn complete(&self, subsystem: &Subsystem, rest: Rest, status: Status, data: Vec<u8>) {
        let is_done = status == Status::SUCCESS;
        let data = match rest {
            Rest::End { returns_data: true } if is_done => data,
            _ => Vec::new(),
        };
        match rest {
            Rest::Erase { erase, .. } => subsystem.namespaces().end(erase, is_done),
            Rest::ShutDown => self.connection.end_shutdown(is_done),
            _ => {}
        }
        // The command Sanitize was completed when the operation began.
        if matches!(rest, Rest::Erase { erase: Erase::Sanitize, .. }) {
            return subsystem.sanitized();
        }
        if !lock(&self.state).is_lost {
            self.connection.finish(&Completion::new(self.id, status), data, self.cost);
        }
        if let (Rest::Erase { erase, .. }, true) = (rest, is_done) {
            subsystem.namespaces_changed(&subsystem.namespaces().formatted(erase));
        }
    }
}

/// Returns a write of the joined data.
fn write_of(data: &[Vec<u8>], to: Bytes, durable: bool) -> Request {
    let data = data.concat();
    let write = plan::request(Op::Write, to, Bytes(data.len() as u64), durable);
    Request { data, ..write }
}

/// Returns the offsets of the zones that are offline.
fn offline_zones(subsystem: &Subsystem, drive: &AttachedDrive<Recipient>) -> BTreeSet<Bytes> {
    match subsystem.namespace().zones() {
        Some(_) => drive
            .report_zones(0)
            .iter()
            .filter(|zone| zone.state == ZoneState::Offline)
            .map(|zone| zone.start)
            .collect(),
        None => BTreeSet::new(),
    }
}

impl State {
    /// Stores the data and the metadata of a read.
    fn read(&mut self, place: usize, request: Request) {
        self.data[place] = request.data;
        self.metadata[place] = request.metadata.map(|read| read.bytes).unwrap_or_default();
    }
}

/// Returns the next requests of an erasure that has reached the byte `from`, and the byte at which
/// they end. The requests leave out ranges of zones that are all offline.
fn erasing(
    subsystem: &Subsystem,
    erase: Erase,
    from: u64,
    offline: &BTreeSet<Bytes>,
) -> (Vec<Request>, u64) {
    let space = subsystem.namespace();
    let (op, step) = match (space.trims(), space.zones()) {
        // Only complete zones can be reset.
        (_, Some(zones)) => (Op::Trim, (ERASE_STEP / zones.size.0).max(1) * zones.size.0),
        (true, None) => (Op::Trim, ERASE_STEP),
        (false, None) => (Op::Write, ZERO_STEP),
    };
    let range = subsystem.namespaces().range(erase);
    let from = from.max(range.start);
    let request = |(offset, len)| plan::request(op, offset, len, false);
    let zone = space.zones().map_or(step, |zones| zones.size.0);
    let is_there = |(offset, len): &(Bytes, Bytes)| {
        let zones = len.0.div_ceil(zone);
        (0..zones).any(|nth| !offline.contains(&Bytes(offset.0 + nth * zone)))
    };
    let requests: Vec<_> =
        pieces(from..range.end, step).filter(is_there).take(ERASE_BATCH).map(request).collect();
    let end = requests.last().map_or(from, |last| (last.offset + last.len).0);
    (requests, end)
}

/// Submits the later requests of each job once its earlier requests are complete, until it receives
/// [`Step::Stop`].
pub(super) fn run(steps: &Receiver<Step>, subsystem: &Subsystem, drive: &AttachedDrive<Recipient>) {
    while let Ok(Step::Next(job)) = steps.recv() {
        job.go_on(subsystem, drive);
    }
}
