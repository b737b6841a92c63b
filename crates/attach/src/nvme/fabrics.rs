//! Fabrics commands (NVM Express Base Specification 2.1, "Fabrics Command Set").

use std::sync::Arc;

use super::command::Command;
use super::controller::{Change, Controller, Host, Kind};
use super::identify::QUEUE_ENTRIES;
use super::pdu::Completion;
use super::plan::Plan;
use super::queue::Action;
use super::session::Transfer;
use super::status::Status;
use super::subsystem::Subsystem;
use super::wire::u16_at;

pub(super) const PROPERTY_SET: u8 = 0x00;
pub(super) const CONNECT: u8 = 0x01;
pub(super) const PROPERTY_GET: u8 = 0x04;
pub(super) const DISCONNECT: u8 = 0x08;

/// The length of the data of Connect in bytes.
const CONNECT_LEN: u32 = 1024;

/// The controller identifier by which a host accepts any controller.
const ANY_CONTROLLER: u16 = u16::MAX;

/// The queue that a host connected.
pub(super) struct ConnectedQueue {
    pub(super) controller: Arc<Controller>,
    pub(super) queue: u16,
    pub(super) entries: u16,
    /// True if the host controls the flow of the submission queue.
    pub(super) has_flow_control: bool,
}

/// Returns the direction and the length of a Fabrics command's data.
pub(super) fn transfer(command: &Command) -> Result<Transfer, Status> {
    match command.fabrics_type() {
        CONNECT => Ok(Transfer::FromHost(CONNECT_LEN)),
        PROPERTY_SET | PROPERTY_GET | DISCONNECT => Ok(Transfer::None),
        _ => Err(Status::INVALID_OPCODE),
    }
}

/// A refusal of Connect: the status and, for an invalid parameter, its offset.
pub(super) struct ConnectRefusal {
    status: Status,
    place: u32,
}

impl From<Status> for ConnectRefusal {
    fn from(status: Status) -> ConnectRefusal {
        ConnectRefusal { status, place: 0 }
    }
}

/// Returns a refusal for the parameter at a byte of the command.
fn in_command(byte: u32) -> ConnectRefusal {
    ConnectRefusal { status: Status::CONNECT_INVALID_PARAMETERS, place: byte }
}

/// Returns a refusal for the parameter at a byte of the data.
fn in_data(byte: u32) -> ConnectRefusal {
    ConnectRefusal { status: Status::CONNECT_INVALID_PARAMETERS, place: 1 << 16 | byte }
}

impl ConnectRefusal {
    pub(super) fn completion(&self, id: u16) -> Completion {
        Completion { id, status: self.status, result: self.place.into() }
    }
}

/// Executes Connect. The queue is not added to the controller yet.
pub(super) fn connect(
    subsystem: &Subsystem,
    command: &Command,
    data: &[u8],
) -> Result<ConnectedQueue, ConnectRefusal> {
    if command.u16(40) != 0 {
        return Err(Status::CONNECT_INCOMPATIBLE_FORMAT.into());
    }
    let (queue, size) = (command.u16(42), command.u16(44));
    if size == 0 || size >= QUEUE_ENTRIES {
        return Err(in_command(44));
    }
    let has_flow_control = command.byte(46) >> 2 & 1 == 0;
    let host_id = data[..16].try_into().expect("16 bytes");
    let id = u16_at(data, 16);
    let kind = match text(&data[256..512]) {
        Some(nqn) if nqn == subsystem.nqn() => Kind::Drive,
        Some(nqn) if nqn == super::DISCOVERY_NQN => Kind::Discovery,
        _ => return Err(in_data(256)),
    };
    let nqn = text(&data[512..768]).filter(|nqn| !nqn.is_empty()).ok_or_else(|| in_data(512))?;
    if kind == Kind::Drive && !subsystem.allows(nqn) {
        return Err(Status::CONNECT_INVALID_HOST.into());
    }
    let host = Host { nqn: nqn.into(), id: host_id };
    let controller = match queue {
        0 if id != ANY_CONTROLLER => return Err(in_data(16)),
        0 => subsystem.create(kind, host, command.dword(12))?,
        _ => existing(subsystem, (kind, id), &host, queue)?,
    };
    Ok(ConnectedQueue { controller, queue, entries: size + 1, has_flow_control })
}

/// Returns the controller for which a host creates an I/O queue.
fn existing(
    subsystem: &Subsystem,
    (kind, id): (Kind, u16),
    host: &Host,
    queue: u16,
) -> Result<Arc<Controller>, ConnectRefusal> {
    if kind == Kind::Discovery {
        return Err(in_command(42));
    }
    let controller = subsystem.controller(id).filter(|controller| controller.kind() == kind);
    let controller = controller.ok_or_else(|| in_data(16))?;
    if controller.host().id != host.id {
        return Err(in_data(0));
    }
    if controller.host().nqn != host.nqn {
        return Err(in_data(512));
    }
    if !controller.is_ready() {
        return Err(Status::COMMAND_SEQUENCE_ERROR.into());
    }
    match queue <= controller.features(|features| features.queues()) {
        true => Ok(controller),
        false => Err(in_command(42)),
    }
}

/// Returns the text before the first zero byte, if it is UTF-8.
fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&bytes[..end]).ok()
}

/// Executes a command on the properties of a controller.
pub(super) fn property(controller: &Controller, command: &Command) -> Result<Action, Status> {
    let size = match command.byte(40) & 0x7 {
        0 => 4,
        1 => 8,
        _ => return Err(Status::INVALID_FIELD),
    };
    let offset = command.dword(11);
    if command.fabrics_type() == PROPERTY_GET {
        let value = controller.property(offset, size)?;
        return Ok(Action::reply(command.id(), value, Vec::new()));
    }
    let value = command.u64(48);
    let value = if size == 4 { value & u64::from(u32::MAX) } else { value };
    Ok(match controller.set_property(offset, size, value)? {
        Change::None => Action::result(command.id(), 0),
        Change::ShutDown => Action::Submit(Plan::ShutDown),
    })
}
