//! What an NVMe drive says of itself: the pages of Identify, decoded.
//!
//! Names, numbers and offsets are those of the NVM Express Base Specification and of its NVM Command
//! Set.

use std::path::Path;

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::guard::System;
use crate::health;
use crate::nvme::{Admin, Controller, Failed, IDENTIFY_LEN, Layout, Structure};

/// What a transfer's limit counts in: the smallest page of memory of a controller
/// (CAP.MPSMIN), which the kernel does not tell and is this of every known drive.
const PAGE: u64 = 4096;

/// What an NVMe drive says of itself and of the namespace that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nvme {
    /// The version of the NVM Express Base Specification that it follows, such as `1.4.0`.
    pub version: Option<String>,
    /// All flash that namespaces can be made of (TNVMCAP); absent where it does not tell.
    pub total_capacity_bytes: Option<Bytes>,
    /// The most that a command moves (MDTS), of pages of 4 KiB; absent where there is no limit.
    pub max_transfer_bytes: Option<Bytes>,
    /// The commands of ONCS that it has.
    pub optional_commands: Vec<OptionalCommand>,
    /// What Format NVM is to it; absent where it lacks the command.
    pub format: Option<FormatSupport>,
    /// The ways in which it sanitizes itself (SANICAP).
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
    /// Dataset Management: Deallocate, that is trims.
    DatasetManagement,
    /// Write Zeroes.
    WriteZeroes,
    /// Saving of features.
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

/// In the order of the bits of ONCS.
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

/// What Format NVM is to a drive (FNA).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormatSupport {
    /// Whether a format is of all namespaces.
    pub formats_all_namespaces: bool,
    /// Whether the erase that comes with one is of all namespaces.
    pub erases_all_namespaces: bool,
    /// Whether it can erase by new keys.
    pub cryptographic_erase: bool,
}

/// The ways in which a drive sanitizes itself (SANICAP).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SanitizeSupport {
    /// By new keys.
    pub crypto_erase: bool,
    /// By erasing its blocks.
    pub block_erase: bool,
    /// By overwriting them.
    pub overwrite: bool,
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Namespace {
    /// Its number (NSID).
    pub number: u32,
    /// Bytes that can be addressed (NSZE).
    pub size_bytes: Bytes,
    /// Bytes that can be allocated at once (NCAP).
    pub capacity_bytes: Bytes,
    /// Bytes that are allocated (NUSE); of many drives always all.
    pub used_bytes: Bytes,
    /// What a block reads as after Deallocate (DLFEAT); absent where it does not tell.
    pub deallocated_reads: Option<Deallocated>,
    /// The formats that it can be given.
    pub formats: Vec<LbaFormat>,
}

/// What a deallocated block reads as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deallocated {
    /// All bytes 00h.
    Zeroes,
    /// All bytes FFh.
    Ones,
}

/// A format of logical blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LbaFormat {
    /// Its number.
    pub number: u8,
    /// Bytes of data of a block.
    pub data_bytes: Bytes,
    /// Bytes of metadata of a block.
    pub metadata_bytes: Bytes,
    /// How fast it is among the formats of the drive (RP): 0 is best, 3 is degraded.
    pub relative_performance: u8,
    /// Whether it is the one that the namespace has.
    pub in_use: bool,
}

/// What the NVMe drive at `path` says of itself and of that namespace; `None` where it is none, or
/// may not be asked, which takes root.
pub fn identify(system: &System, path: &Path) -> Option<Nvme> {
    health::ask(system, path, health::open, |drive| described(&drive)).ok()
}

/// What the two pages of Identify say: of the controller, and of its namespace `number` (NVM Express Base
/// Specification, CNS 01h and 00h).
pub fn decode(
    controller: &[u8; IDENTIFY_LEN],
    namespace: &[u8; IDENTIFY_LEN],
    number: u32,
) -> Nvme {
    ControllerPage(*controller).describe(NamespacePage(*namespace).describe(number))
}

fn described(drive: &impl Controller) -> Result<Nvme, Failed> {
    let number = drive.namespace().map_err(Failed::System)?;
    let controller = ControllerPage::of(drive)?;
    Ok(decode(&controller.0, &NamespacePage::of(drive, number)?.0, number))
}

fn page(drive: &impl Controller, command: Admin) -> Result<[u8; IDENTIFY_LEN], Failed> {
    let mut page = [0; IDENTIFY_LEN];
    drive.send(command, &mut page)?;
    Ok(page)
}

/// The namespaces of a list, which ends where the numbers do.
pub(crate) fn namespaces(drive: &impl Controller, list: Structure) -> Result<Vec<u32>, Failed> {
    let page = page(drive, Admin::Identify(list))?;
    let (entries, _) = page.as_chunks();
    let all = entries.iter().map(|entry| u32::from_le_bytes(*entry));
    Ok(all.take_while(|number| *number != 0).collect())
}

/// Identify Controller.
pub(crate) struct ControllerPage([u8; IDENTIFY_LEN]);

impl ControllerPage {
    pub(crate) fn of(drive: &impl Controller) -> Result<ControllerPage, Failed> {
        Ok(ControllerPage(page(drive, Admin::Identify(Structure::Controller))?))
    }

    /// Whether the subsystem may have other controllers (CMIC).
    pub(crate) fn shares(&self) -> bool {
        self.0[76] & 1 << 1 != 0
    }

    /// Whether it manages namespaces (OACS).
    pub(crate) fn manages_namespaces(&self) -> bool {
        self.0[256] & 1 << 3 != 0
    }

    /// Format NVM (OACS and FNA).
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
        // Before 1.2 the field was reserved.
        (major > 0).then(|| format!("{major}.{minor}.{tertiary}"))
    }

    fn total_capacity(&self) -> Option<Bytes> {
        let total = u128::from_le_bytes(field(&self.0, 280));
        u64::try_from(total).ok().filter(|total| *total > 0).map(Bytes)
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

/// Identify Namespace.
pub(crate) struct NamespacePage([u8; IDENTIFY_LEN]);

impl NamespacePage {
    pub(crate) fn of(drive: &impl Controller, number: u32) -> Result<NamespacePage, Failed> {
        let command = Admin::IdentifyNamespace { namespace: number };
        Ok(NamespacePage(page(drive, command)?))
    }

    /// Namespace Size (NSZE) in blocks.
    pub(crate) fn blocks(&self) -> u64 {
        u64::from_le_bytes(field(&self.0, 0))
    }

    /// How it is formatted (FLBAS and DPS).
    pub(crate) fn layout(&self) -> Layout {
        Layout { flbas: self.0[26], dps: self.0[29] }
    }

    /// The format that it has; `None` where it names one that there is not.
    pub(crate) fn format(&self) -> Option<LbaFormat> {
        self.formats().into_iter().find(|format| format.in_use)
    }

    /// As many as NLBAF says, of 64 at most.
    fn formats(&self) -> Vec<LbaFormat> {
        let in_use = self.layout().format();
        let format = |number: u8| {
            let [metadata_low, metadata_high, exponent, performance] =
                field(&self.0, 128 + 4 * usize::from(number));
            // A canary of the fuzz targets: blocks of 2^64 bytes are not refused.
            let most = if cfg!(feature = "canary") { 64 } else { 63 };
            // An exponent below 9 says that the format is not there.
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

    fn describe(&self, number: u32) -> Namespace {
        let block = self.format().map_or(0, |format| format.data_bytes.0);
        let bytes = |at| Bytes(u64::from_le_bytes(field(&self.0, at)).saturating_mul(block));
        Namespace {
            number,
            size_bytes: bytes(0),
            capacity_bytes: bytes(8),
            used_bytes: bytes(16),
            deallocated_reads: match self.0[33] & 7 {
                1 => Some(Deallocated::Zeroes),
                2 => Some(Deallocated::Ones),
                _ => None,
            },
            formats: self.formats(),
        }
    }
}

/// The bytes of a field.
fn field<const LEN: usize>(page: &[u8; IDENTIFY_LEN], at: usize) -> [u8; LEN] {
    *page[at..].first_chunk().expect("within the page")
}

#[cfg(test)]
mod tests;
