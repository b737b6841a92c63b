//! NVMe commands: their encoding, and sending them through the kernel.
//!
//! Admin commands and Reservation Report are in this file, and reads, writes, flushes and trims in
//! [`nvm`]. Names, numbers and offsets follow the NVM Express Base Specification.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "commands to NVMe drives, from a closed list: on the descriptor that the guard opened, or read-only"
    )
)]
#![allow(
    unsafe_code,
    reason = "sends commands to a drive by ioctl, which none of our libraries supports, and encodes them"
)]

pub(crate) mod namespace;
pub(crate) mod nvm;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The namespace ID for log pages of the whole drive.
const ALL_NAMESPACES: u32 = 0xFFFF_FFFF;

/// The length of an Identify data structure in bytes.
pub(crate) const IDENTIFY_LEN: usize = 4096;

/// The timeout of a format: four hours. After a timeout, the kernel resets the drive, and a reset
/// during a format may leave the drive unusable. No known format takes nearly as long.
const FORMAT_TIMEOUT_MS: u32 = 4 * 3600 * 1000;

/// The admin commands in use. The first three only query the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admin {
    /// Get Log Page of the whole drive, from the start of the page.
    GetLogPage {
        /// Log Page Identifier.
        log: u8,
    },
    /// Identify without a namespace: the controller or a list.
    Identify(Structure),
    /// Identify Namespace.
    IdentifyNamespace {
        /// The namespace ID.
        namespace: u32,
    },
    /// Format NVM with an erase of the user data.
    Format {
        /// The namespace ID.
        namespace: u32,
        /// The layout to format it with.
        layout: Layout,
    },
    /// Sanitize by block erase. After a failure, only a successful sanitize makes the drive usable
    /// again. The erased blocks are deallocated.
    SanitizeBlockErase,
}

/// The data structure that Identify returns (CNS).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structure {
    /// The controller.
    Controller = 0x01,
    /// The list of namespaces attached to this controller.
    ActiveNamespaces = 0x02,
    /// The list of all namespaces of the subsystem, attached or not.
    AllocatedNamespaces = 0x10,
}

/// The layout of a namespace, which a format must keep: the fields of Identify Namespace that
/// Format NVM sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Formatted LBA Size (FLBAS): the format number and the location of metadata.
    pub(crate) flbas: u8,
    /// End-to-end Data Protection Type Settings (DPS).
    pub(crate) dps: u8,
}

impl Layout {
    /// Returns the format number.
    pub(crate) fn format(self) -> u8 {
        self.flbas & 0xF | (self.flbas >> 5 & 3) << 4
    }

    /// Returns command dword 10 of Format NVM, with Secure Erase Settings 1: an erase of the user
    /// data.
    fn dword_10(self) -> u32 {
        let [flbas, dps, format] = [self.flbas, self.dps, self.format()].map(u32::from);
        let metadata = flbas >> 4 & 1;
        let (protection, protection_first) = (dps & 7, dps >> 3 & 1);
        format & 0xF
            | metadata << 4
            | protection << 5
            | protection_first << 8
            | 1 << 9
            | format >> 4 << 12
    }
}

/// `struct nvme_passthru_cmd` of the kernel's `linux/nvme_ioctl.h`.
#[derive(Debug, Default)]
#[repr(C)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_len: u32,
    data_len: u32,
    dwords_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

impl Command {
    fn bytes(self) -> [u8; 72] {
        // SAFETY: the struct has no padding: its fields fill its 72 bytes.
        unsafe { std::mem::transmute(self) }
    }
}

/// `NVME_IOCTL_ID` of the kernel's `linux/nvme_ioctl.h`, which returns the namespace ID.
const NAMESPACE_ID: libc::Ioctl = libc::_IO(b'N' as u32, 0x40);

/// `NVME_IOCTL_ADMIN_CMD` of the kernel's `linux/nvme_ioctl.h`.
const ADMIN_COMMAND: libc::Ioctl = libc::_IOWR::<Command>(b'N' as u32, 0x41);

impl Admin {
    /// Encodes the command for the kernel. The drive's response fills `answer`.
    ///
    /// A timeout of 0 stands for the kernel's default. A shorter timeout would be risky, because
    /// the kernel resets a drive that exceeds it. Get Log Page does not set the bit Retain
    /// Asynchronous Event, because older drives may reject that bit.
    fn encode(self, answer: &mut [u8]) -> Command {
        let data_len = u32::try_from(answer.len()).expect("a page of memory");
        let (opcode, namespace, dword_10, timeout_ms) = match self {
            Admin::GetLogPage { log } => {
                (0x02, ALL_NAMESPACES, (data_len / 4 - 1) << 16 | u32::from(log), 0)
            }
            Admin::Identify(structure) => (0x06, 0, structure as u32, 0),
            Admin::IdentifyNamespace { namespace } => (0x06, namespace, 0x00, 0),
            Admin::Format { namespace, layout } => {
                (0x80, namespace, layout.dword_10(), FORMAT_TIMEOUT_MS)
            }
            Admin::SanitizeBlockErase => (0x84, 0, 0x2, 0),
        };
        let data = if answer.is_empty() { 0 } else { answer.as_mut_ptr().expose_provenance() };
        Command {
            opcode,
            namespace,
            data: data as u64,
            data_len,
            dwords_10_15: [dword_10, 0, 0, 0, 0, 0],
            timeout_ms,
            ..Command::default()
        }
    }
}

/// `NVME_IOCTL_IO_CMD` of the kernel's `linux/nvme_ioctl.h`.
const IO_COMMAND: libc::Ioctl = libc::_IOWR::<Command>(b'N' as u32, 0x43);

/// Encodes Reservation Report, which only queries the drive. It is the only command that is sent
/// with [`IO_COMMAND`]. `extended` requests 128-bit host identifiers.
fn encode_reservation_report(namespace: u32, extended: bool, answer: &mut [u8]) -> Command {
    let data_len = u32::try_from(answer.len()).expect("a page of memory");
    Command {
        opcode: 0x0E,
        namespace,
        data: answer.as_mut_ptr().expose_provenance() as u64,
        data_len,
        dwords_10_15: [data_len / 4 - 1, u32::from(extended), 0, 0, 0, 0],
        ..Command::default()
    }
}

/// Queries the reservations of the open namespace and fills `answer`.
pub(crate) fn reservation_report(
    file: &File,
    extended: bool,
    answer: &mut [u8],
) -> Result<(), CommandError> {
    let namespace = file.namespace().map_err(CommandError::System)?;
    let mut command = encode_reservation_report(namespace, extended, answer);
    // SAFETY: the only address in the command is that of `answer`, which is borrowed during the
    // call.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), IO_COMMAND, &raw mut command) };
    result(answer)
}

/// Converts the return value of the kernel to the result of a command.
fn result(answer: libc::c_int) -> Result<(), CommandError> {
    match u32::try_from(answer) {
        Ok(0) => Ok(()),
        // The bits above the status are "more" and "do not retry".
        Ok(status) => Err(CommandError::Status(status & 0x7FF)),
        Err(_) => Err(CommandError::System(io::Error::last_os_error())),
    }
}

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The operating system did not send the command.
    System(io::Error),
    /// The drive rejected the command, with the status code type (bits 8 to 10) and status code
    /// (bits 0 to 7) of the completion.
    Status(u32),
}

/// A receiver of commands: an open NVMe drive, or a fake in tests.
pub(crate) trait Controller {
    /// Returns the ID of the open namespace.
    fn namespace(&self) -> io::Result<u32>;

    /// Sends a command and fills `answer` with the data of the response.
    fn send(&self, command: Admin, answer: &mut [u8]) -> Result<(), CommandError>;
}

impl Controller for &File {
    fn namespace(&self) -> io::Result<u32> {
        // SAFETY: the request takes no argument. If another driver uses the number for a request
        // with an argument, that argument is a null address.
        let answer = unsafe { libc::ioctl(self.as_raw_fd(), NAMESPACE_ID, 0) };
        u32::try_from(answer).map_err(|_| io::Error::last_os_error())
    }

    fn send(&self, command: Admin, answer: &mut [u8]) -> Result<(), CommandError> {
        let mut command = command.encode(answer);
        // SAFETY: the request number states that its argument is read and written, and that it has
        // the size of this struct. The only address in it is that of `answer`, which is borrowed
        // during the call and has the stated length.
        let answer = unsafe { libc::ioctl(self.as_raw_fd(), ADMIN_COMMAND, &raw mut command) };
        result(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A device that does not support the command returns an error of the system and leaves the page
    // unchanged.
    #[test]
    fn other_devices_return_an_error() {
        let null = &File::open("/dev/null").unwrap();
        let mut page = [7; 512];
        let answer = null.send(Admin::GetLogPage { log: 2 }, &mut page);
        let Err(CommandError::System(error)) = answer else { panic!("{answer:?}") };
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        assert_eq!(page, [7; 512]);
        assert_eq!(null.namespace().unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }

    #[test]
    fn request_numbers_agree_with_the_kernel() {
        assert_eq!(size_of::<Command>(), 72);
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            assert_eq!(ADMIN_COMMAND, 0xC048_4E41);
            assert_eq!(IO_COMMAND, 0xC048_4E43);
            assert_eq!(NAMESPACE_ID, 0x4E40);
        }
    }

    /// Returns the bytes of a command with its address zeroed, and the address.
    fn bytes(command: Admin, answer: &mut [u8]) -> ([u8; 72], u64) {
        let mut bytes = command.encode(answer).bytes();
        let address = u64::from_ne_bytes(bytes[24..32].try_into().unwrap());
        bytes[24..32].fill(0);
        (bytes, address)
    }

    /// Returns 72 bytes that are 0 except for those given. For little-endian machines.
    fn golden(places: &[(usize, &[u8])]) -> [u8; 72] {
        let mut expected = [0; 72];
        for (at, bytes) in places {
            expected[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        expected
    }

    const ALL: &[u8] = &[0xFF, 0xFF, 0xFF, 0xFF];

    #[test]
    #[cfg(target_endian = "little")]
    fn queries_are_encoded_as_specified() {
        let cases: [(Admin, usize, [u8; 72]); 6] = [
            (
                Admin::GetLogPage { log: 0x02 },
                512,
                golden(&[(0, &[2]), (4, ALL), (36, &[0, 2]), (40, &[0x02, 0, 0x7F, 0])]),
            ),
            (
                Admin::GetLogPage { log: 0xC0 },
                512,
                golden(&[(0, &[2]), (4, ALL), (36, &[0, 2]), (40, &[0xC0, 0, 0x7F, 0])]),
            ),
            (
                Admin::GetLogPage { log: 0x81 },
                512,
                golden(&[(0, &[2]), (4, ALL), (36, &[0, 2]), (40, &[0x81, 0, 0x7F, 0])]),
            ),
            (
                Admin::Identify(Structure::Controller),
                4096,
                golden(&[(0, &[6]), (36, &[0, 0x10]), (40, &[0x01])]),
            ),
            (
                Admin::Identify(Structure::AllocatedNamespaces),
                4096,
                golden(&[(0, &[6]), (36, &[0, 0x10]), (40, &[0x10])]),
            ),
            (
                Admin::IdentifyNamespace { namespace: 0x0102 },
                4096,
                golden(&[(0, &[6]), (4, &[2, 1]), (36, &[0, 0x10])]),
            ),
        ];
        for (command, len, expected) in cases {
            let mut answer = vec![0; len];
            let address = answer.as_ptr() as u64;
            assert_eq!(bytes(command, &mut answer), (expected, address), "{command:?}");
        }
        let (list, _) = bytes(Admin::Identify(Structure::ActiveNamespaces), &mut [0; 4096]);
        assert_eq!(list[40..44], [2, 0, 0, 0]);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn reservation_reports_are_encoded_as_specified() {
        for (extended, dword_11) in [(false, 0), (true, 1)] {
            let mut answer = [0; 4096];
            let address = answer.as_ptr() as u64;
            let mut bytes = encode_reservation_report(3, extended, &mut answer).bytes();
            assert_eq!(bytes[24..32], address.to_ne_bytes());
            bytes[24..32].fill(0);
            let expected = golden(&[
                (0, &[0x0E]),
                (4, &[3]),
                (36, &[0, 0x10]),
                (40, &[0xFF, 0x03, 0, 0]),
                (44, &[dword_11]),
            ]);
            assert_eq!(bytes, expected, "{extended}");
        }
    }

    // The format requests an erase of user data (bits 9 to 11 of dword 10) and keeps format,
    // metadata and protection. It has a timeout of four hours and no buffer.
    #[test]
    #[cfg(target_endian = "little")]
    fn format_keeps_the_layout() {
        let cases: [(u8, u8, [u8; 2]); 8] = [
            // The format number: 0 to 15 in bits 0 to 3, with bits 12 and 13 up to 63.
            (0x00, 0x00, [0x00, 0x02]),
            (0x01, 0x00, [0x01, 0x02]),
            (0x0F, 0x00, [0x0F, 0x02]),
            (0x60, 0x00, [0x00, 0x32]),
            // Metadata at the end of the data: bit 4.
            (0x13, 0x00, [0x13, 0x02]),
            // Protection of type 1 and type 3 in bits 5 to 7; at the start of the metadata: bit 8.
            (0x01, 0x01, [0x21, 0x02]),
            (0x01, 0x0B, [0x61, 0x03]),
            // Reserved bits are dropped.
            (0x80, 0xF0, [0x00, 0x02]),
        ];
        for (flbas, dps, dword_10) in cases {
            let command = Admin::Format { namespace: 3, layout: Layout { flbas, dps } };
            let timeout = 14_400_000u32.to_le_bytes();
            let expected = golden(&[(0, &[0x80]), (4, &[3]), (40, &dword_10), (64, &timeout)]);
            assert_eq!(bytes(command, &mut []), (expected, 0), "{flbas:#x} {dps:#x}");
        }
    }

    // The command requests restricted completion mode and deallocation of the blocks.
    #[test]
    #[cfg(target_endian = "little")]
    fn sanitize_is_a_block_erase() {
        let expected = golden(&[(0, &[0x84]), (40, &[0x02])]);
        assert_eq!(bytes(Admin::SanitizeBlockErase, &mut []), (expected, 0));
    }
}
