//! Requests to block devices, each with the type of its argument.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "requests to block devices: of a closed list, to the descriptor that the guard opened or by reads alone"
    )
)]
#![allow(
    unsafe_code,
    reason = "requests to block devices, which read or write what an address leads to"
)]

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

/// A request to a block device that reads or writes a `T`.
#[derive(Debug)]
pub(crate) struct Request<T> {
    number: libc::Ioctl,
    argument: PhantomData<fn(&mut T)>,
}

impl<T> Request<T> {
    /// The request with this number.
    ///
    /// # Safety
    /// Of a block device, the request reads and writes no more than a `T`, leaves a valid one, and keeps no address of
    /// it.
    pub(crate) const unsafe fn new(number: libc::Ioctl) -> Request<T> {
        Request { number, argument: PhantomData }
    }

    /// Sends the request to `file`.
    ///
    /// # Errors
    /// What the device answers; `ENOTTY` where it is no block device, to which the number may mean something else.
    pub(crate) fn send(&self, file: &File, argument: &mut T) -> io::Result<()> {
        if !file.metadata()?.file_type().is_block_device() {
            return Err(io::Error::from_raw_os_error(libc::ENOTTY));
        }
        // SAFETY: it is a block device, as just seen.
        unsafe { self.send_to_block_device(file, argument) }
    }

    /// The same without a look at the file, which takes a system call.
    ///
    /// # Safety
    /// The file is a block device.
    pub(crate) unsafe fn send_to_block_device(
        &self,
        file: &File,
        argument: &mut T,
    ) -> io::Result<()> {
        // SAFETY: the request is one of block devices with such an argument, by `new`, and the file is one, by the caller.
        let result =
            unsafe { libc::ioctl(file.as_raw_fd(), self.number, std::ptr::from_mut(argument)) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reaches_nothing_but_block_devices() {
        // SAFETY: the size of a terminal takes 8 bytes, of which any are valid.
        let size = unsafe { Request::<[u16; 4]>::new(libc::TIOCGWINSZ) };
        let file = tempfile::tempfile().unwrap();
        // A terminal knows the number.
        for file in [File::open("/dev/ptmx").unwrap(), File::open("/dev/null").unwrap(), file] {
            let mut argument = [7; 4];
            let refused = size.send(&file, &mut argument).unwrap_err();
            assert_eq!((refused.raw_os_error(), argument), (Some(libc::ENOTTY), [7; 4]));
        }
    }
}
