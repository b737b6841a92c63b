//! The data structures and constants of the kernel's interface: include/uapi/linux/ublk_cmd.h.

/// Returns a command's code as `_IOWR('u', number, size)` encodes it (Linux 6.4 or later).
const fn command(number: u32, size: u32) -> u32 {
    3 << 30 | size << 16 | (b'u' as u32) << 8 | number
}

/// The size of `struct ublksrv_ctrl_cmd` in bytes.
const CONTROL_LEN: u32 = 32;
pub(super) const ADD_DEV: u32 = command(0x04, CONTROL_LEN);
pub(super) const DEL_DEV: u32 = command(0x05, CONTROL_LEN);
pub(super) const START_DEV: u32 = command(0x06, CONTROL_LEN);
pub(super) const STOP_DEV: u32 = command(0x07, CONTROL_LEN);
pub(super) const SET_PARAMS: u32 = command(0x08, CONTROL_LEN);

/// The size of `struct ublksrv_io_cmd` in bytes.
const IO_LEN: u32 = 16;
pub(super) const FETCH_REQ: u32 = command(0x20, IO_LEN);
pub(super) const COMMIT_AND_FETCH_REQ: u32 = command(0x21, IO_LEN);

/// The maximum number of requests in flight.
pub(super) const QUEUE_DEPTH: u16 = 128;
/// The maximum length of a request in bytes.
pub(super) const MAX_IO: u32 = 512 << 10;

/// Encodes a `struct ublksrv_ctrl_cmd`: a command to the device `id` with a buffer and a number.
pub(super) fn control(id: u32, buffer: &mut [u8], number: u64) -> [u8; 80] {
    let mut command = [0; 80];
    let len = u16::try_from(buffer.len()).expect("structures are short");
    put(&mut command, 0, &id.to_ne_bytes());
    put(&mut command, 4, &u16::MAX.to_ne_bytes());
    put(&mut command, 6, &len.to_ne_bytes());
    put(&mut command, 8, &(buffer.as_mut_ptr().expose_provenance() as u64).to_ne_bytes());
    put(&mut command, 16, &number.to_ne_bytes());
    command
}

/// The size of `struct ublksrv_ctrl_dev_info` in bytes, and the offset of the device ID in it.
pub(super) const INFO_LEN: usize = 64;
const INFO_ID: usize = 12;

/// Encodes a `struct ublksrv_ctrl_dev_info` of a device with one queue, whose ID the kernel
/// chooses.
pub(super) fn info() -> [u8; INFO_LEN] {
    let mut info = [0; INFO_LEN];
    put(&mut info, 0, &1u16.to_ne_bytes());
    put(&mut info, 2, &QUEUE_DEPTH.to_ne_bytes());
    put(&mut info, 8, &MAX_IO.to_ne_bytes());
    put(&mut info, INFO_ID, &u32::MAX.to_ne_bytes());
    info
}

/// Returns the device ID that the kernel chose.
pub(super) fn id(info: &[u8; INFO_LEN]) -> u32 {
    u32::from_ne_bytes([0, 1, 2, 3].map(|byte| info[INFO_ID + byte]))
}

const PARAM_TYPE_BASIC: u32 = 1;
const PARAM_TYPE_DISCARD: u32 = 1 << 1;
const ATTR_READ_ONLY: u32 = 1;
const ATTR_VOLATILE_CACHE: u32 = 1 << 2;
const ATTR_FUA: u32 = 1 << 3;

/// The maximum length of a discard in sectors: 1 GiB.
const MAX_DISCARD: u32 = 1 << 21;

/// Encodes the parts of a `struct ublk_params` that every device needs: basic parameters and
/// discards.
pub(super) fn params(export: &crate::Export) -> [u8; 60] {
    let mut params = [0; 60];
    let shift = |bytes: u64| [u8::try_from(bytes.trailing_zeros()).expect("below 64")];
    let block = export.logical_block.0;
    let types = if export.trims { PARAM_TYPE_BASIC | PARAM_TYPE_DISCARD } else { PARAM_TYPE_BASIC };
    let read_only = if export.writable { 0 } else { ATTR_READ_ONLY };
    put(&mut params, 0, &60u32.to_ne_bytes());
    put(&mut params, 4, &types.to_ne_bytes());
    put(&mut params, 8, &(ATTR_VOLATILE_CACHE | ATTR_FUA | read_only).to_ne_bytes());
    // Logical and physical block size, optimal and minimum IO size, as powers of two.
    for place in 12..16 {
        put(&mut params, place, &shift(block));
    }
    put(&mut params, 16, &(MAX_IO / 512).to_ne_bytes());
    put(&mut params, 24, &(export.size.0 / 512).to_ne_bytes());
    let granularity = u32::try_from(block).expect("at most a page");
    for (place, value) in [(44, granularity), (48, MAX_DISCARD), (52, MAX_DISCARD)] {
        put(&mut params, place, &value.to_ne_bytes());
    }
    put(&mut params, 56, &1u16.to_ne_bytes());
    params
}

/// Encodes a `struct ublksrv_io_cmd`: reports `result` for the previous request of `tag`, and
/// fetches the next one into the buffer at `addr`.
pub(super) fn io(tag: u16, result: i32, addr: u64) -> [u8; 16] {
    let mut command = [0; 16];
    put(&mut command, 2, &tag.to_ne_bytes());
    put(&mut command, 4, &result.to_ne_bytes());
    put(&mut command, 8, &addr.to_ne_bytes());
    command
}

/// `struct ublksrv_io_desc`: the descriptor of a request.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Description {
    pub(super) op_flags: u32,
    pub(super) sectors: u32,
    pub(super) start_sector: u64,
    pub(super) addr: u64,
}

pub(super) const OP_READ: u32 = 0;
pub(super) const OP_WRITE: u32 = 1;
pub(super) const OP_FLUSH: u32 = 2;
pub(super) const OP_DISCARD: u32 = 3;
pub(super) const OP_WRITE_ZEROES: u32 = 5;
/// The bits of [`Description::op_flags`] that encode the operation.
pub(super) const OP_MASK: u32 = 0xFF;
/// Force unit access.
pub(super) const F_FUA: u32 = 1 << 13;

fn put(structure: &mut [u8], at: usize, value: &[u8]) {
    structure[at..at + value.len()].copy_from_slice(value);
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;

    use super::*;
    use crate::Export;

    // The kernel refuses to write a device with the attribute UBLK_ATTR_READ_ONLY.
    #[test]
    fn a_read_only_drive_is_a_read_only_device() {
        let export = Export::new("drive", (Bytes::mib(1), Bytes(512)));
        let attributes = |writable| params(&Export { writable, ..export.clone() })[8];
        assert_eq!((attributes(true) & 1, attributes(false) & 1), (0, 1));
    }
}
