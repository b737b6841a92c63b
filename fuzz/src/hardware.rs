//! Data from drives and the kernel: log pages, Identify, reservations, and the files below `/proc`
//! and `/sys`.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use flashscope_document::environment::{Health, HealthChange};
use flashscope_drive::guard::{System, reservation};
use flashscope_drive::identify::decode;
use flashscope_drive::inventory::devices;
use flashscope_measure::{IoCount, Surroundings};
use tempfile::TempDir;

use crate::edit::changed;

const LOG_PAGE: usize = 512;
/// The bytes of Identify Controller that the decoder reads.
const CONTROLLER: usize = 640;
/// The offset and the value of the GUID that identifies OCP's log page.
const OCP_GUID: (usize, u128) = (496, 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5);

/// The folder of the machine's only drive.
const DISK: &str = "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";

/// The files below `/proc` and `/sys`, with the content of an example machine.
const TEXTS: &[(&str, &str)] = &[
    (
        "proc/self/mountinfo",
        "22 27 259:1 / /boot\\040a rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n",
    ),
    (
        "proc/swaps",
        "Filename\tType\tSize\tUsed\tPriority\n/dev/nvme0n1p2\\040 partition 1048572 0 -2\n",
    ),
    ("proc/loadavg", "0.25 0.31 0.12 2/345 6789\n"),
    ("proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n"),
    ("proc/self/stat", "77 (a) b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22\n"),
    ("sys/devices/system/node/online", "0-3,7\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2\n"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1\n"),
    ("dev", "259:0\n"),
    ("size", "131072\n"),
    ("stat", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"),
    ("inflight", "0 1\n"),
    ("queue/logical_block_size", "512\n"),
    ("queue/physical_block_size", "4096\n"),
    ("queue/rotational", "0\n"),
    ("queue/scheduler", "[none] mq-deadline kyber\n"),
    ("queue/nr_requests", "1023\n"),
    ("queue/write_cache", "write back\n"),
    ("queue/discard_max_bytes", "2199023255040\n"),
    ("nvme0n1p1/partition", "1\n"),
    ("nvme0n1p1/dev", "259:1\n"),
    ("nvme0n1p1/size", "2048\n"),
    ("nvme0n1p1/start", "2048\n"),
    ("../model", "Flash 9000   \n"),
    ("../hwmon3/temp1_input", "35850\n"),
    ("../hwmon3/name", "nvme\n"),
    ("../../../current_link_speed", "8.0 GT/s PCIe\n"),
    ("../../../current_link_width", "4\n"),
];

/// The value of the first byte that selects reservations. Any other value selects one of the other
/// parsers, by its remainder modulo 3.
const RESERVATIONS: u8 = 255;

thread_local! {
    static MACHINE: RefCell<TempDir> = RefCell::new(machine());
}

/// Returns the path of a file of the machine or of its drive.
fn place(root: &Path, name: &str) -> std::path::PathBuf {
    match name.starts_with("proc/") || name.starts_with("sys/") {
        true => root.join(name),
        false => root.join(DISK).join(name),
    }
}

fn machine() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let make = |path: &Path| fs::create_dir_all(path).expect("a folder");
    for directory in ["dev", "sys/block", "sys/dev/block", DISK] {
        make(&root.join(directory));
    }
    for (name, text) in TEXTS {
        let path = place(root, name);
        make(path.parent().expect("it is in a folder"));
        fs::write(path, text).expect("it is written");
    }
    let link = |to: &str, from: &str| symlink(root.join(to), root.join(from)).expect("a link");
    link(DISK, "sys/block/nvme0n1");
    link(DISK, "sys/dev/block/259:0");
    link(&format!("{DISK}/nvme0n1p1"), "sys/dev/block/259:1");
    link(&format!("{DISK}/.."), &format!("{DISK}/device"));
    folder
}

/// Runs the parser that the first byte selects.
pub fn run(input: &[u8]) {
    let Some((which, rest)) = input.split_first() else { return };
    match *which {
        RESERVATIONS => reservations(rest),
        which if which % 3 == 0 => log_pages(rest),
        which if which % 3 == 1 => identify(rest),
        _ => texts(rest),
    }
}

/// Decodes log pages of two readings, which may differ in any way.
fn log_pages(bytes: &[u8]) {
    let page = |nth: usize| padded::<LOG_PAGE>(bytes.get(nth * LOG_PAGE..).unwrap_or_default());
    let ocp = |mut page: [u8; LOG_PAGE]| {
        page[OCP_GUID.0..].copy_from_slice(&OCP_GUID.1.to_le_bytes());
        page
    };
    let before = Health::decode(&page(0), Some(&ocp(page(1))));
    let after = Health::decode(&page(2), Some(&ocp(page(3))));
    let (Some(before), Some(after)) = (before, after) else { return };
    assert!(before.ocp.is_some() && after.ocp.is_some(), "a page with the GUID is decoded");
    let change = HealthChange::between(&before, &after);
    let _ = (change.throttled(), change.has_errors());
    let json = serde_json::to_vec(&before).expect("it can be serialized");
    let again: Health = serde_json::from_slice(&json).expect("serialized data can be read");
    assert_eq!(again, before);
}

fn identify(bytes: &[u8]) {
    let (controller, namespace) = bytes.split_at(bytes.len().min(CONTROLLER));
    let nvme = decode(&padded(controller), &padded(namespace), 1);
    let formats = &nvme.namespace.formats;
    let used = formats.iter().filter(|format| format.in_use).count();
    assert!(used <= 1 && formats.len() <= 64, "{formats:?}");
    for format in formats {
        assert!(format.data_bytes.0.is_power_of_two() || format.data_bytes.0 == 0, "{format:?}");
    }
    serde_json::to_vec(&nvme).expect("it can be serialized");
}

/// Decodes two reports; the first byte is the length of the first report.
fn reservations(bytes: &[u8]) {
    let Some((len, rest)) = bytes.split_first() else { return };
    let (keys, reservation) = rest.split_at(rest.len().min(usize::from(*len)));
    for state in [reservation::scsi(keys, reservation), reservation::nvme(keys)] {
        let Ok(Some(state)) = state else { continue };
        assert!(state.starts_with("reserved ") || state.starts_with("registered "), "{state}");
    }
}

/// Returns the bytes, padded with zeros.
fn padded<const LEN: usize>(bytes: &[u8]) -> [u8; LEN] {
    let mut page = [0; LEN];
    let len = bytes.len().min(LEN);
    page[..len].copy_from_slice(&bytes[..len]);
    page
}

/// Replaces the file that the first byte selects by the remaining input, and reads all files of
/// the machine.
fn texts(bytes: &[u8]) {
    let Some((which, text)) = bytes.split_first() else { return };
    let (name, before) = TEXTS[usize::from(*which) % TEXTS.len()];
    MACHINE.with_borrow(|folder| {
        let root = folder.path();
        let path = place(root, name);
        fs::write(&path, text).expect("the folder is writable");
        let _ = devices(&System::at(root), |_| None::<()>);
        let sensor = root.join(DISK).join("../hwmon3/temp1_input");
        let surroundings = Surroundings::at(root, Some(root.join(DISK)), Some(sensor));
        let _ = surroundings.environment();
        let snapshots = [(); 3].map(|()| surroundings.snapshot());
        fs::write(&path, before).expect("the folder is writable");
        let between = [(); 2].map(|()| surroundings.snapshot());
        let ios = IoCount::default();
        let _ = surroundings.conditions([&snapshots[0], &between[0], &snapshots[1]], ios);
        let _ = surroundings.conditions([&between[0], &snapshots[1], &between[1]], ios);
    });
}

pub fn generate(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = vec![[0, 1, 2, RESERVATIONS][random.usize(..4)]];
    match bytes[0] {
        2 => {
            let text = random.usize(..TEXTS.len());
            bytes.push(u8::try_from(text).expect("a few texts"));
            bytes.extend(changed(&[TEXTS[text].1.into()], random));
        }
        RESERVATIONS => bytes.extend(crate::bytes(random, 0..100)),
        _ => bytes.extend(crate::bytes(random, 512..6000)),
    }
    bytes
}
