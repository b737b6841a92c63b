//! The backing files and devices of loop devices.

#![allow(unsafe_code, reason = "declares the size of the argument of a loop device ioctl")]

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::guard::{DeviceNumber, Identity};
use crate::ioctl::Request;

/// `LOOP_GET_STATUS64` of `linux/loop.h`, which the C library does not define.
// SAFETY: the ioctl writes a `loop_info64`, which is valid for any bytes; other block devices
// reject it.
const LOOP_GET_STATUS64: Request<LoopStatus> = unsafe { Request::new(0x4C05) };

/// The kernel's `loop_info64`, in which only the fields in use have names.
#[repr(C)]
struct LoopStatus {
    device: u64,
    inode: u64,
    block_device: u64,
    rest: [u64; 26],
}

/// Returns the path of a loop device's backing file, as raw bytes, if the kernel knows it. Returns
/// `None` for a disk that is not a loop device.
pub(super) fn backing_file(disk: &Path) -> Option<io::Result<PathBuf>> {
    match fs::read(disk.join("loop/backing_file")) {
        // ENODEV means that the loop device is being detached.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || error.raw_os_error() == Some(libc::ENODEV) =>
        {
            None
        }
        Err(error) => Some(Err(error)),
        Ok(mut name) => {
            name.pop_if(|last| *last == b'\n');
            Some(Ok(OsString::from_vec(name).into()))
        }
    }
}

/// Returns the identity of a loop device's backing file or device. Asks the loop device itself,
/// because the path in sysfs may be stale or belong to another mount namespace. Returns `None`
/// without permission for the ioctl.
pub(super) fn lies_on(device: &Path) -> Option<Identity> {
    let mut status = LoopStatus { device: 0, inode: 0, block_device: 0, rest: [0; 26] };
    LOOP_GET_STATUS64.send(&File::open(device).ok()?, &mut status).ok()?;
    Some(match status.block_device {
        0 => Identity::File { device: DeviceNumber::new(status.device), inode: status.inode },
        number => Identity::Block(DeviceNumber::new(number)),
    })
}
