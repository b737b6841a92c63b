//! The host interface: what commands and data cost on their way, and in which order answers
//! leave.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use flashscope_block::{Bytes, Completion, Errno, Io, Nanos, Op};

use crate::footprint::{Size, fixed, grown};
use crate::nand::{later, transfer_time};

/// The times that a request spends on the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Costs {
    /// The controller's work on each request, one request at a time.
    pub(crate) request: Nanos,
    /// 1024 bytes of data in either direction.
    pub(crate) per_kib: Nanos,
}

impl Costs {
    pub(crate) fn transfer(&self, len: Bytes) -> Nanos {
        transfer_time(len, self.per_kib)
    }
}

/// An IO while the drive works it out.
pub(crate) struct Request<'a> {
    /// Not a copy: reading what was written a moment ago, in other pieces, stalls the processor.
    pub(crate) io: &'a Io,
    pub(crate) submitted: Nanos,
    /// The order of submission.
    pub(crate) sequence: u64,
    pub(crate) result: Result<(), Errno>,
    /// When the drive is done with the request, but for sending data to the host.
    pub(crate) ready: Nanos,
}

impl Request<'_> {
    #[inline]
    fn pending(&self) -> Pending {
        let Request { io, submitted, sequence, result, ready } = *self;
        Pending { io: *io, submitted, sequence, result, ready }
    }
}

/// An IO that the drive has worked out and not yet answered: see [`Request`].
#[derive(Debug, Clone, Copy)]
struct Pending {
    io: Io,
    submitted: Nanos,
    sequence: u64,
    result: Result<(), Errno>,
    ready: Nanos,
}

impl Pending {
    #[inline]
    fn completed(&self, completed: Nanos) -> Completion {
        Completion { io: self.io, submitted: self.submitted, completed, result: self.result }
    }
}

/// A read whose data goes back to the host.
#[derive(Debug, Clone, Copy)]
struct FetchedRead {
    request: Pending,
    /// When the first page is there, so that sending may begin.
    first: Nanos,
    /// The times to send all of the data, and its last page.
    transfer: Nanos,
    last_transfer: Nanos,
}

/// A request that waits for commands in the queues of the flash.
#[derive(Debug, Clone, Copy)]
struct WaitingRequest {
    request: Pending,
    /// Commands that are not done.
    parts: u32,
    /// When the first page is there.
    first: Nanos,
    /// The length of the sent data, and that of its pages.
    data: Option<(Bytes, Bytes)>,
    /// The start of the request's next part, if this is not the last.
    next: Option<u64>,
}

/// A finished part of a request that another part follows.
pub(crate) struct DonePart {
    request: Pending,
    /// The start of the next part.
    pub(crate) next: u64,
    /// When the first page is there.
    pub(crate) first: Nanos,
    /// See [`Interface::wait`].
    pub(crate) data: Option<(Bytes, Bytes)>,
}

impl DonePart {
    /// The request, ready as far as it is done.
    pub(crate) fn request(&self) -> Request<'_> {
        let Pending { io, submitted, sequence, result, ready } = &self.request;
        Request { io, submitted: *submitted, sequence: *sequence, result: *result, ready: *ready }
    }
}

/// An entry of a heap: earliest first, and equal times in the order of submission.
trait Waiting {
    fn request(&self) -> &Pending;
}

impl Waiting for Pending {
    fn request(&self) -> &Pending {
        self
    }
}

impl Waiting for FetchedRead {
    fn request(&self) -> &Pending {
        &self.request
    }
}

struct ByTime<T>(T);

impl<T: Waiting> ByTime<T> {
    fn key(&self) -> (Nanos, u64) {
        let request = self.0.request();
        (request.ready, request.sequence)
    }
}

impl<T: Waiting> PartialEq for ByTime<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T: Waiting> Eq for ByTime<T> {}

impl<T: Waiting> PartialOrd for ByTime<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Waiting> Ord for ByTime<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Which queue the next answer comes from.
#[derive(Clone, Copy)]
enum Source {
    Acknowledged,
    FetchedRead,
    Flush,
}

/// The two directions of the link, which carry one transfer each at a time, and the requests
/// between them.
///
/// Requests and the data of writes go in, in the order of submission. The data of reads goes out
/// in the order in which it is complete; it may begin with the first page of a request, and ends
/// no earlier than its last page can be sent. Answers without data take no time on the link.
pub(crate) struct Interface {
    costs: Costs,
    in_free: Nanos,
    out_free: Nanos,
    acknowledged: BinaryHeap<Reverse<ByTime<Pending>>>,
    fetched: BinaryHeap<Reverse<ByTime<FetchedRead>>>,
    /// Flushes wait for every earlier request, so they stay in the order of submission.
    flushes: VecDeque<Pending>,
    /// Requests that wait for commands in the queues of the flash, by number.
    waiting: Vec<Option<WaitingRequest>>,
    free_numbers: Vec<u32>,
    /// The request in flight, if it is the only one and has no data to send: the queues are not
    /// worth their while for one request at a time.
    lone: Option<Pending>,
}

impl Interface {
    /// Returns the memory of an interface with at most `queue_depth` requests in flight.
    pub(crate) fn footprint(queue_depth: u32) -> Size {
        // Requests beyond the queue depth are answered as well, with an error.
        fixed::<Reverse<ByTime<Pending>>>(queue_depth) * 2
            + fixed::<Reverse<ByTime<FetchedRead>>>(queue_depth)
            + grown::<Pending>(queue_depth)
    }

    pub(crate) fn new(costs: Costs, queue_depth: u32) -> Self {
        let depth = queue_depth as usize;
        Interface {
            costs,
            in_free: Nanos(0),
            out_free: Nanos(0),
            acknowledged: BinaryHeap::with_capacity(depth),
            fetched: BinaryHeap::with_capacity(depth),
            flushes: VecDeque::new(),
            waiting: Vec::new(),
            free_numbers: Vec::new(),
            lone: None,
        }
    }

    /// Forgets what is in flight; the link is free at `now`.
    pub(crate) fn reset(&mut self, now: Nanos) {
        self.acknowledged.clear();
        self.fetched.clear();
        self.flushes.clear();
        self.waiting.clear();
        self.free_numbers.clear();
        self.lone = None;
        (self.in_free, self.out_free) = (now, now);
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        let lone = usize::from(self.lone.is_some());
        let waiting = self.waiting.len() - self.free_numbers.len();
        self.acknowledged.len() + self.fetched.len() + self.flushes.len() + waiting + lone
    }

    /// Takes the command of a request submitted at `at`; returns when the controller has it.
    pub(crate) fn receive_command(&mut self, at: Nanos) -> Nanos {
        self.in_free = later(at.max(self.in_free), self.costs.request);
        self.in_free
    }

    /// Takes the next `len` bytes of the request whose command came last; returns when the
    /// controller has them.
    #[inline]
    pub(crate) fn receive_data(&mut self, len: Bytes) -> Nanos {
        if self.costs.per_kib == Nanos(0) {
            return self.in_free;
        }
        self.in_free = later(self.in_free, self.costs.transfer(len));
        self.in_free
    }

    /// Answers a request that has no data to send, when it is ready.
    #[inline]
    pub(crate) fn acknowledge(&mut self, request: &Request) {
        if self.in_flight() == 0 {
            self.lone = Some(request.pending());
            return;
        }
        self.queue_lone();
        self.acknowledged.push(Reverse(ByTime(request.pending())));
    }

    /// Keeps a request that waits for `parts` commands until [`Interface::part_done`] was called as
    /// often. Returns its number. `data` is the length of what a read sends and that of its pages,
    /// `first` when the first page is there, if that is known, and `next` where the next part of the
    /// request begins if there is one.
    pub(crate) fn wait(
        &mut self,
        request: &Request,
        parts: u32,
        first: Nanos,
        data: Option<(Bytes, Bytes)>,
        next: Option<u64>,
    ) -> u32 {
        self.queue_lone();
        let waiting = WaitingRequest { request: request.pending(), parts, first, data, next };
        match self.free_numbers.pop() {
            Some(number) => {
                self.waiting[number as usize] = Some(waiting);
                number
            }
            None => {
                self.waiting.push(Some(waiting));
                u32::try_from(self.waiting.len() - 1).expect("at most the queue depth")
            }
        }
    }

    /// Records that a command of a waiting request was done at `now`, and answers the request if
    /// that was the last one; returns it if another part of it follows.
    pub(crate) fn part_done(&mut self, number: u32, now: Nanos) -> Option<DonePart> {
        let waiting = self.waiting.get_mut(number as usize)?.as_mut()?;
        waiting.parts -= 1;
        waiting.first = waiting.first.min(now);
        waiting.request.ready = waiting.request.ready.max(now);
        if waiting.parts > 0 {
            return None;
        }
        let WaitingRequest { request, first, data, next, .. } = *waiting;
        self.waiting[number as usize] = None;
        self.free_numbers.push(number);
        if let Some(next) = next.filter(|_| request.result.is_ok()) {
            return Some(DonePart { request, next, first, data });
        }
        match data {
            Some((len, page)) => self.fetched.push(Reverse(ByTime(FetchedRead {
                request,
                first,
                transfer: self.costs.transfer(len),
                last_transfer: self.costs.transfer(len.min(page)),
            }))),
            None if request.io.op == Op::Flush => self.flushes.push_back(request),
            None => self.acknowledged.push(Reverse(ByTime(request))),
        }
        None
    }

    /// Another request comes: the lone one is alone no longer.
    #[inline]
    fn queue_lone(&mut self) {
        if let Some(request) = self.lone.take() {
            self.acknowledged.push(Reverse(ByTime(request)));
        }
    }

    /// When a part of a read has been sent, as [`Interface::send_data`] would have it.
    pub(crate) fn sent(&self, first: Nanos, ready: Nanos, len: Bytes, page: Bytes) -> Nanos {
        let [all, last] = [len, len.min(page)].map(|len| self.costs.transfer(len));
        self.sent_by(first, ready, all, last)
    }

    /// When data has been sent whose first page is there at `first` and whose last at `ready`:
    /// neither before all of it fits on the link, nor before the last page does.
    #[inline]
    fn sent_by(&self, first: Nanos, ready: Nanos, all: Nanos, last: Nanos) -> Nanos {
        let all = later(first.max(self.out_free), all);
        all.max(later(ready.max(self.out_free), last))
    }

    /// Answers a read with its last `len` bytes, whose first page is there at `first`, in pages of
    /// up to `page` bytes.
    pub(crate) fn send_data(&mut self, request: &Request, first: Nanos, len: Bytes, page: Bytes) {
        self.queue_lone();
        self.fetched.push(Reverse(ByTime(FetchedRead {
            request: request.pending(),
            first,
            transfer: self.costs.transfer(len),
            last_transfer: self.costs.transfer(len.min(page)),
        })));
    }

    /// Answers a flush when all earlier requests are done.
    pub(crate) fn flush(&mut self, request: &Request) {
        self.queue_lone();
        self.flushes.push_back(request.pending());
    }

    /// The next completion of a drive whose clock shows `now`, if it is there by `until`.
    #[inline]
    pub(crate) fn next(&mut self, now: Nanos, until: Nanos) -> Option<Completion> {
        if let Some(request) = &self.lone {
            if request.ready > until {
                return None;
            }
            let completion = request.completed(request.ready);
            self.lone = None;
            return Some(completion);
        }
        self.next_of_many(now, until)
    }

    /// As [`Interface::next`], from the queues.
    fn next_of_many(&mut self, now: Nanos, until: Nanos) -> Option<Completion> {
        let (completed, _, source) = self.earliest(now)?;
        if completed > until {
            return None;
        }
        let request = match source {
            Source::FetchedRead => {
                self.out_free = completed;
                self.fetched.pop()?.0.0.request
            }
            Source::Acknowledged => self.acknowledged.pop()?.0.0,
            Source::Flush => self.flushes.pop_front()?,
        };
        Some(request.completed(completed))
    }

    /// When the next completion of a drive whose clock shows `now` is there.
    pub(crate) fn next_due(&self, now: Nanos) -> Option<Nanos> {
        if self.acknowledged.is_empty() && self.fetched.is_empty() && self.flushes.is_empty() {
            return self.lone.as_ref().map(|request| request.ready);
        }
        let lone = self.lone.as_ref().map(|request| request.ready);
        lone.or_else(|| self.earliest(now).map(|(completed, _, _)| completed))
    }

    /// The next completion from the queues.
    #[inline]
    fn earliest(&self, now: Nanos) -> Option<(Nanos, u64, Source)> {
        let fetched = self.fetched.peek().map(|Reverse(ByTime(read))| {
            let FetchedRead { request, first, transfer, last_transfer } = read;
            let sent = self.sent_by(*first, request.ready, *transfer, *last_transfer);
            (sent, request.sequence, Source::FetchedRead)
        });
        let acknowledged = (self.acknowledged.peek()).map(|Reverse(ByTime(request))| {
            (request.ready, request.sequence, Source::Acknowledged)
        });
        let candidates = [fetched, acknowledged, self.next_flush(now)];
        candidates.into_iter().flatten().min_by_key(|c| (c.0, c.1))
    }

    /// The oldest flush, if no earlier request is in flight.
    fn next_flush(&self, now: Nanos) -> Option<(Nanos, u64, Source)> {
        let flush = self.flushes.front()?;
        let reads = self.fetched.iter().map(|Reverse(ByTime(read))| read.request.sequence);
        let others = self.acknowledged.iter().map(|Reverse(ByTime(request))| request.sequence);
        let waiting = self.waiting.iter().flatten().map(|waiting| waiting.request.sequence);
        let waits = reads.chain(others).chain(waiting).any(|sequence| sequence < flush.sequence);
        // The last of the earlier requests was answered at `now`, or before the flush was ready.
        (!waits).then(|| (flush.ready.max(now), flush.sequence, Source::Flush))
    }
}
