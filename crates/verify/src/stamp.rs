use rand::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// The length of a stamped sector in bytes: the smallest logical block.
pub const SECTOR: usize = 512;

const MAGIC: [u8; 8] = *b"flshvrfy";
/// The length of the part that names the write, in bytes.
const HEADER: usize = 32;

/// The identity of a written sector.
///
/// The sector begins with these numbers. Its other bytes are pseudo-random and follow from the
/// numbers. A change of any bit is therefore detected, and a drive can neither compress nor
/// deduplicate the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The identity of the verification.
    pub run: u64,
    /// The number of the write.
    pub write: u64,
    /// The number of the sector on the drive, counted in units of [`SECTOR`].
    pub sector: u64,
}

/// The content of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// A stamp, with every bit as written.
    Whole(Stamp),
    /// A stamp in a sector whose other bits differ.
    Damaged(Stamp),
    /// Anything else.
    Foreign,
}

impl Stamp {
    /// Fills `sector`, of [`SECTOR`] bytes, with the stamp and the data that follow from it.
    pub fn fill(self, sector: &mut [u8]) {
        let (header, data) = sector.split_at_mut(HEADER);
        header.copy_from_slice(&self.header());
        let mut random = self.random();
        data.chunks_exact_mut(8).for_each(|word| {
            word.copy_from_slice(&random.next_u64().to_le_bytes());
        });
    }

    /// Reads `sector`, of [`SECTOR`] bytes.
    #[must_use]
    pub fn read(sector: &[u8]) -> Reading {
        let (header, data) = sector.split_at(HEADER);
        let word =
            |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        if header[..8] != MAGIC {
            return Reading::Foreign;
        }
        let stamp = Stamp { run: word(8), write: word(16), sector: word(24) };
        let mut random = stamp.random();
        let is_whole = data.chunks_exact(8).all(|word| word == random.next_u64().to_le_bytes());
        if is_whole { Reading::Whole(stamp) } else { Reading::Damaged(stamp) }
    }

    fn header(self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        for (place, number) in [(8, self.run), (16, self.write), (24, self.sector)] {
            header[place..place + 8].copy_from_slice(&number.to_le_bytes());
        }
        header
    }

    /// Returns the generator of the data.
    fn random(self) -> SplitMix64 {
        let mix = |number| SplitMix64::seed_from_u64(number).next_u64();
        SplitMix64::seed_from_u64(mix(mix(mix(self.run) ^ self.write) ^ self.sector))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { run: 7, write: 1 << 40, sector: 3 };

    #[test]
    fn a_stamp_reads_back_and_any_changed_byte_shows() {
        let mut sector = [0; SECTOR];
        STAMP.fill(&mut sector);
        assert_eq!(Stamp::read(&sector), Reading::Whole(STAMP));
        for at in 0..SECTOR {
            sector[at] ^= 1 << (at % 8);
            assert!(!matches!(Stamp::read(&sector), Reading::Whole(_)), "byte {at}");
            sector[at] ^= 1 << (at % 8);
        }
        assert_eq!(Stamp::read(&[0; SECTOR]), Reading::Foreign);
    }

    #[test]
    fn halves_of_two_writes_are_damaged() {
        let [mut first, mut second] = [[0; SECTOR]; 2];
        STAMP.fill(&mut first);
        Stamp { write: 5, ..STAMP }.fill(&mut second);
        first[SECTOR / 2..].copy_from_slice(&second[SECTOR / 2..]);
        assert_eq!(Stamp::read(&first), Reading::Damaged(STAMP));
    }
}
