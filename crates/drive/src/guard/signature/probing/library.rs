//! libblkid, loaded at run time.

#![allow(
    unsafe_code,
    reason = "calls libblkid, which is loaded at run time and not linked, because its licence is the LGPL"
)]

use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::LazyLock;

use libloading::Library;

use super::Answer;

/// `BLKID_SUBLKS_TYPE` and `BLKID_SUBLKS_MAGIC` of `blkid.h`.
const SUPERBLOCKS: c_int = 1 << 5 | 1 << 9;

/// `BLKID_PARTS_FORCE_GPT` and `BLKID_PARTS_MAGIC` of `blkid.h`: a GPT counts even without its
/// protective MBR.
const PARTITIONS: c_int = 1 << 1 | 1 << 3;

/// Return values of `blkid_do_safeprobe`.
const FOUND: c_int = 0;
const NOTHING: c_int = 1;
const SEVERAL: c_int = -2;

/// An opaque probe of the library.
#[repr(C)]
struct Probe {
    opaque: [u8; 0],
}

type NewProbe = unsafe extern "C" fn() -> *mut Probe;
type FreeProbe = unsafe extern "C" fn(*mut Probe);
type SetDevice = unsafe extern "C" fn(*mut Probe, c_int, i64, i64) -> c_int;
type Set = unsafe extern "C" fn(*mut Probe, c_int) -> c_int;
type Run = unsafe extern "C" fn(*mut Probe) -> c_int;
type Lookup =
    unsafe extern "C" fn(*mut Probe, *const c_char, *mut *const c_char, *mut usize) -> c_int;

/// The library functions in use, none of which writes.
struct Functions {
    new_probe: NewProbe,
    free_probe: FreeProbe,
    set_device: SetDevice,
    enable_superblocks: Set,
    set_superblocks_flags: Set,
    enable_partitions: Set,
    set_partitions_flags: Set,
    do_safeprobe: Run,
    lookup_value: Lookup,
    /// The loaded library; unloading it would invalidate the functions.
    _library: Library,
}

static FUNCTIONS: LazyLock<Option<Functions>> = LazyLock::new(|| Functions::load().ok());

impl Functions {
    fn load() -> Result<Functions, libloading::Error> {
        // SAFETY: loading runs the initializers of a system library; the file name includes its
        // version.
        let library = unsafe { Library::new("libblkid.so.1") }?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type matches the declaration in `blkid.h`, which does not change
                // within a version.
                *unsafe { library.get($name) }?
            };
        }
        Ok(Functions {
            new_probe: function!(b"blkid_new_probe\0"),
            free_probe: function!(b"blkid_free_probe\0"),
            set_device: function!(b"blkid_probe_set_device\0"),
            enable_superblocks: function!(b"blkid_probe_enable_superblocks\0"),
            set_superblocks_flags: function!(b"blkid_probe_set_superblocks_flags\0"),
            enable_partitions: function!(b"blkid_probe_enable_partitions\0"),
            set_partitions_flags: function!(b"blkid_probe_set_partitions_flags\0"),
            do_safeprobe: function!(b"blkid_do_safeprobe\0"),
            lookup_value: function!(b"blkid_probe_lookup_value\0"),
            _library: library,
        })
    }
}

/// A probe that is freed on drop.
struct Probing<'a> {
    functions: &'a Functions,
    probe: *mut Probe,
}

impl Drop for Probing<'_> {
    fn drop(&mut self) {
        // SAFETY: the probe comes from the library, is not null, and is not used afterwards.
        unsafe { (self.functions.free_probe)(self.probe) }
    }
}

impl Probing<'_> {
    fn new(functions: &Functions) -> Option<Probing<'_>> {
        // SAFETY: the function has no preconditions.
        let probe = unsafe { (functions.new_probe)() };
        (!probe.is_null()).then_some(Probing { functions, probe })
    }

    /// Probes `file`. This changes the position of the file.
    fn ask(&self, file: &File) -> Answer {
        let Functions { set_device, do_safeprobe, .. } = self.functions;
        let settings = [
            (self.functions.enable_superblocks, 1),
            (self.functions.set_superblocks_flags, SUPERBLOCKS),
            (self.functions.enable_partitions, 1),
            (self.functions.set_partitions_flags, PARTITIONS),
        ];
        // SAFETY: the probe is live. The descriptor stays open longer than the probe, which does
        // not close it.
        let is_set = unsafe {
            set_device(self.probe, file.as_raw_fd(), 0, 0) == 0
                && settings.iter().all(|(set, value)| set(self.probe, *value) == 0)
        };
        if !is_set {
            return Answer::Unavailable;
        }
        // SAFETY: the probe is live and has a device.
        match unsafe { do_safeprobe(self.probe) } {
            FOUND => self.answer(),
            NOTHING => Answer::Nothing,
            SEVERAL => Answer::Several,
            _ => Answer::Unavailable,
        }
    }

    /// Returns the type that the probe detected. A partition table counts only if there is no other
    /// signature.
    fn answer(&self) -> Answer {
        let kinds = [(c"TYPE", c"SBMAGIC_OFFSET", false), (c"PTTYPE", c"PTMAGIC_OFFSET", true)];
        let answer = kinds.into_iter().find_map(|(name, offset, is_table)| {
            let offset = self.value(offset).and_then(|offset| offset.parse().ok());
            self.value(name).map(|name| Answer::of_type(&name, offset, is_table))
        });
        answer.unwrap_or_else(|| Answer::of_type("", None, false))
    }

    fn value(&self, name: &CStr) -> Option<String> {
        let mut data = ptr::null();
        // SAFETY: the probe is live and the name is a C string. The library sets the pointer; the
        // length may be null.
        let missing = unsafe {
            (self.functions.lookup_value)(self.probe, name.as_ptr(), &raw mut data, ptr::null_mut())
        };
        if missing != 0 || data.is_null() {
            return None;
        }
        // SAFETY: the value is a C string that the probe keeps until the next call.
        let text = unsafe { CStr::from_ptr(data) };
        Some(text.to_string_lossy().into_owned())
    }
}

/// Returns the signature that the library detects in `file`.
pub(in super::super) fn ask(file: &File) -> Answer {
    let probing = FUNCTIONS.as_ref().and_then(Probing::new);
    probing.map_or(Answer::Unavailable, |probing| probing.ask(file))
}
