//! Flexible data placement (NVM Express Base Specification 2.1, "Flexible Data Placement"): one
//! endurance group with one reclaim group, and a handle for each placement identifier.

use std::collections::VecDeque;

use flashscope_block::{Bytes, Flash, PlacementLimits, StreamId};

use super::command::Command;
use super::connection::Recipient;
use super::identify::MAX_TRANSFER;
use super::namespace::{ALL_NAMESPACES, NAMESPACE, Namespace};
use super::plan::Plan;
use super::session::Transfer;
use super::status::Status;
use super::subsystem::Subsystem;
use super::wire::{Structure, u16_at};
use crate::attached::AttachedDrive;

/// The features of flexible data placement and of its events.
pub(super) const FEATURE: u8 = 0x1D;
pub(super) const FEATURE_EVENTS: u8 = 0x1E;

/// The log pages: of the endurance group, and of flexible data placement.
pub(super) const PAGES: [u8; 5] = [0x09, 0x20, 0x21, 0x22, 0x23];

/// The admin commands of directives.
pub(super) const DIRECTIVE_SEND: u8 = 0x19;
pub(super) const DIRECTIVE_RECEIVE: u8 = 0x1A;

/// The directive type and operation that enable directives, or return which are enabled.
const IDENTIFY_DIRECTIVES: u32 = 1;

/// The length of the parameters of directives in bytes.
const PARAMETERS_LEN: u32 = 4096;

pub(super) const IO_MANAGEMENT_RECEIVE: u8 = 0x12;
pub(super) const IO_MANAGEMENT_SEND: u8 = 0x1D;

/// The operation by which I/O Management Receive reports the handles, and I/O Management Send
/// updates them.
const RECLAIM_UNIT_HANDLES: u32 = 1;

/// The type of the directive whose value is a placement identifier.
pub(super) const DATA_PLACEMENT: u32 = 2;

/// The only endurance group.
pub(super) const ENDURANCE_GROUP: u16 = 1;

/// The length of the header and of an entry in the status of handles, in bytes.
const STATUS_HEADER_LEN: usize = 16;
const STATUS_LEN: usize = 32;

/// The length of the header and of an entry of the event log, in bytes.
const EVENT_LEN: usize = 64;

/// The maximum number of stored events.
const MAX_EVENTS: usize = 63;

/// The types of events that the drive reports; the host causes all of them.
const EVENTS: [u8; 2] = [EVENT_UNIT_NOT_FULL, EVENT_INVALID_IDENTIFIER];
const EVENT_UNIT_NOT_FULL: u8 = 0x00;
const EVENT_INVALID_IDENTIFIER: u8 = 0x03;

/// A command that reports or updates reclaim unit handles. The drive executes it immediately.
#[derive(Debug, PartialEq, Eq)]
pub enum PlacementCommand {
    /// Reports the handles in this number of bytes.
    Status(usize),
    /// Moves handles to empty reclaim units.
    Update(Vec<StreamId>),
}

impl PlacementCommand {
    /// Executes the command, and returns the data for the host.
    pub(super) fn run(&self, space: &Namespace, drive: &AttachedDrive<Recipient>) -> Vec<u8> {
        match self {
            PlacementCommand::Status(len) => status(space, &drive.unit_free_bytes(), *len),
            PlacementCommand::Update(handles) => {
                for (handle, unwritten) in handles.iter().zip(drive.assign_new_units(handles)) {
                    if unwritten > Bytes(0) {
                        space.events(|events| events.add(EVENT_UNIT_NOT_FULL, *handle));
                    }
                }
                Vec::new()
            }
        }
    }
}

/// The events of the endurance group.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The events, the earliest first.
    kept: VecDeque<(u8, StreamId)>,
    /// The enabled types of events, each with its handle.
    enabled: Vec<(u8, StreamId)>,
}

impl Events {
    /// Adds an event if the host enabled it for its handle. An identifier that is not valid belongs
    /// to handle 0.
    fn add(&mut self, kind: u8, identifier: StreamId) {
        let handle = if kind == EVENT_INVALID_IDENTIFIER { 0 } else { identifier };
        if !self.is_enabled(kind, handle) {
            return;
        }
        if self.kept.len() == MAX_EVENTS {
            self.kept.pop_front();
        }
        self.kept.push_back((kind, identifier));
    }

    /// Returns true if events of a type are reported for a handle.
    fn is_enabled(&self, kind: u8, handle: StreamId) -> bool {
        self.enabled.contains(&(kind, handle))
    }

    /// Enables or disables a type of events for a handle.
    fn enable(&mut self, kind: u8, handle: StreamId, enable: bool) {
        self.enabled.retain(|other| *other != (kind, handle));
        if enable {
            self.enabled.push((kind, handle));
        }
    }
}

/// Returns the handles of the namespace, or the status for an unknown command if it has none.
fn handles(space: &Namespace) -> Result<&PlacementLimits, Status> {
    space.handles().ok_or(Status::INVALID_OPCODE)
}

/// Returns the direction and the length of a command's data.
pub(super) fn transfer(space: &Namespace, command: &Command) -> Result<Transfer, Status> {
    handles(space)?;
    match (command.opcode(), command.dword(10) & 0xFF) {
        (IO_MANAGEMENT_RECEIVE, RECLAIM_UNIT_HANDLES) => {
            let len = 4 * (u64::from(command.dword(11)) + 1);
            match u32::try_from(len) {
                Ok(short) if len <= MAX_TRANSFER.0 => Ok(Transfer::ToHost(short)),
                _ => Err(Status::INVALID_FIELD),
            }
        }
        (IO_MANAGEMENT_SEND, RECLAIM_UNIT_HANDLES) => {
            Ok(Transfer::FromHost(2 * ((command.dword(10) >> 16) + 1)))
        }
        (_, 0) => Ok(Transfer::None),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Returns the plan of a command; `None` if there is nothing to do.
pub(super) fn plan(
    space: &Namespace,
    command: &Command,
    data: &[u8],
) -> Result<Option<Plan>, Status> {
    let limits = handles(space)?;
    let planned = match transfer(space, command)? {
        Transfer::None => return Ok(None),
        Transfer::ToHost(len) => PlacementCommand::Status(len as usize),
        Transfer::FromHost(_) => {
            let updated: Vec<StreamId> = data.chunks_exact(2).map(|id| u16_at(id, 0)).collect();
            if updated.len() > usize::from(limits.handles)
                || updated.iter().any(|handle| *handle >= limits.handles)
            {
                return Err(Status::INVALID_FIELD);
            }
            PlacementCommand::Update(updated)
        }
    };
    Ok(Some(Plan::Placement(planned)))
}

/// Returns the stream of a write: the handle of the placement identifier in its command, or 0
/// without an identifier. An identifier without a handle adds an event, and its stream is 0.
pub(super) fn stream(space: &Namespace, command: &Command) -> Result<StreamId, Status> {
    let identifier = command.u16(54);
    match (command.dword(12) >> 20 & 0xF, space.handles()) {
        (0, _) => Ok(0),
        (DATA_PLACEMENT, Some(limits)) if identifier < limits.handles => Ok(identifier),
        (DATA_PLACEMENT, Some(_)) => {
            space.events(|events| events.add(EVENT_INVALID_IDENTIFIER, identifier));
            Ok(0)
        }
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Encodes the status of the handles. `rooms` contains the bytes that can still be written to the
/// unit of each handle.
fn status(space: &Namespace, rooms: &[Bytes], len: usize) -> Vec<u8> {
    let mut report = Structure::new(STATUS_HEADER_LEN + STATUS_LEN * rooms.len());
    report.u16(14, small(rooms.len()));
    for (handle, room) in rooms.iter().enumerate() {
        let at = STATUS_HEADER_LEN + STATUS_LEN * handle;
        // The identifier is the number of the handle. No time limit is known.
        report.u16(at, small(handle)).u16(at + 2, small(handle));
        report.u64(at + 8, room.0 / space.block().0);
    }
    let mut bytes = report.into_bytes();
    bytes.resize(len, 0);
    bytes
}

fn small(number: usize) -> u16 {
    u16::try_from(number).expect("few handles")
}

/// Returns the log page of FDP configurations, which lists the current configuration only.
fn configurations(limits: &PlacementLimits) -> Vec<u8> {
    let handles = usize::from(limits.handles);
    let len = 64 + 4 * handles;
    let mut page = Structure::new(16 + len);
    page.u32(4, u32::try_from(16 + len).expect("few handles"));
    let at = 16;
    // The configuration is valid; identifiers have no bits for a reclaim group.
    page.u16(at, small(len)).u8(at + 2, 1 << 7);
    // Reclaim groups, handles, identifiers less 1, and namespaces.
    page.u32(at + 4, 1).u16(at + 8, limits.handles).u16(at + 10, limits.handles - 1);
    page.u32(at + 12, 1).u64(at + 16, limits.unit.0);
    let isolation = if limits.is_persistent { 2 } else { 1 };
    for handle in 0..handles {
        page.u8(at + 64 + 4 * handle, isolation);
    }
    page.into_bytes()
}

/// Returns the log page of the usage of handles: hosts may select all handles.
fn usage(limits: &PlacementLimits) -> Vec<u8> {
    let mut page = Structure::new(8 + 8 * usize::from(limits.handles));
    page.u16(0, limits.handles);
    for handle in 0..usize::from(limits.handles) {
        page.u8(8 + 8 * handle, 1);
    }
    page.into_bytes()
}

/// Returns the log page of statistics: the bytes that the host wrote, that went to the media, and
/// that were erased.
fn statistics(flash: Option<&Flash>) -> Vec<u8> {
    let mut page = Structure::new(64);
    if let Some(flash) = flash {
        page.u64(0, flash.host_written.0).u64(16, flash.programmed.0);
        page.u64(32, flash.erasures * flash.block.0);
    }
    page.into_bytes()
}

/// Returns the log page of events: the host's events if `of_host`, otherwise the controller's, of
/// which there are none.
fn event_log(space: &Namespace, of_host: bool) -> Vec<u8> {
    space.events(|events| {
        let kept = if of_host { events.kept.len() } else { 0 };
        let mut page = Structure::new(EVENT_LEN * (1 + kept));
        page.u32(0, u32::try_from(kept).expect("few events"));
        for (number, (kind, identifier)) in events.kept.iter().take(kept).enumerate() {
            let at = EVENT_LEN * (1 + number);
            // The identifier and the namespace are valid and, for a unit that is not full, the
            // handle.
            let has_place = *kind == EVENT_UNIT_NOT_FULL;
            page.u8(at, *kind).u8(at + 1, 1 | 1 << 1 | u8::from(has_place) << 2);
            page.u16(at + 2, *identifier).u32(at + 12, NAMESPACE);
            if has_place {
                page.u16(at + 34, *identifier);
            }
        }
        page.into_bytes()
    })
}

/// Returns a log page of the endurance group that the command names.
pub(super) fn log_page(subsystem: &Subsystem, command: &Command) -> Result<Vec<u8>, Status> {
    let space = subsystem.namespace();
    let limits = space.handles().ok_or(Status::INVALID_LOG_PAGE)?;
    if command.u16(46) != ENDURANCE_GROUP {
        return Err(Status::INVALID_FIELD);
    }
    Ok(match command.byte(40) {
        0x09 => endurance_group(subsystem),
        0x20 => configurations(limits),
        0x21 => usage(limits),
        0x22 => statistics(subsystem.flash().as_ref()),
        _ => event_log(space, command.dword(10) >> 8 & 1 == 1),
    })
}

/// Returns the log page of the endurance group, which is the whole drive. Amounts of data are in
/// units of 10^9 bytes, rounded up.
fn endurance_group(subsystem: &Subsystem) -> Vec<u8> {
    let mut page = Structure::new(512);
    let Some(health) = subsystem.health() else {
        page.u8(3, 100);
        return page.into_bytes();
    };
    let percent = |value: u32| u8::try_from(value).unwrap_or(u8::MAX);
    let units = |bytes: Bytes| bytes.0.div_ceil(1_000_000_000);
    page.u8(3, percent(health.available_spare_percent))
        .u8(4, percent(health.available_spare_threshold_percent))
        .u8(5, percent(health.percentage_used))
        .u64(48, units(health.host_bytes_read))
        .u64(64, units(health.host_bytes_written))
        .u64(96, health.host_read_commands)
        .u64(112, health.host_write_commands)
        .u64(128, health.media_errors)
        .u64(160, subsystem.namespace().size().0);
    if let Some(ocp) = health.ocp {
        page.u64(80, units(ocp.media_bytes_written));
    }
    page.into_bytes()
}

/// Executes Get Features for a feature of data placement: returns the result and the data.
pub(super) fn get_feature(space: &Namespace, command: &Command) -> Result<(u32, Vec<u8>), Status> {
    let limits = space.handles().ok_or(Status::INVALID_FIELD)?;
    let target = command.u16(44);
    match command.byte(40) {
        // Data placement is enabled, with configuration 0.
        FEATURE if target == ENDURANCE_GROUP => Ok((1, Vec::new())),
        FEATURE_EVENTS if target < limits.handles => {
            let room = 2 * usize::from(command.byte(46));
            let mut data: Vec<u8> = space.events(|events| {
                let entry = |kind| [kind, u8::from(events.is_enabled(kind, target))];
                EVENTS.into_iter().flat_map(entry).collect()
            });
            data.resize(room, 0);
            Ok((u32::try_from(EVENTS.len()).expect("few events"), data))
        }
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Executes Set Features for a feature of data placement.
pub(super) fn set_feature(
    space: &Namespace,
    command: &Command,
    data: &[u8],
) -> Result<u32, Status> {
    let limits = space.handles().ok_or(Status::INVALID_FIELD)?;
    let target = command.u16(44);
    match command.byte(40) {
        // The configuration cannot change while a namespace exists.
        FEATURE if target == ENDURANCE_GROUP => Err(Status::COMMAND_SEQUENCE_ERROR),
        FEATURE_EVENTS if target < limits.handles => {
            if data.iter().any(|kind| !EVENTS.contains(kind)) {
                return Err(Status::INVALID_FIELD);
            }
            let enable = command.dword(12) & 1 == 1;
            space
                .events(|events| data.iter().for_each(|kind| events.enable(*kind, target, enable)));
            Ok(0)
        }
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Returns the direction and the length of the data of a command on directives.
pub(super) fn directive_transfer(space: &Namespace, command: &Command) -> Result<Transfer, Status> {
    handles(space)?;
    match command.opcode() {
        DIRECTIVE_RECEIVE => {
            // The number of dwords is 0-based; the host may request a part of the parameters.
            let len = 4 * (u64::from(command.dword(10)) + 1);
            Ok(Transfer::ToHost(
                u32::try_from(len).map_or(PARAMETERS_LEN, |len| len.min(PARAMETERS_LEN)),
            ))
        }
        _ => Ok(Transfer::None),
    }
}

/// Executes a command on directives. The directives Identify and Data Placement are always enabled.
pub(super) fn directive(space: &Namespace, command: &Command) -> Result<Vec<u8>, Status> {
    handles(space)?;
    if !matches!(command.namespace(), NAMESPACE | ALL_NAMESPACES) {
        return Err(Status::INVALID_NAMESPACE);
    }
    if command.dword(11) & 0xFFFF != IDENTIFY_DIRECTIVES {
        return Err(Status::INVALID_FIELD);
    }
    if command.opcode() == DIRECTIVE_SEND {
        let (enables, kind) = (command.dword(12) & 1 == 1, command.dword(12) >> 8 & 0xFF);
        return match enables && kind == DATA_PLACEMENT {
            true => Ok(Vec::new()),
            false => Err(Status::INVALID_FIELD),
        };
    }
    let mut parameters = Structure::new(PARAMETERS_LEN as usize);
    let all = 1 | 1 << DATA_PLACEMENT;
    // Supported, enabled, and kept when the controller is reset.
    parameters.u8(0, all).u8(32, all).u8(64, all);
    Ok(parameters.into_bytes())
}
