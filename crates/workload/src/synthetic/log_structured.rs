use std::collections::VecDeque;

use flashscope_block::{Bytes, MOVED_STREAM, Op, StreamId};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{Access, Due, MAX_REQUEST, REQUEST, Space, places};
use super::generator::threshold;
use super::values::Values;
use super::{APPLICATION, Application, Kind, Models, WorkloadError, field};

/// A log-structured store, which writes segments from start to end and cleans them itself.
///
/// An update goes to the end of the open segment, and the former copy of the record is dead from
/// then on. When few free segments are left, the store cleans: it reads the full segment with the
/// least live data, writes its live records to a separate segment, and trims it. Each segment is
/// also trimmed before its first use. With segments as large as the zones of a drive, the store
/// runs on a zoned drive, where such a trim resets the zone. Zones whose size is above their
/// capacity need `spacing`.
///
/// Records that the store moves belong to stream 3, which allows counting them separately. The
/// store begins by writing all its records in order.
pub(super) const KIND: Kind = Kind {
    name: "log-structured",
    argument: None,
    summary: "a log-structured store: updates go to the end of a log of segments, which the store cleans itself",
    source: "Rosenblum and Ousterhout, ACM TOCS 1992: segments, and cleaning of the segments with the least live data; \
             the defaults are this project's own choice",
    leaves_out: Some(
        "the table of segments, checkpoints, and choices of segments by age; and that updates wait while the store cleans",
    ),
    fields: &[
        field(
            "segment",
            Some("2MiB"),
            "bytes in a segment; on a zoned drive, the capacity of a zone",
        ),
        field(
            "spacing",
            None,
            "bytes from the start of a segment to the start of the next; on a zoned drive, the size of a zone [default: `segment`]",
        ),
        field("record", Some("4KiB"), "bytes in a record, up to a segment"),
        field("live", Some("0.8"), "share of the space for live records, above 0 and below 1"),
        field(
            "batch",
            Some("64KiB"),
            "bytes of updates that are written together, up to a segment",
        ),
        field("lookups", Some("0"), "share of requests that read a record, below 1"),
        field("hot", Some("0.2"), "share of records that are hot, between 0 and 1"),
        field("updates", Some("0.2"), "share of updates that go to hot records, 0 to 1"),
        field("trims", Some("true"), "`false` leaves out the trims; zoned drives need them"),
        REQUEST,
    ],
    common: APPLICATION,
    open: |values, target| Application::open(values, target, |space| open(values, space)),
};

/// The number of free segments below which the store cleans: one for updates, and one for moved
/// records.
const FREE: usize = 2;
/// The number of segments without live records in the worst case: the free segments, the two open
/// segments, and a segment that has just been filled.
const SPARE: u64 = FREE as u64 + 3;
/// A record or a slot that does not exist.
const NONE: u32 = u32::MAX;

fn open(values: &Values, space: Space) -> Result<Models, WorkloadError> {
    let unit = space.logical_block;
    let segment = values.bytes("segment", unit, unit.0..=Bytes::gib(64).0)?.unwrap_or_default();
    let record = values.bytes("record", unit, unit.0..=segment)?.unwrap_or_default();
    if !segment.is_multiple_of(record) {
        return Err(values.invalid("record", format!("it must divide a segment, {segment} bytes")));
    }
    let spacing = values.bytes("spacing", unit, segment..=Bytes::gib(64).0)?.unwrap_or(segment);
    let batch = values.bytes("batch", Bytes(record), record..=segment)?.unwrap_or_default();
    space.holds(values, (SPARE + 1) * spacing)?;
    let (segments, per_segment) = (space.length / spacing, segment / record);
    let Some(slots) = places(segments * per_segment) else {
        return Err(values.invalid("record", "the target range holds too many records"));
    };
    let rule = "it must be a number above 0 and below 1";
    let open_share = |name| values.number(name, rule, |share: &f64| *share > 0.0 && *share < 1.0);
    let (live, hot) = (open_share("live")?.unwrap_or(0.5), open_share("hot")?.unwrap_or(0.5));
    let most = u32::try_from((segments - SPARE) * per_segment).unwrap_or(u32::MAX);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below `slots`")]
    let [records, hot] = [live, live * hot].map(|share| (share * f64::from(slots)) as u32);
    if records == 0 || records > most {
        let rule = format!(
            "it stands for {records} records, but must leave {SPARE} of the {segments} segments free: from 1 to {most} records"
        );
        return Err(values.invalid("live", rule));
    }
    let rule = "it must be a number from 0 and below 1";
    let lookups = values.number("lookups", rule, |share: &f64| (0.0..1.0).contains(share))?;
    let whole = |count: u64| u32::try_from(count).expect("fewer than the slots");
    Ok(Models::LogStructured(LogStructured {
        record,
        per_segment: whole(per_segment),
        spacing,
        batch: whole(batch / record),
        hot: hot.clamp(1, records),
        hot_updates: threshold(values.share("updates")?),
        lookups: threshold(lookups.unwrap_or_default()),
        trims: values.flag("trims")?,
        request: values.bytes(REQUEST.name, unit, unit.0..=MAX_REQUEST.0)?.unwrap_or_default(),
        loaded: 0,
        slot_of: vec![NONE; records as usize],
        record_at: vec![NONE; slots as usize],
        live: vec![0; usize::try_from(segments).expect("fewer than the slots")],
        free: (0..whole(segments)).collect(),
        used: 0,
        full: Vec::new(),
        heads: [Head::CLOSED; 2],
        due: Due::default(),
    }))
}

/// An open segment.
#[derive(Clone, Copy)]
struct Head {
    segment: u32,
    /// The number of slots written.
    written: u32,
    /// The number of slots taken, including those of records that are gathered in memory.
    taken: u32,
}

impl Head {
    const CLOSED: Head = Head { segment: NONE, written: 0, taken: 0 };
}

/// The index of the head for updates.
const UPDATES: usize = 0;
/// The index of the head for moved records.
const MOVED: usize = 1;

pub(super) struct LogStructured {
    /// The number of bytes in a record.
    record: u64,
    /// The number of records in a segment.
    per_segment: u32,
    /// The number of bytes from the start of a segment to the start of the next.
    spacing: u64,
    /// The number of records in a batch.
    batch: u32,
    /// The number of hot records, which come first. An update goes to a hot record if its random
    /// number is below `hot_updates`.
    hot: u32,
    hot_updates: u64,
    /// A request is a lookup if its random number is below this.
    lookups: u64,
    trims: bool,
    request: u64,
    /// The number of records written for the first time.
    loaded: u32,
    /// The slot of each record.
    slot_of: Vec<u32>,
    /// The record in each slot, dead or alive, since the segment was opened.
    record_at: Vec<u32>,
    /// The live records of each segment.
    live: Vec<u32>,
    /// The free segments, the segment that has been free for longest first.
    free: VecDeque<u32>,
    /// The number of segments opened, up to all of them. They are opened for the first time in
    /// order.
    used: u32,
    /// The full segments.
    full: Vec<u32>,
    heads: [Head; 2],
    /// The reads, writes and trims that are due.
    due: Due,
}

impl LogStructured {
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Access {
        loop {
            if let Some(access) = self.due.next(self.request) {
                return access;
            }
            self.serve(rng);
        }
    }

    /// Serves a request. An update that is only gathered needs no IO, and neither does a lookup of
    /// a gathered record.
    fn serve(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let records = u32::try_from(self.slot_of.len()).expect("fewer than the slots");
        if self.loaded < records {
            self.loaded += 1;
            return self.update(self.loaded - 1);
        }
        let is_lookup = rng.next_u64() < self.lookups;
        let record = match rng.next_u64() < self.hot_updates || self.hot == records {
            true => rng.random_range(0..self.hot),
            false => rng.random_range(self.hot..records),
        };
        match is_lookup {
            true => self.look_up(record),
            false => self.update(record),
        }
    }

    fn look_up(&mut self, record: u32) {
        let slot = self.slot_of[record as usize];
        let (segment, place) = (slot / self.per_segment, slot % self.per_segment);
        let gathered = |head: &Head| head.segment == segment && place >= head.written;
        if !self.heads.iter().any(gathered) {
            self.due.push(Access::new(Op::Read, self.offset(slot), self.record));
        }
    }

    fn update(&mut self, record: u32) {
        if self.heads[UPDATES].segment == NONE {
            while self.free.len() < FREE && self.clean() {}
            self.open(UPDATES);
        }
        self.append(UPDATES, record);
        let head = self.heads[UPDATES];
        if head.taken - head.written == self.batch {
            self.flush(UPDATES);
        }
    }

    /// Opens a free segment.
    fn open(&mut self, head: usize) {
        let segment = self.free.pop_front().expect("cleaning leaves free segments");
        self.heads[head] = Head { segment, ..Head::CLOSED };
        if segment == self.used {
            self.used += 1;
            self.trim(segment);
        }
    }

    fn trim(&mut self, segment: u32) {
        if self.trims {
            let start = u64::from(segment) * self.spacing;
            self.due.push(Access::new(Op::Trim, start, self.spacing));
        }
    }

    /// Returns the first byte of a slot.
    fn offset(&self, slot: u32) -> u64 {
        let (segment, place) = (slot / self.per_segment, slot % self.per_segment);
        u64::from(segment) * self.spacing + u64::from(place) * self.record
    }

    /// Adds a record to an open segment. Writes and closes the segment if it is full.
    fn append(&mut self, head: usize, record: u32) {
        let before = self.slot_of[record as usize];
        if before != NONE {
            self.live[(before / self.per_segment) as usize] -= 1;
        }
        let Head { segment, taken, .. } = self.heads[head];
        let slot = segment * self.per_segment + taken;
        self.slot_of[record as usize] = slot;
        self.record_at[slot as usize] = record;
        self.live[segment as usize] += 1;
        self.heads[head].taken += 1;
        if self.heads[head].taken == self.per_segment {
            self.flush(head);
            self.full.push(segment);
            self.heads[head] = Head::CLOSED;
        }
    }

    /// Writes the gathered records of an open segment.
    fn flush(&mut self, head: usize) {
        let Head { segment, written, taken } = self.heads[head];
        if taken > written {
            let stream: StreamId = if head == MOVED { MOVED_STREAM } else { 0 };
            let offset = self.offset(segment * self.per_segment + written);
            let len = u64::from(taken - written) * self.record;
            self.due.push(Access { stream, ..Access::new(Op::Write, offset, len) });
            self.heads[head].written = taken;
        }
    }

    /// Moves the live records of the full segment with the fewest live records, and frees the
    /// segment. Returns false if every full segment holds only live records.
    fn clean(&mut self) -> bool {
        let fewest = (0..self.full.len()).min_by_key(|nth| self.live[self.full[*nth] as usize]);
        let Some(nth) = fewest.filter(|nth| self.live[self.full[*nth] as usize] < self.per_segment)
        else {
            return false;
        };
        let victim = self.full.remove(nth);
        let slots = victim * self.per_segment..(victim + 1) * self.per_segment;
        let is_live = |store: &LogStructured, slot: u32| {
            store.slot_of[store.record_at[slot as usize] as usize] == slot
        };
        let live: Vec<u32> = slots.filter(|slot| is_live(self, *slot)).collect();
        for run in live.chunk_by(|one, next| one + 1 == *next) {
            let len = run.len() as u64 * self.record;
            self.due.push(Access::new(Op::Read, self.offset(run[0]), len));
        }
        for slot in live {
            if self.heads[MOVED].segment == NONE {
                self.open(MOVED);
            }
            self.append(MOVED, self.record_at[slot as usize]);
        }
        self.flush(MOVED);
        self.trim(victim);
        self.free.push_back(victim);
        true
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Io;
    use proptest::prelude::*;

    use super::super::tests::{LARGE, assert_nothing_dead_is_wanted, ios_on, refused_on};
    use super::super::{Ios, Target};
    use super::*;
    use crate::Stream;
    use flashscope_block::Nanos;

    /// Returns the bytes written of moved records, and of other records.
    #[allow(clippy::cast_precision_loss)]
    fn written(ios: &[Io]) -> (f64, f64) {
        let of = |stream| {
            let writes = ios.iter().filter(|io| io.op == Op::Write && io.stream == stream);
            writes.map(|io| io.len.0).sum::<u64>() as f64
        };
        (of(MOVED_STREAM), of(0))
    }

    // With uniform updates, the write amplification of the store is that of greedy cleaning of
    // large blocks: 1 / (1 - u). The share u of live records in a cleaned segment satisfies
    // (u - 1) / ln u = load (Desnoyers, ACM TOS 2014, for infinite blocks). The load is the share
    // of live records in the full segments.
    #[test]
    fn uniform_updates_have_the_amplification_of_greedy_cleaning() {
        for (live, load_to_cleaned) in [("0.6", 0.6), ("0.75", 0.75), ("0.85", 0.85)] {
            let spec = format!(
                "log-structured?segment=512KiB&live={live}&updates={0}&hot=0.5&batch=512KiB",
                0.5
            );
            let ios = ios_on(&LARGE, &spec, 400_000);
            let (moved, new) = written(&ios[300_000..]);
            let found = (moved + new) / new;
            let segments = f64::from(u32::try_from(LARGE.capacity.0 / (512 << 10)).unwrap());
            // One segment is free, and two are half full.
            let load = load_to_cleaned * segments / (segments - 2.0);
            let (mut low, mut high) = (1e-6, 1.0 - 1e-6);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if (middle - 1.0) / f64::ln(middle) < load { low = middle } else { high = middle }
            }
            let expected = 1.0 / (1.0 - low);
            assert!((found / expected - 1.0).abs() < 0.04, "{live}: {found}, not {expected}");
        }
    }

    // A trim precedes the writes to a segment, which follow each other from its start: a zoned
    // drive accepts them.
    #[test]
    fn segments_are_written_from_start_to_end() {
        for spec in [
            "log-structured?segment=256KiB&batch=12KiB&updates=0.9&hot=0.1&lookups=0.3",
            "log-structured?segment=1MiB&batch=1MiB&request=20KiB&record=16KiB&live=0.9",
            "log-structured?segment=768KiB&spacing=1MiB&batch=12KiB&lookups=0.3",
        ] {
            let segment = if spec.contains("1MiB&batch") { 1 << 20 } else { 256 << 10 };
            let capacity = if spec.contains("768KiB") { 768 << 10 } else { segment };
            let mut pointers = vec![None; usize::try_from(LARGE.capacity.0 / segment).unwrap()];
            for io in ios_on(&LARGE, spec, 100_000) {
                let (number, place) = (io.offset.0 / segment, io.offset.0 % segment);
                let pointer = &mut pointers[usize::try_from(number).unwrap()];
                match io.op {
                    Op::Trim => {
                        assert_eq!((place, io.len.0), (0, segment), "{spec}");
                        *pointer = Some(0);
                    }
                    Op::Write => {
                        assert_eq!(*pointer, Some(place), "{spec}: {io:?}");
                        *pointer = Some(place + io.len.0);
                        assert!(place + io.len.0 <= capacity, "{spec}: {io:?}");
                    }
                    _ => assert!(pointer.is_some_and(|end| place + io.len.0 <= end), "{spec}"),
                }
            }
        }
    }

    #[test]
    fn trimmed_segments_are_written_before_they_are_read() {
        assert_nothing_dead_is_wanted("log-structured?segment=128KiB&lookups=0.2&batch=4KiB");
    }

    #[test]
    fn a_range_with_too_few_free_segments_is_refused() {
        for (fields, reason) in [
            ("live=0.99", "must leave 5 of the"),
            ("record=5KiB", "it must divide a segment"),
            ("segment=1GiB", "takes at least"),
            ("batch=6KiB", "it must be a multiple of 4 KiB"),
            ("spacing=1MiB", "it must be"),
        ] {
            let error = refused_on(&LARGE, &format!("log-structured?{fields}"));
            assert!(error.contains(reason), "{error}");
        }
    }

    proptest! {
        // Each record has one live copy, and the counts of live records are correct, for any sizes.
        #[test]
        fn records_are_counted_right(
            records in 1u64..20, segments in 6u64..40, live in 0.01..0.99, seed in any::<u64>(),
        ) {
            let capacity = Bytes(segments * records * 4096);
            let spec = format!("log-structured?segment={}&live={live}&batch=4KiB", records * 4096);
            let Ok(workload) = super::super::open(&spec, &Target { capacity, seed, ..LARGE }) else {
                return Ok(());
            };
            let Ios::Application(mut stream) = workload.ios else { panic!("another kind") };
            (0..3000).for_each(|_| _ = stream.next(Nanos(0)).unwrap());
            let Models::LogStructured(store) = stream.model() else { panic!("another kind") };
            let mut counted = vec![0; store.live.len()];
            for (record, slot) in store.slot_of.iter().enumerate().filter(|(_, slot)| **slot != NONE) {
                prop_assert_eq!(store.record_at[*slot as usize] as usize, record);
                counted[(slot / store.per_segment) as usize] += 1;
            }
            prop_assert_eq!(&counted, &store.live);
        }
    }
}
