use std::cell::Cell;
use std::process::Command;

use proptest::prelude::*;

use super::image::{Source, WINDOW};
use super::*;

#[path = "../../../tests/drive/guards/images.rs"]
mod images;
mod tools;

use images::{EXAMPLES, Example};

const SIZE: u64 = 8 << 20;

/// A drive in memory.
impl Source for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        let held = self.get(start..start + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(held);
        Ok(())
    }
}

/// A drive of random data with `bytes` at an offset.
struct Noise<'a> {
    seed: u64,
    at: u64,
    bytes: &'a [u8],
}

/// Applies SplitMix64.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Source for Noise<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        // Generates 8 bytes at a time, because the tests read gigabytes.
        let (mut at, mut rest) = (offset, &mut *buffer);
        while !rest.is_empty() {
            let word = mix(mix(self.seed) ^ (at / 8)).to_le_bytes();
            let word = &word[usize::try_from(at % 8).unwrap()..];
            let (now, later) = rest.split_at_mut(word.len().min(rest.len()));
            now.copy_from_slice(&word[..now.len()]);
            at += now.len() as u64;
            rest = later;
        }
        for (at, byte) in (self.at..).zip(self.bytes) {
            if let Some(held) = at.checked_sub(offset).and_then(|i| usize::try_from(i).ok())
                && let Some(held) = buffer.get_mut(held)
            {
                *held = *byte;
            }
        }
        Ok(())
    }
}

fn held(size: u64, marks: &[(u64, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(size).unwrap()];
    for (offset, mark) in marks {
        let offset = usize::try_from(*offset).unwrap();
        bytes[offset..offset + mark.len()].copy_from_slice(mark);
    }
    bytes
}

fn image(bytes: &Vec<u8>) -> Image<'_> {
    Image::read(bytes, bytes.len() as u64).unwrap()
}

/// Returns the finding of the built-in table alone.
fn own(bytes: &Vec<u8>) -> Option<Finding> {
    combine(&image(bytes), &Answer::Unavailable, true)
}

fn name(bytes: &Vec<u8>) -> Option<String> {
    own(bytes).map(|finding| finding.name)
}

/// Creates a file with the signature of an example.
fn file_of(example: &Example) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(images::SIZE).unwrap();
    for (at, bytes) in example.bytes {
        let from_end = images::SIZE.checked_add_signed(*at).filter(|_| *at < 0);
        let at = from_end.unwrap_or(at.unsigned_abs());
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).unwrap();
    }
    file
}

/// Returns the content around a magic at `at` that its additional check requires, if zeros do not
/// suffice.
fn beside(signature: &Signature, at: u64) -> Vec<(u64, Vec<u8>)> {
    const PARTITION: [u8; 16] = [0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0];
    match (signature.name, signature.magic) {
        ("an MBR partition table", _) => vec![(446, PARTITION.into())],
        ("a FAT file system", b"\x55\xaa") => {
            let mut fields = vec![0; 22];
            fields[0] = 0xeb;
            fields[11..17].copy_from_slice(&[0, 2, 1, 1, 0, 2]);
            fields[21] = 0xf8;
            vec![(0, fields)]
        }
        ("the log of an XFS file system", _) => vec![(at + 11, vec![2]), (at + 303, vec![1])],
        ("a member of a VIA RAID", _) => vec![(at + 50, vec![0xff])],
        ("a member of a Silicon Image RAID", _) => vec![(at - 0x60 + 0x13f, vec![0xd1])],
        ("a Macintosh partition map", b"ER") => vec![(2, vec![2]), (512, b"PM".into())],
        ("a Sun disk label", _) => vec![(510, vec![0xda, 0xbe])],
        ("an Atari partition table", _) => {
            let table = b"\0\0\x20\0\x01GEM\0\0\0\x02\0\0\x10\0";
            vec![(0x1c2, table.into())]
        }
        ("a copy of the superblock of an XFS file system", _) => {
            vec![
                (at + 6, vec![2]),
                (at + 84, u32::try_from(at / 512).unwrap().to_be_bytes().into()),
                (at + 91, vec![4]),
            ]
        }
        ("a copy of the superblock of an ext2, ext3 or ext4 file system", _) => {
            let start = at - 56;
            let log = u32::from(start.is_multiple_of(4096));
            let group = start / places::ext_group(log);
            let blocks = 8192u32 << log;
            vec![
                (start + 24, log.to_le_bytes().into()),
                (start + 32, blocks.to_le_bytes().into()),
                (start + 90, u16::try_from(group).unwrap().to_le_bytes().into()),
            ]
        }
        ("an anchor of a UDF file system", _) => {
            let block = u32::try_from(at / 512).unwrap().to_le_bytes();
            let sum = block.iter().fold(2 + 3, |sum: u8, byte| sum.wrapping_add(*byte));
            vec![(at + 2, vec![3, 0, sum, 0]), (at + 12, block.into())]
        }
        _ => vec![],
    }
}

// Tries each signature at each of its offsets. Shared storage is reported as shared.
#[test]
fn every_signature_is_found() {
    let mut places = 0;
    for size in [SIZE, 40 << 20] {
        for signature in SIGNATURES {
            for at in signature.places.iter().flat_map(|place| place.offsets(size)) {
                if at + signature.magic.len() as u64 > size {
                    continue;
                }
                let beside = beside(signature, at);
                let mut marks: Vec<(u64, &[u8])> = vec![(at, signature.magic)];
                marks.extend(beside.iter().map(|(at, bytes)| (*at, &bytes[..])));
                let bytes = held(size, &marks);
                let image = image(&bytes);
                let names: Vec<_> =
                    image.marks(SIGNATURES.iter()).map(|(mark, at)| (mark.name, at)).collect();
                assert!(
                    names.contains(&(signature.name, at)),
                    "{} at {at}: {names:?}",
                    signature.name
                );
                let finding = own(&bytes).unwrap();
                assert_eq!(finding.shared, signature.shared, "{} at {at}", signature.name);
                places += 1;
            }
        }
    }
    assert!(places > 2 * SIGNATURES.len(), "{places}");
}

proptest! {
    // An arbitrary byte fills the rest of the drive.
    #[test]
    fn signatures_are_found_on_drives_of_any_size(
        size in prop_oneof![0..70_000u64, 1_000_000..1_200_000u64],
        which in 0..SIGNATURES.len(),
        place in any::<prop::sample::Index>(),
        noise in any::<u8>(),
    ) {
        let signature = &SIGNATURES[which];
        let places = signature.places.iter().flat_map(|place| place.offsets(size));
        let fits = |offset: &u64| offset + signature.magic.len() as u64 <= size;
        let places: Vec<u64> = places.filter(fits).collect();
        let all = vec![noise; usize::try_from(size).unwrap()];
        let marks = match places.is_empty() {
            true => vec![],
            false => vec![(*place.get(&places), signature.magic)],
        };
        let bytes = held(size, &[&[(0, &all[..])], &marks[..]].concat());
        let drive = image(&bytes);
        let finding = own(&bytes);
        if let Some((offset, _)) = marks.first() && (signature.confirm)(&drive, *offset) {
            prop_assert!(finding.is_some(), "{} at {offset} of {size}", signature.name);
        }
    }

    // The search follows partition tables and LVM metadata.
    #[test]
    fn arbitrary_structures_do_not_panic(
        fields in prop::collection::vec((0..300usize, prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0..SIZE]), 0..40),
    ) {
        let mut bytes = held(1 << 20, &[
            (510, b"\x55\xaa"), (512, b"LABELONE"), (512 + 24, b"LVM2 001"), (512 + 20, b"\x20\0\0\0"),
            (4096, b"EFI PART"), (4096 + 72, b"\x02\0\0\0\0\0\0\0\x80\0\0\0\x80"), (8192 + 4, b" LVM2 x[5A%r0N*>"),
        ]);
        for (at, value) in fields {
            let start = [446, 512 + 32, 4096 + 16, 4096 + 72, 8192 + 20, 8192][at % 6] + 8 * (at / 6);
            bytes[start..start + 8].copy_from_slice(&value.to_le_bytes());
        }
        let _ = own(&bytes);
    }
}

// Examples are empty and tiny drives, signatures at wrong offsets, and short magics within other
// data.
#[test]
fn a_drive_without_signature_is_free() {
    let none = |size, marks: &[(u64, &[u8])]| {
        assert_eq!(name(&held(size, marks)), None, "{size} {marks:?}")
    };
    for size in [0, 1, 511, 4096, SIZE] {
        none(size, &[]);
    }
    none(SIZE, &[(1, b"XFSB")]);
    let noise = [0x6b; 4096];
    none(SIZE, &[(0, &noise), (1080, b"\x53\xef")]);
    none(SIZE, &[(0, &noise), (510, b"\x55\xaa")]);
    none(SIZE, &[(510, b"\x55\xaa")]);
}

// The offsets agree with the MD driver, also for odd sizes.
#[test]
fn places_near_the_end_follow_the_size() {
    assert_eq!(Place::Md090.offsets(1 << 20), [(1 << 20) - 0x10000]);
    assert_eq!(Place::Md090.offsets((1 << 20) + 4096), [(1 << 20) - 0x10000]);
    assert_eq!(Place::Md10.offsets(1 << 20), [(1 << 20) - 0x2000]);
    assert_eq!(Place::Md10.offsets((1 << 20) + 512), [(1 << 20) - 0x2000]);
    assert_eq!(Place::End(512).offsets(100), [0; 0]);
    assert_eq!(Place::EndOfSectors(512).offsets(1000), [0]);
}

/// The sizes of the drives with random data.
const SIZES: [u64; 4] = [1 << 20, 96 << 20, 512 << 30, (1 << 40) - 4096];

// Tries 600 drives.
#[test]
fn random_data_has_no_signature() {
    for seed in 0..150 {
        for size in SIZES {
            let noise = Noise { seed, at: 0, bytes: &[] };
            let image = Image::read(&noise, size).unwrap();
            let finding = combine(&image, &Answer::Unavailable, true);
            assert_eq!(finding, None, "seed {seed}, {size} bytes");
        }
    }
}

// Two given bytes occur by chance at a given offset of one in 65,536 drives.
#[test]
fn short_magics_in_random_data_are_ignored() {
    let mut tried = 0;
    for signature in SIGNATURES.iter().filter(|signature| signature.magic.len() < 3) {
        for (seed, at) in
            (0..200).zip(signature.places.iter().flat_map(|place| place.offsets(SIZE)).cycle())
        {
            let noise = Noise { seed, at, bytes: signature.magic };
            let image = Image::read(&noise, SIZE).unwrap();
            assert!(
                !image.marks(std::iter::once(signature)).any(|_| true),
                "{} {seed}",
                signature.name
            );
            tried += 1;
        }
    }
    assert!(tried >= 2000, "{tried}");
    for (blkid, place) in SHORT {
        let answer = Answer::Type { name: blkid.into(), offset: None, is_table: false };
        let noise = Noise { seed: 1, at: place.offsets(SIZE)[0], bytes: b"JM" };
        let image = Image::read(&noise, SIZE).unwrap();
        assert_eq!(combine(&image, &answer, true), None, "{blkid}");
        assert!(combine(&self::image(&held(SIZE, &[])), &answer, true).is_some(), "{blkid}");
    }
}

/// A drive whose middle cannot be read.
struct Failing(Cell<u32>);

impl Source for Failing {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let ends = [0, (1 << 40) - WINDOW];
        if ends.contains(&offset) {
            buffer.fill(0);
            return Ok(());
        }
        self.0.set(self.0.get() + 1);
        Err(io::Error::from_raw_os_error(libc::EIO))
    }
}

// Unreadable ends of a drive are an error.
#[test]
fn unreadable_sectors_have_no_signature() {
    let failing = Failing(Cell::new(0));
    let image = Image::read(&failing, 1 << 40).unwrap();
    assert_eq!(combine(&image, &Answer::Unavailable, true), None);
    assert!(failing.0.get() > 50, "{:?} reads", failing.0);
    assert!(Image::read(&failing, 1 << 39).is_err());
}

// Runs the library, the program `blkid` and the table separately on each example.
#[test]
fn library_program_and_table_agree() {
    for example in EXAMPLES {
        let file = file_of(example);
        let image = Image::open(&file).unwrap();
        let alone = combine(&image, &Answer::Unavailable, true)
            .unwrap_or_else(|| panic!("{}", example.name));
        assert_eq!(alone.shared, example.shared, "{}", example.name);
        let mut answers = vec![probing::ask_program(&file)];
        #[cfg(not(target_feature = "crt-static"))]
        answers.push(probing::ask_library(&file));
        for answer in answers {
            let name = match &answer {
                Answer::Unavailable => {
                    println!("skipped: libblkid is not installed");
                    continue;
                }
                Answer::Type { name, .. } => Some(name.as_str()),
                Answer::Nothing | Answer::Several => None,
            };
            if let Some(expected) = example.blkid {
                assert_eq!(name, Some(expected), "{}", example.name);
            }
            let finding = combine(&image, &answer, true).unwrap();
            assert_eq!(finding.shared, example.shared, "{} {answer:?}", example.name);
        }
    }
}

#[test]
fn every_type_of_libblkid_is_known() {
    let output = Command::new("blkid").arg("-k").output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return println!("skipped: blkid is not installed");
    };
    let list = String::from_utf8(output.stdout).unwrap();
    let missing: Vec<&str> = list.lines().filter(|line| named(line).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(list.lines().count() > 50, "{list}");
}

// A type that the table knows has its name in the table.
#[test]
fn types_that_only_libblkid_knows_are_refused() {
    let nothing = held(SIZE, &[]);
    let finding = |answer: &Answer| combine(&image(&nothing), answer, true).unwrap();
    let of_type =
        |name: &str| finding(&Answer::Type { name: name.into(), offset: Some(7), is_table: false });
    assert_eq!(of_type("ocfs2").name, "an OCFS2 file system");
    assert!(of_type("ocfs2").shared);
    assert_eq!(of_type("bfs").name, "an SCO boot file system (bfs)");
    assert_eq!(of_type("newfs9").name, "a `newfs9` signature (according to libblkid)");
    assert_eq!(of_type("newfs9").offset, Some(7));
    assert_eq!(of_type("newfs9").erasing(Path::new("/dev/x")), "`wipefs --all /dev/x`");
    assert_eq!(finding(&Answer::Several).name, "the signatures of several file systems");
}

// One command erases all copies. Signatures unknown to libblkid are erased too.
#[test]
fn the_advice_erases_what_wipefs_leaves() {
    let erasing = |bytes: &Vec<u8>, answer: &Answer| {
        combine(&image(bytes), answer, true).unwrap().erasing(Path::new("x"))
    };
    let xfs = held(SIZE, &[(0, b"XFSB")]);
    let of_type = Answer::Type { name: "xfs".into(), offset: Some(0), is_table: false };
    assert_eq!(erasing(&xfs, &Answer::Unavailable), "`wipefs --all x`");
    assert_eq!(erasing(&xfs, &of_type), "`wipefs --all x`");
    let zeros = "`dd if=/dev/zero of=x bs=512 count=1 seek=0 conv=notrunc`";
    assert_eq!(erasing(&xfs, &Answer::Nothing), zeros);
    let copies =
        held(SIZE, &[(0, b"XFSB"), (12 * 512 + 3, b"EXFAT   "), (6 * 512 + 82, b"FAT32   ")]);
    assert_eq!(
        erasing(&copies, &of_type),
        "`wipefs --all x` and \
         `for at in 6 12; do dd if=/dev/zero of=x bs=512 count=1 seek=$at conv=notrunc; done`"
    );
}

// `wipefs` erases partition tables on whole disks only; another command erases a table in a file.
#[test]
fn tables_that_wipefs_leaves_are_erased() {
    let sun = held(SIZE, &[(508, b"\xda\xbe\xda\xbe")]);
    let of_type = Answer::Type { name: "sun".into(), offset: None, is_table: true };
    let erasing = |is_whole_disk| {
        let finding = combine(&image(&sun), &of_type, is_whole_disk).unwrap();
        finding.erasing(Path::new("x"))
    };
    assert_eq!(erasing(true), "`wipefs --all x`");
    let zeros = "`dd if=/dev/zero of=x bs=512 count=1 seek=0 conv=notrunc`";
    assert_eq!(erasing(false), zeros);
}

// LVM2 has several notations for a shared volume group. The volume group of a single host is not
// shared.
#[test]
fn clustered_volume_groups_are_shared() {
    let group = |text: &str| {
        let example =
            EXAMPLES.iter().find(|example| example.name == "a clustered volume group").unwrap();
        let mut bytes = held(SIZE, &[]);
        for (at, part) in example.bytes {
            let at = usize::try_from(*at).unwrap();
            bytes[at..at + part.len()].copy_from_slice(part);
        }
        bytes[4096 + 512..4096 + 1024].fill(0);
        bytes[4096 + 512..4096 + 512 + text.len()].copy_from_slice(text.as_bytes());
        bytes[4096 + 48..4096 + 56].copy_from_slice(&(text.len() as u64).to_le_bytes());
        bytes
    };
    for text in [
        "vg {\n\tlock_type = \"dlm\"\n}",
        "vg {\n\tlock_type = \"sanlock\"\n}",
        "vg {\n\tstatus = [\"RESIZEABLE\", \"READ\", \"WRITE\", \"CLUSTERED\"]\n}",
    ] {
        assert!(own(&group(text)).unwrap().shared, "{text}");
    }
    for text in ["vg {\n}", "vg {\n\tlock_type = \"none\"\n\tdescription = \"CLUSTERED\"\n}"] {
        let finding = own(&group(text)).unwrap();
        assert_eq!(
            (finding.name.as_str(), finding.shared),
            ("an LVM physical volume", false),
            "{text}"
        );
    }
    // The text wraps around to the start of the ring buffer.
    let mut round = group("vg {\n\tlock_type = \"dlm\"\n}");
    let text: Vec<u8> = round.drain(4096 + 512..4096 + 544).collect();
    round.splice(4096 + 512..4096 + 512, [0; 32]);
    let area = 0xff000usize;
    round[4096 + area - 10..4096 + area].copy_from_slice(&text[..10]);
    round[4096 + 512..4096 + 512 + 22].copy_from_slice(&text[10..]);
    round[4096 + 40..4096 + 48].copy_from_slice(&(area as u64 - 10).to_le_bytes());
    round[4096 + 48..4096 + 56].copy_from_slice(&32u64.to_le_bytes());
    assert!(own(&round).unwrap().shared);
}

// Either copy of the GPT may list the partition.
#[test]
fn shared_storage_in_a_partition_is_shared() {
    let mut header = [0; 92];
    header[..8].copy_from_slice(b"EFI PART");
    header[80] = 4;
    header[84] = 128;
    let mut entry = vec![0xaa; 48];
    entry[32..40].copy_from_slice(&2048u64.to_le_bytes());
    entry[40..48].copy_from_slice(&16383u64.to_le_bytes());
    for (at, table) in [(512, 2u64), (SIZE - 512, (SIZE - 33 * 512) / 512)] {
        header[72..80].copy_from_slice(&table.to_le_bytes());
        let volume = (1 << 20) + (1 << 20);
        let marks = [(at, &header[..]), (table * 512, &entry), (volume, b"\x0d\xd0\x01\xc0")];
        let finding = own(&held(SIZE, &marks)).unwrap();
        assert_eq!((finding.name.as_str(), finding.offset), ("a VMFS volume", Some(volume)));
        assert!(finding.shared);
        assert!(!own(&held(SIZE, &marks[..2])).unwrap().shared);
    }
}
