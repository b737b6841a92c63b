//! NVMe commands: their encoding, and the kernel's way to hand one to a drive.
//!
//! Those that administer a drive are here, those that move data in [`nvm`].
//!
//! Names, numbers and offsets are those of the NVM Express Base Specification.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "commands to NVMe drives, of a closed list: to the descriptor that the guard opened, or reads alone"
    )
)]
#![allow(
    unsafe_code,
    reason = "commands to a drive by ioctl, which no library of ours knows, and their bytes"
)]

pub(crate) mod namespace;
pub(crate) mod nvm;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Every namespace: for log pages that are of the whole drive.
const ALL_NAMESPACES: u32 = 0xFFFF_FFFF;

/// Bytes of the answer to Identify.
pub(crate) const IDENTIFY_LEN: usize = 4096;

/// How long a format may take: four hours. The kernel resets a drive that takes longer, which in the
/// midst of a format may leave it unusable, so this is far longer than any is known to take.
const FORMAT_TIMEOUT_MS: u32 = 4 * 3600 * 1000;

/// The admin commands that are ever sent. The first three change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admin {
    /// Get Log Page, from the start of the page, of the whole drive.
    GetLogPage {
        /// Log Page Identifier.
        log: u8,
    },
    /// Identify of the controller or of a list: those that name no namespace.
    Identify(Structure),
    /// Identify Namespace.
    IdentifyNamespace {
        /// Which one.
        namespace: u32,
    },
    /// Format NVM with an erase of the user data.
    Format {
        /// Which one.
        namespace: u32,
        /// The format to give it.
        layout: Layout,
    },
    /// Sanitize by block erase: it can be left only by a sanitize that succeeds, and what it erased is
    /// deallocated.
    SanitizeBlockErase,
}

/// What Identify answers about (CNS).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structure {
    /// The controller.
    Controller = 0x01,
    /// The namespaces that this controller may use.
    ActiveNamespaces = 0x02,
    /// The namespaces of the whole subsystem, attached or not.
    AllocatedNamespaces = 0x10,
}

/// How a namespace is formatted, of which nothing is to change: the fields of Identify Namespace that
/// Format NVM is given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Formatted LBA Size (FLBAS): the number of the format, and where metadata are.
    pub(crate) flbas: u8,
    /// End-to-end Data Protection Type Settings (DPS).
    pub(crate) dps: u8,
}

impl Layout {
    /// The number of the format.
    pub(crate) fn format(self) -> u8 {
        self.flbas & 0xF | (self.flbas >> 5 & 3) << 4
    }

    /// Command dword 10 of Format NVM, with Secure Erase Settings of 1, an erase of user data.
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

/// `NVME_IOCTL_ID` there, which answers with the number of the namespace.
const NAMESPACE_ID: libc::Ioctl = libc::_IO(b'N' as u32, 0x40);

/// `NVME_IOCTL_ADMIN_CMD` there.
const ADMIN_COMMAND: libc::Ioctl = libc::_IOWR::<Command>(b'N' as u32, 0x41);

impl Admin {
    /// The command as the kernel takes it, which reads into the whole of `answer`.
    ///
    /// Where nothing is said of a timeout it is the kernel's, as it resets a drive that does not keep a
    /// shorter one. In Get Log Page, the bit that retains asynchronous events stays clear, as drives
    /// older than it may refuse it.
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

/// `NVME_IOCTL_IO_CMD` there.
const IO_COMMAND: libc::Ioctl = libc::_IOWR::<Command>(b'N' as u32, 0x43);

/// Reservation Report, the one command to a namespace that is sent this way: it changes nothing. `extended` asks for
/// identifiers of hosts of 128 bits.
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

/// Asks the namespace that is open who has reserved it, and fills `answer`.
pub(crate) fn reservation_report(
    file: &File,
    extended: bool,
    answer: &mut [u8],
) -> Result<(), Failed> {
    let namespace = file.namespace().map_err(Failed::System)?;
    let mut command = encode_reservation_report(namespace, extended, answer);
    // SAFETY: as for commands that administer: the one address is that of `answer`, which is borrowed for the call.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), IO_COMMAND, &raw mut command) };
    ended(answer)
}

/// How a command ended for which the kernel returned this.
fn ended(answer: libc::c_int) -> Result<(), Failed> {
    match u32::try_from(answer) {
        Ok(0) => Ok(()),
        // With the bits "more" and "do not retry" above them.
        Ok(status) => Err(Failed::Status(status & 0x7FF)),
        Err(_) => Err(Failed::System(io::Error::last_os_error())),
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The operating system did not hand it over.
    System(io::Error),
    /// The drive refused: status code type and status code of the completion, as in its bits 8 to 10
    /// and 0 to 7.
    Status(u32),
}

/// What answers commands: an open NVMe drive, or in tests what stands for one.
pub(crate) trait Controller {
    /// The number of the namespace that is open.
    fn namespace(&self) -> io::Result<u32>;

    /// Sends a command, and fills `answer` where it answers with more than a status.
    fn send(&self, command: Admin, answer: &mut [u8]) -> Result<(), Failed>;
}

impl Controller for &File {
    fn namespace(&self) -> io::Result<u32> {
        // SAFETY: the request takes no argument. Where another driver takes the number for one that does, its address is
        // none.
        let answer = unsafe { libc::ioctl(self.as_raw_fd(), NAMESPACE_ID, 0) };
        u32::try_from(answer).map_err(|_| io::Error::last_os_error())
    }

    fn send(&self, command: Admin, answer: &mut [u8]) -> Result<(), Failed> {
        let mut command = command.encode(answer);
        // SAFETY: the number says that its argument is read and written, and how long it is: that of this struct. The one
        // address in it is that of `answer`, which is borrowed for as long as the call lasts and as long as the struct says.
        let answer = unsafe { libc::ioctl(self.as_raw_fd(), ADMIN_COMMAND, &raw mut command) };
        ended(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is what knows no such command an error of the system, and the page left as it was?
    #[test]
    fn a_device_without_the_command() {
        let null = &File::open("/dev/null").unwrap();
        let mut page = [7; 512];
        let answer = null.send(Admin::GetLogPage { log: 2 }, &mut page);
        let Err(Failed::System(error)) = answer else { panic!("{answer:?}") };
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        assert_eq!(page, [7; 512]);
        assert_eq!(null.namespace().unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }

    // Do the requests have the numbers that the kernel's header gives?
    #[test]
    fn requests() {
        assert_eq!(size_of::<Command>(), 72);
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            assert_eq!(ADMIN_COMMAND, 0xC048_4E41);
            assert_eq!(IO_COMMAND, 0xC048_4E43);
            assert_eq!(NAMESPACE_ID, 0x4E40);
        }
    }

    /// The bytes of a command but for its memory, and the length of that.
    fn bytes(command: Admin, answer: &mut [u8]) -> ([u8; 72], u64) {
        let mut bytes = command.encode(answer).bytes();
        let address = u64::from_ne_bytes(bytes[24..32].try_into().unwrap());
        bytes[24..32].fill(0);
        (bytes, address)
    }

    /// 72 bytes of which those at these places are not 0; on a machine that is little-endian.
    fn golden(places: &[(usize, &[u8])]) -> [u8; 72] {
        let mut expected = [0; 72];
        for (at, bytes) in places {
            expected[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        expected
    }

    const ALL: &[u8] = &[0xFF, 0xFF, 0xFF, 0xFF];

    // Is each command that reads, byte by byte, what the specification and the kernel's header say, and
    // nothing else, with the memory that was given?
    #[test]
    #[cfg(target_endian = "little")]
    fn commands_that_read() {
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

    // Is a Reservation Report, byte by byte, what the specification says?
    #[test]
    #[cfg(target_endian = "little")]
    fn reservation_reports() {
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

    // Is a format, byte by byte, an erase of user data (bits 9 to 11 of dword 10) that names the format,
    // its metadata and its protection as they were, within four hours and without any memory?
    #[test]
    #[cfg(target_endian = "little")]
    fn format_keeps_the_format() {
        let cases: [(u8, u8, [u8; 2]); 8] = [
            // The number of the format, from 0 to 15 and, in bits 12 and 13, to 63.
            (0x00, 0x00, [0x00, 0x02]),
            (0x01, 0x00, [0x01, 0x02]),
            (0x0F, 0x00, [0x0F, 0x02]),
            (0x60, 0x00, [0x00, 0x32]),
            // Metadata at the end of the data: bit 4.
            (0x13, 0x00, [0x13, 0x02]),
            // Protection of type 1, and of type 3, in bits 5 to 7; first in the metadata: bit 8.
            (0x01, 0x01, [0x21, 0x02]),
            (0x01, 0x0B, [0x61, 0x03]),
            // Bits that are reserved are not passed on.
            (0x80, 0xF0, [0x00, 0x02]),
        ];
        for (flbas, dps, dword_10) in cases {
            let command = Admin::Format { namespace: 3, layout: Layout { flbas, dps } };
            let timeout = 14_400_000u32.to_le_bytes();
            let expected = golden(&[(0, &[0x80]), (4, &[3]), (40, &dword_10), (64, &timeout)]);
            assert_eq!(bytes(command, &mut []), (expected, 0), "{flbas:#x} {dps:#x}");
        }
    }

    // Is a sanitize, byte by byte, a block erase that can be left by nothing but success, and after which
    // blocks are deallocated?
    #[test]
    #[cfg(target_endian = "little")]
    fn sanitize_is_a_block_erase() {
        let expected = golden(&[(0, &[0x84]), (40, &[0x02])]);
        assert_eq!(bytes(Admin::SanitizeBlockErase, &mut []), (expected, 0));
    }
}
