//! The data structures of Identify (NVM Express Base Specification 2.1, "Identify command"; NVM
//! Command Set Specification 1.1; Zoned Namespace Command Set Specification 1.1). Comments name the
//! fields whose values need a reason.

use flashscope_block::{Bytes, ZoneLimits};

use super::command::Command;
use super::controller::{Controller, Kind};
use super::namespace::{ALL_NAMESPACES, CommandSet, Namespace};
use super::namespaces::Namespaces;
use super::placement::ENDURANCE_GROUP;
use super::session::IN_CAPSULE;
use super::status::Status;
use super::subsystem::{Subsystem, VERSION};
use super::wire::Structure;
use crate::metadata::METADATA_LEN;

/// The length of all data structures in bytes.
pub(super) const IDENTIFY_LEN: usize = 4096;

/// The unit of limits, as a power of two in bytes: the minimum memory page size.
const PAGE_SHIFT: u8 = 12;

/// The maximum transfer of a command, as a power of two in pages.
const TRANSFER_SHIFT: u8 = 8;

/// The maximum number of bytes that a command reads, writes, compares or copies.
pub(super) const MAX_TRANSFER: Bytes = Bytes(1 << (PAGE_SHIFT + TRANSFER_SHIFT));

/// The maximum of Write Zeroes, as a power of two in pages.
const ZEROES_SHIFT: u8 = 11;

/// The maximum number of bytes that a command sets to zero.
pub(super) const MAX_ZEROES: Bytes = Bytes(1 << (PAGE_SHIFT + ZEROES_SHIFT));

/// The maximum number of source ranges of a copy.
pub(super) const MAX_COPY_RANGES: u32 = 128;

/// The maximum number of entries of a queue.
pub(super) const QUEUE_ENTRIES: u16 = 128;

/// The maximum number of asynchronous event requests of a controller.
pub(super) const EVENT_REQUESTS: usize = 4;

/// The number of entries of the error log.
pub(super) const ERROR_ENTRIES: usize = 64;

/// The identifiers of command sets.
const NVM: u32 = CommandSet::Nvm as u32;
const ZONED: u32 = CommandSet::Zoned as u32;

/// The offset of the first LBA format extension, and the length of each extension, in bytes.
const LBA_EXTENSIONS: usize = 2816;
const LBA_EXTENSION_LEN: usize = 16;

/// Values of the relative performance (RP) of an LBA format (NVM Command Set Specification 1.1,
/// "LBA Format Data Structure").
const RP_BEST: u32 = 0;
const RP_DEGRADED: u32 = 3;

/// Optional commands: compare, dataset management, write zeroes, verify, copy.
const ONCS: u16 = 1 << 0 | ONCS_DEALLOCATION | 1 << 3 | 1 << 7 | 1 << 8;

/// The bit of dataset management.
const ONCS_DEALLOCATION: u16 = 1 << 2;

/// Returns the data structure that Identify requests.
pub(super) fn identify(
    subsystem: &Subsystem,
    controller: &Controller,
    command: &Command,
) -> Result<Vec<u8>, Status> {
    let selector = command.dword(10) & 0xFF;
    let command_set = command.dword(11) >> 24;
    let (spaces, named) = (subsystem.namespaces(), command.namespace());
    let space = spaces.first();
    if controller.kind() == Kind::Discovery && selector != 0x01 {
        return Err(Status::INVALID_FIELD);
    }
    let structure = match selector {
        // Allocated namespaces are always attached, and thereby active.
        0x00 | 0x11 => identify_namespace(subsystem, spaces.get(named)?),
        0x01 => identify_controller(subsystem, controller),
        0x02 | 0x10 => namespace_list(spaces, named)?,
        0x03 => descriptors(subsystem, spaces.get(named)?),
        0x05 => set_namespace(spaces.get(named)?, command_set)?,
        0x06 => set_controller(space, command_set)?,
        0x07 if command_set == space.command_set() as u32 => namespace_list(spaces, named)?,
        0x08 => independent_namespace(spaces.get(named)?),
        0x19 if space.handles().is_some() => endurance_groups(command),
        0x1C => command_sets(space),
        _ => return Err(Status::INVALID_FIELD),
    };
    Ok(structure.into_bytes())
}

/// Returns the additional fields of the namespace in a command set.
fn set_namespace(space: &Namespace, command_set: u32) -> Result<Structure, Status> {
    match (command_set, space.zones()) {
        (NVM, _) => Ok(nvm_namespace()),
        (ZONED, Some(limits)) => Ok(zoned_namespace(space, limits)),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Returns the additional fields of the controller in a command set.
fn set_controller(space: &Namespace, command_set: u32) -> Result<Structure, Status> {
    match (command_set, space.zones()) {
        (NVM, _) => Ok(nvm_controller()),
        (ZONED, Some(_)) => Ok(zoned_controller()),
        _ => Err(Status::INVALID_FIELD),
    }
}

fn identify_controller(subsystem: &Subsystem, controller: &Controller) -> Structure {
    let mut data = Structure::new(IDENTIFY_LEN);
    data.padded(4, 20, subsystem.serial())
        .padded(24, 40, subsystem.model())
        .padded(64, 8, env!("CARGO_PKG_VERSION"))
        // Several controllers may share the subsystem.
        .u8(76, 1 << 1)
        .u8(77, TRANSFER_SHIFT)
        .u16(78, controller.id())
        .u32(80, VERSION)
        // Any command counts as a sign of life.
        .u32(96, 1 << 6)
        .u8(258, 3)
        .u8(259, u8::try_from(EVENT_REQUESTS - 1).expect("few requests"))
        // Keep Alive in units of 100 ms.
        .u16(320, 10)
        .u16(514, QUEUE_ENTRIES)
        // SGLs may be longer than the data, contain an offset, or be transport SGLs.
        .u32(536, 1 | 1 << 18 | 1 << 20 | 1 << 21);
    let name = match controller.kind() {
        Kind::Discovery => super::DISCOVERY_NQN,
        Kind::Drive => subsystem.nqn(),
    };
    data.terminated(768, 256, name).u32(1792, (64 + IN_CAPSULE) / 16).u32(1796, 1).u8(1803, 1);
    match controller.kind() {
        Kind::Discovery => {
            // Extended data of log pages.
            data.u8(111, 2).u8(261, 1 << 2);
        }
        Kind::Drive => drive_controller(&mut data, subsystem),
    }
    data
}

/// Fills the fields of a controller that has a drive.
fn drive_controller(data: &mut Structure, subsystem: &Subsystem) {
    let (spaces, space) = (subsystem.namespaces(), subsystem.namespace());
    let largest = space.formats().iter().map(|format| format.shift).max().unwrap_or_default();
    // Resets take the place of dataset management in zones.
    let absent = if space.zones().is_some() { ONCS_DEALLOCATION } else { 0 };
    data.u8(111, 1)
        // Asynchronous events: changed attributes of a namespace.
        .u32(92, 1 << 8)
        // Format NVM.
        .u16(256, 1 << 1)
        // The firmware has one slot, which is read-only.
        .u8(260, 1 | 1 << 1)
        // Log pages: the effects of commands, extended data.
        .u8(261, 1 << 1 | 1 << 2)
        .u8(262, u8::try_from(ERROR_ENTRIES - 1).expect("few entries"))
        .u64(280, spaces.capacity().0)
        .u64(296, spaces.unallocated().0)
        // Sanitize by block erase; the media are not modified after the operation.
        .u32(328, 1 << 1 | 1 << 30)
        // Entries of 64 and 16 bytes.
        .u8(512, 0x66)
        .u8(513, 0x44)
        .u32(516, spaces.count())
        .u16(520, ONCS & !absent)
        // A volatile write cache; a flush may name all namespaces.
        .u8(525, 1 | 3 << 1)
        // A format concerns the namespace that it names, or all.
        .u8(524, 0)
        // The atomic write units in the largest blocks: in operation, and in a power cut (one).
        .u16(526, atomic_blocks(space, largest))
        .u16(528, 0)
        .u8(530, 0)
        // No atomic compare and write, because there are no fused commands.
        .u16(532, 0)
        // Copy descriptors of format 0.
        .u16(534, 1)
        .u32(540, spaces.count())
        // Disconnect deletes a queue.
        .u16(1804, 1);
    if space.handles().is_some() {
        // Any command is a sign of life; endurance groups, and flexible data placement.
        data.u32(96, 1 << 6 | 1 << 4 | 1 << 19).u16(340, ENDURANCE_GROUP);
        // Format NVM, and directives.
        data.u16(256, 1 << 1 | 1 << 5);
    }
}

fn identify_namespace(subsystem: &Subsystem, space: &Namespace) -> Structure {
    let mut data = Structure::new(IDENTIFY_LEN);
    let blocks = space.blocks();
    let copied = u32::try_from(MAX_TRANSFER.0 / space.block().0).expect("few blocks");
    let preferred = space.drive_block().0.max(space.block().0) / space.block().0;
    let preferred = u16::try_from(preferred - 1).unwrap_or(u16::MAX);
    data.u64(0, blocks)
        .u64(8, blocks)
        .u64(16, blocks)
        // The preferred sizes are given below.
        .u8(24, 1 << 4)
        .u8(25, u8::try_from(space.formats().len() - 1).expect("few formats"))
        // The number of the format, and extended blocks.
        .u8(26, (space.format() & 0x1F) as u8)
        .u8(30, 1)
        // Deallocated blocks read as zeros, and Write Zeroes may deallocate.
        .u8(33, u8::from(space.trims()) | u8::from(space.deallocates()) << 3)
        .u64(48, space.size().0)
        .u16(64, preferred)
        .u16(66, preferred)
        .u16(68, preferred)
        .u16(70, preferred)
        .u16(74, u16::try_from(copied).unwrap_or(u16::MAX))
        .u32(76, copied)
        .u8(80, u8::try_from(MAX_COPY_RANGES - 1).expect("few ranges"))
        .u8(99, u8::from(!space.is_writable()))
        .u16(102, endurance_group_of(space))
        .bytes(104, &subsystem.guid(space));
    state_atomicity(&mut data, space);
    for (number, format) in space.formats().iter().enumerate() {
        // Blocks smaller than those of the drive have degraded performance.
        let degraded = 1 << format.shift < space.drive_block().0;
        let performance = if degraded { RP_DEGRADED << 24 } else { RP_BEST };
        let metadata = if format.has_metadata { METADATA_LEN } else { 0 };
        let metadata = u32::try_from(metadata).expect("few bytes");
        data.u32(128 + 4 * number, metadata | format.shift << 16 | performance);
    }
    state_metadata(&mut data, space);
    data
}

/// Sets the capabilities of metadata and protection information, and the protection in use.
fn state_metadata(data: &mut Structure, space: &Namespace) {
    if !space.formats().iter().any(|format| format.has_metadata) {
        return;
    }
    // Extended blocks. Protection information of all types, in the first or the last bytes of the
    // metadata.
    data.u8(27, 1).u8(28, 0x1F);
    if let Some(protection) = space.protection() {
        let is_first = (space.format() >> 8 & 1) as u8;
        data.u8(29, protection as u8 | is_first << 3);
    }
}

/// Returns the number of blocks, less 1, of an atomic write in normal operation: the maximum of a
/// command, or one block if the drive guarantees no atomic unit.
fn atomic_blocks(space: &Namespace, shift: u32) -> u16 {
    match space.atomic_unit() {
        Some(_) => u16::try_from((MAX_TRANSFER.0 >> shift) - 1).unwrap_or(u16::MAX),
        None => 0,
    }
}

/// Sets the atomic write units of the namespace, if the drive guarantees any: NSFEAT, NAWUN, NAWUPF
/// and NABSPF.
fn state_atomicity(data: &mut Structure, space: &Namespace) {
    let Some(unit) = space.atomic_unit() else { return };
    let shift = space.block().0.trailing_zeros();
    let in_power_cut = u16::try_from((unit.0 >> shift).max(1) - 1).unwrap_or(u16::MAX);
    data.u8(24, 1 << 4 | 1 << 1)
        .u16(34, atomic_blocks(space, shift))
        .u16(36, in_power_cut)
        // A power cut may tear writes at multiples of the unit.
        .u16(44, in_power_cut);
}

/// Returns the list of active namespaces with identifiers above `above`.
fn namespace_list(spaces: &Namespaces, above: u32) -> Result<Structure, Status> {
    if above >= ALL_NAMESPACES - 1 {
        return Err(Status::INVALID_NAMESPACE);
    }
    let mut data = Structure::new(IDENTIFY_LEN);
    let listed = spaces.all().iter().filter(|space| space.id() > above);
    for (place, space) in listed.enumerate() {
        data.u32(4 * place, space.id());
    }
    Ok(data)
}

/// Returns the identification descriptors: NGUID, UUID and command set.
fn descriptors(subsystem: &Subsystem, space: &Namespace) -> Structure {
    let mut data = Structure::new(IDENTIFY_LEN);
    data.u8(0, 2).u8(1, 16).bytes(4, &subsystem.guid(space));
    data.u8(20, 3).u8(21, 16).bytes(24, &subsystem.uuid(space));
    data.u8(40, 4).u8(41, 1).u8(44, space.command_set() as u8);
    data
}

/// Returns the additional fields of a namespace in the NVM command set: all are 0.
fn nvm_namespace() -> Structure {
    Structure::new(IDENTIFY_LEN)
}

/// Returns the limits of commands of the NVM command set.
fn nvm_controller() -> Structure {
    let mut data = Structure::new(IDENTIFY_LEN);
    data.u8(0, TRANSFER_SHIFT).u8(1, ZEROES_SHIFT);
    data
}

/// Returns the fields of a zoned namespace. Its zone operation characteristics (ZOC) are 0.
fn zoned_namespace(space: &Namespace, limits: &ZoneLimits) -> Structure {
    let mut data = Structure::new(IDENTIFY_LEN);
    // Reads may cross the boundaries of zones.
    data.u16(2, 1)
        // The maximum active and open zones, less 1.
        .u32(4, limits.active.saturating_sub(1))
        .u32(8, limits.open.saturating_sub(1));
    for (number, format) in space.formats().iter().enumerate() {
        data.u64(LBA_EXTENSIONS + LBA_EXTENSION_LEN * number, limits.size.0 >> format.shift);
    }
    data
}

/// Returns the limit of an append, which is that of a transfer.
fn zoned_controller() -> Structure {
    let mut data = Structure::new(IDENTIFY_LEN);
    data.u8(0, TRANSFER_SHIFT);
    data
}

fn independent_namespace(space: &Namespace) -> Structure {
    let mut data = Structure::new(IDENTIFY_LEN);
    // The namespace is ready.
    data.u8(1, 1).u8(8, u8::from(!space.is_writable())).u8(14, 1);
    data.u16(12, endurance_group_of(space));
    data
}

/// Returns the endurance group of the namespace; 0 without groups.
fn endurance_group_of(space: &Namespace) -> u16 {
    if space.handles().is_some() { ENDURANCE_GROUP } else { 0 }
}

/// Returns the endurance groups whose identifiers are at least that of the command.
fn endurance_groups(command: &Command) -> Structure {
    let mut data = Structure::new(IDENTIFY_LEN);
    if command.u16(44) <= ENDURANCE_GROUP {
        data.u16(0, 1).u16(2, ENDURANCE_GROUP);
    }
    data
}

/// Returns the combinations of command sets: the only one contains the command set of the
/// namespace.
fn command_sets(space: &Namespace) -> Structure {
    let mut data = Structure::new(IDENTIFY_LEN);
    data.u64(0, 1 << space.command_set() as u32);
    data
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attached::Export;
    use crate::nvme::subsystem::SubsystemOptions;

    // Relative performance: 0 is the best, 3 is degraded (NVM Command Set Specification 1.1, "LBA
    // Format Data Structure").
    #[test]
    fn blocks_smaller_than_those_of_the_drive_are_degraded() {
        let export = Export::new("drive", (Bytes::mib(1), Bytes(4096)));
        let address = "127.0.0.1:4420".parse().unwrap();
        let options = SubsystemOptions::default();
        let subsystem = Subsystem::new(&export, &options, address, Box::new(|| None)).unwrap();
        let data = identify_namespace(&subsystem, subsystem.namespace()).into_bytes();
        assert_eq!((data[130], data[131]), (9, 3));
        assert_eq!((data[134], data[135]), (12, 0));
    }
}
