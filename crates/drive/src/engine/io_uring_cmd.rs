//! NVMe commands through io_uring (Linux 6.1 or later): past the block layer of the kernel, to the
//! character device of the namespace.
//!
//! What a drive is asked for is what is measured: nothing is split, merged or scheduled, and a trim
//! is a command as others are.

use std::io;

use flashscope_block::{Bytes, Io, Op};
use io_uring::{cqueue, opcode, squeue};

use super::queued::Queued;
use super::ring::{Dialect, FILE, Ring, check_length, interrupted, unsupported};
use super::{Engine, Setup};
use crate::guard::System;
use crate::identify::NamespacePage;
use crate::nvme::namespace::{directory, open_character_device};
use crate::nvme::nvm::{IO_COMMAND, Nvm, errno};
use crate::nvme::{Controller, Failed};

/// NVMe commands to one namespace.
struct Commands {
    nvm: Nvm,
    /// What the IO of each slot moves, all of it or nothing.
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
        return Err(io::Error::other("its character device is that of another namespace"));
    }
    let commands = Commands { nvm, lens: vec![0; setup.depth] };
    let ring = Ring::new(setup, &file, commands, interrupted::<Commands>);
    let (mut ring, buffers) = ring.map_err(too_old)?;
    ring.try_read(setup, &buffers).map_err(too_old)?;
    Ok(Box::new(Queued::new(ring, buffers, setup)))
}

/// Entries of 128 bytes, commands and their registered buffers are arguments that an older kernel
/// does not know.
fn too_old(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::EOPNOTSUPP) => unsupported("it needs Linux 6.1 or later"),
        _ => error,
    }
}

/// The namespace that is open, if its blocks are plain ones of `block` bytes.
fn namespace(drive: &impl Controller, block: Bytes) -> io::Result<Nvm> {
    let number = drive.namespace()?;
    let page = NamespacePage::of(drive, number).map_err(|failed| match failed {
        Failed::System(error) => error,
        Failed::Status(status) => io::Error::other(format!(
            "it does not say how it is formatted: NVMe status {status:#x}"
        )),
    })?;
    match page.format() {
        Some(format) if format.metadata_bytes.0 > 0 => {
            Err(unsupported("its blocks bear metadata, which is not supported"))
        }
        Some(format) if format.data_bytes == block => Ok(Nvm { namespace: number, block }),
        _ => Err(io::Error::other("it says another size of its blocks than the kernel")),
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

    /// The ranges of a trim.
    fn list(&self, io: &Io) -> Vec<u8> {
        if io.op == Op::Trim { self.nvm.ranges(io) } else { Vec::new() }
    }

    /// 0 where the command succeeded, an NVMe status where the drive refused it, or a negative error
    /// number where the kernel did.
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

    // Is success all that was asked for, a status of the drive the error of the block layer, and an
    // error of the kernel itself?
    #[test]
    fn answers_are_understood() {
        let nvm = Nvm { namespace: 1, block: Bytes(512) };
        let commands = Commands { nvm, lens: vec![0, 8192] };
        assert_eq!(commands.result(1, 0), 8192);
        assert_eq!(commands.result(1, 0x4281), -i64::from(libc::ENODATA));
        assert_eq!(commands.result(1, -libc::EINVAL), -i64::from(libc::EINVAL));
    }
}
