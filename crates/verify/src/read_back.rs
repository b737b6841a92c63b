use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_block::{Bytes, Errno};

use crate::plan::Plan;
use crate::stamp::{Reading, SECTOR, Stamp};

/// The length of a read in bytes.
const CHUNK: usize = 1 << 20;

/// The codes of sectors without a write, above the number of any write.
const FOREIGN: u64 = u64::MAX;
const CORRUPT: u64 = u64::MAX - 1;
const MISPLACED: u64 = u64::MAX - 2;
const UNREADABLE: u64 = u64::MAX - 3;

/// The content of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SectorContent {
    /// The data of the write with this number.
    Write(u64),
    /// No data of this verification.
    Foreign,
    /// Damaged data of this verification.
    Corrupt,
    /// Data of this verification for another sector.
    Misplaced,
    /// The drive returned an error.
    Unreadable,
}

/// The contents of the target space after a power cut. The value needs 8 bytes of memory for each
/// sector.
pub struct ReadBack {
    codes: Vec<u64>,
    /// The number of sectors with data of this verification.
    pub own: u64,
    /// The number of sectors with data of another verification.
    pub others: u64,
}

/// The reason why the contents are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadBackError {
    /// The caller stopped the reading.
    Stopped,
    /// The drive was removed, or does not answer.
    Gone(Errno),
}

/// Reads a range of a drive: fills the buffer with the data from the offset on.
pub type Read<'a> = dyn FnMut(Bytes, &mut [u8]) -> Result<(), Errno> + 'a;

/// Reads the target space with `read`. Calls `progress` with the number of bytes that were read.
///
/// # Errors
/// Returns an error if `stop` is set, or if the drive was removed or does not answer. A range that
/// the drive cannot read is not an error.
pub fn read_back(
    plan: &Plan,
    read: &mut Read<'_>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<ReadBack, ReadBackError> {
    let workload = plan.workload();
    let block = usize::try_from(workload.block.0).unwrap_or(CHUNK);
    let mut back = ReadBack { codes: Vec::with_capacity(plan.sectors()), own: 0, others: 0 };
    let mut buffer = vec![0; CHUNK.max(block)];
    let size = workload.target_size.0;
    let mut done = 0;
    while done < size {
        if stop.load(Ordering::Relaxed) {
            return Err(ReadBackError::Stopped);
        }
        let len = usize::try_from(size - done).unwrap_or(usize::MAX).min(buffer.len());
        let offset = workload.target_offset + Bytes(done);
        let chunk = &mut buffer[..len];
        match read(offset, chunk) {
            Ok(()) => back.add(workload.run, offset, chunk),
            Err(errno) if errno.is_drive_gone() => return Err(ReadBackError::Gone(errno)),
            Err(_) => back.add_blocks(workload.run, offset, chunk, block, read)?,
        }
        done += len as u64;
        progress(done);
    }
    Ok(back)
}

impl ReadBack {
    /// Adds a chunk that could not be read in one call, block by block.
    fn add_blocks(
        &mut self,
        run: u64,
        offset: Bytes,
        chunk: &mut [u8],
        block: usize,
        read: &mut Read<'_>,
    ) -> Result<(), ReadBackError> {
        for (number, part) in chunk.chunks_mut(block).enumerate() {
            let at = offset + Bytes((number * block) as u64);
            match read(at, part) {
                Ok(()) => self.add(run, at, part),
                Err(errno) if errno.is_drive_gone() => return Err(ReadBackError::Gone(errno)),
                Err(_) => self.codes.extend(part.chunks(SECTOR).map(|_| UNREADABLE)),
            }
        }
        Ok(())
    }

    /// Adds the sectors of a chunk at `offset`.
    fn add(&mut self, run: u64, offset: Bytes, chunk: &[u8]) {
        let first = offset.0 / SECTOR as u64;
        for (sector, bytes) in (first..).zip(chunk.chunks_exact(SECTOR)) {
            let reading = Stamp::read(bytes);
            let is_own = match reading {
                Reading::Whole(stamp) | Reading::Damaged(stamp) => {
                    self.others += u64::from(stamp.run != run);
                    stamp.run == run
                }
                Reading::Foreign => false,
            };
            self.own += u64::from(is_own);
            self.codes.push(match reading {
                Reading::Whole(stamp) if is_own && stamp.sector != sector => MISPLACED,
                Reading::Whole(stamp) if is_own && stamp.write < UNREADABLE => stamp.write,
                _ if is_own => CORRUPT,
                _ => FOREIGN,
            });
        }
    }

    /// Returns the content of a sector of the target space.
    #[must_use]
    pub(crate) fn get(&self, sector: usize) -> SectorContent {
        match self.codes[sector] {
            FOREIGN => SectorContent::Foreign,
            CORRUPT => SectorContent::Corrupt,
            MISPLACED => SectorContent::Misplaced,
            UNREADABLE => SectorContent::Unreadable,
            write => SectorContent::Write(write),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::WORKLOAD;

    /// Fills `drive` with the stamps of write 0.
    fn fill(drive: &mut [u8], run: u64) {
        for (sector, bytes) in (0..).zip(drive.chunks_exact_mut(SECTOR)) {
            Stamp { run, write: 0, sector }.fill(bytes);
        }
    }

    #[test]
    fn each_sector_is_recognised() {
        let plan = Plan::new(WORKLOAD).unwrap();
        let mut drive = vec![0; 2 << 20];
        fill(&mut drive, WORKLOAD.run);
        let first = 128;
        let other = drive[..SECTOR].to_vec();
        drive[first * SECTOR..][..SECTOR].copy_from_slice(&other);
        drive[(first + 1) * SECTOR + 100] ^= 1;
        drive[(first + 2) * SECTOR..][..SECTOR].fill(0);
        Stamp { run: 1, write: 5, sector: 131 }.fill(&mut drive[131 * SECTOR..132 * SECTOR]);
        let unreadable = 132 * SECTOR;
        let mut read = |offset: Bytes, buffer: &mut [u8]| {
            let start = usize::try_from(offset.0).unwrap();
            let range = start..start + buffer.len();
            if range.contains(&unreadable) {
                return Err(Errno::EIO);
            }
            buffer.copy_from_slice(&drive[range]);
            Ok(())
        };
        let stop = AtomicBool::new(false);
        let back = read_back(&plan, &mut read, &stop, &mut |_| ()).unwrap();
        let expected = [
            SectorContent::Misplaced,
            SectorContent::Corrupt,
            SectorContent::Foreign,
            SectorContent::Foreign,
            SectorContent::Unreadable,
        ];
        assert_eq!([0, 1, 2, 3, 4].map(|sector| back.get(sector)), expected);
        assert!((5..plan.sectors()).all(|sector| back.get(sector) == SectorContent::Write(0)));
        assert_eq!((back.own, back.others), (plan.sectors() as u64 - 3, 1));
        let mut gone = |_: Bytes, _: &mut [u8]| Err(Errno::ENODEV);
        let error = read_back(&plan, &mut gone, &stop, &mut |_| ()).err();
        assert_eq!(error, Some(ReadBackError::Gone(Errno::ENODEV)));
    }
}
