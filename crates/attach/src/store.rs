//! The store of a simulated drive's data, which the simulator itself does not keep.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "memory, and holes in a store: crates/drive/src/store.rs opens the store"
    )
)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use flashscope_block::{Bytes, Errno};
use flashscope_drive::{OpenError, STORE_DATA, StoreFile, StoreHeader};
use rustix::fs::{FallocateFlags, MemfdFlags, SeekFrom, fallocate, memfd_create, seek};

use crate::metadata::{BlockMetadata, Metadata};

/// The size in bytes of the pieces in which volatile data are kept.
const PIECE: usize = 4096;

const PIECE_LEN: u64 = PIECE as u64;

/// The number of volatile pieces at which all of them are first checked again for durability.
const RECHECK_PIECES: usize = 1024;

/// The data of a drive, in memory or in a sparse file. Ranges that were never written, or were
/// trimmed, read as zeros and take no space.
///
/// A store in a file contains the data on the flash. Data in the drive's write buffer, which a
/// power cut would lose, stay in the memory of this process until the drive has written them to
/// flash. Killing the process is therefore equivalent to a power cut of the drive. Such a cut never
/// tears a piece ([`Store::ATOMIC_UNIT`]), because one call writes each piece to the file, into one
/// page of the system's memory.
///
/// A read returns each write completely or not at all.
pub struct Store {
    place: Place,
    /// The metadata of blocks, if the store keeps any. Reads share the lock; writes and trims hold
    /// it exclusively.
    metadata: RwLock<Option<BlockMetadata>>,
    /// The data that a power cut would lose, by piece number; only for a store in a file.
    volatile: Option<Mutex<Volatile>>,
}

/// The location of the bytes.
enum Place {
    /// An anonymous file in memory.
    Memory(File),
    /// A locked file, in which the data follow a header.
    File(StoreFile),
}

impl Place {
    fn file(&self) -> &File {
        match self {
            Place::Memory(file) => file,
            Place::File(store) => store.file(),
        }
    }

    /// Returns the file offset of the drive's first byte.
    fn begin(&self) -> u64 {
        match self {
            Place::Memory(_) => 0,
            Place::File(_) => STORE_DATA,
        }
    }
}

#[derive(Default)]
struct Volatile {
    pieces: BTreeMap<u64, Box<[u8; PIECE]>>,
    /// The number of pieces at which all of them are checked again for durability.
    recheck_at: usize,
}

impl Store {
    /// The unit in bytes of atomic writes: a power cut never tears a write between two adjacent
    /// multiples of it.
    pub(crate) const ATOMIC_UNIT: Bytes = Bytes(PIECE_LEN);

    /// Creates a store of `capacity` bytes in memory.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn memory(capacity: Bytes) -> io::Result<Store> {
        let file = File::from(memfd_create("flashscope", MemfdFlags::CLOEXEC)?);
        file.set_len(capacity.0)?;
        let metadata = RwLock::new(Some(BlockMetadata::new(capacity)?));
        Ok(Store { place: Place::Memory(file), metadata, volatile: None })
    }

    /// Opens the store in the file `path`, which must belong to this drive; a missing file is
    /// created. With `ignore_open_by_others`, other processes may have the file open for writing,
    /// but not locked.
    ///
    /// # Errors
    /// Returns a [`flashscope_drive::StoreError`] if the file is neither empty nor a valid store of
    /// this drive, or the refusal of a guard.
    pub fn file(
        path: &Path,
        header: &StoreHeader,
        ignore_open_by_others: bool,
    ) -> Result<Store, OpenError> {
        let file = StoreFile::open(path, header, ignore_open_by_others)?;
        let volatile = Volatile { recheck_at: RECHECK_PIECES, ..Volatile::default() };
        let volatile = Some(Mutex::new(volatile));
        Ok(Store { place: Place::File(file), metadata: RwLock::default(), volatile })
    }

    /// Returns true if the last use of the store ended like a power cut: its process was killed, or
    /// ended with data in the drive's write buffer.
    pub fn was_cut(&self) -> bool {
        matches!(&self.place, Place::File(file) if file.was_cut())
    }

    /// Returns the ranges that contain data, in order.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn extents(&self) -> io::Result<Vec<Range<u64>>> {
        let begin = self.place.begin();
        let mut extents = Vec::new();
        let mut end = begin;
        while let Some(start) = self.seek(SeekFrom::Data(end))? {
            end = self.seek(SeekFrom::Hole(start))?.unwrap_or(start);
            extents.push(start - begin..end - begin);
        }
        Ok(extents)
    }

    /// Returns the start of the next data or hole; `None` past the last one.
    fn seek(&self, from: SeekFrom) -> io::Result<Option<u64>> {
        match seek(self.place.file(), from) {
            Ok(at) => Ok(Some(at)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    fn volatile(&self) -> Option<MutexGuard<'_, Volatile>> {
        let lock = self.volatile.as_ref()?.lock();
        Some(lock.unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns true for a store in a file, which keeps volatile data apart from durable data.
    pub(crate) fn models_power_cuts(&self) -> bool {
        self.volatile.is_some()
    }

    /// Returns true if the store keeps metadata of blocks. A file does not, because a power cut
    /// could separate them from their data.
    pub(crate) fn keeps_metadata(&self) -> bool {
        matches!(self.place, Place::Memory(_))
    }

    /// Reads the most recent data, and the metadata of their blocks.
    pub(crate) fn read(
        &self,
        offset: Bytes,
        data: &mut [u8],
        metadata: Option<&mut Metadata>,
    ) -> Result<(), Errno> {
        let kept = self.metadata.read().unwrap_or_else(PoisonError::into_inner);
        if let (Some(kept), Some(metadata)) = (&*kept, metadata) {
            kept.read(offset, data.len(), metadata)?;
        }
        let volatile = self.volatile();
        let at = self.place.begin() + offset.0;
        self.place.file().read_exact_at(data, at).map_err(Errno::from)?;
        if let Some(volatile) = volatile {
            volatile.read(offset.0, data);
        }
        Ok(())
    }

    /// Writes durably; without `data`, writes `len` zeros.
    pub(crate) fn write(&self, offset: Bytes, len: Bytes, data: &[u8]) -> Result<(), Errno> {
        self.write_blocks(offset, len, data, None)
    }

    /// Writes durably, with the metadata of the blocks; without `data`, writes `len` zeros.
    pub(crate) fn write_blocks(
        &self,
        offset: Bytes,
        len: Bytes,
        data: &[u8],
        metadata: Option<&Metadata>,
    ) -> Result<(), Errno> {
        let mut kept = self.metadata.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &mut *kept {
            kept.write(offset, len, metadata)?;
        }
        match data.is_empty() {
            true => self.punch(offset.0, len.0),
            false => self.write_at(data, offset.0),
        }
        .map_err(Errno::from)
    }

    /// Discards a range.
    pub(crate) fn trim(&self, offset: Bytes, len: Bytes) -> Result<(), Errno> {
        let mut kept = self.metadata.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &mut *kept {
            kept.write(offset, len, None)?;
        }
        if let Some(mut volatile) = self.volatile() {
            volatile.zero(offset.0, len.0);
        }
        self.punch(offset.0, len.0).map_err(Errno::from)
    }

    /// Writes zeros that count as data when the store is opened again. A store in memory is not
    /// opened again and writes none.
    pub(crate) fn occupy(&self, offset: Bytes, len: Bytes) -> Result<(), Errno> {
        if !self.models_power_cuts() {
            return Ok(());
        }
        self.write_at(&vec![0; index(len.0)], offset.0).map_err(Errno::from)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(self.place.file(), mode, self.place.begin() + offset, len)?)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.place.file().write_all_at(data, self.place.begin() + offset)
    }

    /// Writes data that a power cut may discard; without `data`, writes `len` zeros. Must be
    /// followed by [`Store::settle`].
    pub(crate) fn hold(&self, offset: Bytes, len: Bytes, data: &[u8]) -> Result<(), Errno> {
        let Some(mut volatile) = self.volatile() else {
            return self.write(offset, len, data);
        };
        for (piece, within) in pieces(offset.0, len.0) {
            let held = match volatile.pieces.entry(piece) {
                std::collections::btree_map::Entry::Occupied(held) => held.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    let mut held = Box::new([0; PIECE]);
                    if within.len() < PIECE {
                        self.read_piece(piece, &mut held).map_err(Errno::from)?;
                    }
                    place.insert(held)
                }
            };
            match data.is_empty() {
                true => held[within].fill(0),
                false => {
                    held[within.clone()].copy_from_slice(&data[source(piece, &within, offset)])
                }
            }
        }
        Ok(())
    }

    /// Reads a piece, which may extend past the end of the drive.
    fn read_piece(&self, piece: u64, held: &mut [u8; PIECE]) -> io::Result<()> {
        let mut filled = 0;
        while filled < PIECE {
            let at = self.place.begin() + piece * PIECE_LEN + filled as u64;
            match self.place.file().read_at(&mut held[filled..], at)? {
                0 => break,
                read => filled += read,
            }
        }
        Ok(())
    }

    /// Writes the volatile data of a range to the file as far as a power cut would no longer lose
    /// them. `lost` returns true for a range that a power cut would lose.
    pub(crate) fn settle(
        &self,
        offset: Bytes,
        len: Bytes,
        capacity: Bytes,
        lost: impl Fn(Bytes, Bytes) -> bool,
    ) -> Result<(), Errno> {
        let Some(mut volatile) = self.volatile() else {
            return Ok(());
        };
        let numbers = pieces(offset.0, len.0).map(|(piece, _)| piece);
        self.move_out(&mut volatile, numbers, capacity, &lost)?;
        if volatile.pieces.len() >= volatile.recheck_at {
            self.move_all_out(&mut volatile, capacity, &lost)?;
            volatile.recheck_at = 2 * volatile.pieces.len() + RECHECK_PIECES;
        }
        Ok(())
    }

    /// Writes all volatile data to the file as far as a power cut would no longer lose them.
    pub(crate) fn settle_all(
        &self,
        capacity: Bytes,
        lost: impl Fn(Bytes, Bytes) -> bool,
    ) -> Result<(), Errno> {
        let Some(mut volatile) = self.volatile() else {
            return Ok(());
        };
        self.move_all_out(&mut volatile, capacity, &lost)
    }

    fn move_all_out(
        &self,
        volatile: &mut Volatile,
        capacity: Bytes,
        lost: &impl Fn(Bytes, Bytes) -> bool,
    ) -> Result<(), Errno> {
        let all: Vec<u64> = volatile.pieces.keys().copied().collect();
        self.move_out(volatile, all.into_iter(), capacity, lost)
    }

    fn move_out(
        &self,
        volatile: &mut Volatile,
        numbers: impl Iterator<Item = u64>,
        capacity: Bytes,
        lost: &impl Fn(Bytes, Bytes) -> bool,
    ) -> Result<(), Errno> {
        for piece in numbers {
            let start = piece * PIECE_LEN;
            let len = PIECE_LEN.min(capacity.0 - start);
            if lost(Bytes(start), Bytes(len)) {
                continue;
            }
            if let Some(held) = volatile.pieces.get(&piece) {
                let held = &held[..index(len)];
                self.write_at(held, start).map_err(Errno::from)?;
                volatile.pieces.remove(&piece);
            }
        }
        Ok(())
    }
}

impl Drop for Store {
    /// Discards data that are only in the drive's buffer, as a power cut does. The store reports
    /// this when it is opened again.
    fn drop(&mut self) {
        let is_empty = self.volatile().is_none_or(|volatile| volatile.pieces.is_empty());
        if let Place::File(file) = &self.place
            && is_empty
        {
            // A store that cannot be closed reports a power cut when it is opened again, which is
            // safe.
            let _ = file.close();
        }
    }
}

impl Volatile {
    fn read(&self, offset: u64, data: &mut [u8]) {
        if data.is_empty() || self.pieces.is_empty() {
            return;
        }
        let end = offset + data.len() as u64;
        for (&piece, held) in self.pieces.range(offset / PIECE_LEN..=(end - 1) / PIECE_LEN) {
            let start = (piece * PIECE_LEN).max(offset);
            let end = ((piece + 1) * PIECE_LEN).min(end);
            let within = index(start - piece * PIECE_LEN)..index(end - piece * PIECE_LEN);
            data[index(start - offset)..index(end - offset)].copy_from_slice(&held[within]);
        }
    }

    fn zero(&mut self, offset: u64, len: u64) {
        for (piece, within) in pieces(offset, len) {
            if within.len() == PIECE {
                self.pieces.remove(&piece);
            } else if let Some(held) = self.pieces.get_mut(&piece) {
                held[within].fill(0);
            }
        }
    }
}

/// Returns the pieces of a range, each with the part of it that lies within the range.
fn pieces(offset: u64, len: u64) -> impl Iterator<Item = (u64, Range<usize>)> {
    let end = offset + len;
    (offset / PIECE_LEN..end.div_ceil(PIECE_LEN)).map(move |piece| {
        let start = piece * PIECE_LEN;
        let from = offset.saturating_sub(start);
        (piece, index(from)..index((end - start).min(PIECE_LEN)))
    })
}

/// Returns the range within the data of a request at `offset` that belongs to the part `within` of
/// a piece.
fn source(piece: u64, within: &Range<usize>, offset: Bytes) -> Range<usize> {
    let start = index(piece * PIECE_LEN + within.start as u64 - offset.0);
    start..start + within.len()
}

fn index(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a request fits in memory")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAPACITY: Bytes = Bytes(10 * PIECE_LEN - 512);

    #[derive(Debug, Clone)]
    enum Step {
        Write(u64, u64, u8),
        Hold(u64, u64, u8),
        Trim(u64, u64),
        Settle,
        SettleAll,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let range =
            (0..CAPACITY.0, 1..3 * PIECE_LEN).prop_map(|(at, len)| (at, len.min(CAPACITY.0 - at)));
        let step = (range, any::<u8>(), 0..5).prop_map(|((at, len), byte, kind)| match kind {
            0 => Step::Write(at, len, byte),
            1 => Step::Hold(at, len, byte),
            2 => Step::Trim(at, len),
            3 => Step::Settle,
            _ => Step::SettleAll,
        });
        proptest::collection::vec(step, 1..30)
    }

    /// Returns the data in the file itself, after its header.
    fn durable(path: &Path) -> Vec<u8> {
        std::fs::read(path).unwrap().split_off(index(STORE_DATA))
    }

    fn header() -> StoreHeader {
        StoreHeader { drive: "sim:demo".into(), size: CAPACITY, seed: 1 }
    }

    proptest! {
        // The last data written are read back, volatile or not, and the file never contains
        // volatile data.
        #[test]
        fn the_last_data_written_are_read_back(steps in steps(), memory: bool) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store");
            let store = match memory {
                true => Store::memory(CAPACITY).unwrap(),
                false => Store::file(&path, &header(), false).unwrap(),
            };
            let mut model = vec![0; index(CAPACITY.0)];
            // A power cut loses odd pieces.
            let lost = |at: Bytes, _: Bytes| at.0 / PIECE_LEN % 2 == 1;
            for step in steps {
                match step {
                    // Only a store in memory is written with `write`.
                    Step::Write(at, len, byte) if memory => {
                        store.write(Bytes(at), Bytes(len), &vec![byte; index(len)]).unwrap();
                        model[index(at)..index(at + len)].fill(byte);
                    }
                    Step::Write(at, len, _) => {
                        store.hold(Bytes(at), Bytes(len), &[]).unwrap();
                        store.settle(Bytes(at), Bytes(len), CAPACITY, lost).unwrap();
                        model[index(at)..index(at + len)].fill(0);
                    }
                    Step::Hold(at, len, byte) => {
                        store.hold(Bytes(at), Bytes(len), &vec![byte; index(len)]).unwrap();
                        store.settle(Bytes(at), Bytes(len), CAPACITY, lost).unwrap();
                        model[index(at)..index(at + len)].fill(byte);
                        if !memory {
                            let durable = durable(&path);
                            for (at, byte) in durable.iter().enumerate() {
                                let piece = Bytes(at as u64 / PIECE_LEN * PIECE_LEN);
                                prop_assert!(lost(piece, Bytes(1)) || *byte == model[at]);
                            }
                        }
                    }
                    Step::Trim(at, len) => {
                        store.trim(Bytes(at), Bytes(len)).unwrap();
                        model[index(at)..index(at + len)].fill(0);
                    }
                    Step::Settle => store.settle_all(CAPACITY, lost).unwrap(),
                    Step::SettleAll => {
                        store.settle_all(CAPACITY, |_, _| false).unwrap();
                        if !memory {
                            prop_assert!(durable(&path) == model);
                        }
                    }
                }
                let mut read = vec![1; model.len()];
                store.read(Bytes(0), &mut read, None).unwrap();
                prop_assert!(read == model);
            }
        }
    }

    #[test]
    fn a_store_that_is_open_or_of_another_drive_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let open = |header: &StoreHeader| Store::file(&path, header, false);
        let store = open(&header()).unwrap();
        let again = open(&header()).err().unwrap().to_string();
        assert!(again.contains("is locked by another program"), "{again}");
        drop(store);
        let others = [
            StoreHeader { size: Bytes(4096), ..header() },
            StoreHeader { seed: 2, ..header() },
            StoreHeader { drive: "sim:other".into(), ..header() },
        ];
        for other in others {
            let refused = open(&other).err().unwrap().to_string();
            assert!(refused.contains(&header().to_string()), "{refused}");
            assert!(refused.contains(&other.to_string()), "{refused}");
        }
        open(&header()).unwrap();
        let missing = Store::file(&folder.path().join("no/where"), &header(), false);
        let missing = missing.err().unwrap().to_string();
        assert!(missing.contains("No such file"), "{missing}");
    }

    #[test]
    fn a_store_reports_that_buffered_data_were_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let open = || Store::file(&path, &header(), false).unwrap();
        let hold = |store: &Store| store.hold(Bytes(0), Bytes(PIECE_LEN), &[7; PIECE]).unwrap();
        let store = open();
        assert!(!store.was_cut(), "a new store");
        hold(&store);
        store.settle_all(CAPACITY, |_, _| false).unwrap();
        drop(store);
        let store = open();
        assert!(!store.was_cut(), "closed without losing data");
        hold(&store);
        drop(store);
        let store = open();
        assert!(store.was_cut(), "the buffered data were lost");
        // A killed process runs no destructors.
        std::mem::forget(store);
    }

    // Written ranges are listed, and trimmed ones are not.
    #[test]
    fn extents_are_the_written_ranges() {
        let store = Store::memory(Bytes::mib(1)).unwrap();
        assert_eq!(store.extents().unwrap(), []);
        store.write(Bytes(0), Bytes(8192), &[1; 8192]).unwrap();
        store.write(Bytes(65536), Bytes(4096), &[1; 4096]).unwrap();
        assert_eq!(store.extents().unwrap(), [0..8192, 65536..69632]);
        store.trim(Bytes(0), Bytes(8192)).unwrap();
        assert_eq!(store.extents().unwrap(), vec![65536..69632]);
    }
}
