//! The kernel's way to hand a command to an NVMe drive.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::{Controller, Drive, Failed, LogId, LogPage, PAGE_LEN};
use crate::guard::Identity;

/// Get Log Page (NVM Express Base Specification, admin commands).
const GET_LOG_PAGE: u8 = 0x02;

/// Every namespace: the pages are of the whole drive.
const ALL_NAMESPACES: u32 = 0xFFFF_FFFF;

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

/// `NVME_IOCTL_ADMIN_CMD` there.
const ADMIN_COMMAND: libc::Ioctl = libc::_IOWR::<Command>(b'N' as u32, 0x41);

/// Get Log Page of a whole page.
///
/// The timeout is the kernel's, as it resets a drive that does not keep a shorter one. The bit that
/// retains asynchronous events stays clear, as drives older than it may refuse it.
fn get_log_page(log: LogId, page: &mut LogPage) -> Command {
    Command {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        data: page.as_mut_ptr().expose_provenance() as u64,
        data_len: PAGE_LEN,
        dwords_10_15: [(PAGE_LEN / 4 - 1) << 16 | log as u32, 0, 0, 0, 0, 0],
        ..Command::default()
    }
}

/// An NVMe drive, open for reading.
pub(super) struct Passthrough(File);

impl Passthrough {
    /// Fails where the node of the drive leads to something else.
    pub(super) fn open(drive: &Drive) -> io::Result<Passthrough> {
        let file = File::open(&drive.node)?;
        if Identity::of(&file)? != Identity::Block(drive.number) {
            return Err(io::Error::other("its node in /dev leads to something else"));
        }
        Ok(Passthrough(file))
    }
}

impl Controller for Passthrough {
    fn get_log_page(&self, log: LogId, page: &mut LogPage) -> Result<(), Failed> {
        let mut command = get_log_page(log, page);
        // SAFETY: the request takes this struct, and the one address in it is that of `page`, which
        // is borrowed for as long as the call lasts and as long as the struct says.
        let answer = unsafe { libc::ioctl(self.0.as_raw_fd(), ADMIN_COMMAND, &raw mut command) };
        match u32::try_from(answer) {
            Ok(0) => Ok(()),
            // With the bits "more" and "do not retry" above them.
            Ok(status) => Err(Failed::Status(status & 0x7FF)),
            Err(_) => Err(Failed::System(io::Error::last_os_error())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is what knows no such command an error of the system, and the page left as it was?
    #[test]
    fn a_device_without_the_command() {
        let null = Passthrough(File::open("/dev/null").unwrap());
        let mut page = [7; 512];
        let answer = null.get_log_page(LogId::Smart, &mut page);
        let Err(Failed::System(error)) = answer else { panic!("{answer:?}") };
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        assert_eq!(page, [7; 512]);
    }

    // Is the command, byte by byte, a read of 512 bytes of the log of all namespaces and nothing
    // else, under the number that the kernel's header gives?
    #[test]
    fn the_command_is_get_log_page() {
        assert_eq!(size_of::<Command>(), 72);
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            assert_eq!(ADMIN_COMMAND, 0xC048_4E41);
        }
        for (log, dword_10) in [(LogId::Smart, 0x007F_0002), (LogId::Extended, 0x007F_00C0)] {
            let mut page = [0; 512];
            let address = page.as_ptr() as u64;
            let command = get_log_page(log, &mut page);
            // SAFETY: the struct has no padding: its fields fill its 72 bytes.
            let bytes: [u8; 72] = unsafe { std::mem::transmute(command) };
            let mut expected = [0; 72];
            expected[0] = 2;
            expected[4..8].fill(0xFF);
            expected[24..32].copy_from_slice(&address.to_ne_bytes());
            expected[36..40].copy_from_slice(&512u32.to_ne_bytes());
            expected[40..44].copy_from_slice(&u32::to_ne_bytes(dword_10));
            assert_eq!(bytes, expected);
        }
    }
}
