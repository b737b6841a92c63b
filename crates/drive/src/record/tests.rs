//! Tests on a folder with fake kernel files.

use super::*;

const NUMBER: DeviceNumber = DeviceNumber { major: 7, minor: 9 };

/// The files of a fake kernel that traces nothing.
struct Kernel {
    root: tempfile::TempDir,
}

const FILES: [(&str, &str); 14] = [
    ("sys/dev/block/7:9/trace/enable", "0\n"),
    ("sys/dev/block/7:9/trace/act_mask", "disabled\n"),
    ("sys/dev/block/7:9/mq/0/cpu_list", "0\n"),
    ("sys/kernel/tracing/available_tracers", "blk function nop\n"),
    ("sys/kernel/tracing/current_tracer", "nop\n"),
    ("sys/kernel/tracing/set_event", "\n"),
    ("sys/kernel/tracing/tracing_on", "0\n"),
    ("sys/kernel/tracing/trace_clock", "[local] global mono\n"),
    ("sys/kernel/tracing/buffer_size_kb", "7 (expanded: 1408)\n"),
    ("sys/kernel/tracing/options/context-info", "1\n"),
    ("sys/kernel/tracing/options/bin", "0\n"),
    ("sys/kernel/tracing/trace_pipe", ""),
    ("sys/kernel/tracing/per_cpu/cpu0/stats", "entries: 9\noverrun: 5\ndropped events: 2\n"),
    ("sys/kernel/tracing/per_cpu/cpu1/stats", "overrun: 1\ncommit overrun: 0\n"),
];

impl Kernel {
    fn new() -> Kernel {
        let kernel = Kernel { root: tempfile::tempdir().unwrap() };
        FILES.iter().for_each(|(path, text)| kernel.write(path, text));
        kernel
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.path().join(path)).unwrap().trim().to_string()
    }

    fn start(
        &self,
        watch: impl FnMut(&Report) -> bool + Send + 'static,
    ) -> Result<Recording, RecordError> {
        let system = System::at(self.root.path());
        let device = Path::new("/dev/loop9");
        Recording::start_on(&system, device, NUMBER, Scope::Requests, None, watch)
    }

    /// Asserts that all settings have their original values.
    fn assert_restored(&self) {
        let settings = FILES.iter().filter(|(path, _)| {
            !path.ends_with("act_mask") && !path.contains("trace_pipe") && !path.contains("stats")
        });
        for (path, before) in settings {
            let now = self.read(path);
            let before = match *path {
                "sys/kernel/tracing/trace_clock" if now == "local" => "local",
                "sys/kernel/tracing/buffer_size_kb" if now == "1408" => "1408",
                _ => before.trim(),
            };
            assert_eq!(now, before, "{path}");
        }
    }
}

/// Returns an event that contains only its type.
fn event(action: u8) -> Vec<u8> {
    let mut event = vec![0; 48];
    event[..4].copy_from_slice(&0x6561_7407u32.to_ne_bytes());
    event[28..32].copy_from_slice(&u32::from(action).to_ne_bytes());
    event
}

// The recording returns the events and counts the lost events.
#[test]
fn a_recording_is_complete_and_restores_the_settings() {
    let kernel = Kernel::new();
    let stream = [&event(7)[..], b"CPU:0 [LOST 6 EVENTS]\n", &event(8), &event(7)].concat();
    kernel.write("sys/kernel/tracing/trace_pipe", stream);
    let mut recording = kernel.start(|_| true).unwrap();
    for (path, expected) in [
        ("sys/dev/block/7:9/trace/enable", "1"),
        ("sys/dev/block/7:9/trace/act_mask", "requeue,issue,complete"),
        ("sys/kernel/tracing/current_tracer", "blk"),
        ("sys/kernel/tracing/tracing_on", "1"),
        ("sys/kernel/tracing/trace_clock", "mono"),
        ("sys/kernel/tracing/buffer_size_kb", "8192"),
        ("sys/kernel/tracing/options/context-info", "0"),
        ("sys/kernel/tracing/options/bin", "1"),
    ] {
        assert_eq!(kernel.read(path), expected, "{path}");
    }
    let report = recording.report();
    let mut content = Vec::new();
    recording.read_to_end(&mut content).unwrap();
    kernel.assert_restored();
    let events = [event(7), event(8), event(7)].concat();
    assert_eq!(content[56..], events, "the events after the time of day");
    assert_eq!((report.requests(), report.lost()), (2, 8));
    assert_eq!(report.not_restored(), Vec::<String>::new());
    drop(recording);
    kernel.assert_restored();
}

// The recording is dropped, or the kernel returns invalid data.
#[test]
fn an_interrupted_recording_restores_the_settings() {
    let kernel = Kernel::new();
    drop(kernel.start(|_| false).unwrap());
    kernel.assert_restored();
    kernel.write("sys/kernel/tracing/trace_pipe", "something else");
    let mut recording = kernel.start(|_| false).unwrap();
    let error = recording.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("contains an unknown event"), "{error}");
    kernel.assert_restored();
}

// A setting that cannot be changed is an error.
#[test]
fn a_failed_start_restores_the_settings() {
    for missing in ["sys/kernel/tracing/trace_pipe", "sys/kernel/tracing/options/bin"] {
        let kernel = Kernel::new();
        fs::remove_file(kernel.root.path().join(missing)).unwrap();
        let error = kernel.start(|_| false).unwrap_err().to_string();
        assert!(error.contains(missing), "{error}");
        kernel.write(missing, if missing.ends_with("bin") { "0" } else { "" });
        kernel.assert_restored();
    }
}

#[test]
fn recordings_exclude_each_other() {
    let kernel = Kernel::new();
    let first = kernel.start(|_| false).unwrap();
    let error = kernel.start(|_| false).unwrap_err().to_string();
    assert!(error.contains("another recording runs"), "{error}");
    drop(first);
    kernel.start(|_| false).unwrap();
}

// The settings stay unchanged.
#[test]
fn missing_and_used_parts_are_named() {
    for (path, content, expected) in [
        ("sys/kernel/tracing/current_tracer", "function\n", "its current tracer is `function`"),
        ("sys/kernel/tracing/set_event", "sched:sched_switch\n", "`sched:sched_switch` is enabled"),
        ("sys/dev/block/7:9/trace/enable", "1\n", "this device is already being traced"),
        ("sys/kernel/tracing/available_tracers", "nop\n", "CONFIG_BLK_DEV_IO_TRACE"),
    ] {
        let kernel = Kernel::new();
        kernel.write(path, content);
        let error = kernel.start(|_| false).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(kernel.read("sys/kernel/tracing/options/bin"), "0");
    }
    for (missing, expected) in [
        ("sys/kernel/tracing", "mount -t tracefs nodev"),
        ("sys/dev/block/7:9/trace", "CONFIG_BLK_DEV_IO_TRACE"),
    ] {
        let kernel = Kernel::new();
        fs::remove_dir_all(kernel.root.path().join(missing)).unwrap();
        let error = kernel.start(|_| false).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

// Older systems mount tracefs there.
#[test]
fn tracefs_is_found_in_debugfs() {
    let kernel = Kernel::new();
    let place = |at: &str| kernel.root.path().join("sys/kernel").join(at);
    fs::create_dir(place("debug")).unwrap();
    fs::rename(place("tracing"), place("debug/tracing")).unwrap();
    drop(kernel.start(|_| false).unwrap());
    assert_eq!(kernel.read("sys/kernel/debug/tracing/trace_clock"), "local");
}

#[test]
fn only_block_devices_are_recorded() {
    for (path, expected) in [
        ("/dev/a-device-that-does-not-exist", "does not exist"),
        ("/dev/null", "`/dev/null` is not a block device"),
        ("/", "`/` is not a block device"),
    ] {
        let error = Recording::start(Path::new(path), Scope::Requests, None, |_| true).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn errors_of_the_kernel_name_the_remedy() {
    let denied = RecordError::system("use", Path::new("/sys/kernel/tracing"));
    let error = denied(io::Error::from_raw_os_error(libc::EACCES)).to_string();
    assert!(error.contains("with `sudo`") || error.contains("locked down"), "{error}");
    let busy = RecordError::system("set", Path::new("/sys/kernel/tracing/current_tracer"));
    let error = busy(io::Error::from_raw_os_error(libc::EBUSY)).to_string();
    assert!(error.contains("fuser -v /sys/kernel/tracing/*"), "{error}");
}
