//! Signatures of data: file systems, volume managers, partition tables, databases and archives.
//!
//! Two detectors look for them: libblkid, if it is installed ([`probing`]), and a built-in table,
//! which also knows copies of superblocks and disk images. A finding of either detector counts.

mod confirm;
mod image;
mod places;
mod probing;
mod shared;
mod table;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::Path;

use image::Image;
use places::Place;
use probing::Answer;
pub use table::SIGNATURES;

use super::Identity;

/// The signature of one kind of data, such as a file system, a partition table or a database.
#[derive(Clone, Copy)]
pub struct Signature {
    /// The kind of data, as in "contains ...".
    pub name: &'static str,
    /// Its type names in libblkid; empty for a signature that libblkid does not know and `wipefs`
    /// does not erase.
    types: &'static [&'static str],
    places: &'static [Place],
    magic: &'static [u8],
    confirm: Confirm,
    /// True if several hosts may use the storage at once.
    shared: bool,
    /// True for a partition table.
    table: bool,
}

impl Signature {
    /// Returns true for storage that several hosts may use at once.
    pub fn is_shared(&self) -> bool {
        self.shared
    }
}

/// An additional check for a magic that is too short to be unique. Receives the offset of the
/// magic.
type Confirm = fn(&Image, u64) -> bool;

/// Data that the detectors recognized on a drive or in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// The kind of data, as in "contains ...".
    pub(super) name: String,
    /// Its offset in bytes, if known.
    pub(super) offset: Option<u64>,
    /// True if several hosts may use the storage at once.
    pub(super) shared: bool,
    /// True if `wipefs` erases at least one of the signatures.
    wipefs: bool,
    /// The sectors of 512 bytes with signatures that `wipefs` does not erase.
    left: Vec<u64>,
}

impl Finding {
    /// Returns the commands that erase all signatures on `path`.
    pub(super) fn erasing(&self, path: &Path) -> String {
        let path = path.display();
        let zeros = |at: &dyn std::fmt::Display| {
            format!("dd if=/dev/zero of={path} bs=512 count=1 seek={at} conv=notrunc")
        };
        let wipefs = self.wipefs.then(|| format!("`wipefs --all {path}`"));
        let sectors = || {
            let sectors: Vec<String> = self.left.iter().map(u64::to_string).collect();
            format!("`for at in {}; do {}; done`", sectors.join(" "), zeros(&"$at"))
        };
        let left = match self.left.as_slice() {
            [] => None,
            [sector] => Some(format!("`{}`", zeros(sector))),
            _ => Some(sectors()),
        };
        let commands: Vec<String> = [wipefs, left].into_iter().flatten().collect();
        commands.join(" and ")
    }
}

/// Searches an open file or device for data with a known signature.
///
/// # Errors
/// An error if the start or end of the file or device cannot be read.
pub(super) fn find(file: &File) -> io::Result<Option<Finding>> {
    let image = Image::open(file)?;
    Ok(combine(&image, &probing::ask(file), is_whole_disk(file)?))
}

/// Returns true for a block device that is not a partition. `wipefs` erases partition tables only
/// on such a device.
fn is_whole_disk(file: &File) -> io::Result<bool> {
    Ok(match Identity::of(file)? {
        Identity::Block(number) => {
            !Path::new(&format!("/sys/dev/block/{number}/partition")).exists()
        }
        Identity::File { .. } => false,
    })
}

/// Combines the findings of the table and of libblkid. Storage that other hosts may be using takes
/// precedence.
fn combine(image: &Image, answer: &Answer, is_whole_disk: bool) -> Option<Finding> {
    let marks: Vec<_> = image.marks(SIGNATURES.iter()).collect();
    let answer = without_chance(image, answer);
    let (wipefs, left) = erased(&marks, answer, is_whole_disk);
    let finding = |name: &str, offset, shared| {
        Some(Finding { name: name.into(), offset, shared, wipefs, left: left.clone() })
    };
    if let Some((name, at)) = shared::find(image) {
        return finding(name, Some(at), true);
    }
    let (named, offset) = match answer {
        Answer::Type { name, offset, .. } => (named(name), *offset),
        _ => (None, None),
    };
    match (named, marks.first(), answer) {
        (Some(signature), ..) if signature.shared => finding(signature.name, offset, true),
        (_, Some((signature, at)), _) => finding(signature.name, Some(*at), false),
        (Some(signature), ..) => finding(signature.name, offset, false),
        (.., Answer::Type { name, .. }) => {
            finding(&format!("a `{name}` signature (according to libblkid)"), offset, false)
        }
        (.., Answer::Several) => finding("the signatures of several file systems", None, false),
        (.., Answer::Nothing | Answer::Unavailable) => None,
    }
}

/// Returns true if `wipefs`, which detects the same signatures as libblkid, erases at least one of
/// the signatures. Also returns the sectors with the signatures that `wipefs` leaves.
fn erased(
    marks: &[(&'static Signature, u64)],
    answer: &Answer,
    is_whole_disk: bool,
) -> (bool, Vec<u64>) {
    let is_blind = *answer == Answer::Nothing;
    let leaves = |signature: &Signature| {
        signature.types.is_empty() || is_blind || signature.table && !is_whole_disk
    };
    let left = marks.iter().filter(|(signature, _)| leaves(signature)).map(|(_, at)| at / 512);
    let mut left: Vec<u64> = left.collect();
    let mut wipefs = marks.iter().any(|(signature, _)| !leaves(signature));
    match answer {
        Answer::Type { is_table: true, offset, .. } if !is_whole_disk => {
            left.push(offset.unwrap_or(0) / 512);
        }
        Answer::Type { .. } | Answer::Several => wipefs = true,
        Answer::Nothing | Answer::Unavailable => {}
    }
    left.sort_unstable();
    left.dedup();
    (wipefs, left)
}

/// Returns the signature with this type name in libblkid.
fn named(name: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.types.contains(&name))
}

/// Types that libblkid identifies by two bytes or fewer, with the offset of these bytes. About one
/// in 30,000 drives with random data matches by chance.
const SHORT: [(&str, Place); 3] = [
    ("jmicron_raid_member", Place::EndOfSectors(512)),
    ("hfsplus", Place::Start(1024)),
    ("atari", Place::Start(0)),
];

/// Drops a match by chance from libblkid's answer. Such a match would make the guards refuse a
/// drive that this program has filled with random data.
fn without_chance<'a>(image: &Image, answer: &'a Answer) -> &'a Answer {
    let Answer::Type { name, .. } = answer else { return answer };
    let place = SHORT.iter().find(|(short, _)| short == name).map(|(_, place)| place);
    let by_chance = |place: &Place| {
        let offsets = place.offsets(image.size);
        offsets.into_iter().all(|at| image.is_random(at))
    };
    if place.is_some_and(by_chance) { &Answer::Nothing } else { answer }
}
