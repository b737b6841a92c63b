//! The commands that only a zoned namespace has (Zoned Namespace Command Set Specification 1.1,
//! "I/O Commands for the Zoned Namespace Command Set").

use flashscope_block::{Bytes, Op, Zone, ZoneLimits, ZoneState};

use super::command::Command;
use super::connection::Recipient;
use super::identify::MAX_TRANSFER;
use super::namespace::Namespace;
use super::plan::{self, Finish, Plan};
use super::session::Transfer;
use super::status::Status;
use super::wire::Structure;
use crate::attached::AttachedDrive;
use crate::request::{Request, RequestError};
use crate::zones::{ZoneChange, ZoneSelection};

pub(super) const ZONE_MANAGEMENT_SEND: u8 = 0x79;
pub(super) const ZONE_MANAGEMENT_RECEIVE: u8 = 0x7A;
pub(super) const ZONE_APPEND: u8 = 0x7D;

/// The actions of Zone Management Send.
const CLOSE: u32 = 0x01;
const FINISH: u32 = 0x02;
const OPEN: u32 = 0x03;
const RESET: u32 = 0x04;
const OFFLINE: u32 = 0x05;

/// The action of Zone Management Receive that reports zones. The extended report is for zones with
/// descriptor extensions, which the namespace does not have.
const REPORT: u32 = 0x00;

/// The length of the header of a report, and of the descriptor of each zone, in bytes.
const HEADER_LEN: usize = 64;
const DESCRIPTOR_LEN: usize = 64;

/// The type of a zone that must be written in order.
const SEQUENTIAL: u8 = 2;

/// A command that the drive executes immediately, without a request.
#[derive(Debug, PartialEq, Eq)]
pub enum ZoneCommand {
    /// Changes the state of zones.
    Change(ZoneChange, ZoneSelection),
    /// Reports the state of zones.
    Report(Report),
}

impl ZoneCommand {
    /// Executes the command, and returns the data for the host.
    pub(super) fn run(&self, drive: &AttachedDrive<Recipient>) -> Result<Vec<u8>, RequestError> {
        match self {
            ZoneCommand::Change(change, selection) => {
                drive.change_zones(*change, *selection).map(|()| Vec::new())
            }
            ZoneCommand::Report(report) => Ok(report.encode(&drive.report_zones(report.first))),
        }
    }
}

/// A report of zones that a host requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// The number of the first zone.
    first: u32,
    filter: Filter,
    /// True if the header counts the zones in the report, not all matching zones.
    is_partial: bool,
    /// The length of the report in bytes.
    len: usize,
    /// The size of a logical block in bytes.
    block: Bytes,
}

/// The states of the zones to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filter {
    All,
    State(ZoneState),
}

impl Filter {
    /// Returns the filter for a reporting option.
    fn of(option: u32) -> Result<Filter, Status> {
        Ok(match option {
            0 => Filter::All,
            1 => Filter::State(ZoneState::Empty),
            2 => Filter::State(ZoneState::ImplicitlyOpen),
            3 => Filter::State(ZoneState::ExplicitlyOpen),
            4 => Filter::State(ZoneState::Closed),
            5 => Filter::State(ZoneState::Full),
            6 => Filter::State(ZoneState::ReadOnly),
            7 => Filter::State(ZoneState::Offline),
            _ => return Err(Status::INVALID_FIELD),
        })
    }

    fn admits(self, zone: &Zone) -> bool {
        match self {
            Filter::All => true,
            Filter::State(state) => zone.state == state,
        }
    }
}

impl Report {
    /// Encodes the report of the zones from the first one on.
    fn encode(&self, zones: &[Zone]) -> Vec<u8> {
        let mut report = Structure::new(self.len);
        let room = (self.len - HEADER_LEN) / DESCRIPTOR_LEN;
        let mut count = 0;
        for zone in zones.iter().filter(|zone| self.filter.admits(zone)) {
            if count < room {
                describe(&mut report, HEADER_LEN + DESCRIPTOR_LEN * count, zone, self.block);
            }
            count += 1;
        }
        let counted = if self.is_partial { count.min(room) } else { count };
        report.u64(0, counted as u64);
        report.into_bytes()
    }
}

/// Encodes the descriptor of a zone.
fn describe(report: &mut Structure, at: usize, zone: &Zone, block: Bytes) {
    let state = match zone.state {
        ZoneState::Empty => 0x1,
        ZoneState::ImplicitlyOpen => 0x2,
        ZoneState::ExplicitlyOpen => 0x3,
        ZoneState::Closed => 0x4,
        ZoneState::ReadOnly => 0xD,
        ZoneState::Full => 0xE,
        ZoneState::Offline => 0xF,
    };
    // Only zones that can be written have a write pointer.
    let pointer = match zone.state {
        ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => u64::MAX,
        _ => zone.write_pointer.0 / block.0,
    };
    report
        .u8(at, SEQUENTIAL)
        .u8(at + 1, state << 4)
        .u64(at + 8, zone.capacity.0 / block.0)
        .u64(at + 16, zone.start.0 / block.0)
        .u64(at + 24, pointer);
}

/// Returns the zone limits of the namespace. A namespace without zones refuses the command as an
/// unknown opcode.
fn zones(space: &Namespace) -> Result<&ZoneLimits, Status> {
    space.zones().ok_or(Status::INVALID_OPCODE)
}

/// Returns the offset in bytes of the block that a command names in dwords 10 and 11.
fn first_byte(space: &Namespace, command: &Command) -> Result<Bytes, Status> {
    let start = command.u64(40);
    match start < space.blocks() {
        true => Ok(Bytes(start * space.block().0)),
        false => Err(Status::LBA_OUT_OF_RANGE),
    }
}

/// Returns the number of the zone that begins at the block of a command.
fn zone_number(space: &Namespace, command: &Command) -> Result<u32, Status> {
    let (start, size) = (first_byte(space, command)?, zones(space)?.size);
    match start.is_multiple_of(size) {
        true => Ok(number_of(start, size)),
        false => Err(Status::INVALID_FIELD),
    }
}

fn number_of(offset: Bytes, size: Bytes) -> u32 {
    u32::try_from(offset.0 / size.0).expect("zone numbers have 32 bits")
}

/// Returns the direction and the length of a command's data.
pub(super) fn transfer(space: &Namespace, command: &Command) -> Result<Transfer, Status> {
    let len = match command.opcode() {
        ZONE_APPEND => return Ok(Transfer::FromHost(append_len(space, command)?)),
        ZONE_MANAGEMENT_RECEIVE => receive(space, command)?.len,
        _ => return Ok(Transfer::None),
    };
    Ok(Transfer::ToHost(u32::try_from(len).expect("transfers are limited")))
}

/// Returns the plan of a command; `None` if there is nothing to do.
pub(super) fn plan(
    space: &Namespace,
    command: &Command,
    data: Vec<u8>,
    durable: bool,
) -> Result<Option<Plan>, Status> {
    match command.opcode() {
        ZONE_APPEND => append(space, command, data, durable).map(Some),
        ZONE_MANAGEMENT_SEND => send(space, command),
        ZONE_MANAGEMENT_RECEIVE => {
            Ok(Some(Plan::Zones(ZoneCommand::Report(receive(space, command)?))))
        }
        _ => Err(Status::INVALID_OPCODE),
    }
}

/// Returns the length of an append in bytes. An append that exceeds every zone is rejected before
/// it reaches the drive.
fn append_len(space: &Namespace, command: &Command) -> Result<u32, Status> {
    zone_number(space, command)?;
    let len = Bytes((u64::from(command.dword(12) & 0xFFFF) + 1) * space.block().0);
    // Directives and remapping of protection information are not supported.
    let options = command.dword(12) >> 20 & 0xF | command.dword(12) >> 25 & 1;
    if options != 0 || len > MAX_TRANSFER {
        return Err(Status::INVALID_FIELD);
    }
    match len <= zones(space)?.capacity {
        true => Ok(u32::try_from(len.0).expect("transfers are limited")),
        false => Err(Status::ZONE_BOUNDARY_ERROR),
    }
}

fn append(
    space: &Namespace,
    command: &Command,
    data: Vec<u8>,
    durable: bool,
) -> Result<Plan, Status> {
    let (start, len) = (first_byte(space, command)?, Bytes(append_len(space, command)?.into()));
    let write = plan::request(Op::Write, start, len, durable);
    let request = Request { data, appends: true, ..write };
    Ok(Plan::One(request, Finish::Place(space.block())))
}

/// Returns the plan of Zone Management Send.
fn send(space: &Namespace, command: &Command) -> Result<Option<Plan>, Status> {
    let options = command.dword(13);
    let (action, selects_all) = (options & 0xFF, options >> 8 & 1 == 1);
    // No zone has a random write area.
    if options >> 9 & 1 == 1 {
        return Err(Status::INVALID_FIELD);
    }
    let change = match action {
        CLOSE => Some(ZoneChange::Close),
        FINISH => Some(ZoneChange::Finish),
        OPEN => Some(ZoneChange::Open),
        OFFLINE => Some(ZoneChange::TakeOffline),
        RESET => None,
        // Descriptor extensions are not supported either.
        _ => return Err(Status::INVALID_FIELD),
    };
    let size = zones(space)?.size;
    let (start, selection) = match selects_all {
        true => (Bytes(0), ZoneSelection::All),
        false => {
            let number = zone_number(space, command)?;
            (Bytes(u64::from(number) * size.0), ZoneSelection::One(number))
        }
    };
    match change {
        Some(change) => Ok(Some(Plan::Zones(ZoneCommand::Change(change, selection)))),
        None => {
            let reset = |len| plan::request(Op::Trim, start, len, false);
            Ok(Some(match selects_all {
                true => Plan::ResetZones(reset(space.size())),
                false => Plan::One(reset(size), Finish::Status),
            }))
        }
    }
}

/// Returns the report that Zone Management Receive requests.
fn receive(space: &Namespace, command: &Command) -> Result<Report, Status> {
    let options = command.dword(13);
    let filter = Filter::of(options >> 8 & 0xFF)?;
    let len = 4 * (u64::from(command.dword(12)) + 1);
    if options & 0xFF != REPORT || len > MAX_TRANSFER.0 || len < HEADER_LEN as u64 {
        return Err(Status::INVALID_FIELD);
    }
    let first = number_of(first_byte(space, command)?, zones(space)?.size);
    Ok(Report {
        first,
        filter,
        is_partial: options >> 16 & 1 == 1,
        len: usize::try_from(len).expect("transfers are limited"),
        block: space.block(),
    })
}
