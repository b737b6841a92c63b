//! The guards protect real devices from being overwritten. These tests use loop devices over new
//! files. Without loop devices or without root, each test prints a message and is skipped.

#![allow(clippy::print_stdout, reason = "names skipped cases and the reason")]

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

/// Runs a command and returns true if it succeeded.
fn run(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// Detaches a loop device and waits until the kernel has released its file. `losetup` only marks a
/// device for detaching while another process, such as udev, has it open. Returns false after ten
/// seconds.
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

/// A loop device over a file of 64 MiB, detached on drop.
struct Loop {
    directory: TempDir,
    image: PathBuf,
    device: PathBuf,
}

impl Loop {
    /// Sets up a loop device with additional `losetup` arguments, after `prepare` has changed the
    /// file.
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
                println!("skipped: no loop device can be set up here");
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

    /// Truncates the backing file to `left` bytes while the device is open.
    fn shrink(&self, left: Bytes) {
        File::options().write(true).open(&self.image).unwrap().set_len(left.0).unwrap();
        assert!(run("losetup", &["--set-capacity", self.path()]));
    }

    /// Erases all data: `wipefs` does not erase copies of superblocks.
    fn blank(&self) {
        blank(&self.device);
    }

    fn mount_point(&self) -> PathBuf {
        let path = self.directory.path().join("mount point");
        fs::create_dir_all(&path).unwrap();
        path
    }
}

/// Overwrites a device of at most 64 MiB with zeros.
fn blank(path: &Path) {
    let mut device = File::options().write(true).open(path).unwrap();
    let size = device.seek(SeekFrom::End(0)).unwrap();
    device.write_all_at(&vec![0; usize::try_from(size).unwrap()], 0).unwrap();
    device.sync_all().unwrap();
}

/// An additional loop device, detached on drop.
struct UpperLoop(String);

impl Loop {
    /// Sets up a loop device over the file or device at `path`.
    fn over(&self, path: &Path) -> Option<UpperLoop> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(path).output().unwrap();
        if output.status.success() {
            return Some(UpperLoop(String::from_utf8(output.stdout).unwrap().trim().into()));
        }
        println!("skipped: no second loop device can be set up besides {}", self.path());
        None
    }
}

impl Drop for UpperLoop {
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

/// A mounted device, unmounted on drop.
struct MountGuard(PathBuf);

impl MountGuard {
    fn new(device: &str, at: PathBuf) -> Option<MountGuard> {
        if run("mount", &[device, at.to_str().unwrap()]) {
            return Some(MountGuard(at));
        }
        println!("skipped: {device} cannot be mounted here");
        None
    }
}

impl Drop for MountGuard {
    fn drop(&mut self) {
        assert!(run("umount", &[self.0.to_str().unwrap()]) || std::thread::panicking());
    }
}

/// Returns options for writing a device, with its path as confirmation.
fn writing(path: &Path) -> OpenOptions {
    OpenOptions {
        access: Access::Write { confirmation: Some(path.to_str().unwrap().into()) },
        ..OpenOptions::new(Location::BlockDevice(path.into()))
    }
}

/// Returns options for writing a file, with its path as confirmation.
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

// Every engine writes the device. Without a confirmation, no engine does.
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
                Err(error @ OpenError::Engine { .. }) => println!("skipped: {error}"),
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

// The devices contain a file system, swap space or a partition table. They stay unchanged, and the
// advice in the message works.
#[test]
fn devices_with_data_are_refused() {
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
        // Reading is safe.
        opened(&OpenOptions::new(Location::BlockDevice(device.device.clone())));
        if run("wipefs", &["--version"]) {
            for command in signatures::commands(&message) {
                assert!(run("sh", &["-c", command]), "{command}");
            }
            opened(&writing(&device.device));
        }
    }
}

/// Writes an MBR with one Linux partition, from 1 MiB to the end of 64 MiB.
fn write_partition_table(path: &Path) {
    let mut sector = [0; 512];
    sector[446..462].copy_from_slice(&[0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0xf8, 1, 0]);
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(&sector, 0).unwrap();
    file.sync_all().unwrap();
}

// The device has its own name and a symbolic link (which deceives fio). Reading is still allowed.
#[test]
fn mounted_devices_are_refused() {
    let Some(device) = Loop::new() else { return };
    assert!(run("mkfs.ext4", &["-q", device.path()]));
    let Some(_mounted) = MountGuard::new(device.path(), device.mount_point()) else { return };
    let link = device.directory.path().join("link");
    symlink(&device.device, &link).unwrap();
    for path in [&device.device, &link] {
        let refused = refusal(&writing(path));
        assert!(matches!(refused, Refusal::Mounted { .. }), "{refused}");
        assert!(refused.to_string().contains("mount point`; unmount it"), "{refused}");
        opened(&OpenOptions::new(Location::BlockDevice(path.clone())));
    }
}

/// Returns a loop device, and its partition with a file system.
fn partitioned() -> Option<(Loop, String)> {
    let device = Loop::with(&["--partscan"], |_| ())?;
    write_partition_table(&device.device);
    let partition = format!("{}p1", device.path());
    // Some kernels do not read the partition table by themselves.
    let there =
        Path::new(&partition).exists() || run("addpart", &[device.path(), "1", "2048", "129024"]);
    if there && run("mkfs.ext4", &["-q", &partition]) {
        return Some((device, partition));
    }
    println!("skipped: the loop device shows no partitions");
    None
}

// The mount is the stated reason.
#[test]
fn a_mounted_partition_protects_its_disk() {
    let Some((device, partition)) = partitioned() else { return };
    let refused = refusal(&writing(Path::new(&partition)));
    assert!(matches!(refused, Refusal::Signature { .. }), "{refused}");
    let Some(_mounted) = MountGuard::new(&partition, device.mount_point()) else { return };
    for path in [device.path(), &partition] {
        let refused = refusal(&writing(Path::new(path)));
        let message = refused.to_string();
        assert!(matches!(refused, Refusal::Mounted { .. }), "{message}");
        assert!(message.contains(&format!("{partition} is mounted")), "{message}");
    }
}

// A symbolic link to the swap space is refused too.
#[test]
fn swap_in_use_is_refused() {
    let Some(device) = Loop::new() else { return };
    if !run("mkswap", &[device.path()]) || !run("swapon", &[device.path()]) {
        return println!("skipped: no swap can be added here");
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

// Another program holds the device. This program holds its devices exclusively too.
#[test]
fn exclusively_held_devices_are_refused() {
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

// The file is open for writing, as in another run of this program. Afterwards, the file is
// accepted.
#[test]
fn a_locked_file_is_refused() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(Bytes::mib(1).0).unwrap();
    let ours = opened(&writing_file(file.path()));
    assert!(matches!(refusal(&writing_file(file.path())), Refusal::Locked { .. }));
    drop(ours);
    opened(&writing_file(file.path()));
}

// Reading is allowed.
#[test]
fn a_read_only_device_is_refused() {
    let Some(device) = Loop::with(&["--read-only"], |_| ()) else { return };
    assert!(matches!(refusal(&writing(&device.device)), Refusal::ReadOnly { .. }));
    let reading = OpenOptions::new(Location::BlockDevice(device.device.clone()));
    contract::check(&mut opened(&reading), false);
}

// The refusal names the loop device, mounted or not. A loop device that backs another loop device
// is refused too.
#[test]
fn the_file_behind_a_loop_device_is_refused() {
    let Some(device) = Loop::new() else { return };
    let file = writing_file(&device.image);
    let refused = refusal(&file).to_string();
    assert!(
        refused.contains(&format!("loop device {} exposes its content; `losetup", device.path())),
        "{refused}"
    );

    assert!(run("mkfs.ext4", &["-q", device.path()]));
    if let Some(_mounted) = MountGuard::new(device.path(), device.mount_point()) {
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

// The disk image of a virtual machine is such a file.
#[test]
fn a_file_with_data_is_refused() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(Bytes::mib(1).0).unwrap();
    file.as_file().write_all_at(b"XFSB", 0).unwrap();
    let refused = refusal(&writing_file(file.path())).to_string();
    assert!(refused.contains("contains an XFS file system (at byte 0)"), "{refused}");
}

// Without its path as confirmation, an existing file stays unchanged. A new or empty file needs no
// confirmation.
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

// A link to the device is refused too. The error shows the right notation.
#[test]
fn a_device_given_as_a_file_is_refused() {
    let Some(device) = Loop::new() else { return };
    let link = device.directory.path().join("link");
    symlink(&device.device, &link).unwrap();
    for path in [&device.device, &link] {
        for access in [Access::ReadOnly, Access::Write { confirmation: None }] {
            let options = OpenOptions { access, ..OpenOptions::new(Location::File(path.clone())) };
            let error = open(&options).err().expect("opening must fail");
            assert!(matches!(error, OpenError::WrongKind { .. }), "{error}");
            let hint = format!("name the device itself, `{}`", device.path());
            assert!(error.to_string().contains(&hint), "{error}");
        }
    }
}
