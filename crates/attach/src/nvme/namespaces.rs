//! The namespaces of a drive: one, or several that divide it.

use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use flashscope_block::Bytes;

use super::erasure::{ErasureCount, Erasures, SanitizeState};
use super::namespace::{ALL_NAMESPACES, BLOCK_SHIFTS, NAMESPACE, Namespace, Part};
use super::plan::Erase;
use super::status::Status;
use crate::attached::Export;

/// The maximum number of namespaces.
const MAX_NAMESPACES: usize = 128;

/// The largest logical block in bytes. Each namespace begins at a multiple of it, and can therefore
/// be formatted with it.
const LARGEST_BLOCK: Bytes = Bytes(1 << BLOCK_SHIFTS[BLOCK_SHIFTS.len() - 1]);

/// A part of a drive as a namespace, as the user requests it: `SIZE[,lba=512|4096][,pi=1|2|3]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamespaceOptions {
    /// The size in bytes.
    pub size: Bytes,
    /// The size of its logical blocks in bytes; `None` for 512, or for 4096 if the blocks of the
    /// drive are larger.
    pub block: Option<Bytes>,
    /// The type of protection information, 1 to 3; `None` for blocks without metadata.
    pub protection: Option<u8>,
}

/// The error for a text that is not [`NamespaceOptions`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a namespace: write its size, then lba=512 or lba=4096 for its blocks and pi=1, pi=2 or pi=3 for its \
     protection, each at most once, as in 4GiB,lba=4096,pi=1"
)]
pub struct ParseNamespaceError(String);

impl FromStr for NamespaceOptions {
    type Err = ParseNamespaceError;

    fn from_str(text: &str) -> Result<NamespaceOptions, ParseNamespaceError> {
        let error = || ParseNamespaceError(text.into());
        let mut parts = text.split(',');
        let size = parts.next().unwrap_or_default().parse().map_err(|_| error())?;
        let mut options = NamespaceOptions { size, block: None, protection: None };
        for part in parts {
            match part.split_once('=') {
                Some(("lba", block)) if options.block.is_none() => {
                    let shift =
                        BLOCK_SHIFTS.iter().find(|shift| (1u64 << **shift).to_string() == block);
                    options.block = Some(Bytes(1 << shift.ok_or_else(error)?));
                }
                Some(("pi", kind @ ("1" | "2" | "3"))) if options.protection.is_none() => {
                    options.protection = kind.parse().ok();
                }
                _ => return Err(error()),
            }
        }
        Ok(options)
    }
}

/// The reason why a drive cannot be divided into namespaces.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamespaceError {
    /// The drive has zones.
    #[error(
        "`{0}` has zones, which belong to one namespace: attach it without --namespace, or without zones, with \
         zones.blocks=0"
    )]
    Zones(String),
    /// The drive has reclaim unit handles.
    #[error(
        "`{0}` has placement handles, which belong to one namespace: attach it without --namespace, or without \
         handles, with placement.handles=1 and placement.groups=1"
    )]
    Handles(String),
    /// The drive keeps no metadata.
    #[error(
        "`{0}` keeps no metadata, and `pi` needs some: attach a simulated drive without --store, or leave out `pi`"
    )]
    Metadata(String),
    /// A namespace is empty or does not consist of complete blocks.
    #[error(
        "--namespace {} B is not a positive multiple of {unit}, the largest block of the drive and its formats: the \
         next one is --namespace {next}",
        size.0,
        next = next_size(*size, *unit)
    )]
    Size {
        /// The size of the namespace.
        size: Bytes,
        /// The size of the blocks.
        unit: Bytes,
    },
    /// The namespaces exceed the drive.
    #[error("the namespaces are larger than `{name}`, which has {} B: choose smaller ones, or a larger drive", size.0)]
    Capacity {
        /// The name of the drive.
        name: String,
        /// Its size.
        size: Bytes,
    },
    /// There are too many namespaces.
    #[error(
        "a drive has at most {MAX_NAMESPACES} namespaces, not {0}: give --namespace less often"
    )]
    Number(usize),
}

/// Returns the next valid size of a namespace in bytes, or the largest one.
fn next_size(size: Bytes, unit: Bytes) -> u64 {
    let next = size.0.max(1).checked_next_multiple_of(unit.0);
    next.unwrap_or_else(|| size.round_down(unit).0)
}

/// The namespaces of a drive, in the order of their identifiers, which begin at 1. They follow each
/// other on the drive.
#[derive(Debug)]
pub(super) struct Namespaces {
    all: Vec<Namespace>,
    /// The size of the drive in bytes.
    capacity: Bytes,
    erasures: Arc<Erasures>,
}

impl Namespaces {
    /// Divides a drive into namespaces; without options, the drive is one namespace.
    pub(super) fn new(
        export: &Export,
        options: &[NamespaceOptions],
    ) -> Result<Namespaces, NamespaceError> {
        let erasures = Arc::<Erasures>::default();
        let whole = Part {
            id: NAMESPACE,
            start: Bytes(0),
            size: export.size,
            block: None,
            protection: None,
        };
        let parts = if options.is_empty() { vec![whole] } else { divide(export, options)? };
        let all = parts.into_iter().map(|part| Namespace::new(export, part, &erasures)).collect();
        Ok(Namespaces { all, capacity: export.size, erasures })
    }

    /// Returns the first namespace, which always exists.
    pub(super) fn first(&self) -> &Namespace {
        &self.all[0]
    }

    pub(super) fn all(&self) -> &[Namespace] {
        &self.all
    }

    /// Returns the number of namespaces.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.all.len()).expect("few namespaces")
    }

    /// Returns the size of the drive in bytes.
    pub(super) fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Returns the size in bytes of the part of the drive that belongs to no namespace.
    pub(super) fn unallocated(&self) -> Bytes {
        self.all.iter().fold(self.capacity, |left, space| left - space.size())
    }

    /// Returns the namespace with an identifier.
    pub(super) fn get(&self, id: u32) -> Result<&Namespace, Status> {
        self.all.iter().find(|space| space.id() == id).ok_or(Status::INVALID_NAMESPACE)
    }

    /// Returns the namespaces that an identifier selects: one, or all.
    pub(super) fn selected(&self, id: u32) -> Result<&[Namespace], Status> {
        match id {
            ALL_NAMESPACES => Ok(&self.all),
            id => self.get(id).map(std::slice::from_ref),
        }
    }

    /// Checks the identifier of a command that concerns the controller: none, all, or that of a
    /// namespace.
    pub(super) fn check(&self, id: u32) -> Result<(), Status> {
        match id {
            0 => Ok(()),
            id => self.selected(id).map(|_| ()),
        }
    }

    /// Returns the number of erasures of a namespace that have begun.
    pub(super) fn erasures(&self, id: u32) -> ErasureCount {
        self.erasures.count(id)
    }

    /// Begins an erasure. `options` is dword 10 of its command.
    pub(super) fn begin(&self, erase: Erase, options: u32) -> Result<(), Status> {
        match erase {
            Erase::Format { namespace, .. } => self.erasures.begin_formats(&self.ids(namespace)),
            Erase::Sanitize => self.erasures.begin_sanitize(options),
        }
    }

    /// Records that a sanitize operation has erased everything before the byte `end`. A format
    /// reports no progress.
    pub(super) fn erased_until(&self, erase: Erase, end: u64) {
        if erase == Erase::Sanitize {
            self.erasures.sanitized_until(end);
        }
    }

    /// Ends an erasure.
    pub(super) fn end(&self, erase: Erase, is_done: bool) {
        match erase {
            Erase::Format { namespace, format } => {
                for space in self.selected(namespace).unwrap_or_default() {
                    if is_done {
                        space.set_format(format);
                    }
                }
                self.erasures.end_formats(&self.ids(namespace));
            }
            Erase::Sanitize => self.erasures.end_sanitize(is_done),
        }
    }

    /// Returns the range of bytes of the drive that an erasure covers.
    pub(super) fn range(&self, erase: Erase) -> Range<u64> {
        match erase {
            Erase::Format { namespace, .. } => match self.selected(namespace).unwrap_or_default() {
                [] => 0..0,
                [first, .., last] => first.start().0..(last.start() + last.size()).0,
                [only] => only.start().0..(only.start() + only.size()).0,
            },
            Erase::Sanitize => 0..self.capacity.0,
        }
    }

    /// Returns the identifiers of the namespaces whose format an erasure changes.
    pub(super) fn formatted(&self, erase: Erase) -> Vec<u32> {
        match erase {
            Erase::Format { namespace, .. } => self.ids(namespace),
            Erase::Sanitize => Vec::new(),
        }
    }

    fn ids(&self, selected: u32) -> Vec<u32> {
        self.selected(selected).unwrap_or_default().iter().map(Namespace::id).collect()
    }

    /// Returns the state of the last sanitize operation, dword 10 of its command, and true if
    /// nothing was written since.
    pub(super) fn sanitized(&self) -> (SanitizeState, u32, bool) {
        self.erasures.sanitized()
    }
}

/// Checks that a drive can be divided into these namespaces. Without options, the drive is one
/// namespace.
///
/// # Errors
/// Returns the reason why it cannot.
pub fn check_namespaces(
    export: &Export,
    options: &[NamespaceOptions],
) -> Result<(), NamespaceError> {
    if options.is_empty() {
        return Ok(());
    }
    divide(export, options).map(drop)
}

/// Returns the parts of a drive that the namespaces occupy.
fn divide(export: &Export, options: &[NamespaceOptions]) -> Result<Vec<Part>, NamespaceError> {
    if export.zones.is_some() {
        return Err(NamespaceError::Zones(export.name.clone()));
    }
    if export.handles.is_some() {
        return Err(NamespaceError::Handles(export.name.clone()));
    }
    if options.len() > MAX_NAMESPACES {
        return Err(NamespaceError::Number(options.len()));
    }
    if !export.keeps_metadata && options.iter().any(|space| space.protection.is_some()) {
        return Err(NamespaceError::Metadata(export.name.clone()));
    }
    let unit = LARGEST_BLOCK.max(export.logical_block);
    let mut start = Bytes(0);
    let mut parts = Vec::new();
    for (id, &NamespaceOptions { size, block, protection }) in (NAMESPACE..).zip(options) {
        if size == Bytes(0) || !size.is_multiple_of(unit) {
            return Err(NamespaceError::Size { size, unit });
        }
        parts.push(Part { id, start, size, block, protection });
        let end = start.0.checked_add(size.0).filter(|end| *end <= export.size.0);
        let capacity = || NamespaceError::Capacity { name: export.name.clone(), size: export.size };
        start = Bytes(end.ok_or_else(capacity)?);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use flashscope_block::{PlacementLimits, ZoneLimits};

    use super::*;

    fn export() -> Export {
        Export::new("drive", (Bytes::mib(1), Bytes(512)))
    }

    fn divided(export: &Export, sizes: &[&str]) -> Result<Vec<(u32, u64, u64)>, NamespaceError> {
        let options: Vec<_> = sizes.iter().map(|size| size.parse().unwrap()).collect();
        let spaces = Namespaces::new(export, &options)?;
        let part = |space: &Namespace| (space.id(), space.start().0, space.blocks());
        Ok(spaces.all().iter().map(part).collect())
    }

    #[test]
    fn options_name_a_size_and_blocks() {
        let options = |block| NamespaceOptions { size: Bytes::mib(4), block, protection: None };
        assert_eq!("4MiB".parse(), Ok(options(None)));
        assert_eq!("4MiB,lba=512".parse(), Ok(options(Some(Bytes(512)))));
        assert_eq!("4MiB,lba=4096".parse(), Ok(options(Some(Bytes(4096)))));
        let protected = NamespaceOptions { protection: Some(2), ..options(Some(Bytes(512))) };
        assert_eq!("4MiB,lba=512,pi=2".parse(), Ok(protected));
        for text in ["", "lba=512", "4MiB,", "4MiB,lba=1024", "4MiB,x=1"] {
            assert!(text.parse::<NamespaceOptions>().is_err(), "{text}");
        }
        for text in ["4MiB,lba=512,lba=512", "4MiB,pi=0", "4MiB,pi=4", "4MiB,pi=1,pi=1"] {
            let error = text.parse::<NamespaceOptions>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is not a namespace")), "{error}");
            assert!(error.contains("lba=512 or lba=4096") && error.contains("pi=1, pi=2 or pi=3"));
        }
    }

    // Without options, the drive is one namespace. With options, the namespaces follow each other.
    #[test]
    fn namespaces_follow_each_other() {
        assert_eq!(divided(&export(), &[]), Ok(vec![(1, 0, 2048)]));
        let parts = divided(&export(), &["512KiB", "256KiB,lba=4096"]);
        assert_eq!(parts, Ok(vec![(1, 0, 1024), (2, 512 * 1024, 64)]));
        let spaces = Namespaces::new(&export(), &["512KiB".parse().unwrap()]).unwrap();
        assert_eq!(spaces.unallocated(), Bytes::kib(512));
    }

    #[test]
    fn drives_that_cannot_be_divided_are_refused() {
        const MIB: Bytes = Bytes::mib(1);
        let zones = Some(ZoneLimits { zones: 1, size: MIB, capacity: MIB, open: 1, active: 1 });
        let handles =
            Some(PlacementLimits { handles: 2, is_persistent: false, unit: Bytes::mib(1) });
        let refusal =
            |export: &Export, sizes: &[&str]| divided(export, sizes).unwrap_err().to_string();
        assert!(refusal(&Export { zones, ..export() }, &["512KiB"]).contains("zones.blocks=0"));
        assert!(
            refusal(&Export { handles, ..export() }, &["512KiB"]).contains("placement.handles=1")
        );
        assert!(refusal(&export(), &["4KiB,pi=1"]).contains("without --store"));
        assert!(refusal(&export(), &["1MiB", "4KiB"]).contains("larger than `drive`"));
        assert!(refusal(&export(), &["0"]).contains("positive multiple of 4 KiB"));
        assert!(refusal(&export(), &["512"]).ends_with("the next one is --namespace 4096"));
        assert!(refusal(&export(), &["5KiB"]).ends_with("the next one is --namespace 8192"));
        assert!(refusal(&export(), &["4KiB"; 129]).contains("at most 128"));
    }

    // A format of one namespace erases its part and changes its blocks. A format of all namespaces
    // erases the drive up to the end of the last namespace.
    #[test]
    fn formats_cover_their_namespaces() {
        let options = ["512KiB", "256KiB"].map(|size| size.parse().unwrap());
        let spaces = Namespaces::new(&export(), &options).unwrap();
        let second = Erase::Format { namespace: 2, format: 1 };
        assert_eq!(spaces.range(second), 512 * 1024..768 * 1024);
        assert_eq!(
            spaces.range(Erase::Format { namespace: ALL_NAMESPACES, format: 0 }),
            0..768 * 1024
        );
        assert_eq!(spaces.range(Erase::Sanitize), 0..1024 * 1024);
        spaces.begin(second, 0).unwrap();
        spaces.end(second, false);
        assert_eq!(spaces.all()[1].blocks(), 512, "a failed format changes nothing");
        spaces.begin(second, 0).unwrap();
        spaces.end(second, true);
        assert_eq!((spaces.first().blocks(), spaces.all()[1].blocks()), (1024, 64));
    }
}
