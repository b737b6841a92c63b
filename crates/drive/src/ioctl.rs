//! ioctl requests to block devices, each with the type of its argument.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "ioctl requests to block devices: from a closed list, on the descriptor that the guard opened, or read-only"
    )
)]
#![allow(unsafe_code, reason = "ioctl requests read or write memory at an address")]

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

/// An ioctl request to a block device that reads or writes a `T`.
#[derive(Debug)]
pub(crate) struct Request<T> {
    number: libc::Ioctl,
    argument: PhantomData<fn(&mut T)>,
}

impl<T> Request<T> {
    /// Defines the request with this number.
    ///
    /// # Safety
    /// On a block device, the request must read and write at most a `T`, leave it valid, and not
    /// keep its address.
    pub(crate) const unsafe fn new(number: libc::Ioctl) -> Request<T> {
        Request { number, argument: PhantomData }
    }

    /// Sends the request to `file`.
    ///
    /// # Errors
    /// The error of the device; `ENOTTY` for any other file, where the number may have another
    /// meaning.
    pub(crate) fn send(&self, file: &File, argument: &mut T) -> io::Result<()> {
        if !file.metadata()?.file_type().is_block_device() {
            return Err(io::Error::from_raw_os_error(libc::ENOTTY));
        }
        // SAFETY: the file is a block device, as just checked.
        unsafe { self.send_to_block_device(file, argument) }
    }

    /// Sends the request without checking the file, which saves a system call.
    ///
    /// # Safety
    /// The file must be a block device.
    pub(crate) unsafe fn send_to_block_device(
        &self,
        file: &File,
        argument: &mut T,
    ) -> io::Result<()> {
        // SAFETY: `new` guarantees the request's use of its argument, and the caller that the file
        // is a block device.
        let result =
            unsafe { libc::ioctl(file.as_raw_fd(), self.number, std::ptr::from_mut(argument)) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_reach_block_devices_only() {
        // SAFETY: the size of a terminal takes 8 bytes, which are valid for any values.
        let size = unsafe { Request::<[u16; 4]>::new(libc::TIOCGWINSZ) };
        let file = tempfile::tempfile().unwrap();
        // A terminal supports this number.
        for file in [File::open("/dev/ptmx").unwrap(), File::open("/dev/null").unwrap(), file] {
            let mut argument = [7; 4];
            let refused = size.send(&file, &mut argument).unwrap_err();
            assert_eq!((refused.raw_os_error(), argument), (Some(libc::ENOTTY), [7; 4]));
        }
    }
}
