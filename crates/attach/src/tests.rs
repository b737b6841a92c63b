//! Tests of an attached drive's behaviour that is independent of the transport.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use flashscope_block::{
    Bytes, Completion, Data, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op,
};

use flashscope_drive::{STORE_DATA, StoreHeader};

use super::*;

const CAPACITY: Bytes = Bytes::mib(1);
const BLOCK: u64 = 4096;

/// A drive on virtual time that takes 1 ms for each IO, keeps written data in a buffer until the
/// next flush, and records its IOs.
struct Fake {
    info: DeviceInfo,
    now: Nanos,
    in_flight: Vec<Io>,
    buffered: BTreeSet<u64>,
    ios: IoLog,
}

/// The submitted IOs: operation, offset, length and data.
type IoLog = Arc<Mutex<Vec<(Op, u64, u64, Data)>>>;

impl Fake {
    fn new(queue_depth: u32) -> Fake {
        let info =
            DeviceInfo::new(("fake", DeviceKind::Sim), (CAPACITY, Bytes(BLOCK)), queue_depth);
        let (in_flight, buffered) = (Vec::new(), BTreeSet::new());
        Fake { info, now: Nanos(0), in_flight, buffered, ios: Arc::default() }
    }

    fn export(&self) -> Export {
        let (size, logical_block) = (self.info.capacity, self.info.logical_block);
        Export::new("fake", (size, logical_block))
    }
}

impl Device for Fake {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn now(&self) -> Nanos {
        self.now
    }
    fn submit(&mut self, io: &Io) {
        assert!(self.in_flight.len() < self.info.queue_depth as usize, "queue depth exceeded");
        self.ios.lock().unwrap().push((io.op, io.offset.0, io.len.0, io.data));
        self.in_flight.push(*io);
        match io.op {
            Op::Write => self.buffered.extend(io.offset.0 / BLOCK..io.end().0 / BLOCK),
            Op::Flush => self.buffered.clear(),
            _ => {}
        }
    }
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let due = self.next_due().filter(|due| *due <= until)?;
        self.now = self.now.max(due);
        let io = self.in_flight.remove(0);
        Some(Completion { io, submitted: io.at, completed: due, result: Ok(()) })
    }
    fn next_due(&self) -> Option<Nanos> {
        self.in_flight.first().map(|io| io.at + Nanos::micros(1000))
    }
    fn is_volatile(&self, offset: Bytes, len: Bytes) -> bool {
        let end = offset.0 + len.0;
        self.buffered.range(offset.0 / BLOCK..end.div_ceil(BLOCK)).next().is_some()
    }
}

/// A recipient that passes on each reply with the number of its request.
struct From(u32, Sender<(u32, Request, Result<(), Errno>)>);

type Answers = Receiver<(u32, Request, Result<(), Errno>)>;

impl Answer for From {
    fn answer(done: &mut Vec<CompletedRequest<From>>) {
        for answered in done.drain(..) {
            let From(number, to) = answered.to;
            let _ =
                to.send((number, answered.request, answered.result.map_err(RequestError::errno)));
        }
    }
}

fn request(op: Op, offset: u64, len: u64, byte: u8) -> Request {
    let data = if op == Op::Write { vec![byte; usize::try_from(len).unwrap()] } else { Vec::new() };
    Request {
        op,
        offset: Bytes(offset),
        len: Bytes(len),
        data,
        durable: false,
        appends: false,
        stream: 0,
        metadata: None,
    }
}

/// Submits all requests at once.
fn ask(attached: &AttachedDrive<From>, requests: Vec<Request>) -> Answers {
    let (to, answers) = channel();
    let from = |(number, request)| PendingRequest { request, from: From(number, to.clone()) };
    attached.submit(&mut (0..).zip(requests).map(from).collect());
    answers
}

/// Submits a request that must succeed, and returns it.
fn done(attached: &AttachedDrive<From>, request: Request) -> Request {
    let (_, request, result) = ask(attached, vec![request]).recv().unwrap();
    assert_eq!(result, Ok(()), "{request:?}");
    request
}

fn attach(fake: Fake, store: Store, speed: Speed) -> AttachedDrive<From> {
    let export = fake.export();
    AttachedDrive::simulated(
        Box::new(fake),
        export,
        store,
        speed.into(),
        Hooks::default(),
        &mut |_, _| {},
    )
    .unwrap()
}

// Each request is answered once, at any speed and with more requests than the queue depth, and
// reads return the last data written.
#[test]
fn each_request_is_answered_once() {
    for speed in [Speed::Max, Speed::Times(100.0)] {
        let attached = attach(Fake::new(4), Store::memory(CAPACITY).unwrap(), speed);
        let writes = (0..32).map(|i: u8| request(Op::Write, u64::from(i) * BLOCK, BLOCK, i + 1));
        let mut numbers: Vec<u32> = ask(&attached, writes.collect())
            .iter()
            .map(|(number, _, result)| {
                assert_eq!(result, Ok(()));
                number
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..32).collect::<Vec<_>>());
        let all = done(&attached, request(Op::Read, 0, 32 * BLOCK, 0));
        assert!((0..32 * 4096).all(|at| usize::from(all.data[at]) == at / 4096 + 1));
        let snapshot = attached.snapshot();
        let counts: Vec<(u64, u64)> =
            snapshot.ops.iter().map(|op| (op.requests, op.bytes)).collect();
        assert_eq!(counts, [(1, 32 * BLOCK), (32, 32 * BLOCK), (0, 0), (0, 0)]);
        // With 32 writes at a queue depth of four, the last write waits for seven rounds of writes.
        let longest = snapshot.ops[1].latency_ns.max();
        assert!(longest >= 7_990_000, "{longest}");
        assert_eq!(snapshot.in_flight, 0);
        // The writes took eight times 1 ms, four at a time, and the read 1 ms.
        let busy = snapshot.busy.0;
        assert!(busy >= 8_990_000 && (speed != Speed::Max || busy < 9_010_000), "{busy}");
        // Tolerates that the lateness of the last reply is not recorded yet.
        let noted = if speed == Speed::Max { 0..=0 } else { 32..=33 };
        assert!(noted.contains(&snapshot.lateness_ns.len()));
    }
}

/// A recipient that passes on the thread that processed the data of a read, and the data at that
/// time.
struct Processing(Option<(ThreadId, Vec<u8>)>, Sender<Option<(ThreadId, Vec<u8>)>>);

impl Answer for Processing {
    fn process_read(&mut self, read: &mut Request) {
        self.0 = Some((std::thread::current().id(), std::mem::take(&mut read.data)));
    }

    fn answer(done: &mut Vec<CompletedRequest<Processing>>) {
        for answered in done.drain(..) {
            let Processing(processed, to) = answered.to;
            let _ = to.send(processed);
        }
    }
}

// The thread that submits a read processes its data, not the thread that answers all clients.
#[test]
fn the_submitting_thread_processes_reads() {
    for speed in [Speed::Max, Speed::Times(1.0)] {
        let (fake, store) = (Fake::new(4), Store::memory(CAPACITY).unwrap());
        store.write(Bytes(0), Bytes(BLOCK), &[7; 4096]).unwrap();
        let (export, hooks) = (fake.export(), Hooks::default());
        let attached = AttachedDrive::simulated(
            Box::new(fake),
            export,
            store,
            speed.into(),
            hooks,
            &mut |_, _| {},
        );
        let attached = attached.unwrap();
        let (to, answers) = channel();
        let pending = [Op::Read, Op::Write].map(|op| PendingRequest {
            request: request(op, 0, BLOCK, 7),
            from: Processing(None, to.clone()),
        });
        attached.submit(&mut Vec::from(pending));
        drop(to);
        let mut processed: Vec<_> = answers.iter().collect();
        processed.sort_by_key(Option::is_some);
        let this = std::thread::current().id();
        assert_eq!(processed, [None, Some((this, vec![7; 4096]))]);
    }
}

// The round trip counts as a part of the drive's latency: a request counts as submitted before it
// arrived, but not before the drive's last completion.
#[test]
fn the_round_trip_is_a_part_of_the_latency() {
    let submitted = |round_trip| {
        let (fake, (sender, submissions)) = (Fake::new(4), channel());
        let export = fake.export();
        let hook: CompletionHook =
            Box::new(move |completion| sender.send(completion.submitted).unwrap());
        let hooks = Hooks { completion: Some(hook), faults: None };
        let timing = Timing { speed: Speed::Times(1.0), round_trip };
        let store = Store::memory(CAPACITY).unwrap();
        let device = Box::new(fake);
        let attached =
            AttachedDrive::simulated(device, export, store, timing, hooks, &mut |_, _| {});
        let attached = attached.unwrap();
        done(&attached, request(Op::Read, 0, BLOCK, 0));
        done(&attached, request(Op::Read, 0, BLOCK, 0));
        [submissions.recv().unwrap(), submissions.recv().unwrap()]
    };
    assert!(submitted(RoundTrip::default())[0] > Nanos(0));
    // The round trip exceeds the time since the drive was attached.
    let [first, second] = submitted(RoundTrip::fixed(Nanos::secs(1000)));
    assert_eq!(first, Nanos(0));
    assert!(second >= Nanos::millis(1), "the first request completed only then: {second}");
}

// A request that fails before it reaches the drive is counted.
#[test]
fn failures_are_counted() {
    let attached = attach(Fake::new(4), Store::memory(CAPACITY).unwrap(), Speed::Max);
    let beyond = ask(&attached, vec![request(Op::Read, CAPACITY.0, BLOCK, 0)]).recv().unwrap();
    assert!(beyond.2.is_err());
    let snapshot = attached.snapshot();
    assert_eq!((snapshot.ops[0].requests, snapshot.ops[0].errors, snapshot.in_flight), (1, 1, 0));
}

// The drive receives complete blocks, a hint about zeros, and a flush after a durable write.
#[test]
fn the_drive_receives_whole_blocks_and_flushes() {
    let fake = Fake::new(4);
    let ios = Arc::clone(&fake.ios);
    let attached = attach(fake, Store::memory(CAPACITY).unwrap(), Speed::Max);
    let zeros = Request { data: Vec::new(), ..request(Op::Write, 2 * BLOCK, BLOCK, 0) };
    let durable = Request { durable: true, ..request(Op::Write, 100, 5000, 1) };
    let answers = ask(&attached, vec![zeros, durable, request(Op::Flush, 0, 0, 0)]);
    assert_eq!(answers.iter().count(), 3);
    let ios = ios.lock().unwrap();
    let flush = (Op::Flush, 0, 0, Data::Random);
    let zeros = (Op::Write, 2 * BLOCK, BLOCK, Data::Zeros);
    assert_eq!(*ios, [zeros, (Op::Write, 0, 2 * BLOCK, Data::Random), flush, flush]);
}

/// Opens a store in a file.
fn kept(path: &std::path::Path) -> Store {
    Store::file(path, &StoreHeader { drive: "fake".into(), size: CAPACITY, seed: 0 }, false)
        .unwrap()
}

// After the process was killed, the store contains the flushed data but not the buffered data. A
// drive that is attached again receives the ranges in the store.
#[test]
fn a_power_cut_loses_only_buffered_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let attached = attach(Fake::new(4), kept(&path), Speed::Max);
    done(&attached, request(Op::Write, 0, BLOCK, 1));
    done(&attached, request(Op::Flush, 0, 0, 0));
    ask(&attached, vec![request(Op::Write, 0, BLOCK, 2), request(Op::Write, BLOCK, BLOCK, 2)]);
    let durable = Request { durable: true, ..request(Op::Write, 100 * BLOCK, BLOCK, 3) };
    let seen = done(&attached, request(Op::Read, 0, 2 * BLOCK, 0));
    assert!(seen.data.iter().all(|byte| *byte == 2), "a read returns the last data written");
    // The file now contains the data that would survive if the process were killed.
    let read = || std::fs::read(&path).unwrap().split_off(usize::try_from(STORE_DATA).unwrap());
    let file = read();
    assert_eq!((file[0], file[4096]), (1, 0));
    done(&attached, durable);
    let file = read();
    assert_eq!((file[0], file[4096], file[100 * 4096]), (2, 2, 3));
    drop(attached);
    let fake = Fake::new(4);
    let ios = Arc::clone(&fake.ios);
    let attached = attach(fake, kept(&path), Speed::Max);
    let written: Vec<_> = ios.lock().unwrap().iter().map(|io| (io.0, io.1, io.2)).collect();
    assert_eq!(written, [(Op::Write, 0, 2 * BLOCK), (Op::Write, 100 * BLOCK, BLOCK)]);
    let read = done(&attached, request(Op::Read, 100 * BLOCK, 1, 0));
    assert_eq!(read.data, [3]);
}

// A durable trim is executed once, before later requests, and then flushed.
#[test]
fn a_durable_trim_is_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new(4);
    let ios = Arc::clone(&fake.ios);
    let store = kept(&folder.path().join("store"));
    let attached = attach(fake, store, Speed::Max);
    let trim = Request { durable: true, ..request(Op::Trim, 0, 2 * BLOCK, 0) };
    assert_eq!(ask(&attached, vec![trim, request(Op::Write, 0, BLOCK, 7)]).iter().count(), 2);
    let ops: Vec<Op> = ios.lock().unwrap().iter().map(|io| io.0).collect();
    assert_eq!(ops, [Op::Trim, Op::Write, Op::Flush]);
    let read = done(&attached, request(Op::Read, 0, 2 * BLOCK, 0));
    assert!((0..8192).all(|at| read.data[at] == if at < 4096 { 7 } else { 0 }));
}

// A real drive stores its data, and the hook is called for each request in the order of the
// replies.
#[test]
fn a_real_drive_keeps_its_own_data() {
    use flashscope_drive::{Access, Contents, Location, OpenOptions};
    let folder = tempfile::tempdir().unwrap();
    let location = Location::File(folder.path().join("drive"));
    let access = Access::Write { confirmation: None };
    let options =
        OpenOptions { access, size: Some(CAPACITY), queue_depth: 2, ..OpenOptions::new(location) };
    let (contents, info) = Contents::open(&options).unwrap();
    let export = Export::new(info.name.clone(), (info.capacity, info.logical_block));
    let (sender, completions) = channel();
    let hook: CompletionHook = Box::new(move |completion| sender.send(*completion).unwrap());
    let hooks = Hooks { completion: Some(hook), faults: None };
    let attached: AttachedDrive<From> = AttachedDrive::real(info, contents, export, hooks).unwrap();
    let writes = (0..8).map(|i: u8| request(Op::Write, u64::from(i) * BLOCK, BLOCK, i + 1));
    assert_eq!(ask(&attached, writes.collect()).iter().count(), 8);
    let zeros = Request { data: Vec::new(), ..request(Op::Write, 0, BLOCK, 0) };
    done(&attached, zeros);
    done(&attached, request(Op::Trim, BLOCK, BLOCK, 0));
    done(&attached, request(Op::Flush, 0, 0, 0));
    let read = done(&attached, request(Op::Read, 0, 8 * BLOCK, 0));
    let expected = |at: usize| if at < 8192 { 0 } else { at / 4096 + 1 };
    assert!((0..8 * 4096).all(|at| usize::from(read.data[at]) == expected(at)));
    let beyond = ask(&attached, vec![request(Op::Read, CAPACITY.0, BLOCK, 0)]).recv().unwrap();
    assert_eq!(beyond.2, Err(Errno::ENODATA));
    assert_eq!(attached.snapshot().ops[0].errors, 1);
    drop(attached);
    let completions: Vec<Completion> = completions.iter().collect();
    assert_eq!(completions.len(), 13);
    assert!(completions.windows(2).all(|pair| pair[0].completed <= pair[1].completed));
}

// A read-only drive refuses writes and trims of every transport. Neither the drive nor the store
// changes.
#[test]
fn a_read_only_drive_refuses_changes() {
    let fake = Fake::new(4);
    let ios = Arc::clone(&fake.ios);
    let export = Export { writable: false, ..fake.export() };
    let store = Store::memory(CAPACITY).unwrap();
    let (timing, hooks) = (Speed::Max.into(), Hooks::default());
    let attached =
        AttachedDrive::simulated(Box::new(fake), export, store, timing, hooks, &mut |_, _| {});
    let attached = attached.unwrap();
    let requests = [Op::Write, Op::Read, Op::Trim, Op::Flush].map(|op| request(op, 0, BLOCK, 1));
    let mut answers: Vec<_> = ask(&attached, requests.into()).iter().collect();
    answers.sort_by_key(|(number, ..)| *number);
    let read_only = Err(Errno(libc::EROFS));
    let results: Vec<_> = answers.iter().map(|(_, _, result)| *result).collect();
    assert_eq!(results, [read_only, Ok(()), read_only, Ok(())]);
    assert_eq!(done(&attached, request(Op::Read, 0, BLOCK, 0)).data, [0; 4096]);
    let ops: Vec<Op> = ios.lock().unwrap().iter().map(|io| io.0).collect();
    assert_eq!(ops, [Op::Read, Op::Flush, Op::Read]);
}

// A monitor reports the drive's activity and does not keep the drive alive.
#[test]
fn a_monitor_does_not_keep_the_drive_alive() {
    let attached = attach(Fake::new(4), Store::memory(CAPACITY).unwrap(), Speed::Max);
    let attached = Arc::new(attached);
    let monitor = Monitor::new(&attached);
    done(&attached, request(Op::Write, 0, BLOCK, 1));
    let sample = monitor.sample();
    assert!(sample.ops[1].bytes_per_s > 0.0, "{sample:?}");
    assert_eq!(Arc::strong_count(&attached), 1);
    drop(attached);
    assert_eq!(monitor.status(None).ops[1].requests, 1);
}

// A cut between a durable write and its flush ends the request once, and no IO ends before it
// began.
#[test]
fn durable_writes_end_once_when_they_are_cut() {
    let (fake, (sender, completions)) = (Fake::new(4), channel());
    let export = fake.export();
    let hook: CompletionHook = Box::new(move |completion| sender.send(*completion).unwrap());
    let plan = "[[fault]]\neffect = 'reset'\nevery = '1500us'".parse().unwrap();
    let hooks = Hooks { completion: Some(hook), faults: Some((plan, None)) };
    let store = Store::memory(CAPACITY).unwrap();
    let timing = Speed::Times(1.0).into();
    let attached =
        AttachedDrive::simulated(Box::new(fake), export, store, timing, hooks, &mut |_, _| {});
    let attached = attached.unwrap();
    let mut lost = 0;
    for _ in 0..40 {
        let write = Request { durable: true, ..request(Op::Write, 0, BLOCK, 1) };
        let answers: Vec<_> = ask(&attached, vec![write]).iter().collect();
        assert_eq!(answers.len(), 1);
        lost += u32::from(answers[0].2.is_err());
    }
    assert!(lost > 0, "no cut in 80 ms");
    drop(attached);
    assert!(completions.iter().all(|completion| completion.submitted <= completion.completed));
}
