use flashscope_block::{Bytes, DeviceInfo, Errno};

use crate::buffer::Memory;
use crate::error::OpenError;
use crate::hardware::Hardware;
use crate::options::OpenOptions;
use crate::target::Target;

/// A block device or file whose caller supplies the data of writes and receives the data of reads.
/// Each call returns when the drive has completed the operation. Several threads may call at once.
///
/// The caller must keep each range within the drive and a multiple of the logical block, with a
/// length above 0. These rules are not checked here: the kernel may reject a range that breaks one,
/// and a write beyond the end of a file extends the file. Writes and trims return `EROFS` if the
/// drive was not opened for writing.
pub struct Contents {
    target: Target,
    writable: bool,
}

impl Contents {
    /// Opens the drive after all guards have agreed, and returns it with its properties.
    ///
    /// # Errors
    /// [`OpenError`] states the problem and the remedy.
    pub fn open(options: &OpenOptions) -> Result<(Contents, DeviceInfo), OpenError> {
        options.check()?;
        let target = Target::open(options)?;
        let info = target.info(options, Hardware::of(target.identity()), None);
        Ok((Contents { target, writable: options.writes() }, info))
    }

    /// Reads data.
    ///
    /// # Errors
    /// The error of the drive; `ENODATA` if the data ends early, as in a truncated file.
    pub fn read(&self, offset: Bytes, data: &mut [u8]) -> Result<(), Errno> {
        let mut memory = memory(data.len())?;
        let buffer = memory.bytes(data.len());
        let mut done = 0;
        while done < data.len() {
            match self.target.read(Bytes(offset.0 + done as u64), &mut buffer[done..])? {
                0 => return Err(Errno::ENODATA),
                read => done += usize::try_from(read).map_err(|_| Errno::EIO)?,
            }
        }
        data.copy_from_slice(buffer);
        Ok(())
    }

    /// Writes data.
    ///
    /// # Errors
    /// The error of the drive.
    pub fn write(&self, offset: Bytes, data: &[u8]) -> Result<(), Errno> {
        self.check_writable()?;
        let mut memory = memory(data.len())?;
        let buffer = memory.bytes(data.len());
        buffer.copy_from_slice(data);
        let mut done = 0;
        while done < data.len() {
            match self.target.write(Bytes(offset.0 + done as u64), &buffer[done..])? {
                0 => return Err(Errno::EIO),
                written => done += usize::try_from(written).map_err(|_| Errno::EIO)?,
            }
        }
        Ok(())
    }

    /// Tells the drive that the data of a range is no longer needed.
    ///
    /// # Errors
    /// The error of the drive; `EOPNOTSUPP` if it does not support TRIM.
    pub fn trim(&self, offset: Bytes, len: Bytes) -> Result<(), Errno> {
        self.check_writable()?;
        self.target.trim(offset, len)
    }

    /// Makes completed writes durable.
    ///
    /// # Errors
    /// The error of the drive.
    pub fn flush(&self) -> Result<(), Errno> {
        self.target.flush()
    }

    fn check_writable(&self) -> Result<(), Errno> {
        if self.writable { Ok(()) } else { Err(Errno::EROFS) }
    }
}

/// Allocates memory that meets the alignment of direct IO.
fn memory(len: usize) -> Result<Memory, Errno> {
    Memory::new(len).map_err(Errno::from)
}

#[cfg(test)]
mod tests {
    use crate::{Access, Location};

    use super::*;

    fn options(folder: &tempfile::TempDir, access: Access) -> OpenOptions {
        let location = Location::File(folder.path().join("drive"));
        OpenOptions { access, size: Some(Bytes::mib(1)), ..OpenOptions::new(location) }
    }

    // Trimmed data reads as zeros. Reads beyond the end and writes to a read-only drive fail.
    #[test]
    fn written_data_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let writes = Access::Write { confirmation: None };
        let (drive, info) = Contents::open(&options(&folder, writes)).unwrap();
        assert_eq!(info.capacity, Bytes::mib(1));
        drive.write(Bytes(8192), &[7; 8192]).unwrap();
        drive.flush().unwrap();
        drive.trim(Bytes(12288), Bytes(4096)).unwrap();
        let mut data = [1; 12288];
        drive.read(Bytes(4096), &mut data).unwrap();
        let byte = |at: usize| if (4096..8192).contains(&at) { 7 } else { 0 };
        assert!((0..data.len()).all(|at| data[at] == byte(at)));
        assert_eq!(drive.read(Bytes::mib(1), &mut data), Err(Errno::ENODATA));
        drop(drive);
        let (reader, _) = Contents::open(&options(&folder, Access::ReadOnly)).unwrap();
        reader.read(Bytes(8192), &mut data[..4096]).unwrap();
        assert_eq!(data[0], 7);
        assert_eq!(reader.write(Bytes(0), &data[..4096]), Err(Errno::EROFS));
        assert_eq!(reader.trim(Bytes(0), Bytes(4096)), Err(Errno::EROFS));
    }
}
