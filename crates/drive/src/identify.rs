//! The properties that an NVMe drive reports: the pages of Identify, decoded.
//!
//! Names, numbers and offsets follow the NVM Express Base Specification and its NVM Command Set.

use std::fs;
use std::path::Path;

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::guard::{Identity, System};
use crate::health;
use crate::limits::longest_command;
use crate::nvme::{Admin, CommandError, Controller, IDENTIFY_LEN, Layout, Structure};

/// The unit of a controller's transfer limit: its minimum memory page size (CAP.MPSMIN). The kernel
/// does not expose it; all known drives use this value.
const PAGE: u64 = 4096;

/// The properties that an NVMe drive reports for itself and one namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nvme {
    /// The version of the NVM Express Base Specification, such as `1.4.0`.
    pub version: Option<String>,
    /// The total flash capacity for namespaces (TNVMCAP); absent if the drive does not report it.
    pub total_capacity_bytes: Option<Bytes>,
    /// The maximum transfer of a command (MDTS), assuming pages of 4 KiB; absent without a limit.
    pub max_transfer_bytes: Option<Bytes>,
    /// The optional commands that the drive supports (ONCS).
    pub optional_commands: Vec<OptionalCommand>,
    /// Support for Format NVM; absent if the drive does not have the command.
    pub format: Option<FormatSupport>,
    /// Support for Sanitize (SANICAP).
    pub sanitize: SanitizeSupport,
    /// The namespace.
    pub namespace: Namespace,
}

/// An optional command of ONCS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionalCommand {
    /// Compare.
    Compare,
    /// Write Uncorrectable.
    WriteUncorrectable,
    /// Dataset Management with Deallocate (TRIM).
    DatasetManagement,
    /// Write Zeroes.
    WriteZeroes,
    /// Save field of Set Features.
    SaveFeatures,
    /// Reservations.
    Reservations,
    /// Timestamp.
    Timestamp,
    /// Verify.
    Verify,
    /// Copy.
    Copy,
}

/// The optional commands in the order of the bits of ONCS.
const OPTIONAL_COMMANDS: [OptionalCommand; 9] = [
    OptionalCommand::Compare,
    OptionalCommand::WriteUncorrectable,
    OptionalCommand::DatasetManagement,
    OptionalCommand::WriteZeroes,
    OptionalCommand::SaveFeatures,
    OptionalCommand::Reservations,
    OptionalCommand::Timestamp,
    OptionalCommand::Verify,
    OptionalCommand::Copy,
];

/// The properties of Format NVM (FNA).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormatSupport {
    /// True if a format affects all namespaces.
    pub formats_all_namespaces: bool,
    /// True if the erase of a format affects all namespaces.
    pub erases_all_namespaces: bool,
    /// True if a format can erase by changing the encryption key.
    pub cryptographic_erase: bool,
}

/// The supported sanitize methods (SANICAP).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SanitizeSupport {
    /// Crypto erase: changes the encryption key.
    pub crypto_erase: bool,
    /// Block erase: erases all flash blocks.
    pub block_erase: bool,
    /// Overwrite: writes a pattern to all blocks.
    pub overwrite: bool,
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Namespace {
    /// The namespace ID (NSID).
    pub number: u32,
    /// Addressable bytes (NSZE).
    pub size_bytes: Bytes,
    /// Bytes that can be allocated at the same time (NCAP).
    pub capacity_bytes: Bytes,
    /// Allocated bytes (NUSE); many drives always report all bytes as allocated.
    pub used_bytes: Bytes,
    /// The value of a block after Deallocate (DLFEAT); absent if the drive does not report it.
    pub deallocated_reads: Option<DeallocatedValue>,
    /// The supported LBA formats.
    pub formats: Vec<LbaFormat>,
}

/// The value of a deallocated block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeallocatedValue {
    /// All bytes are 00h.
    Zeroes,
    /// All bytes are FFh.
    Ones,
}

/// An LBA format: the layout of logical blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LbaFormat {
    /// The number of the format.
    pub number: u8,
    /// Data bytes in a block.
    pub data_bytes: Bytes,
    /// Metadata bytes in a block.
    pub metadata_bytes: Bytes,
    /// Performance relative to the drive's other formats (RP): 0 is best, 3 is degraded.
    pub relative_performance: u8,
    /// True for the current format of the namespace.
    pub in_use: bool,
}

/// Queries the NVMe drive at `path` and its namespace. Returns `None` if it is not an NVMe drive,
/// or without permission; the query requires root.
pub fn identify(system: &System, path: &Path) -> Option<Nvme> {
    health::query(system, path, health::open, |drive| described(&drive)).ok()
}

/// Decodes the two pages of Identify: of the controller, and of its namespace `number` (NVM Express
/// Base Specification, CNS 01h and 00h).
pub fn decode(
    controller: &[u8; IDENTIFY_LEN],
    namespace: &[u8; IDENTIFY_LEN],
    number: u32,
) -> Nvme {
    ControllerPage(*controller).describe(NamespacePage(*namespace).describe(number))
}

/// The limits within which a write is atomic in a power cut: the drive performs it completely or
/// not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerFailAtomicity {
    /// The maximum length of an atomic write.
    pub unit: Bytes,
    /// A write that crosses a multiple of this offset is not atomic; `None` without a boundary.
    pub boundary: Option<Bytes>,
}

/// Queries the atomicity of writes to the whole NVMe drive at `path`. The unit is at most as long
/// as the kernel's longest command, because the kernel splits longer writes. Returns `None` for
/// everything else, such as a partition or a file, and without permission.
pub fn power_fail_atomicity(system: &System, path: &Path) -> Option<PowerFailAtomicity> {
    let Identity::Block(number) = Identity::from(&fs::metadata(path).ok()?) else { return None };
    let disk = system.directory(number).ok()?;
    if disk.join("partition").exists() {
        return None;
    }
    let stated =
        health::query(system, path, health::open, |drive| stated_atomicity(&drive)).ok()??;
    let longest = longest_command(&disk, "max_sectors_kb").unwrap_or(u64::MAX);
    Some(PowerFailAtomicity { unit: stated.unit.min(Bytes(longest)), ..stated })
}

fn stated_atomicity(drive: &impl Controller) -> Result<Option<PowerFailAtomicity>, CommandError> {
    let number = drive.namespace().map_err(CommandError::System)?;
    let blocks = ControllerPage::of(drive)?.power_fail_blocks();
    Ok(NamespacePage::of(drive, number)?.power_fail_atomicity(blocks))
}

fn described(drive: &impl Controller) -> Result<Nvme, CommandError> {
    let number = drive.namespace().map_err(CommandError::System)?;
    let controller = ControllerPage::of(drive)?;
    Ok(decode(&controller.0, &NamespacePage::of(drive, number)?.0, number))
}

fn page(drive: &impl Controller, command: Admin) -> Result<[u8; IDENTIFY_LEN], CommandError> {
    let mut page = [0; IDENTIFY_LEN];
    drive.send(command, &mut page)?;
    Ok(page)
}

/// Reads a list of namespace IDs, which ends at the first 0.
pub(crate) fn namespaces(
    drive: &impl Controller,
    list: Structure,
) -> Result<Vec<u32>, CommandError> {
    let page = page(drive, Admin::Identify(list))?;
    let (entries, _) = page.as_chunks();
    let all = entries.iter().map(|entry| u32::from_le_bytes(*entry));
    Ok(all.take_while(|number| *number != 0).collect())
}

/// The Identify Controller data structure.
pub(crate) struct ControllerPage([u8; IDENTIFY_LEN]);

impl ControllerPage {
    pub(crate) fn of(drive: &impl Controller) -> Result<ControllerPage, CommandError> {
        Ok(ControllerPage(page(drive, Admin::Identify(Structure::Controller))?))
    }

    /// Returns true if the subsystem may have other controllers (CMIC).
    pub(crate) fn shares(&self) -> bool {
        self.0[76] & 1 << 1 != 0
    }

    /// Returns true if the drive supports namespace management (OACS).
    pub(crate) fn manages_namespaces(&self) -> bool {
        self.0[256] & 1 << 3 != 0
    }

    /// Returns the support for Format NVM (OACS and FNA).
    pub(crate) fn format(&self) -> Option<FormatSupport> {
        let attributes = self.0[524];
        (self.0[256] & 1 << 1 != 0).then_some(FormatSupport {
            formats_all_namespaces: attributes & 1 != 0,
            erases_all_namespaces: attributes & 1 << 1 != 0,
            cryptographic_erase: attributes & 1 << 2 != 0,
        })
    }

    pub(crate) fn sanitize(&self) -> SanitizeSupport {
        let ways = self.0[328];
        SanitizeSupport {
            crypto_erase: ways & 1 != 0,
            block_erase: ways & 1 << 1 != 0,
            overwrite: ways & 1 << 2 != 0,
        }
    }

    fn version(&self) -> Option<String> {
        let [tertiary, minor, major_low, major_high] = field(&self.0, 80);
        let major = u16::from_le_bytes([major_low, major_high]);
        // Before version 1.2, the field was reserved.
        (major > 0).then(|| format!("{major}.{minor}.{tertiary}"))
    }

    fn total_capacity(&self) -> Option<Bytes> {
        let total = u128::from_le_bytes(field(&self.0, 280));
        u64::try_from(total).ok().filter(|total| *total > 0).map(Bytes)
    }

    /// Returns the maximum length of an atomic write in a power cut (AWUPF), in blocks.
    fn power_fail_blocks(&self) -> u64 {
        u64::from(u16::from_le_bytes(field(&self.0, 528))) + 1
    }

    fn max_transfer(&self) -> Option<Bytes> {
        let exponent = u32::from(self.0[77]);
        let most = PAGE.checked_shl(exponent).filter(|most| most >> exponent == PAGE);
        most.filter(|_| exponent > 0).map(Bytes)
    }

    fn optional_commands(&self) -> Vec<OptionalCommand> {
        let bits = u16::from_le_bytes(field(&self.0, 520));
        let has = |bit: usize| bits & 1 << bit != 0;
        let all = OPTIONAL_COMMANDS.into_iter().enumerate();
        all.filter(|(bit, _)| has(*bit)).map(|(_, command)| command).collect()
    }

    fn describe(&self, namespace: Namespace) -> Nvme {
        Nvme {
            version: self.version(),
            total_capacity_bytes: self.total_capacity(),
            max_transfer_bytes: self.max_transfer(),
            optional_commands: self.optional_commands(),
            format: self.format(),
            sanitize: self.sanitize(),
            namespace,
        }
    }
}

/// The page Identify Namespace.
pub(crate) struct NamespacePage([u8; IDENTIFY_LEN]);

impl NamespacePage {
    pub(crate) fn of(drive: &impl Controller, number: u32) -> Result<NamespacePage, CommandError> {
        let command = Admin::IdentifyNamespace { namespace: number };
        Ok(NamespacePage(page(drive, command)?))
    }

    /// Returns the Namespace Size (NSZE) in blocks.
    pub(crate) fn blocks(&self) -> u64 {
        u64::from_le_bytes(field(&self.0, 0))
    }

    /// Returns the current format and protection (FLBAS and DPS).
    pub(crate) fn layout(&self) -> Layout {
        Layout { flbas: self.0[26], dps: self.0[29] }
    }

    /// Returns the current LBA format, or `None` if the page names a format that does not exist.
    pub(crate) fn format(&self) -> Option<LbaFormat> {
        self.formats().into_iter().find(|format| format.in_use)
    }

    /// Returns the LBA formats, as many as NLBAF states, at most 64.
    fn formats(&self) -> Vec<LbaFormat> {
        let in_use = self.layout().format();
        let format = |number: u8| {
            let [metadata_low, metadata_high, exponent, performance] =
                field(&self.0, 128 + 4 * usize::from(number));
            // A deliberate bug that the fuzz targets must find: blocks of 2^64 bytes are accepted.
            let most = if flashscope_block::canary::is_planted() { 64 } else { 63 };
            // An exponent below 9 means that the format is not available.
            (9..=most).contains(&exponent).then(|| LbaFormat {
                number,
                data_bytes: Bytes(1 << exponent),
                metadata_bytes: Bytes(u16::from_le_bytes([metadata_low, metadata_high]).into()),
                relative_performance: performance & 3,
                in_use: number == in_use,
            })
        };
        (0..=self.0[25].min(63)).filter_map(format).collect()
    }

    /// Returns the atomicity of writes in a power cut (NSFEAT, NAWUPF, NABO and NABSPF). The unit
    /// is `awupf` blocks unless the namespace states its own number. Returns `None` if the
    /// boundaries do not begin at the first block, or the current format is unknown.
    fn power_fail_atomicity(&self, awupf: u64) -> Option<PowerFailAtomicity> {
        let block = self.format()?.data_bytes.0;
        let number = |at| u64::from(u16::from_le_bytes(field(&self.0, at)));
        let has_own = self.0[24] & 1 << 1 != 0;
        let (own, boundary_offset, boundary) = (number(36), number(42), number(44));
        let unit = if has_own && own > 0 { own + 1 } else { awupf };
        let boundary = (has_own && boundary > 0).then_some(boundary + 1);
        if boundary.is_some() && boundary_offset > 0 {
            return None;
        }
        let bytes = |blocks: u64| blocks.checked_mul(block).map(Bytes);
        Some(PowerFailAtomicity { unit: bytes(unit)?, boundary: boundary.and_then(bytes) })
    }

    fn describe(&self, number: u32) -> Namespace {
        let block = self.format().map_or(0, |format| format.data_bytes.0);
        let bytes = |at| Bytes(u64::from_le_bytes(field(&self.0, at)).saturating_mul(block));
        Namespace {
            number,
            size_bytes: bytes(0),
            capacity_bytes: bytes(8),
            used_bytes: bytes(16),
            deallocated_reads: match self.0[33] & 7 {
                1 => Some(DeallocatedValue::Zeroes),
                2 => Some(DeallocatedValue::Ones),
                _ => None,
            },
            formats: self.formats(),
        }
    }
}

/// Returns the bytes of a field.
fn field<const LEN: usize>(page: &[u8; IDENTIFY_LEN], at: usize) -> [u8; LEN] {
    *page[at..].first_chunk().expect("within the page")
}

#[cfg(test)]
mod tests;
