use super::*;
use crate::content::Content;
use crate::options::{Access, Location, OpenOptions};

/// A kernel that returns scripted completions: a list of slots and results for each call.
struct ScriptedKernel(VecDeque<Vec<(usize, i64)>>);

impl Kernel for ScriptedKernel {
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

/// Creates an engine over a scripted kernel, with two reads in flight; the first one is in slot 1.
fn reading(script: &[&[(usize, i64)]]) -> QueuedEngine<ScriptedKernel> {
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
        response_timeout: Nanos::millis(1),
    };
    let kernel = ScriptedKernel(script.iter().map(|answers| answers.to_vec()).collect());
    let mut engine = QueuedEngine::new(kernel, Buffers::new(2, 4096).unwrap(), &setup);
    for offset in [0, 4096] {
        let (op, data) = (Op::Read, Data::Random);
        let (offset, len) = (Bytes(offset), Bytes(4096));
        engine.submit(&Io { op, stream: 0, offset, len, at: Nanos(0), data });
    }
    engine
}

/// Returns the offset and the result of each completion.
fn answers(engine: &mut QueuedEngine<ScriptedKernel>) -> Vec<(u64, Result<(), Errno>)> {
    std::iter::from_fn(|| engine.complete(Nanos::MAX))
        .map(|answer| (answer.io.offset.0, answer.result))
        .collect()
}

// Completions may be out of order, short, or errors.
#[test]
fn completions_reach_their_ios() {
    let mut engine = reading(&[&[(0, 512)], &[(1, -5)]]);
    assert_eq!(answers(&mut engine), [(4096, Err(Errno::ENODATA)), (0, Err(Errno::EIO))]);
    assert!(!engine.has_timed_out());
}

// An accepted completion of an idle slot would free the slot twice, and two IOs would share it.
#[test]
fn completions_of_idle_slots_are_ignored() {
    let mut engine =
        reading(&[&[(7, 4096), (usize::MAX, 4096)], &[(1, 4096), (1, 4096)], &[(0, 4096)]]);
    assert_eq!(answers(&mut engine), [(0, Ok(())), (4096, Ok(()))]);
    assert_eq!(engine.free.len(), 2);
    assert_eq!(engine.in_flight, 0);
}

#[test]
fn an_invalid_error_number_is_an_error() {
    let mut engine = reading(&[&[(1, i64::MIN + 1), (0, 4096)]]);
    assert_eq!(answers(&mut engine), [(0, Err(Errno::EIO)), (4096, Ok(()))]);
}

// After the timeout, dropping the engine does not wait.
#[test]
fn a_silent_kernel_times_out() {
    let mut engine = reading(&[&[(1, 4096)]]);
    assert_eq!(answers(&mut engine), [(0, Ok(()))]);
    assert!(engine.has_timed_out());
    assert_eq!(engine.in_flight, 1);
    drop(engine);
}

// The kernel would write beyond the buffer.
#[test]
#[should_panic(expected = "len <= self.stride")]
fn a_read_longer_than_its_buffer_is_not_submitted() {
    let mut engine = reading(&[&[(0, 4096), (1, 4096)]]);
    assert_eq!(answers(&mut engine).len(), 2);
    let (op, data) = (Op::Read, Data::Random);
    engine.submit(&Io { op, stream: 0, offset: Bytes(0), len: Bytes(8192), at: Nanos(0), data });
}
