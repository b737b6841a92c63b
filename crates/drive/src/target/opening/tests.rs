use std::path::PathBuf;
use std::process::Command;

use super::*;
use crate::EngineKind;
use crate::guard::{Refusal, set};

/// Returns options for writing, with an optional confirmation.
fn writing(location: Location, confirmation: Option<&Path>) -> OpenOptions {
    let confirmation = confirmation.map(|path| path.to_str().unwrap().to_owned());
    OpenOptions {
        access: Access::Write { confirmation },
        direct: false,
        size: Some(Bytes::MIB),
        ..OpenOptions::new(location)
    }
}

// The other file is neither written nor removed.
#[test]
fn a_file_that_replaces_the_created_one_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let [path, precious] = ["new", "precious"].map(|name| directory.path().join(name));
    fs::write(&precious, "data").unwrap();
    let options = writing(Location::File(path.clone()), None);
    let created = create(&path, &options).unwrap();
    fs::rename(&precious, &path).unwrap();
    let error = open_existing_file(&path, &options, Some(created.identity())).unwrap_err();
    assert!(matches!(error, OpenError::Refused(Refusal::Changed { .. })), "{error}");
    drop(created);
    assert_eq!(fs::read(&path).unwrap(), b"data");
}

// A newly created file is removed if the opening fails.
#[test]
fn a_created_file_is_removed_unless_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new");
    let options = writing(Location::File(path.clone()), None);
    let created = create(&path, &options).unwrap();
    drop(open_existing_file(&path, &options, Some(created.identity())).unwrap());
    drop(created);
    assert!(!path.exists());
    drop(Target::open_new(&options).unwrap());
    assert!(!path.exists(), "an unkept file remained");
    drop(Target::open(&options).unwrap());
    assert!(path.exists());
}

#[test]
fn a_failed_opening_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new");
    let sound = writing(Location::File(path.clone()), None);
    let of_size = |size| OpenOptions { size: Some(Bytes(size)), ..sound.clone() };
    let engine = |engine| OpenOptions { engine: Some(engine), ..sound.clone() };
    let refused = [
        of_size(0),
        of_size(1),
        of_size(511),
        of_size(1 << 60),
        OpenOptions { size: None, ..sound.clone() },
        OpenOptions { max_io: Bytes(1000), ..sound.clone() },
        // These engines do not support files.
        engine(EngineKind::IoUringCmd),
        engine(EngineKind::IoUringPolled),
    ];
    for options in refused {
        let error = crate::open(&options).err().expect("opening must fail");
        assert!(!path.exists(), "{error}");
    }
    // A file of 600 bytes has room for one block.
    assert_eq!(Target::open(&of_size(600)).unwrap().capacity, Bytes(512));
}

#[test]
fn a_file_below_one_block_is_not_changed() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let options = writing(Location::File(file.path().into()), None);
    for size in [0, 1, 511] {
        let error = Target::open(&OpenOptions { size: Some(Bytes(size)), ..options.clone() });
        let error = error.unwrap_err().to_string();
        assert!(error.contains("`size`"), "{error}");
        assert_eq!(file.as_file().metadata().unwrap().len(), 0);
    }
}

/// A loop device over a new file, detached on drop.
struct Loop {
    path: PathBuf,
    _image: tempfile::NamedTempFile,
}

impl Loop {
    /// Returns `None`, with a message, if no loop device can be set up.
    fn new() -> Option<Loop> {
        let image = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        image.as_file().set_len(Bytes::mib(8).0).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image.path()).output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            println!("skipped: no loop device can be set up here");
            return None;
        };
        let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        Some(Loop { path, _image: image })
    }

    /// Returns options for writing the device.
    fn writing(&self) -> OpenOptions {
        let location = Location::BlockDevice(self.path.clone());
        OpenOptions { size: None, ..writing(location, Some(&self.path)) }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let detached = Command::new("losetup").arg("--detach").arg(&self.path).status();
        assert!(detached.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

// A virtual machine locks the device: QEMU does not open it exclusively. Afterwards, the device is
// accepted, and this process locks it.
#[test]
fn a_locked_device_is_refused() {
    let Some(device) = Loop::new() else { return };
    let options = device.writing();
    let machine = fs::OpenOptions::new().read(true).write(true).open(&device.path).unwrap();
    set(&machine, libc::F_RDLCK).unwrap();
    let error = Target::open(&options).unwrap_err();
    assert!(matches!(error, OpenError::Refused(Refusal::Locked { .. })), "{error}");
    set(&machine, libc::F_UNLCK).unwrap();
    let ours = Target::open(&options).unwrap();
    assert!(set(&machine, libc::F_RDLCK).is_err());
    drop(ours);
    set(&machine, libc::F_RDLCK).unwrap();
}

// udev and the partitioning tools hold a `flock`, possibly a shared one. Such programs detect the
// lock of this process.
#[test]
fn a_device_held_by_flock_is_refused() {
    let Some(device) = Loop::new() else { return };
    let options = device.writing();
    let tool = File::open(&device.path).unwrap();
    for shared in [true, false] {
        if shared { tool.lock_shared() } else { tool.lock() }.unwrap();
        let error = Target::open(&options).unwrap_err();
        assert!(matches!(error, OpenError::Refused(Refusal::Locked { .. })), "{error}");
        tool.unlock().unwrap();
    }
    let ours = Target::open(&options).unwrap();
    assert!(tool.try_lock_shared().is_err());
    drop(ours);
    tool.try_lock().unwrap();
}

// The alignment is a power of two.
#[test]
fn stated_and_tried_alignment_agree() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    file.as_file().set_len(1 << 16).unwrap();
    let Ok(direct) = open_for_io(file.path(), false, libc::O_DIRECT) else {
        println!("skipped: no direct IO here");
        return;
    };
    let tried = tried_alignment(&direct).unwrap().expect("the file is open with O_DIRECT");
    assert!(tried.0.is_power_of_two());
    if let Some(stated) = stated_alignment(&direct).unwrap() {
        assert_eq!(Bytes(stated.into()).max(Bytes(512)), tried);
    }
}

#[test]
fn available_space_keeps_a_margin() {
    let file = tempfile::tempfile().unwrap();
    let available = available_space(&file).unwrap();
    assert!(check_space(&file, Path::new("x"), available).is_ok());
    let more = Bytes(available.0 + (4 << 30));
    let error = check_space(&file, Path::new("x"), more).unwrap_err();
    assert!(matches!(error, OpenError::NoSpace { .. }));
    let message = error.to_string();
    assert!(message.contains(&format!("needs {more} more")), "{message}");
}
