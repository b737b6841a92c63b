//! NVMe commands through io_uring (Linux 6.1 or later), to the character device of the namespace.
//!
//! The commands bypass the kernel's block layer. The drive receives exactly the measured requests:
//! the kernel does not split, merge or schedule them, and a trim is a command like any other.

use std::io;

use flashscope_block::{Bytes, Io, Op};
use io_uring::{cqueue, opcode, squeue};

use super::queued::QueuedEngine;
use super::ring::{Dialect, FILE, Ring, check_length, interrupted, unsupported};
use super::{Engine, Setup};
use crate::guard::System;
use crate::identify::NamespacePage;
use crate::nvme::namespace::{directory, open_character_device};
use crate::nvme::nvm::{IO_COMMAND, Nvm, errno};
use crate::nvme::{CommandError, Controller};

/// Encodes IOs as NVMe commands to one namespace, and converts the results.
struct Commands {
    nvm: Nvm,
    /// The length in bytes of each slot's IO. A command transfers the whole length or nothing.
    lens: Vec<i64>,
}

pub(super) fn start(setup: &Setup) -> io::Result<Box<dyn Engine>> {
    let target = &setup.target;
    let system = System::default();
    let disk = directory(&system, target.identity()).map_err(|why| unsupported(why.to_string()))?;
    check_length(&disk, "max_hw_sectors_kb", setup.max_io as u64)?;
    let file = open_character_device(&system, &disk, setup.writable)?;
    let nvm = namespace(&&file, target.logical_block())?;
    if target.file().namespace()? != nvm.namespace {
        return Err(io::Error::other("its character device belongs to another namespace"));
    }
    let commands = Commands { nvm, lens: vec![0; setup.depth] };
    let ring = Ring::new(setup, &file, commands, interrupted::<Commands>);
    let (mut ring, buffers) = ring.map_err(too_old)?;
    ring.try_read(setup, &buffers).map_err(too_old)?;
    Ok(Box::new(QueuedEngine::new(ring, buffers, setup)))
}

/// Explains errors of older kernels, which do not support 128-byte entries or commands with
/// registered buffers.
fn too_old(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::EOPNOTSUPP) => unsupported("it needs Linux 6.1 or later"),
        _ => error,
    }
}

/// Returns the open namespace if its blocks have `block` bytes and no metadata.
fn namespace(drive: &impl Controller, block: Bytes) -> io::Result<Nvm> {
    let number = drive.namespace()?;
    let page = NamespacePage::of(drive, number).map_err(|failed| match failed {
        CommandError::System(error) => error,
        CommandError::Status(status) => {
            io::Error::other(format!("it does not report its format: NVMe status {status:#x}"))
        }
    })?;
    match page.format() {
        Some(format) if format.metadata_bytes.0 > 0 => {
            Err(unsupported("its blocks contain metadata, which is not supported"))
        }
        Some(format) if format.data_bytes == block => Ok(Nvm { namespace: number, block }),
        _ => Err(io::Error::other("its block size differs from the one the kernel reports")),
    }
}

impl Dialect for Commands {
    type Entry = squeue::Entry128;
    type Answer = cqueue::Entry32;

    fn takes(&self, _op: Op) -> bool {
        true
    }

    fn entry(
        &mut self,
        slot: usize,
        io: &Io,
        buffer: *mut u8,
        registered: Option<u16>,
    ) -> squeue::Entry128 {
        self.lens[slot] = i64::try_from(io.len.0).expect("within a drive");
        let listed = u32::try_from(self.list(io).len()).expect("at most a page");
        let command = self.nvm.encode(io, buffer.expose_provenance() as u64, listed);
        let registered = registered.filter(|_| io.op != Op::Flush);
        opcode::UringCmd80::new(FILE, IO_COMMAND)
            .cmd(command)
            .buf_index(registered)
            .build()
            .user_data(slot as u64)
    }

    /// Returns the range list of a trim; empty for other operations.
    fn list(&self, io: &Io) -> Vec<u8> {
        if io.op == Op::Trim { self.nvm.ranges(io) } else { Vec::new() }
    }

    /// Converts the `result` of a command to an [`Answer::result`](super::queued::Answer::result).
    /// The kernel returns 0 for success, an NVMe status for an error of the drive, or a negative
    /// error number for an error of the kernel.
    fn result(&self, slot: usize, result: i32) -> i64 {
        match u32::try_from(result) {
            Ok(0) => self.lens[slot],
            Ok(status) => (-errno(status).0).into(),
            Err(_) => result.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Success becomes the full length of the IO, and a status of the drive the error number that
    // the block layer returns for it.
    #[test]
    fn completions_are_converted_to_results() {
        let nvm = Nvm { namespace: 1, block: Bytes(512) };
        let commands = Commands { nvm, lens: vec![0, 8192] };
        assert_eq!(commands.result(1, 0), 8192);
        assert_eq!(commands.result(1, 0x4281), -i64::from(libc::ENODATA));
        assert_eq!(commands.result(1, -libc::EINVAL), -i64::from(libc::EINVAL));
    }
}
