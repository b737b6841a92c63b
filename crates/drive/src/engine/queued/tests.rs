use super::*;
use crate::options::{Access, Location, OpenOptions};

/// A kernel that answers what its script says: lists of slots with results, one each time it is asked.
struct Scripted(VecDeque<Vec<(usize, i64)>>);

impl Kernel for Scripted {
    fn takes(&self, _: Op) -> bool {
        true
    }

    unsafe fn ready(&mut self, _: usize, _: &Io, _: *mut u8) {}

    fn hand_over(&mut self, _: &mut Vec<Answer>) {}

    fn exchange(&mut self, _: Option<Duration>, clock: &Clock, to: &mut Vec<Answer>) -> Nanos {
        let answers = self.0.pop_front().unwrap_or_default();
        to.extend(answers.into_iter().map(|(slot, result)| Answer { slot, result }));
        clock.now()
    }
}

/// An engine with room for two IOs over such a kernel, both of them read; the first is in slot 1.
fn reading(script: &[&[(usize, i64)]]) -> Queued<Scripted> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_path_buf();
    let options = OpenOptions {
        access: Access::Write { confirmation: path.to_str().map(str::to_owned) },
        direct: false,
        size: Some(Bytes::MIB),
        ..OpenOptions::new(Location::File(path))
    };
    let setup = Setup {
        target: Arc::new(Target::open(&options).unwrap()),
        clock: Clock::new(),
        content: Arc::new(Content::new(1)),
        depth: 2,
        max_io: 4096,
        writable: true,
        patience: Nanos::millis(1),
    };
    let kernel = Scripted(script.iter().map(|answers| answers.to_vec()).collect());
    let mut engine = Queued::new(kernel, Buffers::new(2, 4096).unwrap(), &setup);
    for offset in [0, 4096] {
        let (op, data) = (Op::Read, Data::Random);
        let (offset, len) = (Bytes(offset), Bytes(4096));
        engine.submit(&Io { op, stream: 0, offset, len, at: Nanos(0), data });
    }
    engine
}

/// The offsets of all that is answered, with what it came to.
fn answers(engine: &mut Queued<Scripted>) -> Vec<(u64, Result<(), Errno>)> {
    std::iter::from_fn(|| engine.complete(Nanos::MAX))
        .map(|answer| (answer.io.offset.0, answer.result))
        .collect()
}

// Is what a kernel answers out of order, short, or with an error given to the IO that it belongs to?
#[test]
fn answers_reach_their_ios() {
    let mut engine = reading(&[&[(0, 512)], &[(1, -5)]]);
    assert_eq!(answers(&mut engine), [(4096, Err(Errno::ENODATA)), (0, Err(Errno::EIO))]);
    assert!(!engine.has_given_up());
}

// Is an answer passed over that is to nothing in flight: of no slot, or the second to one? It would free a
// slot twice, and two IOs would share it.
#[test]
fn answers_to_nothing_are_passed_over() {
    let mut engine =
        reading(&[&[(7, 4096), (usize::MAX, 4096)], &[(1, 4096), (1, 4096)], &[(0, 4096)]]);
    assert_eq!(answers(&mut engine), [(0, Ok(())), (4096, Ok(()))]);
    assert_eq!(engine.free.len(), 2);
    assert_eq!(engine.in_flight, 0);
}

// Is a number that is no error number an error all the same?
#[test]
fn nonsense_is_an_error() {
    let mut engine = reading(&[&[(1, i64::MIN + 1), (0, 4096)]]);
    assert_eq!(answers(&mut engine), [(0, Err(Errno::EIO)), (4096, Ok(()))]);
}

// Is a kernel that does not answer given up, without being waited for when the engine is dropped?
#[test]
fn silence_is_given_up() {
    let mut engine = reading(&[&[(1, 4096)]]);
    assert_eq!(answers(&mut engine), [(0, Ok(()))]);
    assert!(engine.has_given_up());
    assert_eq!(engine.in_flight, 1);
    drop(engine);
}

// Is a read that is longer than its buffer not handed over? The kernel would write beyond it.
#[test]
#[should_panic(expected = "len <= self.stride")]
fn a_read_longer_than_its_buffer_is_not_handed_over() {
    let mut engine = reading(&[&[(0, 4096), (1, 4096)]]);
    assert_eq!(answers(&mut engine).len(), 2);
    let (op, data) = (Op::Read, Data::Random);
    engine.submit(&Io { op, stream: 0, offset: Bytes(0), len: Bytes(8192), at: Nanos(0), data });
}
