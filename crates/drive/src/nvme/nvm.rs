//! Commands of the NVM Command Set for io_uring, and their results.

use flashscope_block::{Bytes, Errno, Io, Op};

use super::Command;

/// `NVME_URING_CMD_IO` of the kernel's `linux/nvme_ioctl.h`. Its `struct nvme_uring_cmd` has the
/// layout of the passthrough requests.
#[allow(clippy::cast_possible_truncation, reason = "request numbers have 32 bits")]
pub(crate) const IO_COMMAND: u32 = libc::_IOWR::<Command>(b'N' as u32, 0x80) as u32;

/// The maximum length of a range in Dataset Management, in blocks.
const RANGE_BLOCKS: u64 = u32::MAX as u64;

/// The namespace that commands address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nvm {
    pub(crate) namespace: u32,
    /// Bytes in a logical block.
    pub(crate) block: Bytes,
}

/// A command in the form that a ring entry holds.
pub(crate) type CommandBytes = [u8; 80];

impl Nvm {
    /// Encodes the command for `io`, with its data at `buffer`.
    ///
    /// Reads, writes and flushes are encoded like those of the block layer. A trim is Dataset
    /// Management with the attribute Deallocate. The caller must have copied its range list,
    /// `listed` bytes from [`Nvm::ranges`], to `buffer`.
    pub(crate) fn encode(self, io: &Io, buffer: u64, listed: u32) -> CommandBytes {
        let (first, blocks) = (io.offset.0 / self.block.0, io.len.0 / self.block.0);
        let [low, high] = [first, first >> 32].map(|half| (half & 0xFFFF_FFFF) as u32);
        let zero_based = |count: u64| u32::try_from(count.saturating_sub(1)).expect("bounded");
        let bytes = || u32::try_from(io.len.0).expect("bounded by max_io");
        let (opcode, data_len, dwords) = match io.op {
            Op::Flush => (0x00, 0, [0; 3]),
            Op::Write => (0x01, bytes(), [low, high, zero_based(blocks)]),
            Op::Read => (0x02, bytes(), [low, high, zero_based(blocks)]),
            Op::Trim => (0x09, listed, [listed / 16 - 1, 1 << 2, 0]),
        };
        let [dword_10, dword_11, dword_12] = dwords;
        let command = Command {
            opcode,
            namespace: self.namespace,
            data: if data_len == 0 { 0 } else { buffer },
            data_len,
            dwords_10_15: [dword_10, dword_11, dword_12, 0, 0, 0],
            ..Command::default()
        };
        let mut encoded = [0; 80];
        encoded[..72].copy_from_slice(&command.bytes());
        encoded
    }

    /// Returns the range list of a trim, 16 bytes for each range: one range, or several for more
    /// than [`RANGE_BLOCKS`].
    pub(crate) fn ranges(self, io: &Io) -> Vec<u8> {
        let (mut first, mut left) = (io.offset.0 / self.block.0, io.len.0 / self.block.0);
        let mut list = Vec::with_capacity(16);
        while left > 0 {
            let blocks = u32::try_from(left.min(RANGE_BLOCKS)).expect("just bounded");
            // Context attributes, length in blocks, first block.
            list.extend([0; 4]);
            list.extend(blocks.to_le_bytes());
            list.extend(first.to_le_bytes());
            first += u64::from(blocks);
            left -= u64::from(blocks);
        }
        list
    }
}

/// Converts an NVMe status to the error number that a block device returns for it:
/// `nvme_error_status` of the kernel's `drivers/nvme/host/core.c`. The status has the status code
/// type in bits 8 to 10 and the status code in bits 0 to 7.
pub(crate) fn errno(status: u32) -> Errno {
    Errno(match status & 0x7FF {
        // LBA Out of Range, Namespace Not Ready, Command Interrupted.
        0x080 | 0x082 | 0x021 => libc::EREMOTEIO,
        // Capacity Exceeded.
        0x081 => libc::ENOSPC,
        // Invalid Command Opcode, Field, Namespace; Conflicting Attributes.
        0x001 | 0x002 | 0x00B | 0x180 => libc::EOPNOTSUPP,
        // Write Fault, Unrecovered Read Error, Compare Failure, Access Denied, Deallocated or
        // Unwritten Block; Attempted Write to Read Only Range.
        0x280 | 0x281 | 0x285 | 0x286 | 0x287 | 0x182 => libc::ENODATA,
        // Guard, Application Tag or Reference Tag Check Error; Invalid Protection Information.
        0x282 | 0x283 | 0x284 | 0x181 => libc::EILSEQ,
        // Reservation Conflict.
        0x083 => libc::EBADE,
        _ => libc::EIO,
    })
}

#[cfg(test)]
mod tests {
    use flashscope_block::{Data, Nanos};

    use super::*;

    const NVM: Nvm = Nvm { namespace: 3, block: Bytes(4096) };

    fn io(op: Op, offset: u64, len: u64) -> Io {
        let (offset, len) = (Bytes(offset), Bytes(len));
        Io { op, stream: 0, offset, len, at: Nanos(0), data: Data::Random }
    }

    /// Bytes that are not 0, with their offsets.
    type Nonzero = Vec<(usize, Vec<u8>)>;

    // Dwords 10 and 11 hold the first block and dword 12 the blocks minus one. For a trim, dword 10
    // holds the ranges minus one and dword 11 the attribute Deallocate.
    #[test]
    #[cfg(target_endian = "little")]
    fn commands_are_as_specified() {
        let far = 0x1_0000_0002 * 4096;
        let address = 0x0102_0304_0506_0708_u64;
        let at_address = (24, address.to_le_bytes().to_vec());
        // 64 KiB of data: 16 blocks from block 0x1_0000_0002 on.
        let moved = vec![
            at_address.clone(),
            (36, vec![0, 0, 1, 0]),
            (40, vec![2, 0, 0, 0, 1, 0, 0, 0, 15]),
        ];
        let listed = vec![at_address, (36, vec![32]), (40, vec![1, 0, 0, 0, 4])];
        let cases: [(Io, u32, u8, Nonzero); 4] = [
            (io(Op::Flush, 0, 0), 0, 0x00, vec![]),
            (io(Op::Write, far, 65536), 0, 0x01, moved.clone()),
            (io(Op::Read, far, 65536), 0, 0x02, moved),
            (io(Op::Trim, far, 65536), 32, 0x09, listed),
        ];
        for (io, listed, opcode, bytes) in cases {
            let mut expected = [0; 80];
            (expected[0], expected[4]) = (opcode, 3);
            for (at, bytes) in bytes {
                expected[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            assert_eq!(NVM.encode(&io, address, listed), expected, "{io:?}");
        }
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            assert_eq!(IO_COMMAND, 0xC048_4E80);
        }
    }

    // A range is its length, then its first block. A trim longer than the maximum range becomes
    // several adjacent ranges.
    #[test]
    fn trims_become_range_lists() {
        let list = NVM.ranges(&io(Op::Trim, 0x1_0000_0002 * 4096, 3 * 4096));
        assert_eq!(list, [0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]);
        let list = NVM.ranges(&io(Op::Trim, 4096, (RANGE_BLOCKS + 5) * 4096));
        assert_eq!(list[..16], [0, 0, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(list[16..], [0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    }

    // The upper bits of a status do not matter. An unknown status becomes EIO.
    #[test]
    fn statuses_become_error_numbers() {
        for (status, expected) in [
            (0x0281, libc::ENODATA),
            (0x4281, libc::ENODATA),
            (0x0081, libc::ENOSPC),
            (0x4001, libc::EOPNOTSUPP),
            (0x0006, libc::EIO),
        ] {
            assert_eq!(errno(status), Errno(expected), "{status:#x}");
        }
    }
}
