#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "/dev/ublk-control: a character device of the kernel, by a fixed name"
    )
)]
#![allow(unsafe_code, reason = "commands to the kernel point to buffers, which outlive them")]

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

use io_uring::squeue::Entry128;
use io_uring::{IoUring, cqueue, opcode, types};

use super::{CONTROL, Error, failed, uapi};
use crate::Export;

/// The control device, which creates and deletes devices by io_uring commands, one at a time.
pub(super) struct Control {
    file: File,
    ring: IoUring<Entry128, cqueue::Entry>,
    /// The number of commands so far, which identifies the last one.
    commands: u64,
}

impl Control {
    pub(super) fn open() -> Result<Control, Error> {
        let file = OpenOptions::new().read(true).write(true).open(CONTROL);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NoUblk,
            io::ErrorKind::PermissionDenied => Error::NotRoot,
            _ => Error::System { action: "open /dev/ublk-control", source: error },
        })?;
        Control::over(file).map_err(failed("create an io_uring"))
    }

    fn over(file: File) -> io::Result<Control> {
        Ok(Control { file, ring: IoUring::builder().build(4)?, commands: 0 })
    }

    /// Creates a device with the properties of `export`, and returns its ID. The device does not
    /// serve requests yet.
    pub(super) fn add(&mut self, export: &Export) -> Result<u32, Error> {
        let block = export.logical_block.0;
        if !(512..=4096).contains(&block) {
            return Err(Error::LogicalBlock(block));
        }
        let mut info = uapi::info();
        let action = "create a block device";
        self.command(uapi::ADD_DEV, u32::MAX, &mut info, 0).map_err(failed(action))?;
        let id = uapi::id(&info);
        let mut params = uapi::params(export);
        let set = self.command(uapi::SET_PARAMS, id, &mut params, 0);
        if let Err(source) = set {
            self.delete(id)?;
            return Err(Error::System { action: "describe the block device", source });
        }
        Ok(id)
    }

    /// Starts the device once its queue has submitted fetches for requests.
    pub(super) fn start(&mut self, id: u32) -> Result<(), Error> {
        let process = std::process::id().into();
        self.command(uapi::START_DEV, id, &mut [], process)
            .map_err(failed("start the block device"))
    }

    /// Stops the device: no more requests arrive, and the queue's fetches are returned.
    pub(super) fn stop(&mut self, id: u32) -> Result<(), Error> {
        self.command(uapi::STOP_DEV, id, &mut [], 0).map_err(failed("stop the block device"))
    }

    /// Deletes the device.
    pub(super) fn delete(&mut self, id: u32) -> Result<(), Error> {
        self.command(uapi::DEL_DEV, id, &mut [], 0).map_err(failed("delete the block device"))
    }

    fn command(&mut self, op: u32, id: u32, buffer: &mut [u8], number: u64) -> io::Result<()> {
        // This memory is leaked if the command never completes, because the kernel may still use
        // it.
        let mut memory = ManuallyDrop::new(Box::<[u8]>::from(&*buffer));
        let fd = types::Fd(self.file.as_raw_fd());
        let command = uapi::control(id, &mut memory, number);
        self.commands += 1;
        let entry = opcode::UringCmd80::new(fd, op).cmd(command).build().user_data(self.commands);
        // SAFETY: the memory is freed only after the command has completed.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        let answer = self.answer()?;
        buffer.copy_from_slice(&memory);
        drop(ManuallyDrop::into_inner(memory));
        if answer < 0 { Err(io::Error::from_raw_os_error(-answer)) } else { Ok(()) }
    }

    /// Waits for the result of the last command; skips that of an earlier, abandoned one.
    fn answer(&mut self) -> io::Result<i32> {
        loop {
            let mut answers = self.ring.completion();
            if let Some(entry) = answers.find(|entry| entry.user_data() == self.commands) {
                return Ok(entry.result());
            }
            drop(answers);
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_an_abandoned_command_is_skipped() {
        let null = OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
        let Ok(mut control) = Control::over(null) else {
            println!("skipped: io_uring is not permitted here");
            return;
        };
        let stale = opcode::Nop::new().build().user_data(77);
        // SAFETY: the operation uses no memory.
        unsafe { control.ring.submission().push(&stale.into()) }.unwrap();
        let mut buffer = [7; 8];
        // Depending on the kernel, the null device accepts every command or supports none.
        let answer = control.command(uapi::STOP_DEV, 1, &mut buffer, 0);
        let known = answer.map_err(|error| error.raw_os_error());
        assert!(matches!(known, Ok(()) | Err(Some(libc::EOPNOTSUPP))), "{known:?}");
        assert_eq!((buffer, control.ring.completion().len()), ([7; 8], 0));
    }
}
