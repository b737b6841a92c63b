//! Do the guards keep real devices from being overwritten? Loop devices on files made here; where
//! the machine has none, or this is not run as root, each test says so and is passed by.

#![allow(clippy::print_stdout, reason = "says what is passed by, and why")]

mod elsewhere;
mod exchanged;
mod images;
mod others;
mod own;
mod signatures;

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use flashscope_block::{Bytes, Data, Device, DeviceKind, Errno, contract};
use flashscope_drive::guard::Refusal;
use flashscope_drive::{Access, ENGINES, Location, OpenError, OpenOptions, RealDevice, open};
use tempfile::TempDir;

/// Whether a command could be run and succeeded.
fn run(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// Detaches a loop device and waits until the kernel has let go of its file, which may be later: `losetup` only marks a device
/// that something, such as udev, still has open. Returns false if that takes more than ten seconds.
fn detach(device: &str) -> bool {
    let name = device.trim_start_matches("/dev/");
    let backing_file = Path::new("/sys/block").join(name).join("loop/backing_file");
    run("losetup", &["--detach", device])
        && (0..1000).any(|_| {
            let is_free = !backing_file.exists();
            if !is_free {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            is_free
        })
}

/// A loop device over a file of 64 MiB.
struct Loop {
    directory: TempDir,
    image: PathBuf,
    device: PathBuf,
}

impl Loop {
    /// With what `losetup` is told beyond the usual, after `prepare` worked on the file.
    fn with(arguments: &[&str], prepare: impl FnOnce(&File)) -> Option<Loop> {
        let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = directory.path().join("image");
        let file = File::create(&image).unwrap();
        file.set_len(Bytes::mib(64).0).unwrap();
        prepare(&file);
        let mut command = Command::new("losetup");
        command.args(["--find", "--show"]).args(arguments).arg(&image);
        match command.output() {
            Ok(output) if output.status.success() => {
                let device = String::from_utf8(output.stdout).unwrap();
                let device = PathBuf::from(device.trim());
                Some(Loop { directory, image, device })
            }
            _ => {
                println!("passed by: no loop device can be set up here");
                None
            }
        }
    }

    fn new() -> Option<Loop> {
        Loop::with(&[], |_| ())
    }

    fn path(&self) -> &str {
        self.device.to_str().unwrap()
    }

    /// Cuts off what is behind so many bytes, under whoever has it open.
    fn shrink(&self, left: Bytes) {
        File::options().write(true).open(&self.image).unwrap().set_len(left.0).unwrap();
        assert!(run("losetup", &["--set-capacity", self.path()]));
    }

    /// Erases all that it holds: `wipefs` leaves copies of superblocks.
    fn blank(&self) {
        blank(&self.device);
    }

    fn mount_point(&self) -> PathBuf {
        let path = self.directory.path().join("mount point");
        fs::create_dir_all(&path).unwrap();
        path
    }
}

/// Writes zeros over all of a device of at most 64 MiB.
fn blank(path: &Path) {
    let mut device = File::options().write(true).open(path).unwrap();
    let size = device.seek(SeekFrom::End(0)).unwrap();
    device.write_all_at(&vec![0; usize::try_from(size).unwrap()], 0).unwrap();
    device.sync_all().unwrap();
}

/// One more loop device, until dropped.
struct Over(String);

impl Loop {
    /// Over what is at `path`.
    fn over(&self, path: &Path) -> Option<Over> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(path).output().unwrap();
        if output.status.success() {
            return Some(Over(String::from_utf8(output.stdout).unwrap().trim().into()));
        }
        println!("passed by: no second loop device can be set up beside {}", self.path());
        None
    }
}

impl Drop for Over {
    fn drop(&mut self) {
        assert!(detach(&self.0) || std::thread::panicking());
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let detached = detach(self.path());
        assert!(detached || std::thread::panicking(), "{} stays behind", self.path());
    }
}

/// A mounted device, until dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn new(device: &str, at: PathBuf) -> Option<Mounted> {
        if run("mount", &[device, at.to_str().unwrap()]) {
            return Some(Mounted(at));
        }
        println!("passed by: {device} cannot be mounted here");
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        assert!(run("umount", &[self.0.to_str().unwrap()]) || std::thread::panicking());
    }
}

/// How to open a device for writing, confirmed as its owner would.
fn writing(path: &Path) -> OpenOptions {
    OpenOptions {
        access: Access::Write { confirmation: Some(path.to_str().unwrap().into()) },
        ..OpenOptions::new(Location::BlockDevice(path.into()))
    }
}

/// The same for a file.
fn writing_file(path: &Path) -> OpenOptions {
    OpenOptions { location: Location::File(path.into()), ..writing(path) }
}

fn refusal(options: &OpenOptions) -> Refusal {
    match open(options) {
        Ok(_) => panic!("{} was opened for writing", options.name),
        Err(OpenError::Refused(refusal)) => refusal,
        Err(error) => panic!("{error}"),
    }
}

fn opened(options: &OpenOptions) -> RealDevice {
    open(options).unwrap_or_else(|error| panic!("{error}"))
}

// Is an idle device that bears nothing written with every engine, after its owner confirmed it,
// and not without?
#[test]
fn an_idle_device_is_written_when_confirmed() {
    let Some(device) = Loop::new() else { return };
    let confirmed = writing(&device.device);
    let with = |confirmation: Option<&str>| {
        let confirmation = confirmation.map(str::to_owned);
        OpenOptions { access: Access::Write { confirmation }, ..confirmed.clone() }
    };
    assert!(matches!(refusal(&with(None)), Refusal::Unconfirmed { .. }));
    for wrong in ["", "yes", "/dev/loop", "loop0"] {
        assert!(matches!(refusal(&with(Some(wrong))), Refusal::WrongConfirmation { .. }));
    }
    for entry in ENGINES {
        for queue_depth in [1, 4] {
            let options =
                OpenOptions { engine: Some(entry.kind), queue_depth, ..confirmed.clone() };
            match open(&options) {
                Err(error @ OpenError::Engine { .. }) => println!("passed by: {error}"),
                device => {
                    let mut device = device.unwrap();
                    assert_eq!(device.info().kind, DeviceKind::Block);
                    assert_eq!(device.info().capacity, Bytes::mib(64));
                    contract::check(&mut device, true);
                    assert_trims(&mut device);
                }
            }
        }
    }
    let mut reader = opened(&OpenOptions::new(Location::BlockDevice(device.device.clone())));
    contract::check(&mut reader, false);
}

fn assert_trims(device: &mut RealDevice) {
    use flashscope_block::{Io, Nanos, Op};
    let io = Io {
        op: Op::Trim,
        stream: 0,
        offset: Bytes(0),
        len: Bytes::MIB,
        at: device.now(),
        data: Data::Random,
    };
    device.submit(&io);
    let result = device.complete(Nanos::MAX).unwrap().result;
    assert!(matches!(result, Ok(()) | Err(Errno::EOPNOTSUPP)), "{result:?}");
}

// Is a device refused that bears a file system, swap space or a partition table, with nothing
// changed on it; and does the advice of the message work?
#[test]
fn what_bears_data_is_refused() {
    let table: &dyn Fn(&Loop) = &|device| write_partition_table(&device.device);
    let ext4: &dyn Fn(&Loop) = &|device| assert!(run("mkfs.ext4", &["-q", device.path()]));
    let swap: &dyn Fn(&Loop) = &|device| assert!(run("mkswap", &[device.path()]));
    let cases = [("ext4", ext4), ("swap space", swap), ("an MBR partition table", table)];
    for (name, make) in cases {
        let Some(device) = Loop::new() else { return };
        make(&device);
        let before = fs::read(&device.image).unwrap();
        let refused = refusal(&writing(&device.device));
        assert!(matches!(refused, Refusal::Signature { .. }), "{refused}");
        let message = refused.to_string();
        assert!(message.contains(name), "{message}");
        assert!(message.contains(&format!("`wipefs --all {}`", device.path())), "{message}");
        assert!(before == fs::read(&device.image).unwrap(), "something was written");
        // To read it is no danger.
        opened(&OpenOptions::new(Location::BlockDevice(device.device.clone())));
        if run("wipefs", &["--version"]) {
            for command in signatures::commands(&message) {
                assert!(run("sh", &["-c", command]), "{command}");
            }
            opened(&writing(&device.device));
        }
    }
}

/// An MBR with one partition of Linux, from 1 MiB to the end of 64 MiB.
fn write_partition_table(path: &Path) {
    let mut sector = [0; 512];
    sector[446..462].copy_from_slice(&[0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0xf8, 1, 0]);
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(&sector, 0).unwrap();
    file.sync_all().unwrap();
}

// Is a mounted device refused, by its own name and through a symbolic link (which fools fio),
// and may it still be read?
#[test]
fn what_is_mounted_is_refused() {
    let Some(device) = Loop::new() else { return };
    assert!(run("mkfs.ext4", &["-q", device.path()]));
    let Some(_mounted) = Mounted::new(device.path(), device.mount_point()) else { return };
    let link = device.directory.path().join("link");
    symlink(&device.device, &link).unwrap();
    for path in [&device.device, &link] {
        let refused = refusal(&writing(path));
        assert!(matches!(refused, Refusal::Mounted { .. }), "{refused}");
        assert!(refused.to_string().contains("mount point`; unmount it"), "{refused}");
        opened(&OpenOptions::new(Location::BlockDevice(path.clone())));
    }
}

/// A loop device, and its partition with a file system.
fn partitioned() -> Option<(Loop, String)> {
    let device = Loop::with(&["--partscan"], |_| ())?;
    write_partition_table(&device.device);
    let partition = format!("{}p1", device.path());
    // Kernels that do not read partition tables themselves are told.
    let there =
        Path::new(&partition).exists() || run("addpart", &[device.path(), "1", "2048", "129024"]);
    if there && run("mkfs.ext4", &["-q", &partition]) {
        return Some((device, partition));
    }
    println!("passed by: the loop device shows no partitions");
    None
}

// Does a partition that is mounted protect the whole disk, and the disk's partition table not
// hide that?
#[test]
fn a_mounted_partition_protects_its_disk() {
    let Some((device, partition)) = partitioned() else { return };
    let refused = refusal(&writing(Path::new(&partition)));
    assert!(matches!(refused, Refusal::Signature { .. }), "{refused}");
    let Some(_mounted) = Mounted::new(&partition, device.mount_point()) else { return };
    for path in [device.path(), &partition] {
        let refused = refusal(&writing(Path::new(path)));
        let message = refused.to_string();
        assert!(matches!(refused, Refusal::Mounted { .. }), "{message}");
        assert!(message.contains(&format!("{partition} is mounted")), "{message}");
    }
}

// Is swap space in use refused, through a symbolic link too?
#[test]
fn swap_in_use_is_refused() {
    let Some(device) = Loop::new() else { return };
    if !run("mkswap", &[device.path()]) || !run("swapon", &[device.path()]) {
        return println!("passed by: no swap can be added here");
    }
    let link = device.directory.path().join("link");
    symlink(&device.device, &link).unwrap();
    let refusals = [&device.device, &link].map(|path| open(&writing(path)).err());
    assert!(run("swapoff", &[device.path()]));
    for refused in refusals {
        let refused = refused.expect("swap space was opened for writing");
        assert!(matches!(refused, OpenError::Refused(Refusal::Swap { .. })), "{refused}");
    }
}

// Is a device refused that another program holds exclusively, and do we hold ours so?
#[test]
fn what_is_held_is_refused() {
    let Some(device) = Loop::new() else { return };
    let exclusive = || File::options().read(true).custom_flags(libc::O_EXCL).open(&device.device);
    let holder = exclusive().unwrap();
    assert!(matches!(refusal(&writing(&device.device)), Refusal::Busy { .. }));
    drop(holder);
    let ours = opened(&writing(&device.device));
    assert_eq!(exclusive().unwrap_err().raw_os_error(), Some(libc::EBUSY));
    assert!(matches!(refusal(&writing(&device.device)), Refusal::Locked { .. }));
    drop(ours);
    exclusive().unwrap();
}

// Is a file refused that a virtual machine or another run of this program writes, and taken again after it?
#[test]
fn a_locked_file_is_refused() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(Bytes::mib(1).0).unwrap();
    let ours = opened(&writing_file(file.path()));
    assert!(matches!(refusal(&writing_file(file.path())), Refusal::Locked { .. }));
    drop(ours);
    opened(&writing_file(file.path()));
}

// Is a read-only device refused for writing and taken for reading?
#[test]
fn a_read_only_device_is_refused() {
    let Some(device) = Loop::with(&["--read-only"], |_| ()) else { return };
    assert!(matches!(refusal(&writing(&device.device)), Refusal::ReadOnly { .. }));
    let reading = OpenOptions::new(Location::BlockDevice(device.device.clone()));
    contract::check(&mut opened(&reading), false);
}

// Is the file behind a loop device refused, with the loop device named, mounted or not, and so
// a loop device behind another?
#[test]
fn the_file_behind_a_loop_device_is_refused() {
    let Some(device) = Loop::new() else { return };
    let file = writing_file(&device.image);
    let refused = refusal(&file).to_string();
    assert!(refused.contains(&format!("loop device {}; `losetup", device.path())), "{refused}");

    assert!(run("mkfs.ext4", &["-q", device.path()]));
    if let Some(_mounted) = Mounted::new(device.path(), device.mount_point()) {
        let refused = refusal(&file).to_string();
        assert!(refused.contains(", mounted at `"), "{refused}");
    }
    device.blank();
    let output =
        Command::new("losetup").args(["--find", "--show", device.path()]).output().unwrap();
    let upper = String::from_utf8(output.stdout).unwrap();
    let refused = open(&writing(&device.device)).err();
    assert!(detach(upper.trim()));
    let refused = refused.expect("the lower loop device was opened for writing");
    assert!(matches!(refused, OpenError::Refused(Refusal::LoopBacking { .. })), "{refused}");
    opened(&writing(&device.device));
}

// Is a file that holds a file system, as a virtual machine's disk does, refused?
#[test]
fn a_file_that_bears_data_is_refused() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(Bytes::mib(1).0).unwrap();
    file.as_file().write_all_at(b"XFSB", 0).unwrap();
    let refused = refusal(&writing_file(file.path())).to_string();
    assert!(refused.contains("bears an XFS file system (at byte 0)"), "{refused}");
}

// Is a file that is there already overwritten only when its path is typed again, and left as it is
// otherwise; and is one that is created, or empty, nobody's data?
#[test]
fn an_existing_file_is_written_when_confirmed() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("precious");
    let data = vec![7u8; 1 << 20];
    std::fs::write(&path, &data).unwrap();
    let file = |path: &Path, confirmation: Option<&str>| OpenOptions {
        location: Location::File(path.into()),
        access: Access::Write { confirmation: confirmation.map(str::to_owned) },
        size: Some(Bytes::MIB),
        ..writing(path)
    };
    assert!(matches!(refusal(&file(&path, None)), Refusal::Unconfirmed { .. }));
    let other = refusal(&file(&path, Some("precious")));
    assert!(matches!(other, Refusal::WrongConfirmation { .. }));
    assert_eq!(std::fs::read(&path).unwrap(), data);
    opened(&file(&path, path.to_str()));
    opened(&file(&directory.path().join("new"), None));
    let empty = tempfile::NamedTempFile::new_in(directory.path()).unwrap();
    opened(&file(empty.path(), None));
}

// Is a device that is given as a file, or a link to one, refused with how to name it?
#[test]
fn a_device_given_as_a_file_is_refused() {
    let Some(device) = Loop::new() else { return };
    let link = device.directory.path().join("link");
    symlink(&device.device, &link).unwrap();
    for path in [&device.device, &link] {
        for access in [Access::ReadOnly, Access::Write { confirmation: None }] {
            let options = OpenOptions { access, ..OpenOptions::new(Location::File(path.clone())) };
            let error = open(&options).err().expect("it is no file");
            assert!(matches!(error, OpenError::WrongKind { .. }), "{error}");
            let hint = format!("name the device itself, `{}`", device.path());
            assert!(error.to_string().contains(&hint), "{error}");
        }
    }
}
