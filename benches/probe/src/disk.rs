//! A simulated hard disk, which probes must not mistake for flash.

use std::collections::VecDeque;

use flashscope_block::{Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op};

/// The mechanical parameters of a disk (Ruemmler and Wilkes, "An introduction to disk drive
/// modeling", IEEE Computer 1994).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mechanics {
    /// Addressable bytes.
    pub capacity: Bytes,
    /// The time of a rotation: 8.33 ms at 7200 rpm.
    pub turn: Nanos,
    /// Bytes on a track, which pass under the head in one rotation.
    pub track: Bytes,
    /// The time of a seek to the next track, including settling of the head.
    pub shortest_seek: Nanos,
    /// The additional time of a seek over all tracks; it grows with the square root of the
    /// distance.
    pub longest_seek: Nanos,
    /// The time of a request in the electronics.
    pub overhead: Nanos,
    /// True if the disk caches the last track read, and acknowledges writes before they are on the
    /// platter.
    pub cache: bool,
}

impl Mechanics {
    /// Returns a disk with 7200 rpm and 150 MB/s.
    pub fn desktop(capacity: Bytes) -> Mechanics {
        Mechanics {
            capacity,
            turn: Nanos::micros(8333),
            track: Bytes(1_250_000 / 4096 * 4096),
            shortest_seek: Nanos::micros(800),
            longest_seek: Nanos::millis(16),
            overhead: Nanos::micros(60),
            cache: false,
        }
    }
}

/// The capacity of the write cache in bytes.
const WRITE_CACHE: u64 = 4 << 20;

/// A disk in virtual time. It serves requests in order of arrival.
pub struct Disk {
    info: DeviceInfo,
    mechanics: Mechanics,
    now: Nanos,
    /// The time at which the arm becomes free.
    free: Nanos,
    track: u64,
    /// The track in the read cache.
    cached: Option<u64>,
    /// Cached writes: the time at which each reaches the platter, and its bytes.
    waiting: VecDeque<(Nanos, u64)>,
    in_flight: VecDeque<Completion>,
}

impl Disk {
    /// Creates a disk whose arm is at the first track.
    pub fn new(mechanics: Mechanics) -> Disk {
        let info = DeviceInfo::new(("disk", DeviceKind::Sim), (mechanics.capacity, Bytes(512)), 8);
        let (waiting, in_flight) = (VecDeque::new(), VecDeque::new());
        let (now, free) = (Nanos(0), Nanos(0));
        Disk { info, mechanics, now, free, track: 0, cached: None, waiting, in_flight }
    }

    /// Returns the time at which the platter has transferred a request that the arm begins at
    /// `start`.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn on_platter(&mut self, io: &Io, start: Nanos) -> Nanos {
        let Mechanics { capacity, turn, track, shortest_seek, longest_seek, .. } = self.mechanics;
        let target = io.offset.0 / track.0;
        let distance = target.abs_diff(self.track);
        let tracks = (capacity.0 / track.0).max(1);
        let far = (distance as f64 / tracks as f64).sqrt() * longest_seek.0 as f64;
        let seek = if distance == 0 { 0 } else { shortest_seek.0 + far as u64 };
        let there = start.0 + seek;
        let angle = io.offset.0 % track.0 * turn.0 / track.0;
        let wait = (angle + turn.0 - there % turn.0) % turn.0;
        let transfer = io.len.0 * turn.0 / track.0;
        self.track = (io.offset.0 + io.len.0) / track.0;
        Nanos(there + wait + transfer)
    }

    /// Returns the completion time of a request that arrives now.
    fn completion(&mut self, io: &Io) -> Nanos {
        let begun = self.now + self.mechanics.overhead;
        let start = begun.max(self.free);
        match io.op {
            Op::Trim => begun,
            Op::Flush => start,
            Op::Read => {
                let track = io.offset.0 / self.mechanics.track.0;
                if self.mechanics.cache && self.cached == Some(track) {
                    return begun + Nanos(io.len.0 / 2);
                }
                self.cached = Some(track);
                self.free = self.on_platter(io, start);
                self.free
            }
            Op::Write => {
                self.free = self.on_platter(io, start);
                if self.mechanics.cache { self.room_for(io.len.0, begun) } else { self.free }
            }
        }
    }

    /// Returns the time at which the cache has room for a write. The write reaches the platter when
    /// the arm is free.
    fn room_for(&mut self, len: u64, begun: Nanos) -> Nanos {
        let mut at = begun;
        self.waiting.push_back((self.free, len));
        let mut held: u64 = self.waiting.iter().map(|(_, len)| len).sum();
        while let Some((done, len)) = self.waiting.front().copied() {
            if done > at && held <= WRITE_CACHE {
                break;
            }
            at = at.max(done);
            held -= len;
            self.waiting.pop_front();
        }
        at + Nanos(len / 2)
    }
}

impl Device for Disk {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn submit(&mut self, io: &Io) {
        let depth = self.info.queue_depth as usize;
        assert!(self.in_flight.len() < depth, "queue depth exceeded");
        let submitted = self.now;
        let in_range = io.end() <= self.mechanics.capacity;
        let (completed, result) = match in_range {
            true => (self.completion(io), Ok(())),
            false => (submitted, Err(Errno::EINVAL)),
        };
        self.in_flight.push_back(Completion { io: *io, submitted, completed, result });
        let by_time = |completion: &Completion| completion.completed;
        self.in_flight.make_contiguous().sort_by_key(by_time);
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        match self.in_flight.front() {
            Some(next) if next.completed <= until => {
                self.now = self.now.max(next.completed);
                self.in_flight.pop_front()
            }
            None if until == Nanos::MAX => None,
            _ => {
                self.now = self.now.max(until);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::contract;

    use super::*;

    #[test]
    fn the_disk_keeps_the_device_contract_with_and_without_a_cache() {
        for cache in [false, true] {
            let mechanics = Mechanics { cache, ..Mechanics::desktop(Bytes::gib(1)) };
            contract::check(&mut Disk::new(mechanics), true);
        }
    }

    // A random read takes half a rotation and a seek on average.
    #[test]
    fn a_random_read_waits_for_the_platter() {
        let mechanics = Mechanics::desktop(Bytes::gib(64));
        let mut disk = Disk::new(mechanics);
        let mut rng = fastrand::Rng::with_seed(1);
        let mut total = 0;
        for _ in 0..1000 {
            let offset = Bytes(rng.u64(0..mechanics.capacity.0 / 4096) * 4096);
            let (op, data) = (Op::Read, flashscope_block::Data::Random);
            let io = Io { op, stream: 0, offset, len: Bytes(4096), data, at: disk.now() };
            disk.submit(&io);
            total += disk.complete(Nanos::MAX).unwrap().latency().0;
        }
        // Half a rotation is 4.2 ms; the mean square root of the relative distance of two random
        // addresses is 0.53.
        let expected = 4.2e6 + 0.8e6 + 0.53 * 16e6;
        assert!((f64::from(u32::try_from(total / 1000).unwrap()) / expected - 1.0).abs() < 0.05);
    }
}
