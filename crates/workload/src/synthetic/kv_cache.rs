use std::collections::VecDeque;

use flashscope_block::{Bytes, Op};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{Access, Due, MAX_REQUEST, REQUEST, Space, geometric, places};
use super::generator::threshold;
use super::values::Values;
use super::{APPLICATION, Application, Kind, Models, WorkloadError, field};

/// The key-value cache of a large language model, which moves from the memory of accelerators to a
/// drive.
///
/// A conversation consists of blocks: the keys and values of a number of tokens. A new conversation
/// writes the blocks of its prompt. A resumed conversation reads all of its blocks, and writes the
/// new ones. If there is no room, the conversation that has waited longest is dropped, and the
/// oldest free blocks are overwritten first. Lengths are geometrically distributed.
///
/// In a model with 32 layers, 8 key-value heads a layer and 128 values of 2 bytes a head, a token
/// takes 128 KiB. This is 2 x 32 x 8 x 128 x 2 bytes; the first factor stands for keys and values.
/// The default block has 16 tokens. The other defaults are chosen, not measured.
pub(super) const KIND: Kind = Kind {
    name: "kv-cache",
    argument: None,
    summary: "the key-value cache of a language model: new conversations write blocks, and resumed ones read \
              all their blocks",
    source: "a model of this project; the size of a block follows from the shape of the language model",
    leaves_out: Some(
        "prompts that several conversations share, the arrival of conversations in bursts, and that recent \
         conversations are resumed more often",
    ),
    fields: &[
        field("block", Some("2MiB"), "bytes in a block of tokens, up to 1GiB"),
        field("prompt", Some("8"), "mean number of blocks of a new conversation, 1 to 1000"),
        field("answer", Some("2"), "mean number of blocks that a turn adds, 1 to 1000"),
        field("resumed", Some("0.7"), "share of turns that resume a stored conversation, 0 to 1"),
        field("trims", Some("false"), "`true` trims the blocks of a dropped conversation"),
        REQUEST,
    ],
    common: APPLICATION,
    open: |values, target| Application::open(values, target, |space| open(values, space)),
};

/// The minimum number of blocks in the target range.
const MIN_BLOCKS: u64 = 16;

fn open(values: &Values, space: Space) -> Result<Models, WorkloadError> {
    let unit = space.logical_block;
    let block = values.bytes("block", unit, unit.0..=Bytes::gib(1).0)?.unwrap_or_default();
    space.holds(values, MIN_BLOCKS * block)?;
    let Some(blocks) = places(space.length / block) else {
        return Err(values.invalid("block", "the target range holds too many blocks"));
    };
    let mean = |name| Ok(values.real(name, 1.0..=1000.0)?.unwrap_or(1.0));
    Ok(Models::KvCache(KvCache {
        block,
        prompt: mean("prompt")?,
        answer: mean("answer")?,
        resumed: threshold(values.share("resumed")?),
        trims: values.flag("trims")?,
        request: values.bytes(REQUEST.name, unit, unit.0..=MAX_REQUEST.0)?.unwrap_or_default(),
        longest: u64::from(blocks / 4),
        free: (0..blocks).collect(),
        stored: VecDeque::new(),
        due: Due::default(),
    }))
}

pub(super) struct KvCache {
    /// Bytes in a block.
    block: u64,
    /// The mean number of blocks of a prompt.
    prompt: f64,
    /// The mean number of blocks of an answer.
    answer: f64,
    /// A turn resumes a conversation if its random number is below this.
    resumed: u64,
    trims: bool,
    request: u64,
    /// Maximum number of blocks of a conversation.
    longest: u64,
    /// The free blocks, the block that has been free for longest first.
    free: VecDeque<u32>,
    /// The blocks of each stored conversation, the conversation that has waited longest first.
    stored: VecDeque<Vec<u32>>,
    /// The reads, writes and trims that are due.
    due: Due,
}

impl KvCache {
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Access {
        loop {
            match self.due.next(self.request) {
                Some(access) => return access,
                None => self.take_turn(rng),
            }
        }
    }

    /// Starts a conversation, or resumes a random stored one.
    fn take_turn(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let resumes = rng.next_u64() < self.resumed && !self.stored.is_empty();
        let mut blocks = match resumes {
            true => self.stored.remove(rng.random_range(0..self.stored.len())).unwrap_or_default(),
            false => Vec::new(),
        };
        blocks.iter().for_each(|block| self.due.push(self.access(Op::Read, *block)));
        let mean = if resumes { self.answer } else { self.prompt };
        let room = self.longest - blocks.len() as u64;
        for _ in 0..geometric(mean, rng).min(room) {
            blocks.push(self.write());
        }
        self.stored.push_back(blocks);
    }

    /// Writes a free block.
    fn write(&mut self) -> u32 {
        while self.free.is_empty() {
            // A conversation takes at most a quarter of the blocks; another one is therefore
            // stored.
            for block in self.stored.pop_front().unwrap_or_default() {
                if self.trims {
                    self.due.push(self.access(Op::Trim, block));
                }
                self.free.push_back(block);
            }
        }
        let block = self.free.pop_front().expect("a dropped conversation has blocks");
        self.due.push(self.access(Op::Write, block));
        block
    }

    fn access(&self, op: Op, block: u32) -> Access {
        Access::new(op, u64::from(block) * self.block, self.block)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use flashscope_block::{Io, Nanos};
    use proptest::prelude::*;

    use super::super::tests::{LARGE, assert_nothing_dead_is_wanted, ios_on};
    use super::super::{Ios, Target};
    use super::*;
    use crate::Stream;

    /// Returns the total length in bytes of the IOs of one operation.
    #[allow(clippy::cast_precision_loss)]
    fn bytes(ios: &[Io], op: Op) -> f64 {
        ios.iter().filter(|io| io.op == op).map(|io| io.len.0).sum::<u64>() as f64
    }

    #[test]
    fn new_conversations_overwrite_the_range_in_order() {
        let ios = ios_on(&LARGE, "kv-cache?block=256KiB&resumed=0", 5000);
        let places = LARGE.capacity.0 / (256 << 10);
        for (nth, io) in (0u64..).zip(&ios) {
            assert_eq!((io.op, io.offset.0), (Op::Write, nth % places * (256 << 10)), "IO {nth}");
        }
    }

    // With prompts as long as answers, every turn writes the same amount. A turn that resumes a
    // conversation also reads what earlier turns wrote to it. Few conversations are dropped before
    // half of the range is written.
    #[test]
    fn a_resumed_conversation_reads_all_of_its_blocks() {
        let ios = ios_on(&LARGE, "kv-cache?block=256KiB&prompt=1&answer=1&resumed=0.5", 300);
        let model_reads = {
            // A resumed turn reads a conversation of mean length, and each turn adds a block.
            let (mut conversations, mut blocks, mut reads, mut writes) = (0.0f64, 0.0, 0.0, 0.0);
            while reads + writes < 300.0 {
                if conversations > 0.0 {
                    reads += 0.5 * blocks / conversations;
                }
                writes += 1.0;
                blocks += 1.0;
                conversations += if conversations > 0.0 { 0.5 } else { 1.0 };
            }
            reads / writes
        };
        let found = bytes(&ios, Op::Read) / bytes(&ios, Op::Write);
        assert!((found / model_reads - 1.0).abs() < 0.25, "{found}, not {model_reads}");
    }

    #[test]
    fn dropped_blocks_are_trimmed_once_and_not_read_again() {
        assert_nothing_dead_is_wanted("kv-cache?block=64KiB&trims=true");
        assert_nothing_dead_is_wanted("kv-cache?block=100KiB&trims=true&prompt=30&request=64KiB");
    }

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn lengths_have_their_mean() {
        let mut rng = <Xoshiro256PlusPlus as rand::rand_core::SeedableRng>::seed_from_u64(1);
        for mean in [1.0, 2.0, 8.0, 100.0] {
            let draws = 200_000;
            let sum: u64 = (0..draws).map(|_| geometric(mean, &mut rng)).sum();
            let deviation = (mean * (mean - 1.0) / f64::from(draws)).sqrt();
            let found = sum as f64 / f64::from(draws);
            assert!((found - mean).abs() <= 4.0 * deviation, "{found}, not {mean}");
        }
    }

    proptest! {
        #[test]
        fn every_block_is_free_or_of_one_conversation(
            blocks in MIN_BLOCKS..300, prompt in 1.0..100.0f64, resumed in 0.0..1.0f64, seed in any::<u64>(),
        ) {
            let target = Target { capacity: Bytes::kib(64 * blocks), seed, ..LARGE };
            let spec = format!("kv-cache?block=64KiB&prompt={prompt}&resumed={resumed}");
            let Ok(Ios::Application(mut stream)) = super::super::open(&spec, &target).map(|w| w.ios)
            else {
                panic!("{spec} is refused")
            };
            for _ in 0..2000 {
                let io = stream.next(Nanos(0)).expect("endless");
                prop_assert!(io.end() <= target.capacity);
            }
            let Models::KvCache(model) = stream.model() else { panic!("another kind") };
            let stored = model.stored.iter().flatten().chain(&model.free);
            let places: Vec<u32> = stored.copied().collect();
            prop_assert_eq!(places.len() as u64, blocks);
            prop_assert_eq!(places.iter().collect::<HashSet<_>>().len(), places.len());
        }
    }
}
