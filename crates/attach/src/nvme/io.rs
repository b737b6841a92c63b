//! The commands of the NVM command set (NVM Command Set Specification 1.1), which zoned namespaces
//! have as well.

use flashscope_block::{Bytes, Op};

use super::command::Command;
use super::identify::{MAX_COPY_RANGES, MAX_TRANSFER, MAX_ZEROES};
use super::namespace::{ALL_NAMESPACES, Namespace};
use super::namespaces::Namespaces;
use super::placement::{self, DATA_PLACEMENT, IO_MANAGEMENT_RECEIVE, IO_MANAGEMENT_SEND};
use super::plan::{self, Finish, Plan};
use super::protection::{self, ExtendedCopy, ExtendedRead};
use super::session::Transfer;
use super::status::Status;
use super::wire::{u16_at, u32_at, u64_at};
use super::zones::{self, ZONE_APPEND, ZONE_MANAGEMENT_RECEIVE, ZONE_MANAGEMENT_SEND};
use crate::request::Request;

pub(super) const FLUSH: u8 = 0x00;
pub(super) const WRITE: u8 = 0x01;
pub(super) const READ: u8 = 0x02;
pub(super) const COMPARE: u8 = 0x05;
pub(super) const WRITE_ZEROES: u8 = 0x08;
pub(super) const DATASET_MANAGEMENT: u8 = 0x09;
pub(super) const VERIFY: u8 = 0x0C;
pub(super) const COPY: u8 = 0x19;

/// The commands of the NVM command set, with true if a command changes data.
const COMMANDS: [(u8, bool); 8] = [
    (FLUSH, false),
    (WRITE, true),
    (READ, false),
    (COMPARE, false),
    (WRITE_ZEROES, true),
    (DATASET_MANAGEMENT, true),
    (VERIFY, false),
    (COPY, true),
];

/// The commands that only zoned namespaces have, with true if a command changes data.
const ZONE_COMMANDS: [(u8, bool); 3] =
    [(ZONE_MANAGEMENT_SEND, true), (ZONE_MANAGEMENT_RECEIVE, false), (ZONE_APPEND, true)];

/// The commands that only namespaces with reclaim unit handles have, with true if a command changes
/// data.
const PLACEMENT_COMMANDS: [(u8, bool); 2] =
    [(IO_MANAGEMENT_RECEIVE, false), (IO_MANAGEMENT_SEND, true)];

/// The length of a range of Dataset Management in bytes.
const RANGE_LEN: usize = 16;

/// The length of a source range of Copy in bytes.
const SOURCE_LEN: usize = 32;

/// The maximum number of bytes in one trim.
const LONGEST_TRIM: u64 = 1 << 30;

/// Returns the commands that this controller executes, and true for those that change data. With
/// `zoned`, the commands of zones are included, if there are any.
pub(super) fn commands(space: &Namespace, zoned: bool) -> impl Iterator<Item = (u8, bool)> {
    let has_zones = space.zones().is_some();
    let added = ZONE_COMMANDS.into_iter().filter(move |_| zoned && has_zones);
    // Zones are deallocated by resets only.
    let known = move |(opcode, _): &(u8, bool)| *opcode != DATASET_MANAGEMENT || !has_zones;
    let has_handles = space.handles().is_some();
    let placed = PLACEMENT_COMMANDS.into_iter().filter(move |_| has_handles);
    COMMANDS.into_iter().filter(known).chain(added).chain(placed)
}

/// Returns the direction and the length of a command's data.
///
/// # Errors
/// Returns the status with which an invalid command is completed.
pub(super) fn transfer(space: &Namespace, command: &Command) -> Result<Transfer, Status> {
    check(space, command)?;
    Ok(match command.opcode() {
        WRITE | COMPARE => Transfer::FromHost(transferred(space, command)?),
        READ => Transfer::ToHost(transferred(space, command)?),
        ZONE_MANAGEMENT_SEND | ZONE_MANAGEMENT_RECEIVE | ZONE_APPEND => {
            zones::transfer(space, command)?
        }
        IO_MANAGEMENT_RECEIVE | IO_MANAGEMENT_SEND => placement::transfer(space, command)?,
        DATASET_MANAGEMENT => Transfer::FromHost(count(command, RANGE_LEN)),
        COPY => {
            check_copy(space, command)?;
            Transfer::FromHost(count(command, SOURCE_LEN))
        }
        VERIFY | WRITE_ZEROES => {
            protection::transferred(space, command, range(space, command)?.1)?;
            Transfer::None
        }
        _ => Transfer::None,
    })
}

/// Returns the number of bytes that a command on blocks moves, with their metadata.
fn transferred(space: &Namespace, command: &Command) -> Result<u32, Status> {
    let (_, len) = range(space, command)?;
    let transferred = protection::transferred(space, command, len)?;
    match transferred <= MAX_TRANSFER {
        true => Ok(u32::try_from(transferred.0).expect("transfers are limited")),
        false => Err(Status::INVALID_FIELD),
    }
}

/// Returns the first logical block of an I/O command that has one range of blocks.
pub(super) fn first_block(command: &Command) -> Option<u64> {
    match command.opcode() {
        WRITE
        | READ
        | COMPARE
        | WRITE_ZEROES
        | VERIFY
        | ZONE_MANAGEMENT_SEND
        | ZONE_MANAGEMENT_RECEIVE
        | ZONE_APPEND => Some(command.u64(40)),
        _ => None,
    }
}

/// Returns the length of the ranges of a command, each of which has `each` bytes.
fn count(command: &Command, each: usize) -> u32 {
    let number = match command.opcode() {
        COPY => command.dword(12) & 0xFF,
        _ => command.dword(10) & 0xFF,
    };
    (number + 1) * u32::try_from(each).expect("ranges are short")
}

/// Returns the namespace of a command. A flush may name all namespaces, which share the write
/// buffer.
///
/// # Errors
/// Returns the status for an unknown command or an invalid namespace.
pub(super) fn namespace_of<'a>(
    spaces: &'a Namespaces,
    command: &Command,
) -> Result<&'a Namespace, Status> {
    // All namespaces have the same commands.
    let first = spaces.first();
    match (command.opcode(), command.namespace()) {
        (opcode, _) if !commands(first, true).any(|(known, _)| known == opcode) => {
            Err(Status::INVALID_OPCODE)
        }
        (FLUSH, ALL_NAMESPACES) => Ok(first),
        (_, namespace) => spaces.get(namespace),
    }
}

/// Checks that the opcode is known, and that no erasure or write protection forbids the command.
fn check(space: &Namespace, command: &Command) -> Result<(), Status> {
    let opcode = command.opcode();
    let Some((_, writes)) = commands(space, true).find(|(known, _)| *known == opcode) else {
        return Err(Status::INVALID_OPCODE);
    };
    space.check_erasure()?;
    match writes && !space.is_writable() {
        true => Err(Status::NAMESPACE_WRITE_PROTECTED),
        false => Ok(()),
    }
}

/// Returns the range of a command with one range, in bytes.
fn range(space: &Namespace, command: &Command) -> Result<(Bytes, Bytes), Status> {
    let start = u64::from(command.dword(11)) << 32 | u64::from(command.dword(10));
    let blocks = u64::from(command.dword(12) & 0xFFFF) + 1;
    let most = match command.opcode() {
        WRITE_ZEROES => MAX_ZEROES,
        _ => MAX_TRANSFER,
    };
    check_directive(space, command)?;
    let range = in_bytes(space, start, blocks)?;
    match range.1 <= most {
        true => Ok(range),
        false => Err(Status::INVALID_FIELD),
    }
}

/// Checks the directive of a write; reads have no such field.
fn check_directive(space: &Namespace, command: &Command) -> Result<(), Status> {
    let is_write = matches!(command.opcode(), WRITE | WRITE_ZEROES | COPY);
    let directive = command.dword(12) >> 20 & 0xF;
    let is_known = directive == DATA_PLACEMENT && space.handles().is_some();
    match is_write && directive != 0 && !is_known {
        true => Err(Status::INVALID_FIELD),
        false => Ok(()),
    }
}

/// Converts a range of blocks to bytes of the drive.
fn in_bytes(space: &Namespace, start: u64, blocks: u64) -> Result<(Bytes, Bytes), Status> {
    // A deliberate bug that the fuzz targets must find: a range that ends one block past the end is
    // accepted.
    let spare = u64::from(flashscope_block::canary::is_planted());
    let block = space.block().0;
    match start.checked_add(blocks) {
        Some(end) if end <= space.blocks() + spare => {
            Ok((space.start() + Bytes(start * block), Bytes(blocks * block)))
        }
        _ => Err(Status::LBA_OUT_OF_RANGE.at_block(space.blocks().saturating_sub(start))),
    }
}

fn check_copy(space: &Namespace, command: &Command) -> Result<(), Status> {
    check_directive(space, command)?;
    // Descriptors must have format 0.
    if command.dword(12) >> 8 & 0xF != 0 {
        return Err(Status::INVALID_FIELD);
    }
    ExtendedCopy::check(space, command)?;
    match command.dword(12) & 0xFF < MAX_COPY_RANGES {
        true => Ok(()),
        false => Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED),
    }
}

/// Returns the plan of a command for which [`transfer`] succeeded; `None` if there is nothing to
/// do. With `through`, writes are durable, because the host turned off the write cache.
///
/// # Errors
/// Returns the status with which an invalid command is completed.
pub(super) fn plan(
    space: &Namespace,
    command: &Command,
    data: Vec<u8>,
    through: bool,
) -> Result<Option<Plan>, Status> {
    check(space, command)?;
    if matches!(command.opcode(), WRITE | WRITE_ZEROES | COPY | ZONE_APPEND) {
        space.written();
    }
    let durable = command.dword(12) >> 30 & 1 == 1;
    match command.opcode() {
        FLUSH => Ok(Some(Plan::One(plan::flush(), Finish::Status))),
        READ | VERIFY | COMPARE => read(space, command, data).map(Some),
        WRITE => {
            let (offset, len) = range(space, command)?;
            let (data, metadata) = protection::received(space, command, data)?;
            // A Format command since [`transfer`] has changed the length.
            if data.len() as u64 != len.0 {
                return Err(Status::FORMAT_IN_PROGRESS);
            }
            let stream = placement::stream(space, command)?;
            let write = plan::request(Op::Write, offset, len, durable || through);
            let write = Request { data, metadata, stream, ..write };
            Ok(Some(Plan::One(write, Finish::Status)))
        }
        WRITE_ZEROES => {
            let (offset, len) = range(space, command)?;
            let metadata = protection::of_zeroes(space, command, len)?;
            let op = match metadata {
                Some(_) => Op::Write,
                None => zeroes(space, command, offset, len),
            };
            let stream = placement::stream(space, command)?;
            let write = plan::request(op, offset, len, durable || through);
            Ok(Some(Plan::One(Request { metadata, stream, ..write }, Finish::Status)))
        }
        ZONE_MANAGEMENT_SEND | ZONE_MANAGEMENT_RECEIVE | ZONE_APPEND => {
            zones::plan(space, command, data, durable || through)
        }
        IO_MANAGEMENT_RECEIVE | IO_MANAGEMENT_SEND => placement::plan(space, command, &data),
        DATASET_MANAGEMENT => deallocate(space, command, &data),
        COPY => {
            // A Format command may have changed the format while the data arrived.
            check_copy(space, command)?;
            copy(space, command, &data, durable || through).map(Some)
        }
        _ => Err(Status::INVALID_OPCODE),
    }
}

/// Returns the plan of a read, a compare with `data`, or a verify.
fn read(space: &Namespace, command: &Command, data: Vec<u8>) -> Result<Plan, Status> {
    let (offset, len) = range(space, command)?;
    let mut request = plan::request(Op::Read, offset, len, false);
    let rest = ExtendedRead::of(space, command, &mut request, &data)?;
    let is_durable = command.dword(12) >> 30 & 1 == 1;
    Ok(match (command.opcode(), rest) {
        (READ, rest) if is_durable => Plan::DurableRead(request, rest),
        (_, Some(rest)) => Plan::One(request, Finish::Extended(rest)),
        (READ, None) => Plan::One(request, Finish::Data),
        (COMPARE, None) => Plan::One(request, Finish::Compare(data, space.block())),
        (_, None) => Plan::One(request, Finish::Status),
    })
}

/// Returns the operation that writes zeros: a trim if the host permits it, and if the range
/// consists of complete blocks of the drive.
fn zeroes(space: &Namespace, command: &Command, offset: Bytes, len: Bytes) -> Op {
    let deallocates = command.dword(12) >> 25 & 1 == 1;
    let block = space.drive_block();
    match deallocates
        && space.deallocates()
        && offset.is_multiple_of(block)
        && len.is_multiple_of(block)
    {
        true => Op::Trim,
        false => Op::Write,
    }
}

fn deallocate(space: &Namespace, command: &Command, data: &[u8]) -> Result<Option<Plan>, Status> {
    let mut trims = Vec::new();
    for entry in data.chunks_exact(RANGE_LEN) {
        let (start, blocks) = (u64_at(entry, 8), u64::from(u32_at(entry, 4)));
        let (offset, len) = in_bytes(space, start, blocks)?;
        if space.deallocates() {
            trims.extend(whole_blocks(offset, len, space.drive_block()));
        }
    }
    let deallocates = command.dword(11) >> 2 & 1 == 1;
    Ok((deallocates && !trims.is_empty()).then_some(Plan::All(trims)))
}

/// Returns trims of the complete blocks in a range; partial blocks keep their data.
fn whole_blocks(offset: Bytes, len: Bytes, block: Bytes) -> impl Iterator<Item = Request> {
    let start = offset.0.next_multiple_of(block.0);
    let end = (offset + len).round_down(block).0;
    pieces(start..end, LONGEST_TRIM)
        .map(|(offset, len)| plan::request(Op::Trim, offset, len, false))
}

/// Cuts a range of bytes into pieces of at most `longest` bytes.
pub(super) fn pieces(
    range: std::ops::Range<u64>,
    longest: u64,
) -> impl Iterator<Item = (Bytes, Bytes)> {
    let end = range.end;
    let step = usize::try_from(longest).expect("a length fits in memory");
    range.step_by(step).map(move |at| (Bytes(at), Bytes(longest.min(end - at))))
}

fn copy(space: &Namespace, command: &Command, data: &[u8], durable: bool) -> Result<Plan, Status> {
    let mut reads = Vec::new();
    let mut total = 0;
    for entry in data.chunks_exact(SOURCE_LEN) {
        let (start, blocks) = (u64_at(entry, 8), u64::from(u16_at(entry, 16)) + 1);
        total += blocks;
        if total * space.block().0 > MAX_TRANSFER.0 {
            return Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED);
        }
        let (offset, len) = in_bytes(space, start, blocks)?;
        reads.push(plan::request(Op::Read, offset, len, false));
    }
    let start = u64::from(command.dword(11)) << 32 | u64::from(command.dword(10));
    let (to, _) = in_bytes(space, start, total)?;
    let sources = data.chunks_exact(SOURCE_LEN);
    let extended = ExtendedCopy::of(space, command, sources, &mut reads)?;
    let stream = placement::stream(space, command)?;
    Ok(Plan::Copy { reads, to, durable, stream, extended })
}
