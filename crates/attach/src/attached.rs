use std::sync::Arc;
use std::thread::JoinHandle;
use std::{io, thread};

use flashscope_block::{Bytes, Completion, Data, Device, DeviceInfo, Io, Nanos, Op};
use flashscope_drive::Contents;

use crate::awake::Awake;
use crate::pace::Timing;
use crate::paced::Paced;
use crate::passed::Passed;
use crate::request::{Answer, Asked};
use crate::round_trip::RoundTrip;
use crate::statistics::Snapshot;
use crate::store::Store;

/// Told each request that is done, in the order of the answers: `submitted` is when it arrived.
pub type Tell = Box<dyn FnMut(&Completion) + Send>;

/// What a transport must know of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// How the drive was named.
    pub name: String,
    /// Bytes that can be addressed: a multiple of the logical block.
    pub size: Bytes,
    /// The unit that the drive reads and writes: a power of two.
    pub logical_block: Bytes,
    /// Whether ranges can be trimmed; no other drive is asked to.
    pub trims: bool,
    /// Whether it can be written and trimmed; no other drive is asked to.
    pub writable: bool,
}

/// A drive that clients can use: see the crate.
///
/// When it is dropped, requests in flight are no longer answered.
pub struct Attached<A: Answer> {
    export: Export,
    serves: Arc<Serves<A>>,
    threads: Vec<JoinHandle<()>>,
    /// While answers are held back to their time; answers are as right without, but later.
    _awake: Option<Awake>,
}

enum Serves<A> {
    Paced(Paced<A>),
    Passed(Passed<A>),
}

impl<A: Answer> Serves<A> {
    /// Whether answers are held back to their time.
    fn are_timed(&self) -> bool {
        matches!(self, Serves::Paced(paced) if paced.holds_back())
    }
}

impl<A: Answer> Attached<A> {
    /// A drive on virtual time, of which the first bytes are shown, as many as the store holds. It
    /// is first written what the store holds already, which takes none of the machine's time but
    /// that of working it out; `progress` is told how many bytes of how many are.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn simulated(
        mut device: Box<dyn Device + Send>,
        export: Export,
        store: Store,
        timing: Timing,
        tell: Option<Tell>,
        progress: &mut dyn FnMut(Bytes, Bytes),
    ) -> io::Result<Attached<A>> {
        write_what_is_there(&mut *device, &store.extents()?, progress);
        let paced = Paced::new(device, export.size, store, timing, tell);
        let workers = usize::from(paced.holds_back());
        Attached::start(export, Serves::Paced(paced), workers)
    }

    /// A real drive, with as many threads as requests may be in flight.
    ///
    /// # Errors
    /// Where the system has no more threads.
    pub fn real(
        info: DeviceInfo,
        contents: Contents,
        export: Export,
        tell: Option<Tell>,
    ) -> io::Result<Attached<A>> {
        let workers = info.queue_depth as usize;
        Attached::start(export, Serves::Passed(Passed::new(info, contents, tell)), workers)
    }

    fn start(export: Export, serves: Serves<A>, workers: usize) -> io::Result<Attached<A>> {
        let serves = Arc::new(serves);
        let awake = if serves.are_timed() { Awake::keep().ok() } else { None };
        let mut attached = Attached { export, serves, threads: Vec::new(), _awake: awake };
        for _ in 0..workers {
            let serves = Arc::clone(&attached.serves);
            let worker =
                thread::Builder::new().name("answers".into()).spawn(move || match &*serves {
                    Serves::Paced(paced) => paced.answer_in_time(),
                    Serves::Passed(passed) => passed.work(),
                });
            attached.threads.push(worker?);
        }
        Ok(attached)
    }

    /// What a transport must know of the drive.
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Whether bytes that were trimmed read as zeros. Not every real drive promises that.
    pub fn trims_to_zeros(&self) -> bool {
        let forgets = match &*self.serves {
            Serves::Paced(_) => true,
            Serves::Passed(passed) => passed.forgets(),
        };
        forgets && self.export.trims
    }

    /// By how much sooner requests are answered, for what the way takes by itself; none where no answer
    /// is held back.
    pub fn round_trip(&self) -> Option<RoundTrip> {
        match &*self.serves {
            Serves::Paced(paced) => paced.round_trip(),
            Serves::Passed(_) => None,
        }
    }

    /// Hands over requests, which are taken out of `batch`. They are answered in any order, by this
    /// thread before it returns or by another one.
    ///
    /// Ranges must be within the drive and, but for a flush, not empty.
    pub fn submit(&self, batch: &mut Vec<Asked<A>>) {
        match &*self.serves {
            Serves::Paced(paced) => paced.submit(batch),
            Serves::Passed(passed) => passed.submit(batch),
        }
    }

    /// What was done, and where the drive stands now.
    pub fn snapshot(&self) -> Snapshot {
        match &*self.serves {
            Serves::Paced(paced) => paced.snapshot(),
            Serves::Passed(passed) => passed.snapshot(),
        }
    }
}

impl<A: Answer> Drop for Attached<A> {
    fn drop(&mut self) {
        match &*self.serves {
            Serves::Paced(paced) => paced.stop(),
            Serves::Passed(passed) => passed.stop(),
        }
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// How much is written at once to bring a drive to hold what its store holds.
const STEP: u64 = 256 * 1024;

/// Brings an empty drive to hold what its store holds: written once, in order.
fn write_what_is_there(
    device: &mut dyn Device,
    extents: &[std::ops::Range<u64>],
    progress: &mut dyn FnMut(Bytes, Bytes),
) {
    let block = device.info().logical_block.0;
    let total = Bytes(extents.iter().map(|extent| extent.end - extent.start).sum());
    let mut written = Bytes(0);
    for extent in extents {
        let end = extent.end.next_multiple_of(block);
        let mut offset = extent.start / block * block;
        while offset < end {
            let len = Bytes(STEP.min(end - offset));
            let at = device.now();
            let io =
                Io { op: Op::Write, stream: 0, offset: Bytes(offset), len, data: Data::Random, at };
            device.submit(&io);
            device.complete(Nanos::MAX);
            offset += len.0;
            written += len;
            progress(written.min(total), total);
        }
    }
}
