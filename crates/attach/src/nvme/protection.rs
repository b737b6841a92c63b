//! Metadata of 8 bytes, and the protection information that they may contain (NVM Command Set
//! Specification 1.1, "End-to-end Data Protection", with a guard of 16 bits): guard, application
//! tag and reference tag.

use flashscope_block::Bytes;

use super::command::Command;
use super::io::{COMPARE, READ, VERIFY, WRITE_ZEROES};
use super::namespace::Namespace;
use super::status::Status;
use super::wire::u32_at;
use crate::metadata::{METADATA_LEN, Metadata};
use crate::request::Request;

/// Bits of dword 12: the first makes the drive insert or strip protection information, and the
/// others request the checks of guard, application tag and reference tag.
const ACTION: u32 = 1 << 29;
const CHECK_GUARD: u32 = 1 << 28;
const CHECK_APPLICATION: u32 = 1 << 27;
const CHECK_REFERENCE: u32 = 1 << 26;

/// The bits of dword 12 with these settings for the source ranges of Copy (PRINFOR), and their
/// distance to the bits for the destination (PRINFOW).
const SOURCE_FIELD: u32 = 0xF << 12;
const SOURCE_SHIFT: u32 = 14;

/// The value of an application tag that turns off all checks of its block; in type 3, only together
/// with the reference tag below.
const ESCAPE_APPLICATION: u16 = u16::MAX;
const ESCAPE_REFERENCE: u32 = u32::MAX;

/// The type of protection information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    /// The reference tag is the number of the block.
    Type1 = 1,
    /// The reference tag counts up from a value of the command.
    Type2 = 2,
    /// The reference tag is defined by the host.
    Type3 = 3,
}

impl Protection {
    /// Returns the type for its number, if there is protection information.
    pub(super) fn of(number: u32) -> Option<Protection> {
        match number {
            1 => Some(Protection::Type1),
            2 => Some(Protection::Type2),
            3 => Some(Protection::Type3),
            _ => None,
        }
    }
}

/// The number of bytes that [`guard`] processes at a time.
const SLICE: usize = 8;

/// The CRC of each byte with zero bytes after it. The first index is the number of zero bytes.
const TABLES: [[u16; 256]; SLICE] = {
    let mut tables = [byte_crcs(); SLICE];
    let mut zeros = 1;
    while zeros < SLICE {
        let mut byte = 0;
        while byte < 256 {
            let crc = tables[zeros - 1][byte];
            tables[zeros][byte] = crc << 8 ^ tables[0][(crc >> 8) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
};

/// Returns the CRC of each byte.
const fn byte_crcs() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte: u16 = 0;
    while byte < 256 {
        let mut crc = byte << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = crc << 1 ^ if crc >> 15 == 1 { 0x8BB7 } else { 0 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
}

/// Returns the guard of a block: CRC-16/T10-DIF, with the polynomial 8BB7h.
fn guard(data: &[u8]) -> u16 {
    let (slices, rest) = data.as_chunks::<SLICE>();
    let crc = slices.iter().fold(0, |crc: u16, slice| {
        let mut slice = *slice;
        slice[0] ^= (crc >> 8) as u8;
        slice[1] ^= (crc & 0xFF) as u8;
        // The last table belongs to the first byte, which most bytes follow.
        let crcs = slice.iter().zip(TABLES.iter().rev());
        crcs.fold(0, |crc, (byte, table)| crc ^ table[usize::from(*byte)])
    });
    rest.iter().fold(crc, |crc, byte| crc << 8 ^ TABLES[0][usize::from((crc >> 8) as u8 ^ byte)])
}

/// The protection information of a command: the values to insert, and the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProtectionCheck {
    kind: Protection,
    /// The bits of the checks, in dword 12.
    checks: u32,
    application: u16,
    mask: u16,
    /// The reference tag of the first block.
    reference: u32,
    block: usize,
}

impl ProtectionCheck {
    /// Returns the protection information of a command, if the namespace has any.
    fn of(space: &Namespace, command: &Command) -> Result<Option<ProtectionCheck>, Status> {
        let acts = command.dword(12) & ACTION != 0;
        if acts && space.protection().is_some() && matches!(command.opcode(), COMPARE | VERIFY) {
            return Err(Status::INVALID_PROTECTION_INFORMATION);
        }
        let fields = [10, 12, 14, 15].map(|number| command.dword(number));
        ProtectionCheck::of_fields(space, fields)
    }

    /// Returns the protection information of a source range of Copy, if the namespace has any
    /// (NVM Command Set Specification 1.1, "Copy command", descriptor format 0h).
    fn of_source(
        space: &Namespace,
        command: &Command,
        source: &[u8],
    ) -> Result<Option<ProtectionCheck>, Status> {
        let checks = (command.dword(12) & SOURCE_FIELD) << SOURCE_SHIFT;
        // The first block, the reference tag, and the application tag with its mask.
        let [start, reference, tags] = [8, 24, 28].map(|at| u32_at(source, at));
        ProtectionCheck::of_fields(space, [start, checks, reference, tags])
    }

    /// Returns the protection information for the low half of the first block's number, the bits of
    /// the checks, the reference tag, and the application tag with its mask.
    fn of_fields(
        space: &Namespace,
        [start, checks, reference, tags]: [u32; 4],
    ) -> Result<Option<ProtectionCheck>, Status> {
        let Some(kind) = space.protection() else { return Ok(None) };
        let is_of_block = reference == start;
        match kind {
            // In type 1, the reference tag must be that of the block. In type 3, the drive cannot
            // check it.
            Protection::Type1 if checks & CHECK_REFERENCE != 0 && !is_of_block => {
                return Err(Status::INVALID_PROTECTION_INFORMATION);
            }
            Protection::Type3 if checks & CHECK_REFERENCE != 0 => {
                return Err(Status::INVALID_PROTECTION_INFORMATION);
            }
            _ => {}
        }
        Ok(Some(ProtectionCheck {
            kind,
            checks,
            application: low(tags),
            mask: low(tags >> 16),
            reference,
            block: block_of(space),
        }))
    }

    /// Returns the reference tag of a block of the command.
    fn reference_of(&self, place: usize) -> u32 {
        let place = u32::try_from(place).expect("commands are limited");
        match self.kind {
            Protection::Type1 | Protection::Type2 => self.reference.wrapping_add(place),
            Protection::Type3 => self.reference,
        }
    }

    /// Returns protection information for these data.
    fn generate(&self, data: &[u8]) -> Vec<u8> {
        let mut tuples = Vec::with_capacity(data.len() / self.block * METADATA_LEN);
        for (place, block) in data.chunks_exact(self.block).enumerate() {
            tuples.extend_from_slice(&guard(block).to_be_bytes());
            tuples.extend_from_slice(&self.application.to_be_bytes());
            tuples.extend_from_slice(&self.reference_of(place).to_be_bytes());
        }
        tuples
    }

    /// Checks the protection information of blocks.
    fn check(&self, data: &[u8], tuples: &[u8]) -> Result<(), Status> {
        let blocks = data.chunks_exact(self.block).zip(tuples.chunks_exact(METADATA_LEN));
        for (place, (block, tuple)) in blocks.enumerate() {
            self.check_block(block, tuple, self.reference_of(place))
                .map_err(|status| status.at_block(place as u64))?;
        }
        Ok(())
    }

    fn check_block(&self, block: &[u8], tuple: &[u8], reference: u32) -> Result<(), Status> {
        let [g0, g1, a0, a1, reference_bytes @ ..]: [u8; METADATA_LEN] =
            tuple.try_into().expect("8 bytes");
        let (found_guard, found_application) =
            (u16::from_be_bytes([g0, g1]), u16::from_be_bytes([a0, a1]));
        let found_reference = u32::from_be_bytes(reference_bytes);
        let escapes = found_application == ESCAPE_APPLICATION
            && (self.kind != Protection::Type3 || found_reference == ESCAPE_REFERENCE);
        let checks = |bit: u32| self.checks & bit != 0 && !escapes;
        if checks(CHECK_GUARD) && found_guard != guard(block) {
            return Err(Status::GUARD_CHECK_ERROR);
        }
        if checks(CHECK_APPLICATION) && (found_application ^ self.application) & self.mask != 0 {
            return Err(Status::APPLICATION_TAG_CHECK_ERROR);
        }
        if checks(CHECK_REFERENCE) && found_reference != reference {
            return Err(Status::REFERENCE_TAG_CHECK_ERROR);
        }
        Ok(())
    }
}

fn low(value: u32) -> u16 {
    (value & 0xFFFF) as u16
}

fn block_of(space: &Namespace) -> usize {
    usize::try_from(space.block().0).expect("a block fits in memory")
}

/// Returns true if the drive inserts or strips the metadata of a command, which the host therefore
/// does not transfer.
fn acts(space: &Namespace, command: &Command) -> bool {
    space.protection().is_some() && command.dword(12) & ACTION != 0
}

/// Returns the number of bytes that the host transfers for `len` bytes of blocks, and checks the
/// protection information of the command.
pub(super) fn transferred(
    space: &Namespace,
    command: &Command,
    len: Bytes,
) -> Result<Bytes, Status> {
    ProtectionCheck::of(space, command)?;
    match space.has_metadata() && !acts(space, command) {
        true => Ok(len + Bytes(len.0 / space.block().0 * METADATA_LEN as u64)),
        false => Ok(len),
    }
}

/// Returns `bytes` as the metadata of the blocks of a namespace, if its blocks have metadata.
fn metadata(space: &Namespace, bytes: Vec<u8>) -> Option<Metadata> {
    let unwritten = if space.protection().is_some() { 0xFF } else { 0 };
    space.has_metadata().then(|| Metadata { block: space.block(), unwritten, bytes })
}

/// Separates the blocks that a host sent from their metadata, which are checked or generated.
pub(super) fn received(
    space: &Namespace,
    command: &Command,
    data: Vec<u8>,
) -> Result<(Vec<u8>, Option<Metadata>), Status> {
    if !space.has_metadata() {
        return Ok((data, None));
    }
    let check = ProtectionCheck::of(space, command)?;
    let (data, bytes) = match &check {
        Some(check) if acts(space, command) => {
            let tuples = check.generate(&data);
            (data, tuples)
        }
        _ => separate(&data, block_of(space)),
    };
    if let (Some(check), false) = (&check, acts(space, command)) {
        check.check(&data, &bytes)?;
    }
    Ok((data, metadata(space, bytes)))
}

/// Returns the metadata of blocks that a command sets to zero, if the drive generates any.
pub(super) fn of_zeroes(
    space: &Namespace,
    command: &Command,
    len: Bytes,
) -> Result<Option<Metadata>, Status> {
    debug_assert_eq!(command.opcode(), WRITE_ZEROES);
    let Some(check) = ProtectionCheck::of(space, command)?.filter(|_| acts(space, command)) else {
        return Ok(None);
    };
    let blocks = usize::try_from(len.0 / space.block().0).expect("commands are limited");
    let mut tuples = Vec::with_capacity(blocks * METADATA_LEN);
    for place in 0..blocks {
        // The guard of zeros is 0.
        tuples.extend_from_slice(&[0; 2]);
        tuples.extend_from_slice(&check.application.to_be_bytes());
        tuples.extend_from_slice(&check.reference_of(place).to_be_bytes());
    }
    Ok(metadata(space, tuples))
}

/// Returns the index of the first block that differs.
pub(super) fn first_different(data: &[u8], expected: &[u8], block: usize) -> Option<u64> {
    if data == expected {
        return None;
    }
    let at = data.iter().zip(expected).position(|(read, expected)| read != expected);
    Some((at.unwrap_or(data.len().min(expected.len())) / block) as u64)
}

/// Separates interleaved blocks from their metadata.
fn separate(extended: &[u8], block: usize) -> (Vec<u8>, Vec<u8>) {
    let blocks = extended.len() / (block + METADATA_LEN);
    let mut data = Vec::with_capacity(blocks * block);
    let mut metadata = Vec::with_capacity(blocks * METADATA_LEN);
    for extended in extended.chunks_exact(block + METADATA_LEN) {
        data.extend_from_slice(&extended[..block]);
        metadata.extend_from_slice(&extended[block..]);
    }
    (data, metadata)
}

/// Interleaves blocks with their metadata.
fn join(data: &[u8], metadata: &[u8], block: usize) -> Vec<u8> {
    let mut extended = Vec::with_capacity(data.len() + metadata.len());
    for (block, tuple) in data.chunks_exact(block).zip(metadata.chunks_exact(METADATA_LEN)) {
        extended.extend_from_slice(block);
        extended.extend_from_slice(tuple);
    }
    extended
}

/// The remaining work of a command after its blocks and their metadata were read.
#[derive(Debug, PartialEq, Eq)]
pub struct ExtendedRead {
    check: Option<ProtectionCheck>,
    block: usize,
    goal: Goal,
}

#[derive(Debug, PartialEq, Eq)]
enum Goal {
    /// Returns the blocks with their metadata.
    Return,
    /// Returns the blocks.
    Strip,
    /// Returns nothing.
    Verify,
    /// Compares with these blocks and metadata.
    Compare(Vec<u8>, Vec<u8>),
}

impl ExtendedRead {
    /// Adds metadata to the request of a read, compare or verify, and returns the remaining work of
    /// the command; `None` for blocks without metadata. `data` contains the data to compare.
    pub(super) fn of(
        space: &Namespace,
        command: &Command,
        request: &mut Request,
        data: &[u8],
    ) -> Result<Option<ExtendedRead>, Status> {
        request.metadata = metadata(space, Vec::new());
        if request.metadata.is_none() {
            return Ok(None);
        }
        let check = ProtectionCheck::of(space, command)?;
        let block = block_of(space);
        let goal = match command.opcode() {
            READ if acts(space, command) => Goal::Strip,
            READ => Goal::Return,
            COMPARE => {
                let (data, tuples) = separate(data, block);
                if let Some(check) = &check {
                    check.check(&data, &tuples)?;
                }
                Goal::Compare(data, tuples)
            }
            _ => Goal::Verify,
        };
        Ok(Some(ExtendedRead { check, block, goal }))
    }

    /// Returns the memory in bytes that this value occupies in addition to the request.
    pub(super) fn cost(&self) -> u64 {
        match &self.goal {
            Goal::Compare(data, metadata) => (data.len() + metadata.len()) as u64,
            _ => 0,
        }
    }

    /// Checks the blocks that a request read, and replaces them by the data for the host.
    pub(super) fn finish(&self, read: &mut Request) -> Result<(), Status> {
        let tuples = read.metadata.take().map(|metadata| metadata.bytes).unwrap_or_default();
        let data = std::mem::take(&mut read.data);
        if let Some(check) = &self.check {
            check.check(&data, &tuples)?;
        }
        match &self.goal {
            Goal::Strip => read.data = data,
            Goal::Verify => {}
            Goal::Return => read.data = join(&data, &tuples, self.block),
            // Protection information is checked, not compared.
            Goal::Compare(expected, metadata) => {
                let metadata = if self.check.is_some() { &tuples } else { metadata };
                let different = first_different(&data, expected, self.block)
                    .into_iter()
                    .chain(first_different(&tuples, metadata, METADATA_LEN))
                    .min();
                return match different {
                    Some(index) => Err(Status::COMPARE_FAILURE.at_block(index)),
                    None => Ok(()),
                };
            }
        }
        Ok(())
    }
}

/// The metadata of a copy, with the checks of its source ranges and of its destination.
#[derive(Debug, PartialEq, Eq)]
pub struct ExtendedCopy {
    sources: Vec<Option<ProtectionCheck>>,
    destination: Option<ProtectionCheck>,
    /// True if the drive inserts new protection information.
    acts: bool,
    /// The metadata of the destination, without their bytes.
    metadata: Metadata,
}

impl ExtendedCopy {
    /// Checks the protection information of a copy, as far as it does not depend on the source
    /// ranges. PRACT must be the same for both sides.
    pub(super) fn check(space: &Namespace, command: &Command) -> Result<(), Status> {
        let options = command.dword(12);
        let is_same = ((options & SOURCE_FIELD) << SOURCE_SHIFT ^ options) & ACTION == 0;
        if space.protection().is_some() && !is_same {
            return Err(Status::INVALID_FIELD);
        }
        ProtectionCheck::of(space, command).map(|_| ())
    }

    /// Adds metadata to the reads of a copy, and returns the remaining work. Returns `None` for
    /// blocks without metadata. `sources` are the descriptors of the source ranges.
    pub(super) fn of<'a>(
        space: &Namespace,
        command: &Command,
        sources: impl Iterator<Item = &'a [u8]>,
        reads: &mut [Request],
    ) -> Result<Option<ExtendedCopy>, Status> {
        let Some(empty) = metadata(space, Vec::new()) else { return Ok(None) };
        for read in reads {
            read.metadata = Some(empty.clone());
        }
        let sources = sources.map(|source| ProtectionCheck::of_source(space, command, source));
        Ok(Some(ExtendedCopy {
            sources: sources.collect::<Result<_, _>>()?,
            destination: ProtectionCheck::of(space, command)?,
            acts: acts(space, command),
            metadata: empty,
        }))
    }

    /// Checks the data and the metadata of the source ranges. Returns the metadata to write.
    pub(super) fn finish(self, data: &[Vec<u8>], metadata: &[Vec<u8>]) -> Result<Metadata, Status> {
        for (check, (data, tuples)) in self.sources.iter().zip(data.iter().zip(metadata)) {
            if let Some(check) = check {
                check.check(data, tuples)?;
            }
        }
        let (data, tuples) = (data.concat(), metadata.concat());
        let bytes = match &self.destination {
            Some(check) if self.acts => check.generate(&data),
            Some(check) => {
                check.check(&data, &tuples)?;
                tuples
            }
            None => tuples,
        };
        Ok(Metadata { bytes, ..self.metadata })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The references are the check value of the catalogue of CRCs (CRC-16/T10-DIF), the CRC of
    // zeros, and CRCs computed bit by bit.
    #[test]
    fn guards_are_the_published_crc() {
        assert_eq!(guard(b"123456789"), 0xD0DB);
        assert_eq!(guard(&[0; 512]), 0);
        // Computes the CRC bit by bit, from its definition.
        let slow = |data: &[u8]| {
            data.iter().fold(0_u16, |crc, byte| {
                (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
                    crc << 1 ^ if crc & 0x8000 != 0 { 0x8BB7 } else { 0 }
                })
            })
        };
        let data: Vec<u8> = (0..=255).cycle().take(4096).collect();
        for len in (0..40).chain([512, 4096]) {
            assert_eq!(guard(&data[4096 - len..]), slow(&data[4096 - len..]), "{len} bytes");
        }
    }
}
