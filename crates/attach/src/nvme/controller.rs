use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use flashscope_block::Nanos;

use super::command::Command;
use super::features::Features;
use super::identify::{ERROR_ENTRIES, EVENT_REQUESTS, QUEUE_ENTRIES};
use super::namespace::CommandSet;
use super::pdu::Completion;
use super::status::Status;
use super::subsystem::VERSION;
use crate::lock;

/// Offsets of properties.
const CAP: u32 = 0x00;
const VS: u32 = 0x08;
const CC: u32 = 0x14;
const CSTS: u32 = 0x1C;
const CRTO: u32 = 0x68;

/// Bits of the controller configuration (CC) and status (CSTS).
const CC_ENABLE: u32 = 1;
const CC_COMMAND_SETS: u32 = 7 << 4;
const CC_ALL_COMMAND_SETS: u32 = 6 << 4;
const CC_SHUTDOWN: u32 = 3 << 14;
const CSTS_READY: u32 = 1;
const CSTS_FATAL: u32 = 1 << 1;
const CSTS_SHUTTING_DOWN: u32 = 1 << 2;
const CSTS_SHUT_DOWN: u32 = 2 << 2;

/// The asynchronous event for changed attributes of a namespace: a notice (type 2), whose details
/// are in log page 04h.
const NAMESPACE_EVENT: u32 = 0x0004_0002;

/// The asynchronous event for the end of a sanitize operation (type 6), whose details are in log
/// page 81h.
const SANITIZE_EVENT: u32 = 0x0081_0106;

/// The maximum time in which a controller becomes ready, in units of 500 ms.
const READY_TIME: u8 = 10;

/// The kind of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A controller of the discovery subsystem.
    Discovery,
    /// A controller of the drive.
    Drive,
}

/// The identity of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) nqn: String,
    pub(super) id: [u8; 16],
}

/// The connection of a queue, for completions of asynchronous event requests and for disconnecting.
pub trait Link: Send + Sync {
    /// Completes a command.
    fn complete(&self, completion: Completion);

    /// Drops commands that are never completed. The host may use their identifiers again.
    fn abandon(&self, _ids: &[u16]) {}

    /// Ends the connection.
    fn disconnect(&self);
}

/// The change that a write to a property requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// A shutdown: the host waits until the controller is shut down.
    ShutDown,
}

/// A failed command, for the error log.
#[derive(Debug, Clone)]
pub(super) struct ErrorEntry {
    pub(super) number: u64,
    pub(super) queue: u16,
    pub(super) command: Command,
    pub(super) status: Status,
}

/// The errors of a controller, the latest first.
#[derive(Debug, Default)]
pub(super) struct ErrorLog {
    pub(super) entries: VecDeque<ErrorEntry>,
    pub(super) count: u64,
}

/// A controller: the state that the queues of one host share.
pub(super) struct Controller {
    id: u16,
    kind: Kind,
    command_set: CommandSet,
    host: Host,
    state: Mutex<State>,
}

struct State {
    cc: u32,
    csts: u32,
    resets: u64,
    last_sign: Nanos,
    features: Features,
    queues: BTreeMap<u16, Arc<dyn Link>>,
    /// The asynchronous event requests that wait for an event.
    event_requests: VecDeque<u16>,
    /// The namespaces that changed since the host read the log page.
    changed: BTreeSet<u32>,
    /// The events that wait for a request of the host, each at most once.
    events: VecDeque<u32>,
    errors: ErrorLog,
}

impl Controller {
    pub(super) fn new(
        id: u16,
        (kind, command_set): (Kind, CommandSet),
        host: Host,
        keep_alive_ms: u32,
        now: Nanos,
    ) -> Controller {
        let state = State {
            cc: 0,
            csts: 0,
            resets: 0,
            last_sign: now,
            features: Features::new(keep_alive_ms),
            queues: BTreeMap::new(),
            event_requests: VecDeque::new(),
            changed: BTreeSet::new(),
            events: VecDeque::new(),
            errors: ErrorLog::default(),
        };
        Controller { id, kind, command_set, host, state: Mutex::new(state) }
    }

    pub(super) fn id(&self) -> u16 {
        self.id
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// Returns true if the host has enabled the controller.
    pub(super) fn is_ready(&self) -> bool {
        lock(&self.state).csts & CSTS_READY != 0
    }

    /// Returns the number of resets so far.
    pub(super) fn resets(&self) -> u64 {
        lock(&self.state).resets
    }

    /// Returns the command set of the namespaces.
    pub(super) fn command_set(&self) -> CommandSet {
        self.command_set
    }

    /// Calls `with` with the features.
    pub(super) fn features<T>(&self, with: impl FnOnce(&mut Features) -> T) -> T {
        with(&mut lock(&self.state).features)
    }

    /// Calls `with` with the error log.
    pub(super) fn errors<T>(&self, with: impl FnOnce(&ErrorLog) -> T) -> T {
        with(&lock(&self.state).errors)
    }

    /// Records the time of a command of the host, for the keep-alive timeout.
    pub(super) fn sign_of_life(&self, now: Nanos) {
        lock(&self.state).last_sign = now;
    }

    /// Returns true if the host was silent for longer than its keep-alive timeout.
    pub(super) fn is_silent(&self, now: Nanos) -> bool {
        let state = lock(&self.state);
        let timeout = Nanos::millis(state.features.keep_alive_ms().into());
        timeout.0 > 0 && now.0.saturating_sub(state.last_sign.0) > timeout.0
    }

    /// Returns a property of `size` bytes.
    pub(super) fn property(&self, offset: u32, size: u32) -> Result<u64, Status> {
        let state = lock(&self.state);
        match (offset, size) {
            (CAP, 8) => Ok(self.capabilities()),
            (VS, 4) => Ok(VERSION.into()),
            (CC, 4) => Ok(state.cc.into()),
            (CSTS, 4) => Ok(state.csts.into()),
            (CRTO, 4) => Ok(READY_TIME.into()),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Changes a property; only the controller configuration can be changed.
    pub(super) fn set_property(
        &self,
        offset: u32,
        size: u32,
        value: u64,
    ) -> Result<Change, Status> {
        let (CC, 4, Ok(cc)) = (offset, size, u32::try_from(value)) else {
            return Err(Status::INVALID_FIELD);
        };
        let mut state = lock(&self.state);
        let before = std::mem::replace(&mut state.cc, cc);
        if before & CC_ENABLE == 0 && cc & CC_ENABLE != 0 {
            state.csts = if self.is_supported(cc) { CSTS_READY } else { CSTS_FATAL };
        }
        let (mut links, mut dropped) = (Vec::new(), Vec::new());
        if before & CC_ENABLE != 0 && cc & CC_ENABLE == 0 {
            (links, dropped) = state.reset();
        }
        let admin = state.queues.get(&0).cloned();
        let shuts_down = before & CC_SHUTDOWN == 0 && cc & CC_SHUTDOWN != 0;
        if shuts_down {
            state.csts |= CSTS_SHUTTING_DOWN;
        }
        drop(state);
        admin.iter().for_each(|admin| admin.abandon(&dropped));
        links.iter().for_each(|link| link.disconnect());
        Ok(if shuts_down { Change::ShutDown } else { Change::None })
    }

    /// Returns true if the drive has a command set other than the NVM command set.
    fn has_other_sets(&self) -> bool {
        self.kind == Kind::Drive && self.command_set != CommandSet::Nvm
    }

    /// Returns the capabilities: the size of queues, contiguous queues, the time to become ready,
    /// the command sets, and that the media are ready when the controller is.
    fn capabilities(&self) -> u64 {
        // The NVM command set, or the sets that Identify lists.
        let sets = if self.has_other_sets() { 1 << 43 } else { 1 << 37 };
        u64::from(QUEUE_ENTRIES - 1) | 1 << 16 | u64::from(READY_TIME) << 24 | sets | 1 << 59
    }

    /// Returns true if a configuration is supported: the command sets of the capabilities, pages of
    /// 4 KiB, round robin, and entries of 64 and 16 bytes.
    fn is_supported(&self, cc: u32) -> bool {
        let sets = if self.has_other_sets() { CC_ALL_COMMAND_SETS } else { 0 };
        let entries = match self.kind {
            Kind::Drive => 6 << 16 | 4 << 20,
            // A discovery controller has no I/O queues.
            Kind::Discovery => cc & 0xFF << 16,
        };
        let known = CC_ENABLE | CC_COMMAND_SETS | CC_SHUTDOWN | entries | 1 << 24;
        cc & !known == 0 && cc & 0xFF << 16 == entries && cc & CC_COMMAND_SETS == sets
    }

    /// Ends a shutdown, unless a reset has ended it. `is_done` is true if all data are on the
    /// flash. Otherwise the property keeps its old value, and the host can request the shutdown
    /// again.
    pub(super) fn end_shutdown(&self, is_done: bool) {
        let mut state = lock(&self.state);
        if state.csts & CSTS_SHUTTING_DOWN == 0 {
            return;
        }
        state.csts &= !CSTS_SHUTTING_DOWN;
        match is_done {
            true => state.csts |= CSTS_SHUT_DOWN,
            false => state.cc &= !CC_SHUTDOWN,
        }
    }

    /// Adds a queue; returns false if the number is in use.
    pub(super) fn add_queue(&self, number: u16, link: Arc<dyn Link>) -> bool {
        let mut state = lock(&self.state);
        let is_free = !state.queues.contains_key(&number);
        if is_free {
            state.queues.insert(number, link);
        }
        is_free
    }

    pub(super) fn remove_queue(&self, number: u16) {
        let link = lock(&self.state).queues.remove(&number);
        drop(link);
    }

    /// Ends the connections of all queues.
    pub(super) fn disconnect_all(&self) {
        let links: Vec<_> = lock(&self.state).queues.values().cloned().collect();
        links.iter().for_each(|link| link.disconnect());
    }

    /// Returns true if I/O queues exist.
    pub(super) fn has_io_queues(&self) -> bool {
        lock(&self.state).queues.keys().any(|number| *number > 0)
    }

    /// Stores an asynchronous event request, or returns its result if an event is waiting.
    pub(super) fn event_request(&self, id: u16) -> Result<Option<u32>, Status> {
        let mut state = lock(&self.state);
        if let Some(event) = state.events.pop_front() {
            return Ok(Some(event));
        }
        if state.event_requests.len() == EVENT_REQUESTS {
            return Err(Status::EVENT_LIMIT_EXCEEDED);
        }
        state.event_requests.push_back(id);
        Ok(None)
    }

    /// Aborts an asynchronous event request, the only command that can be aborted. Returns true if
    /// it was aborted.
    pub(super) fn abort(&self, queue: u16, id: u16) -> bool {
        let mut state = lock(&self.state);
        let place = state.event_requests.iter().position(|held| *held == id);
        let (0, Some(place)) = (queue, place) else { return false };
        state.event_requests.remove(place);
        let admin = state.queues.get(&0).cloned();
        drop(state);
        if let Some(admin) = admin {
            admin.complete(Completion::new(id, Status::ABORTED_BY_REQUEST));
        }
        true
    }

    /// Reports changed namespaces by one event, until the host reads the log page.
    pub(super) fn namespaces_changed(&self, namespaces: &[u32]) {
        let mut state = lock(&self.state);
        let is_new = state.changed.is_empty() && !namespaces.is_empty();
        state.changed.extend(namespaces);
        let reports = state.features.reports_namespaces();
        drop(state);
        if is_new && reports {
            self.report(NAMESPACE_EVENT);
        }
    }

    /// Reports that a sanitize operation has ended.
    pub(super) fn sanitized(&self) {
        self.report(SANITIZE_EVENT);
    }

    /// Completes an asynchronous event request, or keeps the event until the host sends a request.
    fn report(&self, event: u32) {
        let mut state = lock(&self.state);
        if self.kind == Kind::Discovery {
            return;
        }
        let request = state.event_requests.pop_front();
        let admin = state.queues.get(&0).cloned();
        match (request, admin) {
            (Some(id), Some(admin)) => {
                drop(state);
                let result = event.into();
                admin.complete(Completion { id, status: Status::SUCCESS, result });
            }
            _ if state.events.contains(&event) => {}
            _ => state.events.push_back(event),
        }
    }

    /// Returns the namespaces that have changed. With `clear`, later changes are reported again.
    pub(super) fn changed(&self, clear: bool) -> Vec<u32> {
        let changed = &mut lock(&self.state).changed;
        let list = changed.iter().copied().collect();
        if clear {
            changed.clear();
        }
        list
    }

    /// Records a failed command.
    pub(super) fn failed(&self, queue: u16, command: Command, status: Status) {
        let mut state = lock(&self.state);
        let errors = &mut state.errors;
        errors.count += 1;
        errors.entries.truncate(ERROR_ENTRIES - 1);
        errors.entries.push_front(ErrorEntry { number: errors.count, queue, command, status });
    }
}

impl State {
    /// Resets the controller. Returns the connections of the I/O queues, which the caller must end,
    /// and the event requests, which the admin queue must drop.
    fn reset(&mut self) -> (Vec<Arc<dyn Link>>, Vec<u16>) {
        self.csts = 0;
        self.resets += 1;
        let dropped = self.event_requests.drain(..).collect();
        self.events.clear();
        self.features = Features::new(self.features.keep_alive_ms());
        let io = self.queues.iter().filter(|(number, _)| **number > 0);
        (io.map(|(_, link)| Arc::clone(link)).collect(), dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller(keep_alive_ms: u32) -> Controller {
        let host = Host { nqn: "nqn.2026-11.org.example:host".into(), id: [0; 16] };
        Controller::new(1, (Kind::Drive, CommandSet::Nvm), host, keep_alive_ms, Nanos::secs(1))
    }

    // A host is silent once its timeout, rounded up to seconds, has passed since its last command.
    // Without a timeout, no host is silent.
    #[test]
    fn silence_is_longer_than_the_timeout() {
        let host = controller(1500);
        assert!(!host.is_silent(Nanos::secs(3)));
        assert!(host.is_silent(Nanos(Nanos::secs(3).0 + 1)));
        host.sign_of_life(Nanos::secs(2));
        assert!(!host.is_silent(Nanos::secs(4)));
        assert!(host.is_silent(Nanos::secs(5)));
        assert!(!controller(0).is_silent(Nanos::MAX));
    }
}
