//! Tests of a drive served as a file: its behaviour, and the state after serving ends. Each test is
//! skipped with a message without root or /dev/fuse.

#![allow(clippy::print_stdout, reason = "reports skipped tests and the reason")]

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use flashscope_attach::fuse::{Error, Recipient, serve};
use flashscope_attach::{AttachedDrive, Export, FaultHook, Hooks, Speed, Store};
use flashscope_block::{Bytes, Completion, Data, Device, DeviceInfo, DeviceKind, Io, Nanos, Op};
use rustix::fs::FallocateFlags;
use rustix::mount::{MountFlags, mount};
use rustix::process::geteuid;
use tempfile::TempDir;

const SIZE: Bytes = Bytes::mib(8);
const BLOCK: u64 = 4096;

/// The IOs that a drive received: operation, offset and length.
type IoLog = Arc<Mutex<Vec<(Op, u64, u64)>>>;

/// A drive that completes IOs once `together` of them wait, and records its IOs.
struct Gate {
    info: DeviceInfo,
    now: Nanos,
    together: Arc<AtomicUsize>,
    waiting: Vec<Io>,
    /// The number of waiting IOs that may complete.
    open: usize,
    ios: IoLog,
}

impl Gate {
    fn new(together: usize) -> Gate {
        let info =
            DeviceInfo::new(("gate: a drive, of tests", DeviceKind::Sim), (SIZE, Bytes(BLOCK)), 64);
        let (waiting, ios) = (Vec::new(), Arc::default());
        let together = Arc::new(AtomicUsize::new(together));
        Gate { info, now: Nanos(0), together, waiting, open: 0, ios }
    }
}

impl Device for Gate {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn now(&self) -> Nanos {
        self.now
    }
    fn submit(&mut self, io: &Io) {
        self.ios.lock().unwrap().push((io.op, io.offset.0, io.len.0));
        self.waiting.push(*io);
        if self.waiting.len() >= self.together.load(Ordering::SeqCst) {
            self.open = self.waiting.len();
        }
    }
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let at = self.next_due().filter(|at| *at <= until)?;
        self.open -= 1;
        self.now = self.now.max(at);
        let io = self.waiting.remove(0);
        Some(Completion { io, submitted: io.at, completed: at, result: Ok(()) })
    }
    fn next_due(&self) -> Option<Nanos> {
        self.waiting.first().filter(|_| self.open > 0).map(|io| io.at + Nanos(1))
    }
}

fn attached(gate: Gate) -> Arc<AttachedDrive<Recipient>> {
    attached_as(gate, true)
}

fn attached_as(gate: Gate, writable: bool) -> Arc<AttachedDrive<Recipient>> {
    let (name, logical_block) = (gate.info.name.clone(), Bytes(BLOCK));
    let export = Export { writable, ..Export::new(name, (SIZE, logical_block)) };
    let (gate, store) = (Box::new(gate), Store::memory(SIZE).unwrap());
    Arc::new(
        AttachedDrive::simulated(
            gate,
            export,
            store,
            Speed::Max.into(),
            Hooks::default(),
            &mut |_, _| {},
        )
        .unwrap(),
    )
}

/// Returns true if drives can be served on this machine; prints a message otherwise.
fn can_serve() -> bool {
    let root = geteuid().is_root();
    let can = root && Path::new("/dev/fuse").exists();
    if !can {
        println!("skipped: needs root and /dev/fuse");
    }
    can
}

/// A drive that is served until this is dropped.
struct ServedDrive {
    folder: TempDir,
    file: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl ServedDrive {
    fn new(gate: Gate) -> ServedDrive {
        let folder = TempDir::new().unwrap();
        let (stop, at) = (Arc::new(AtomicBool::new(false)), folder.path().to_path_buf());
        let drive = attached(gate);
        let (sender, ready) = channel();
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            serve(&at, drive, &stopped, |file| sender.send(file.to_path_buf()).unwrap())
        });
        match ready.recv() {
            Ok(file) => ServedDrive { folder, file, stop, thread: Some(thread) },
            Err(_) => panic!("{}", thread.join().unwrap().unwrap_err()),
        }
    }

    fn open(&self) -> File {
        File::options().read(true).write(true).open(&self.file).unwrap()
    }

    /// Waits for the end and returns the result of serving.
    fn ended(&mut self) -> Result<(), Error> {
        self.thread.take().unwrap().join().unwrap()
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.stop.store(true, Ordering::SeqCst);
        self.ended()
    }
}

impl Drop for ServedDrive {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.stop();
        }
    }
}

/// Returns the mounts on a folder.
fn mounted_on(folder: &Path) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let at = folder.canonicalize().unwrap();
    let on = |line: &&str| line.split(' ').nth(1) == at.to_str();
    mounts.lines().filter(on).map(String::from).collect()
}

fn fallocate(file: &File, mode: i32, offset: u64, len: u64) -> io::Result<()> {
    let mode = FallocateFlags::from_bits_retain(mode.cast_unsigned());
    Ok(rustix::fs::fallocate(file, mode, offset, len)?)
}

// The file has a fixed size, reads return the written data, and IOs at the end are short.
#[test]
fn the_file_behaves_like_a_block_device() {
    if !can_serve() {
        return;
    }
    let served = ServedDrive::new(Gate::new(1));
    let names: Vec<_> = fs::read_dir(served.folder.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(names.iter().map(fs::DirEntry::file_name).collect::<Vec<_>>(), ["drive"]);
    let metadata = fs::metadata(&served.file).unwrap();
    assert_eq!((metadata.len(), metadata.mode()), (SIZE.0, libc::S_IFREG | 0o600));
    let file = served.open();
    file.write_all_at(&[7; 3 << 20], 4000).unwrap();
    let mut read = vec![1; 4 << 20];
    file.read_exact_at(&mut read, 0).unwrap();
    let expected = |at: usize| if (4000..4000 + (3 << 20)).contains(&at) { 7 } else { 0 };
    assert!((0..read.len()).all(|at| read[at] == expected(at)));
    assert_eq!(file.read_at(&mut read, SIZE.0 - 100).unwrap(), 100);
    assert_eq!(file.read_at(&mut read, SIZE.0).unwrap(), 0);
    assert_eq!(file.write_at(&[1; 200], SIZE.0 - 100).unwrap(), 100);
    let full = file.write_at(&[1; 200], SIZE.0).unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    let zero_end = |mode| {
        fallocate(&file, libc::FALLOC_FL_ZERO_RANGE | mode, SIZE.0 - BLOCK, 2 * BLOCK)
            .map_err(|error| error.kind())
    };
    assert_eq!(zero_end(0), Err(io::ErrorKind::StorageFull), "beyond the end");
    assert_eq!(zero_end(libc::FALLOC_FL_KEEP_SIZE), Ok(()));
    assert_eq!(file.set_len(0).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    file.set_len(SIZE.0).unwrap();
    let truncate = |len: u64| {
        let size = format!("--size={len}");
        Command::new("truncate").arg(size).arg(&served.file).output()
    };
    assert!(truncate(SIZE.0).unwrap().status.success(), "its own size");
    assert!(!truncate(SIZE.0 / 2).unwrap().status.success());
    // `dd` opens its output this way.
    File::options().write(true).truncate(true).open(&served.file).unwrap();
    assert_eq!(fs::metadata(&served.file).unwrap().len(), SIZE.0);
    assert!(fs::write(served.folder.path().join("other"), "").is_err());
}

// The drive receives reads and writes that bypass the page cache, flushes only for fsync and after
// durable writes, trims for holes, and writes of zeros.
#[test]
fn the_drive_receives_the_matching_operations() {
    if !can_serve() {
        return;
    }
    let gate = Gate::new(1);
    let ios = Arc::clone(&gate.ios);
    let served = ServedDrive::new(gate);
    let file = served.open();
    let taken = || std::mem::take(&mut *ios.lock().unwrap());
    let mut data = vec![5; 8192];
    file.write_all_at(&data, BLOCK).unwrap();
    file.read_exact_at(&mut data, BLOCK).unwrap();
    file.read_exact_at(&mut data, BLOCK).unwrap();
    let read = (Op::Read, BLOCK, 8192);
    assert_eq!(taken(), [(Op::Write, BLOCK, 8192), read, read]);
    file.sync_all().unwrap();
    file.sync_data().unwrap();
    drop(file);
    let flush = (Op::Flush, 0, 0);
    assert_eq!(taken(), [flush, flush]);
    let durable =
        File::options().write(true).custom_flags(libc::O_DSYNC).open(&served.file).unwrap();
    durable.write_all_at(&data, 0).unwrap();
    assert_eq!(taken(), [(Op::Write, 0, 8192), flush]);
    let keep = libc::FALLOC_FL_KEEP_SIZE;
    fallocate(&durable, libc::FALLOC_FL_PUNCH_HOLE | keep, 0, 6000).unwrap();
    fallocate(&durable, libc::FALLOC_FL_ZERO_RANGE | keep, BLOCK * 2, BLOCK).unwrap();
    let (tail, zeros) = ((Op::Write, BLOCK, BLOCK), (Op::Write, 2 * BLOCK, BLOCK));
    assert_eq!(taken(), [(Op::Trim, 0, BLOCK), tail, zeros]);
    served.open().read_exact_at(&mut data, 0).unwrap();
    assert!(data[..6000].iter().all(|byte| *byte == 0) && data[6000..].iter().all(|b| *b == 5));
    let allocated = fallocate(&durable, 0, 0, BLOCK).unwrap_err();
    assert_eq!(allocated.raw_os_error(), Some(libc::EOPNOTSUPP));
}

/// Counts the values received until the channel closes or none arrives for 20 s.
fn all_of<T>(values: &Receiver<T>) -> usize {
    let mut count = 0;
    while values.recv_timeout(Duration::from_secs(20)).is_ok() {
        count += 1;
    }
    count
}

// Many requests are in flight at once: from threads that each wait for their reply, and from one
// thread with asynchronous direct IO.
#[test]
fn many_requests_are_in_flight_at_once() {
    if !can_serve() {
        return;
    }
    let gate = Gate::new(32);
    let together = Arc::clone(&gate.together);
    let served = ServedDrive::new(gate);
    let (sender, written) = channel();
    for number in 0..32 {
        let (file, sender) = (served.open(), sender.clone());
        thread::spawn(move || sender.send(file.write_at(&[1; 4096], number * BLOCK).unwrap()));
    }
    drop(sender);
    assert_eq!(all_of(&written), 32, "the drive waits for 32 IOs and got fewer");
    let (sender, completed) = channel();
    let file = served.file.clone();
    together.store(1, Ordering::SeqCst);
    thread::spawn(move || {
        use flashscope_drive::{Access, Location, OpenOptions, open};
        let confirmation = Some(file.to_str().unwrap().to_string());
        let access = Access::Write { confirmation };
        let options = OpenOptions::new(Location::File(file));
        let mut drive = open(&OpenOptions { access, queue_depth: 32, ..options }).unwrap();
        together.store(32, Ordering::SeqCst);
        for op in [Op::Write, Op::Read] {
            for number in 0..32 {
                let (offset, len, at) = (Bytes(number * BLOCK), Bytes(BLOCK), drive.now());
                drive.submit(&Io { op, stream: 0, offset, len, data: Data::Random, at });
            }
            for _ in 0..32 {
                assert_eq!(drive.complete(Nanos::MAX).unwrap().result, Ok(()));
                sender.send(1).unwrap();
            }
        }
    });
    assert_eq!(all_of(&completed), 64, "the drive waits for 32 IOs and got fewer");
}

// A read-only drive can be read but not written.
#[test]
fn a_read_only_drive_cannot_be_written() {
    if !can_serve() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let gate = Gate::new(1);
    let ios = Arc::clone(&gate.ios);
    let ready = |file: &Path| {
        let refused = File::options().write(true).open(file).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EROFS));
        let file = File::open(file).unwrap();
        assert_eq!(file.metadata().unwrap().mode(), libc::S_IFREG | 0o400);
        let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        assert!(fallocate(&file, punch, 0, BLOCK).is_err());
        file.read_exact_at(&mut [0; 4096], 0).unwrap();
    };
    serve(folder.path(), attached_as(gate, false), &AtomicBool::new(true), ready).unwrap();
    assert_eq!(*ios.lock().unwrap(), [(Op::Read, 0, BLOCK)]);
}

// The reset is reported although no request was in flight.
#[test]
fn a_reset_without_requests_is_reported() {
    if !can_serve() {
        return;
    }
    let (sender, faults) = channel();
    let hook: FaultHook = Box::new(move |fault| sender.send(fault.request).unwrap());
    let plan = "[[fault]]\neffect = 'reset'\nfrom = '1ms'".parse().unwrap();
    let hooks = Hooks { completion: None, faults: Some((plan, Some(hook))) };
    let (export, store) =
        (Export::new("drive", (SIZE, Bytes(BLOCK))), Store::memory(SIZE).unwrap());
    let (gate, timing) = (Box::new(Gate::new(1)), Speed::Times(1.0).into());
    let drive = AttachedDrive::simulated(gate, export, store, timing, hooks, &mut |_, _| {});
    let drive = Arc::new(drive.unwrap());
    let (folder, stop) = (TempDir::new().unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        let served = scope.spawn(|| serve(folder.path(), drive, &stop, |_| {}));
        // Without a limit, a missing report would block the test.
        let reported = faults.recv_timeout(Duration::from_secs(60));
        stop.store(true, Ordering::SeqCst);
        assert_eq!(reported, Ok(None));
        served.join().unwrap().unwrap();
    });
}

// Nothing stays mounted after serving is stopped, after another program unmounts the folder, or if
// the file is open with a request in flight. The last case is an error, for the waiting program
// too.
#[test]
fn nothing_stays_mounted() {
    if !can_serve() {
        return;
    }
    let mut served = ServedDrive::new(Gate::new(1));
    let mounts = mounted_on(served.folder.path());
    assert!(mounts[0].contains(" fuse.flashscope "), "{mounts:?}");
    served.stop().unwrap();
    assert_eq!(mounted_on(served.folder.path()), [""; 0]);

    let mut served = ServedDrive::new(Gate::new(1));
    assert!(Command::new("umount").arg(served.folder.path()).status().unwrap().success());
    served.ended().unwrap();

    let gate = Gate::new(2);
    let ios = Arc::clone(&gate.ios);
    let mut served = ServedDrive::new(gate);
    let mut file = served.open();
    let waits = thread::spawn(move || file.read(&mut [0; 4096]));
    while ios.lock().unwrap().is_empty() {
        thread::yield_now();
    }
    let stopped = served.stop().unwrap_err();
    assert!(matches!(stopped, Error::StillOpen(_)), "{stopped}");
    assert!(waits.join().unwrap().is_err());
    assert_eq!(mounted_on(served.folder.path()), [""; 0]);
}

// The drive is unmounted if the serving thread panics.
#[test]
fn a_panic_unmounts_the_drive() {
    if !can_serve() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (at, drive) = (folder.path().to_path_buf(), attached(Gate::new(1)));
    let thread = thread::spawn(move || {
        serve(&at, drive, &AtomicBool::new(false), |file| panic!("at {}", file.display()))
    });
    assert!(thread.join().is_err());
    assert_eq!(mounted_on(folder.path()), [""; 0]);
}

/// Returns the error for a folder on which nothing can be mounted.
fn refused(folder: &Path) -> String {
    let ready = |_: &Path| panic!("{} was mounted on", folder.display());
    serve(folder, attached(Gate::new(1)), &AtomicBool::new(true), ready).unwrap_err().to_string()
}

// A folder that cannot be used is refused with a remedy, and left unchanged.
#[test]
fn unusable_folders_are_refused() {
    if !can_serve() {
        return;
    }
    let served = ServedDrive::new(Gate::new(1));
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "precious").unwrap();
    let cases = [
        (served.folder.path(), "is in use: a file system is mounted on it"),
        (Path::new("/"), "is in use"),
        (&folder.path().join("missing"), "create it, or name another"),
        (&file, "is not a folder"),
        (folder.path(), "is not empty: a mount would hide its files"),
    ];
    for (folder, message) in cases {
        let refused = refused(folder);
        assert!(refused.contains(message), "{refused}");
    }
    assert_eq!(fs::read(&file).unwrap(), b"precious");
}

/// Creates a mount without a server, like that of a killed process.
fn mount_dead(folder: &Path, options: &str) {
    let fuse = File::options().read(true).write(true).open("/dev/fuse").unwrap();
    let data = format!("fd={},rootmode=40000,user_id=0,group_id=0{options}", fuse.as_raw_fd());
    let data = CString::new(data).unwrap();
    mount("test", folder, "fuse", MountFlags::empty(), data.as_c_str()).unwrap();
}

// A dead mount of flashscope is unmounted; a dead mount of another program is not.
#[test]
fn only_own_dead_mounts_are_unmounted() {
    if !can_serve() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("mount point");
    fs::create_dir(&at).unwrap();
    mount_dead(&at, "");
    let refused = refused(&at);
    assert!(Command::new("umount").arg(&at).status().unwrap().success());
    assert!(refused.contains("has ended: unmount it with `umount --lazy`"), "{refused}");
    mount_dead(&at, ",subtype=flashscope");
    assert!(fs::metadata(&at).is_err());
    let mut size = None;
    let ready = |file: &Path| size = Some(fs::metadata(file).unwrap().len());
    serve(&at, attached(Gate::new(1)), &AtomicBool::new(true), ready).unwrap();
    assert_eq!(size, Some(SIZE.0));
    assert_eq!(mounted_on(&at), [""; 0]);
}
