use flashscope_block::{Bytes, DeviceKind};
use flashscope_document::verification::{AtomicitySource, WritingEnd};
use proptest::prelude::*;

use super::*;
use crate::plan::tests::WORKLOAD;

fn opening() -> Opening {
    Opening {
        tool: Tool { version: "1".into(), commit: None },
        device: DeviceInfo {
            serial: Some("S1".into()),
            ..DeviceInfo::new(("file:x", DeviceKind::File), (Bytes::mib(2), Bytes(512)), 8)
        },
        workload: WORKLOAD,
        atomicity: Atomicity {
            unit: Bytes(512),
            boundary: None,
            source: AtomicitySource::LogicalBlock,
        },
        began: "2026-01-02T03:04:05Z".into(),
    }
}

fn moment(number: u32) -> Moment {
    Moment { wall_ns: i64::from(number) - 5, steady_ns: number.into() }
}

/// Encodes a journal with a record for each group of events.
fn journal(groups: &[Vec<Event>]) -> Vec<u8> {
    let (mut encoder, mut bytes) = Encoder::new(&opening());
    for (number, group) in (0..).zip(groups) {
        let mut events = Vec::new();
        group.iter().for_each(|event| event.encode(&mut events));
        bytes.extend(encoder.events(moment(number), &events));
    }
    bytes
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::Submitted),
        (0..1u64 << 60).prop_map(Event::Acknowledged),
        (0..300u64).prop_map(Event::Failed),
        Just(Event::FlushSubmitted),
        Just(Event::FlushAcknowledged),
        Just(Event::FlushFailed),
        Just(Event::Ended(WritingEnd::Complete)),
        Just(Event::Ended(WritingEnd::Interrupted)),
        Just(Event::Ended(WritingEnd::DriveFailed)),
    ]
}

fn groups() -> impl Strategy<Value = Vec<Vec<Event>>> {
    prop::collection::vec(prop::collection::vec(event(), 0..12), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // The reader returns the events of the complete records before the damage.
    #[test]
    fn a_damaged_end_leaves_a_prefix_of_the_records(
        groups in groups(),
        end in any::<prop::sample::Index>(),
        garbage in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let whole = journal(&groups);
        let begin = journal(&[]).len();
        let cut = begin + end.index(whole.len() - begin + 1);
        let mut bytes = whole[..cut].to_vec();
        bytes.extend(&garbage);
        // Excludes garbage that equals the original continuation of the journal.
        prop_assume!(!whole.starts_with(&bytes) || garbage.is_empty());
        let read = Journal::parse(bytes.clone()).unwrap();
        let mut valid = (0..=groups.len()).rev();
        let count = valid.find(|count| journal(&groups[..*count]).len() <= cut).unwrap();
        let expected: Vec<Event> = groups[..count].iter().flatten().copied().collect();
        prop_assert_eq!(read.events().collect::<Vec<_>>(), expected);
        prop_assert_eq!(read.moments.len(), count);
        let valid = journal(&groups[..count]).len();
        prop_assert_eq!(read.damaged_tail, (bytes.len() - valid) as u64);
        prop_assert_eq!(read.opening, opening());
    }

    #[test]
    fn a_changed_bit_ends_the_journal_before_its_record(
        groups in groups(),
        place in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let mut bytes = journal(&groups);
        let begin = journal(&[]).len();
        prop_assume!(bytes.len() > begin);
        let at = begin + place.index(bytes.len() - begin);
        bytes[at] ^= 1 << bit;
        let read = Journal::parse(bytes).unwrap();
        let before = (0..=groups.len()).rev().find(|count| journal(&groups[..*count]).len() <= at);
        prop_assert_eq!(read.moments.len(), before.unwrap());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut journal = FIRST_LINE.to_vec();
        journal.extend(&bytes);
        prop_assert!(matches!(Journal::parse(journal), Err(JournalError::Opening)));
        let mut rest = bytes.as_slice();
        while Event::decode(&mut rest).is_some() {}
    }
}

#[test]
fn other_files_are_no_journals() {
    let error = |bytes: &[u8]| Journal::parse(bytes.to_vec()).err();
    assert_eq!(error(b""), Some(JournalError::NotAJournal));
    assert_eq!(error(b"flashscope store 1\n"), Some(JournalError::NotAJournal));
    assert_eq!(error(b"flashscope verify journal 2\n"), Some(JournalError::Version));
    assert_eq!(error(FIRST_LINE), Some(JournalError::Opening));
}

// A record that a file system moved, or an older record in its position, must not count.
#[test]
fn records_out_of_order_end_the_journal() {
    let groups = [vec![Event::Submitted], vec![Event::FlushSubmitted]];
    let [none, one, two] = [0, 1, 2].map(|count| journal(&groups[..count]));
    let mut swapped = none.clone();
    swapped.extend(&two[one.len()..]);
    swapped.extend(&two[none.len()..one.len()]);
    assert_eq!(Journal::parse(swapped).unwrap().events().count(), 0);
    let mut repeated = one.clone();
    repeated.extend(&one[none.len()..]);
    assert_eq!(Journal::parse(repeated).unwrap().events().count(), 1);
}

#[test]
fn a_background_log_stores_all_records_in_order_and_reports_errors() {
    use std::sync::{Arc, Mutex};
    struct Disk(Arc<Mutex<Vec<u8>>>);
    impl Storage for Disk {
        fn store(&mut self, bytes: &[u8]) -> std::io::Result<()> {
            let mut stored = self.0.lock().unwrap();
            if stored.len() + bytes.len() > 3000 {
                return Err(std::io::Error::other("full"));
            }
            stored.extend(bytes);
            Ok(())
        }
    }
    let stored = Arc::new(Mutex::new(Vec::new()));
    let mut log = Background::start(Disk(Arc::clone(&stored))).unwrap();
    let bytes: Vec<u8> = (0..=250).cycle().take(3000).collect();
    bytes.chunks(7).for_each(|record| log.append(record.to_vec()).unwrap());
    log.finish().unwrap();
    assert_eq!(*stored.lock().unwrap(), bytes);

    let mut log = Background::start(Disk(stored)).unwrap();
    let error = (0..5000).find_map(|_| log.append(vec![0]).err());
    let error = error.map_or_else(|| log.finish(), Err).unwrap_err();
    assert_eq!(error.to_string(), "full");
}
