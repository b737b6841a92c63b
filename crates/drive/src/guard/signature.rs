//! What data look like: the marks of file systems, volume managers, partition tables, databases and archives.
//!
//! Two look for them: libblkid where it is installed ([`probing`]), and a table of our own, which knows copies of superblocks
//! and disk images besides. What either finds counts.

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

/// The mark of a file system, volume manager or partition table.
#[derive(Clone, Copy)]
pub struct Signature {
    /// What it is the mark of, as in "bears ...".
    pub name: &'static str,
    /// What libblkid calls it; nothing where it does not know it, so that `wipefs` leaves it.
    types: &'static [&'static str],
    places: &'static [Place],
    magic: &'static [u8],
    confirm: Confirm,
    /// Whether several hosts may use it at once.
    shared: bool,
    /// Whether it is a partition table.
    table: bool,
}

impl Signature {
    /// Whether it is the mark of storage that several hosts may use at once.
    pub fn is_shared(&self) -> bool {
        self.shared
    }
}

/// What else must hold, where the magic is too short to be no accident; gets the offset.
type Confirm = fn(&Image, u64) -> bool;

/// What something bears.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// As in "bears ...".
    pub(super) name: String,
    /// Where, as far as that is known.
    pub(super) offset: Option<u64>,
    /// Whether several hosts may use it at once.
    pub(super) shared: bool,
    /// Whether `wipefs` erases some of it.
    wipefs: bool,
    /// The sectors of 512 bytes with marks that it leaves.
    left: Vec<u64>,
}

impl Finding {
    /// The commands that erase all marks of what is at `path`.
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

/// What the file or device bears that `file` is open on, for reading.
///
/// # Errors
/// Where its ends cannot be read.
pub(super) fn find(file: &File) -> io::Result<Option<Finding>> {
    let image = Image::open(file)?;
    Ok(combine(&image, &probing::ask(file), is_whole_disk(file)?))
}

/// Whether it is a block device and no partition of one: `wipefs` leaves partition tables elsewhere.
fn is_whole_disk(file: &File) -> io::Result<bool> {
    Ok(match Identity::of(file)? {
        Identity::Block(number) => {
            !Path::new(&format!("/sys/dev/block/{number}/partition")).exists()
        }
        Identity::File { .. } => false,
    })
}

/// What the marks of the table and libblkid say together: storage that others may use at this moment comes first.
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
            finding(&format!("what libblkid knows as `{name}`"), offset, false)
        }
        (.., Answer::Several) => finding("the marks of several file systems", None, false),
        (.., Answer::Nothing | Answer::Unavailable) => None,
    }
}

/// Whether `wipefs` erases some of the marks, and the sectors with those that it leaves: it sees what libblkid sees.
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

/// What libblkid calls so.
fn named(name: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.types.contains(&name))
}

/// Types that libblkid tells by two bytes or less, with the place of these: one of some 30,000 drives with random data
/// has them by chance.
const SHORT: [(&str, Place); 3] = [
    ("jmicron_raid_member", Place::EndOfSectors(512)),
    ("hfsplus", Place::Start(1024)),
    ("atari", Place::Start(0)),
];

/// The answer without what is there by chance, so that what this program wrote can be measured again.
fn without_chance<'a>(image: &Image, answer: &'a Answer) -> &'a Answer {
    let Answer::Type { name, .. } = answer else { return answer };
    let place = SHORT.iter().find(|(short, _)| short == name).map(|(_, place)| place);
    let by_chance = |place: &Place| {
        let offsets = place.offsets(image.size);
        offsets.into_iter().all(|at| image.is_random(at))
    };
    if place.is_some_and(by_chance) { &Answer::Nothing } else { answer }
}
