//! Log pages (NVM Express Base Specification 2.1, "Log Page Identifiers"; Datacenter NVMe SSD
//! Specification of OCP for C0h).

use std::net::SocketAddr;

use super::admin;
use super::command::{Command, FABRICS};
use super::controller::{Controller, ErrorEntry, Kind};
use super::erasure::SanitizeState;
use super::features::FEATURES;
use super::identify::{ERROR_ENTRIES, MAX_TRANSFER, QUEUE_ENTRIES};
use super::io;
use super::namespace::{CommandSet, Namespace};
use super::namespaces::Namespaces;
use super::placement;
use super::session::Transfer;
use super::status::Status;
use super::subsystem::Subsystem;
use super::wire::Structure;

const SUPPORTED_PAGES: u8 = 0x00;
const ERRORS: u8 = 0x01;
const SMART: u8 = 0x02;
const FIRMWARE_SLOTS: u8 = 0x03;
const CHANGED_NAMESPACES: u8 = 0x04;
const COMMAND_EFFECTS: u8 = 0x05;
const FEATURE_EFFECTS: u8 = 0x12;
const DISCOVERY: u8 = 0x70;
const SANITIZE_STATUS: u8 = 0x81;
const OCP_SMART: u8 = 0xC0;

/// The log pages of a controller of a drive.
const PAGES: [u8; 9] = [
    SUPPORTED_PAGES,
    ERRORS,
    SMART,
    FIRMWARE_SLOTS,
    CHANGED_NAMESPACES,
    COMMAND_EFFECTS,
    FEATURE_EFFECTS,
    SANITIZE_STATUS,
    OCP_SMART,
];

/// The log pages of a discovery controller.
const DISCOVERY_PAGES: [u8; 3] = [SUPPORTED_PAGES, ERRORS, DISCOVERY];

/// The number of the transport NVMe/TCP.
const TRANSPORT_TCP: u8 = 3;

/// The length of an entry of the discovery log, and of its header, in bytes.
const RECORD_LEN: usize = 1024;

/// Returns the direction and the length of the data of Get Log Page.
pub(super) fn transfer(command: &Command) -> Result<Transfer, Status> {
    let dwords = u64::from(command.dword(10) >> 16) | u64::from(command.dword(11) & 0xFFFF) << 16;
    let len = 4 * (dwords + 1);
    match u32::try_from(len) {
        Ok(short) if len <= MAX_TRANSFER.0 => Ok(Transfer::ToHost(short)),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Executes Get Log Page.
pub(super) fn read(
    subsystem: &Subsystem,
    controller: &Controller,
    command: &Command,
) -> Result<Vec<u8>, Status> {
    let Transfer::ToHost(len) = transfer(command)? else { return Err(Status::INVALID_FIELD) };
    let offset = u64::from(command.dword(13)) << 32 | u64::from(command.dword(12));
    let by_index = command.dword(14) >> 23 & 1 == 1;
    if offset % 4 != 0 || by_index {
        return Err(Status::INVALID_FIELD);
    }
    let page = page(subsystem, controller, command)?;
    let start = usize::try_from(offset).ok().filter(|start| *start <= page.len());
    let start = start.ok_or(Status::INVALID_FIELD)?;
    let mut data = page[start..page.len().min(start + len as usize)].to_vec();
    // Beyond its end, a page reads as zeros.
    data.resize(len as usize, 0);
    Ok(data)
}

fn page(
    subsystem: &Subsystem,
    controller: &Controller,
    command: &Command,
) -> Result<Vec<u8>, Status> {
    let number = command.byte(40);
    let has_handles = subsystem.namespace().handles().is_some();
    let pages = match controller.kind() {
        Kind::Drive if has_handles => [&PAGES[..], &placement::PAGES].concat(),
        Kind::Drive => PAGES.to_vec(),
        Kind::Discovery => DISCOVERY_PAGES.to_vec(),
    };
    if !pages.contains(&number) {
        return Err(Status::INVALID_LOG_PAGE);
    }
    let retains = command.dword(10) >> 15 & 1 == 1;
    Ok(match number {
        SUPPORTED_PAGES => supported(&pages),
        ERRORS => errors(controller),
        SMART => smart(subsystem, controller),
        FIRMWARE_SLOTS => firmware_slots(),
        CHANGED_NAMESPACES => changed_namespaces(controller, !retains),
        COMMAND_EFFECTS => command_effects(subsystem.namespace(), command)?,
        FEATURE_EFFECTS => feature_effects(subsystem.namespace()),
        SANITIZE_STATUS => sanitize_status(subsystem.namespaces()),
        DISCOVERY => discovery(subsystem),
        _ if placement::PAGES.contains(&number) => placement::log_page(subsystem, command)?,
        _ => ocp_smart(subsystem),
    })
}

fn supported(pages: &[u8]) -> Vec<u8> {
    let mut page = Structure::new(1024);
    for number in pages {
        page.u32(4 * usize::from(*number), 1);
    }
    page.into_bytes()
}

fn errors(controller: &Controller) -> Vec<u8> {
    let mut page = Structure::new(64 * ERROR_ENTRIES);
    controller.errors(|errors| {
        for (place, entry) in errors.entries.iter().enumerate() {
            put_error(&mut page, 64 * place, entry, controller.command_set());
        }
    });
    page.into_bytes()
}

/// Writes an entry of the error information log at the byte `at`.
fn put_error(page: &mut Structure, at: usize, entry: &ErrorEntry, command_set: CommandSet) {
    let ErrorEntry { number, queue, command, status } = entry;
    page.u64(at, *number).u16(at + 8, *queue).u16(at + 10, command.id());
    // The location in the command is not recorded.
    page.u16(at + 12, status.field()).u16(at + 14, u16::MAX);
    if *queue > 0 {
        let first = io::first_block(command);
        page.u64(at + 16, first.map_or(0, |first| first.saturating_add(status.block().into())));
        page.u8(at + 30, command_set as u8);
    }
    // Fabrics commands have another field there.
    let namespace = if command.opcode() == FABRICS { 0 } else { command.namespace() };
    page.u32(at + 24, namespace);
    if *status == Status::TRANSIENT_TRANSPORT_ERROR {
        page.u8(at + 29, TRANSPORT_TCP);
    }
    // The version of the entry, in which the command set and the opcode are valid.
    page.u8(at + 31, command.opcode()).u8(at + 63, 1);
}

fn smart(subsystem: &Subsystem, controller: &Controller) -> Vec<u8> {
    let Some(mut health) = subsystem.health() else {
        // A drive without flash has no wear.
        let mut page = Structure::new(512);
        page.u8(3, 100).u64(176, controller.errors(|errors| errors.count));
        return page.into_bytes();
    };
    health.error_log_entries = controller.errors(|errors| errors.count);
    health.encode().to_vec()
}

fn ocp_smart(subsystem: &Subsystem) -> Vec<u8> {
    let ocp = subsystem.health().and_then(|health| health.ocp);
    ocp.map_or_else(|| vec![0; 512], |ocp| ocp.encode().to_vec())
}

fn firmware_slots() -> Vec<u8> {
    let mut page = Structure::new(512);
    page.u8(0, 1).padded(8, 8, env!("CARGO_PKG_VERSION"));
    page.into_bytes()
}

fn changed_namespaces(controller: &Controller, clear: bool) -> Vec<u8> {
    let mut page = Structure::new(4096);
    for (place, namespace) in controller.changed(clear).into_iter().enumerate() {
        page.u32(4 * place, namespace);
    }
    page.into_bytes()
}

/// Returns the effects of the admin commands, and of the commands of a command set.
fn command_effects(space: &Namespace, command: &Command) -> Result<Vec<u8>, Status> {
    let command_set = command.dword(14) >> 24;
    if command_set != CommandSet::Nvm as u32 && command_set != space.command_set() as u32 {
        return Err(Status::INVALID_FIELD);
    }
    let mut page = Structure::new(4096);
    for opcode in admin::commands(space) {
        let effects = match opcode {
            // The command changes data and the capabilities of the namespace, and excludes all
            // other commands.
            admin::FORMAT | admin::SANITIZE => 1 | 1 << 1 | 1 << 2 | 2 << 16,
            _ => 1,
        };
        page.u32(4 * usize::from(opcode), effects);
    }
    for (opcode, writes) in io::commands(space, command_set == CommandSet::Zoned as u32) {
        page.u32(1024 + 4 * usize::from(opcode), 1 | u32::from(writes) << 1);
    }
    Ok(page.into_bytes())
}

fn feature_effects(space: &Namespace) -> Vec<u8> {
    let mut page = Structure::new(1024);
    for feature in FEATURES {
        // The scope is the controller.
        page.u32(4 * usize::from(feature), 1 | 1 << 21);
    }
    if space.handles().is_some() {
        // The scopes are the endurance group and the namespace, in this order.
        page.u32(4 * usize::from(placement::FEATURE), 1 | 1 << 23);
        page.u32(4 * usize::from(placement::FEATURE_EVENTS), 1 | 1 << 20);
    }
    page.into_bytes()
}

/// Returns the status of the last sanitize operation.
fn sanitize_status(spaces: &Namespaces) -> Vec<u8> {
    let mut page = Structure::new(512);
    let (state, options, is_empty) = spaces.sanitized();
    let (progress, status) = match state {
        SanitizeState::Never => (u16::MAX, 0),
        SanitizeState::Done => (u16::MAX, 1),
        SanitizeState::Begun(erased) => (share(erased, spaces.capacity().0), 2),
        SanitizeState::Failed => (u16::MAX, 3),
    };
    page.u16(0, progress).u16(2, status | u16::from(is_empty) << 8).u32(4, options);
    // No time is estimated.
    for at in (8..32).step_by(4) {
        page.u32(at, u32::MAX);
    }
    page.into_bytes()
}

/// Returns the share of `part` in `whole` as a numerator over 65536.
fn share(part: u64, whole: u64) -> u16 {
    let share = u128::from(part) * 65536 / u128::from(whole.max(1));
    u16::try_from(share).unwrap_or(u16::MAX - 1)
}

/// Returns the discovery log, whose only record is the drive.
fn discovery(subsystem: &Subsystem) -> Vec<u8> {
    let mut page = Structure::new(2 * RECORD_LEN);
    // The generation, the number of records and their format.
    page.u64(0, 1).u64(8, 1).u16(16, 0);
    let address = subsystem.address();
    let family = match address {
        SocketAddr::V4(_) => 1,
        SocketAddr::V6(_) => 2,
    };
    let at = RECORD_LEN;
    // TCP, an NVM subsystem, flow control can be disabled, any controller.
    page.u8(at, TRANSPORT_TCP).u8(at + 1, family).u8(at + 2, 2).u8(at + 3, 1 << 2);
    page.u16(at + 4, 1).u16(at + 6, u16::MAX).u16(at + 8, QUEUE_ENTRIES);
    page.padded(at + 32, 32, &address.port().to_string());
    page.terminated(at + 256, 256, subsystem.nqn());
    page.padded(at + 512, 256, &address.ip().to_string());
    page.into_bytes()
}
