//! A simulated hard disk: what probes of flash must not take for flash.

use std::collections::VecDeque;

use flashscope_block::{Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op};

/// What a disk is made of (Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE
/// Computer 1994).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mechanics {
    /// Addressable bytes.
    pub capacity: Bytes,
    /// A turn of the platter: 8.33 ms at 7200 rpm.
    pub turn: Nanos,
    /// Bytes on a track: what passes under the head in a turn.
    pub track: Bytes,
    /// A seek to the next track, with the settling of the head.
    pub shortest_seek: Nanos,
    /// What a seek over all tracks takes longer; in between it grows with the square root.
    pub longest_seek: Nanos,
    /// What a request takes in the electronics.
    pub overhead: Nanos,
    /// Whether the track last read is kept, and writes are answered before they are on the platter.
    pub cache: bool,
}

impl Mechanics {
    /// A disk of 7200 rpm with 150 MB/s.
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

/// Bytes of writes that wait in a cache.
const WRITE_CACHE: u64 = 4 << 20;

/// A disk on virtual time. Requests are served in the order in which they come.
pub struct Disk {
    info: DeviceInfo,
    mechanics: Mechanics,
    now: Nanos,
    /// When the arm has done all that it was given.
    free: Nanos,
    track: u64,
    /// The track that the cache holds.
    cached: Option<u64>,
    /// Writes that wait for the platter: when each will be there, and its bytes.
    waiting: VecDeque<(Nanos, u64)>,
    in_flight: VecDeque<Completion>,
}

impl Disk {
    /// A disk whose arm is at its first track.
    pub fn new(mechanics: Mechanics) -> Disk {
        let info = DeviceInfo {
            name: "disk".into(),
            kind: DeviceKind::Sim,
            capacity: mechanics.capacity,
            logical_block: Bytes(512),
            queue_depth: 8,
            model: None,
            serial: None,
            firmware: None,
            engine: None,
        };
        let (waiting, in_flight) = (VecDeque::new(), VecDeque::new());
        let (now, free) = (Nanos(0), Nanos(0));
        Disk { info, mechanics, now, free, track: 0, cached: None, waiting, in_flight }
    }

    /// When the platter has what is asked for, of a request that the arm may begin with at `start`.
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

    /// When a request is answered that was handed over now.
    fn answered(&mut self, io: &Io) -> Nanos {
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

    /// When the cache has room for a write that will be on the platter once the arm is free.
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
            true => (self.answered(io), Ok(())),
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

    // Does the disk keep the duties of a device, with a cache and without?
    #[test]
    fn keeps_the_contract() {
        for cache in [false, true] {
            let mechanics = Mechanics { cache, ..Mechanics::desktop(Bytes::gib(1)) };
            contract::check(&mut Disk::new(mechanics), true);
        }
    }

    // Does a random read take half a turn and a seek, on average?
    #[test]
    fn random_reads_wait_for_the_platter() {
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
        // 4.2 ms for half a turn, and the mean root of the distance of two random places, 0.53.
        let expected = 4.2e6 + 0.8e6 + 0.53 * 16e6;
        assert!((f64::from(u32::try_from(total / 1000).unwrap()) / expected - 1.0).abs() < 0.05);
    }
}
