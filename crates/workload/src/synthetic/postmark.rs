use flashscope_block::{Bytes, Op};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{Access, BLOCK, MAX_PLACES, MAX_REQUEST, REQUEST, Space, places};
use super::values::Values;
use super::{APPLICATION, Application, Kind, Models, WorkloadError, field};

/// The file system benchmark PostMark: many small files, as on a mail server.
///
/// The benchmark creates a pool of files with uniform sizes from `smallest` to `largest`. An
/// endless series of transactions follows. Each transaction reads a file or appends to a file, with
/// equal probability, and creates or deletes a file, with equal probability. The length of an
/// append is uniform, up to the length that makes the file as long as `largest`. There are never
/// more than twice the initial `files`.
///
/// The file system below allocates the next free block of 4 KiB, cycling through the target range.
/// It writes whole blocks: all blocks of a new file, and the blocks that an append touches.
/// Neighbouring blocks form one IO. The model leaves out the file system's own data (directories,
/// inodes, a journal) and its cache: each new file reaches the drive, even if it is deleted soon
/// after.
pub(super) const KIND: Kind = Kind {
    name: "postmark",
    argument: None,
    summary: "the file system benchmark: small files are created, read, appended to and deleted",
    source: "Katcher, PostMark: a New File System Benchmark, Network Appliance TR3022, 1997, with its \
             sizes and shares; Agrawal et al., USENIX ATC 2008, sections 4.2 and 6",
    leaves_out: Some(
        "the file system's own writes (directories, inodes, a journal), and its caching",
    ),
    fields: &[
        field(
            "files",
            None,
            "initial number of files (PostMark: 500) [default: as many as fill half of the range]",
        ),
        field("smallest", Some("500"), "bytes in the smallest file"),
        field("largest", Some("10000"), "bytes in the largest file, up to 1GiB"),
        field("reads", Some("true"), "`false` lets a page cache answer all reads"),
        field("trims", Some("false"), "`true` trims the blocks of a file that is deleted"),
        REQUEST,
    ],
    common: APPLICATION,
    open: |values, target| Application::open(values, target, |space| open(values, space)),
};

fn open(values: &Values, space: Space) -> Result<Models, WorkloadError> {
    let block = BLOCK.max(space.logical_block).0;
    let largest = values.bytes("largest", Bytes(1), 1..=Bytes::gib(1).0)?.unwrap_or_default();
    let smallest = values.bytes("smallest", Bytes(1), 1..=largest)?.unwrap_or_default();
    let request = values.bytes(REQUEST.name, Bytes(block), block..=MAX_REQUEST.0)?;
    let largest_blocks = largest.div_ceil(block);
    space.holds(values, largest_blocks * block)?;
    let Some(blocks) = places(space.length / block) else {
        let rule = format!("it must be at most {MAX_PLACES} blocks of {}", Bytes(block));
        return Err(values.invalid("length", rule));
    };
    let most = u64::from(blocks) / largest_blocks;
    let rule = format!("it must be a number of files from 1 to {most}, for which there is room");
    let files = values.number("files", &rule, |files| (1..=most).contains(files))?;
    // On average, half of the last block of a file is unused.
    let usual = ((smallest + largest) / 2 + block / 2).div_ceil(block);
    let files = files.unwrap_or((u64::from(blocks) / 2 / usual).clamp(1, most));
    Ok(Models::PostMark(PostMark {
        block,
        request: request.unwrap_or_default(),
        sizes: (smallest, largest),
        largest_blocks: to_u32(largest_blocks),
        reads: values.flag("reads")?,
        trims: values.flag("trims")?,
        files: Vec::new(),
        max_files: to_usize(2 * files),
        missing: files,
        blocks: Blocks::new(blocks),
        second_half: false,
        walk: Walk { op: Op::Write, next: 0, left: 0 },
        rest: Access::new(Op::Write, 0, 0),
    }))
}

#[allow(clippy::cast_possible_truncation)] // blocks are fewer than 2^32
fn to_u32(blocks: u64) -> u32 {
    blocks as u32
}

#[allow(clippy::cast_possible_truncation)] // files are fewer than their blocks
fn to_usize(files: u64) -> usize {
    files as usize
}

/// A file: its first and last block in the lists of [`Blocks`], and its length in bytes.
#[derive(Clone, Copy)]
struct File {
    first: u32,
    last: u32,
    bytes: u32,
}

/// The blocks of a file that are still to be read, written or trimmed.
struct Walk {
    op: Op,
    next: u32,
    left: u32,
}

pub(super) struct PostMark {
    block: u64,
    request: u64,
    /// The smallest and the largest size of a file, in bytes.
    sizes: (u64, u64),
    largest_blocks: u32,
    reads: bool,
    trims: bool,
    files: Vec<File>,
    max_files: usize,
    /// The number of files of the pool still to create.
    missing: u64,
    blocks: Blocks,
    /// True if a transaction still has to create or delete a file.
    second_half: bool,
    walk: Walk,
    /// The remaining adjacent blocks to access.
    rest: Access,
}

impl PostMark {
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Access {
        loop {
            if let Some(access) = self.rest.cut(self.request) {
                return access;
            }
            if self.walk.left > 0 {
                self.rest = self.next_run();
            } else {
                self.act(rng);
            }
        }
    }

    /// Returns an access to the next neighbouring blocks of the walk.
    fn next_run(&mut self) -> Access {
        let Walk { op, next: first, left } = &mut self.walk;
        let (op, offset) = (*op, u64::from(*first) * self.block);
        let mut count = 0;
        loop {
            let block = *first;
            (*first, *left, count) = (self.blocks.next[block as usize], *left - 1, count + 1);
            if *left == 0 || *first != block + 1 {
                return Access::new(op, offset, count * self.block);
            }
        }
    }

    fn act(&mut self, rng: &mut Xoshiro256PlusPlus) {
        if self.missing > 0 {
            self.missing -= 1;
            return self.create(rng);
        }
        self.second_half = !self.second_half;
        let first_choice = rng.random::<bool>();
        match (self.second_half, first_choice) {
            (true, true) => self.read(rng),
            (true, false) => self.append(rng),
            (false, true) if self.has_room() => self.create(rng),
            (false, _) => self.delete(rng),
        }
    }

    fn has_room(&self) -> bool {
        self.files.len() < self.max_files && self.blocks.free >= self.largest_blocks
    }

    fn create(&mut self, rng: &mut impl Rng) {
        let bytes = rng.random_range(self.sizes.0..=self.sizes.1);
        let count = to_u32(bytes.div_ceil(self.block));
        let first = self.blocks.take();
        let last = (1..count).fold(first, |last, _| self.blocks.take_after(last));
        self.files.push(File { first, last, bytes: to_u32(bytes) });
        self.walk = Walk { op: Op::Write, next: first, left: count };
    }

    fn read(&mut self, rng: &mut impl Rng) {
        if let (true, Some(index)) = (self.reads, self.draw(rng)) {
            let File { first, bytes, .. } = self.files[index];
            self.walk = Walk { op: Op::Read, next: first, left: self.count(bytes) };
        }
    }

    /// Appends to a file: rewrites its last block if that was not full, and writes the blocks after
    /// it.
    fn append(&mut self, rng: &mut impl Rng) {
        let Some(index) = self.draw(rng) else { return };
        let File { last, bytes, .. } = self.files[index];
        let missing = to_u32(self.sizes.1) - bytes;
        if missing == 0 {
            return;
        }
        let count = self.count(bytes);
        let more = self.blocks.free.min(self.largest_blocks - count);
        let room = u64::from(count + more) * self.block - u64::from(bytes);
        let missing = missing.min(to_u32(room.min(u64::from(u32::MAX))));
        if missing == 0 {
            return;
        }
        let grown = bytes + rng.random_range(1..=missing);
        let added = self.count(grown) - count;
        let new_last = (0..added).fold(last, |last, _| self.blocks.take_after(last));
        let file = &mut self.files[index];
        (file.last, file.bytes) = (new_last, grown);
        let whole = u64::from(bytes).is_multiple_of(self.block);
        let next = if whole { self.blocks.next[last as usize] } else { last };
        self.walk = Walk { op: Op::Write, next, left: added + u32::from(!whole) };
    }

    fn delete(&mut self, rng: &mut impl Rng) {
        let Some(index) = self.draw(rng) else { return };
        let File { first, bytes, .. } = self.files.swap_remove(index);
        let count = self.count(bytes);
        self.blocks.release(first, count);
        if self.trims {
            // Blocks stay linked until they are taken again, which is after this walk.
            self.walk = Walk { op: Op::Trim, next: first, left: count };
        }
    }

    fn draw(&self, rng: &mut impl Rng) -> Option<usize> {
        (!self.files.is_empty()).then(|| rng.random_range(0..self.files.len()))
    }

    fn count(&self, bytes: u32) -> u32 {
        to_u32(u64::from(bytes).div_ceil(self.block))
    }
}

/// The blocks of a file system: the free blocks, and the order of the blocks in each file.
struct Blocks {
    /// For each block, the next block of its file.
    next: Vec<u32>,
    /// A bit for each block in use; the bits beyond the last block are set.
    used: Vec<u64>,
    free: u32,
    /// The word of `used` at which the search continues.
    cursor: usize,
}

impl Blocks {
    fn new(count: u32) -> Blocks {
        let mut used = vec![0; count.div_ceil(u64::BITS) as usize];
        if let (Some(last), over @ 1..) = (used.last_mut(), count % u64::BITS) {
            *last = u64::MAX << over;
        }
        Blocks { next: vec![0; count as usize], used, free: count, cursor: 0 }
    }

    /// Takes the next free block. There must be one.
    #[allow(clippy::cast_possible_truncation)] // blocks are fewer than 2^32
    fn take(&mut self) -> u32 {
        while self.used[self.cursor] == u64::MAX {
            self.cursor = (self.cursor + 1) % self.used.len();
        }
        let bit = self.used[self.cursor].trailing_ones();
        self.used[self.cursor] |= 1 << bit;
        self.free -= 1;
        self.cursor as u32 * u64::BITS + bit
    }

    /// Takes the next free block, and links it to `last` as the next block of the file.
    fn take_after(&mut self, last: u32) -> u32 {
        let block = self.take();
        self.next[last as usize] = block;
        block
    }

    /// Frees `count` blocks from `first` on.
    fn release(&mut self, first: u32, count: u32) {
        let mut block = first;
        for _ in 0..count {
            self.used[block as usize / 64] &= !(1 << (block % 64));
            block = self.next[block as usize];
        }
        self.free += count;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LARGE, assert_law, assert_nothing_dead_is_wanted, ios_on};
    use super::*;

    // File sizes in the pool are uniform from 500 to 10 000 bytes.
    #[test]
    fn sizes_of_files() {
        let mut blocks = [0.0; 3];
        // In an empty file system each file is one IO.
        for io in ios_on(&LARGE, "postmark?files=5000", 5000) {
            assert_eq!(io.op, Op::Write);
            blocks[usize::try_from(io.len.0 / 4096).unwrap() - 1] += 1.0;
        }
        assert_law(&blocks, |i| [3597.0, 4096.0, 1808.0][i] / 9501.0);
    }

    // Half of the transactions read, and each one creates or deletes a file.
    #[test]
    fn shares_of_transactions() {
        // Each file has one block, and cannot grow.
        let spec = "postmark?smallest=4096&largest=4096&files=5000&trims=true";
        let mut ops = [0.0; 3];
        for io in &ios_on(&LARGE, spec, 105_000)[5000..] {
            assert_eq!(io.len, Bytes::kib(4));
            ops[usize::from(io.op.code())] += 1.0;
        }
        // Half of the transactions read, half create, half delete.
        assert_law(&ops, |_| 1.0 / 3.0);
    }

    // For any sizes, no free block is read or trimmed, and no block of an existing file is
    // allocated to another file.
    #[test]
    fn blocks_belong_to_one_file() {
        for spec in [
            "postmark?trims=true",
            "postmark?trims=true&smallest=1&largest=300000&request=8KiB",
            "postmark?trims=true&files=1&largest=4MiB&length=8MiB",
        ] {
            assert_nothing_dead_is_wanted(spec);
        }
        let target = LARGE;
        let Ok(workload) =
            super::super::open("postmark?files=700&largest=50000&length=40MiB", &target)
        else {
            panic!("700 files of 50 000 bytes fit")
        };
        let super::super::Ios::Application(mut stream) = workload.ios else {
            panic!("another kind")
        };
        for _ in 0..20_000 {
            crate::Stream::next(&mut *stream, flashscope_block::Nanos(0)).unwrap();
        }
        let Models::PostMark(model) = stream.model() else { panic!("another kind") };
        let mut owned = vec![false; model.blocks.next.len()];
        for file in &model.files {
            let mut block = file.first;
            for i in 1..=model.count(file.bytes) {
                assert!(!std::mem::replace(&mut owned[block as usize], true), "in two files");
                assert!(i < model.count(file.bytes) || block == file.last);
                block = model.blocks.next[block as usize];
            }
        }
        let count = owned.iter().filter(|owned| **owned).count();
        assert_eq!(owned.len() - count, model.blocks.free as usize);
        assert!(model.files.len() > 100 && model.files.len() <= 1400);
        for (block, owned) in owned.iter().enumerate() {
            assert_eq!(model.blocks.used[block / 64] >> (block % 64) & 1 == 1, *owned);
        }
    }
}
