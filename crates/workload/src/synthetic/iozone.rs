use flashscope_block::{Bytes, Op};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{Access, MAX_REQUEST, REQUEST, Space};
use super::values::Values;
use super::{APPLICATION, Application, Kind, Models, WorkloadError, field};
use crate::permutation::Permutation;
use crate::seed_for;

/// The file system benchmark IOzone in its automatic mode (`iozone -a`).
///
/// The benchmark uses files from 64 KiB to `file`. For each file, it uses records from 4 KiB (64
/// KiB in files above 16 MiB) to `record`. Sizes double from one to the next. For each pair of
/// sizes, it goes through the file once for each of its tests, in the order of [`PASSES`]. After
/// the last size, it starts over.
///
/// As in the public trace of Agrawal et al., the page cache answers all reads. It gathers small
/// records into requests of the largest size, and splits larger records. With `direct=true`
/// (`iozone -I`), reads reach the drive as well, and each record is a separate request. The file is
/// contiguous, at the start of the target range, and overwritten in place. The model leaves out the
/// file system's own writes, occasional requests of 4 KiB in the trace.
pub(super) const KIND: Kind = Kind {
    name: "iozone",
    argument: None,
    summary: "the file system benchmark: passes through files of all sizes with records of all sizes, \
              most of them sequential writes",
    source: "Agrawal et al., USENIX ATC 2008, section 4.2, and its public trace; Norcott and Capps, \
             IOzone Filesystem Benchmark",
    leaves_out: Some("the file system's own writes"),
    fields: &[
        field(
            "file",
            None,
            "bytes in the largest file, at least 64KiB [default: 512MiB, or the range if smaller]",
        ),
        field("record", Some("16MiB"), "bytes in the largest record, at least 4KiB"),
        REQUEST,
        field("direct", Some("false"), "`true` bypasses the page cache"),
    ],
    common: APPLICATION,
    open: |values, target| Application::open(values, target, |space| open(values, space)),
};

const SMALLEST_FILE: Bytes = Bytes::kib(64);
const LARGEST_FILE: Bytes = Bytes::mib(512);
const SMALLEST_RECORD: Bytes = Bytes::kib(4);

/// Above this size of a file, records below [`SMALLEST_RECORD_OF_LARGE_FILES`] are left out.
const LARGE_FILE: Bytes = Bytes::mib(16);
const SMALLEST_RECORD_OF_LARGE_FILES: Bytes = Bytes::kib(64);

/// The stride of a strided test, in records.
const STRIDE: u64 = 17;

/// The order in which a pass accesses the records of a file.
#[derive(Debug, Clone, Copy)]
enum Order {
    Forward,
    Backward,
    /// Each record once, in random order.
    Random,
    /// Every 17th record, then the records that follow these.
    Strided,
    /// The first record, repeatedly.
    Same,
}

/// The passes of all tests: the operation, and the order of the records.
const PASSES: [(Op, Order); 13] = [
    (Op::Write, Order::Forward), // write
    (Op::Write, Order::Forward), // rewrite
    (Op::Read, Order::Forward),  // read
    (Op::Read, Order::Forward),  // reread
    (Op::Read, Order::Random),
    (Op::Write, Order::Random),
    (Op::Read, Order::Backward),
    (Op::Write, Order::Same), // record rewrite
    (Op::Read, Order::Strided),
    (Op::Write, Order::Forward), // fwrite
    (Op::Write, Order::Forward), // frewrite
    (Op::Read, Order::Forward),  // fread
    (Op::Read, Order::Forward),  // freread
];

fn open(values: &Values, space: Space) -> Result<Models, WorkloadError> {
    let block = space.logical_block;
    let smallest_record = SMALLEST_RECORD.0.max(block.0);
    let smallest_file = SMALLEST_FILE.0.max(block.0);
    space.holds(values, smallest_file)?;
    let file = values.bytes("file", block, smallest_file..=space.length)?;
    let record = values.bytes("record", block, smallest_record..=Bytes::gib(1).0)?;
    let request = values.bytes(REQUEST.name, block, block.0..=MAX_REQUEST.0)?;
    let mut model = IoZone {
        largest_file: file.unwrap_or(LARGEST_FILE.0.min(space.length)),
        largest_record: record.unwrap_or_default(),
        smallest_record,
        smallest_file,
        request: request.unwrap_or_default(),
        direct: values.flag("direct")?,
        seed: space.seed,
        file: smallest_file,
        record: 0,
        pass: 0,
        piece: 0,
        pieces: 0,
        done: 0,
        stride: (0, 0),
        order: Permutation::new(1, 0),
        rest: Access::new(Op::Write, 0, 0),
    };
    model.start_file();
    Ok(Models::IoZone(model))
}

pub(super) struct IoZone {
    largest_file: u64,
    largest_record: u64,
    smallest_record: u64,
    smallest_file: u64,
    request: u64,
    direct: bool,
    seed: u64,
    /// Bytes in the file.
    file: u64,
    /// Bytes in a record.
    record: u64,
    /// The index of the current pass in [`PASSES`].
    pass: usize,
    /// Bytes in a piece: a record, or as many bytes as the cache gathers into a request.
    piece: u64,
    /// The number of pieces in the file.
    pieces: u64,
    /// The number of pieces accessed in this pass.
    done: u64,
    /// The next record of a strided pass, and the first record of its row.
    stride: (u64, u64),
    order: Permutation,
    /// The remaining part of the request that is split.
    rest: Access,
}

impl IoZone {
    #[inline]
    pub(super) fn next(&mut self, _rng: &mut Xoshiro256PlusPlus) -> Access {
        loop {
            if let Some(access) = self.rest.cut(self.request) {
                return access;
            }
            if self.done == self.pieces {
                self.next_pass();
            } else {
                self.next_piece();
            }
        }
    }

    fn next_piece(&mut self) {
        let (op, order) = PASSES[self.pass];
        let piece = match order {
            Order::Forward => self.done,
            Order::Backward => self.pieces - 1 - self.done,
            Order::Random => self.order.at(self.done),
            Order::Strided => self.next_strided(),
            Order::Same => 0,
        };
        self.done += 1;
        let offset = piece * self.piece;
        self.rest = Access::new(op, offset, self.piece.min(self.file - offset));
    }

    fn next_strided(&mut self) -> u64 {
        let (next, row) = self.stride;
        let (next, row) = if next < self.pieces { (next, row) } else { (row + 1, row + 1) };
        self.stride = (next + STRIDE, row);
        next
    }

    /// Continues with the next pass that reaches the drive, and with the next size of record or
    /// file after the last pass.
    fn next_pass(&mut self) {
        loop {
            self.pass += 1;
            if self.pass == PASSES.len() {
                self.next_size();
            }
            if self.direct || PASSES[self.pass].0 == Op::Write {
                return self.start_pass();
            }
        }
    }

    fn next_size(&mut self) {
        self.record *= 2;
        if self.record > self.largest_record.min(self.file) {
            self.file *= 2;
            if self.file > self.largest_file {
                self.file = self.smallest_file;
            }
            self.start_file();
        }
        self.pass = 0;
    }

    /// Starts a file with the smallest record, or with the largest record if that is smaller.
    fn start_file(&mut self) {
        let least = match self.file > LARGE_FILE.0 {
            true => self.smallest_record.max(SMALLEST_RECORD_OF_LARGE_FILES.0),
            false => self.smallest_record,
        };
        self.record = least.min(self.largest_record);
        self.pass = 0;
        self.start_pass();
    }

    fn start_pass(&mut self) {
        self.piece = if self.direct { self.record } else { self.record.max(self.request) };
        self.pieces = self.file.div_ceil(self.piece);
        self.done = 0;
        self.stride = (0, 0);
        self.order = Permutation::new(self.pieces, seed_for(self.seed, self.pieces));
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Io;

    use super::super::tests::{LARGE, ios_on};
    use super::*;

    fn offsets(ios: &[Io]) -> Vec<u64> {
        ios.iter().map(|io| io.offset.0).collect()
    }

    // Each pass of a direct test accesses each record once, in its order, with its operation.
    #[test]
    fn each_pass_accesses_each_record_once_in_its_order() {
        // The file of 64 KiB comes first, with 16 records of 4 KiB and then 8 of 8 KiB. The file of
        // 128 KiB follows, with 32 records of 4 KiB.
        let before = PASSES.len() * (16 + 8);
        let ios = ios_on(&LARGE, "iozone?direct=true&record=8KiB", before + PASSES.len() * 32);
        let forward: Vec<u64> = (0..32).map(|record| record * 4096).collect();
        for (pass, (op, order)) in ios[before..].chunks(32).zip(PASSES) {
            assert!(pass.iter().all(|io| io.op == op && io.len == Bytes::kib(4)), "{order:?}");
            let offsets = offsets(pass);
            let mut sorted = offsets.clone();
            sorted.sort_unstable();
            match order {
                Order::Same => assert_eq!(offsets, [0; 32]),
                _ => assert_eq!(sorted, forward, "{order:?}"),
            }
            match order {
                Order::Forward => assert_eq!(offsets, forward),
                Order::Backward => assert!(offsets.iter().rev().eq(&forward)),
                Order::Strided => assert_eq!(offsets[..4], [0, 17, 1, 18].map(|i| i * 4096)),
                Order::Random => assert!(offsets.windows(2).any(|pair| pair[0] > pair[1])),
                Order::Same => {}
            }
        }
    }

    // Records that the cache combines or splits are written as requests, without reads, and six
    // times for each size of file and record. Then the workload starts over.
    #[test]
    fn cached_records_are_written_as_requests_without_reads() {
        // The files have 64, 128, 256 and 512 KiB, with all record sizes up to that of the file: 5,
        // 6, 7 and 8 sizes.
        let round =
            [(1, 5), (1, 6), (1, 7), (2, 8)].map(|(requests, records)| requests * records * 6);
        let round: usize = round.iter().sum();
        let ios = ios_on(&LARGE, "iozone?file=512KiB", 2 * round);
        assert!(ios.iter().all(|io| io.op == Op::Write && io.len <= Bytes::kib(256)));
        let bytes: u64 = ios[..round].iter().map(|io| io.len.0).sum();
        assert_eq!(bytes, 6 * 1024 * (64 * 5 + 128 * 6 + 256 * 7 + 512 * 8));
        assert_eq!(offsets(&ios[..round]), offsets(&ios[round..]));
    }

    // Small records are skipped for large files.
    #[test]
    fn small_records_are_skipped_for_large_files() {
        let spec = "iozone?direct=true&record=4KiB&length=32MiB";
        // If all records have 4 KiB, the files from 64 KiB to 16 MiB have 2^13 - 16 records in
        // total.
        let to_16_mib = PASSES.len() * ((1 << 13) - 16);
        let ios = ios_on(&LARGE, spec, to_16_mib + 1);
        assert!(ios.iter().all(|io| io.len == Bytes::kib(4)));
        let spec = "iozone?direct=true&record=64KiB&file=32MiB";
        let records = |file: u64, least: u64| file * (2 * (64 / least) - 1) / 64;
        let to_16_mib: u64 = (0..9).map(|doubled| records(64 << doubled, 4)).sum();
        let to_16_mib = PASSES.len() * usize::try_from(to_16_mib).unwrap();
        let ios = ios_on(&LARGE, spec, to_16_mib + PASSES.len() * 512 + 1);
        assert!(ios[to_16_mib..to_16_mib + 512].iter().all(|io| io.len == Bytes::kib(64)));
        assert_eq!(
            ios[to_16_mib..].last().map(|io| (io.offset, io.len)),
            Some((Bytes(0), Bytes::kib(4)))
        );
    }
}
