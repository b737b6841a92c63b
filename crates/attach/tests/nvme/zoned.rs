//! A drive with zones for tests, on virtual time. Every IO takes 100 µs.

use std::collections::VecDeque;

use flashscope_block::{
    Bytes, Completion, Device, DeviceInfo, DeviceKind, Errno, Io, Nanos, Op, Zone, ZoneLimits,
    ZoneState, ZonedDevice,
};

pub(crate) const BLOCK: u64 = 4096;
pub(crate) const ZONE: u64 = 16 * BLOCK;
pub(crate) const ZONES: u32 = 8;
pub(crate) const OPEN: u32 = 2;
pub(crate) const ACTIVE: u32 = 3;

pub(crate) struct ZonedDrive {
    info: DeviceInfo,
    now: Nanos,
    in_flight: VecDeque<(Io, Result<(), Errno>)>,
    zones: Vec<Zone>,
    /// The bytes of each zone that can be written.
    capacity: Bytes,
    /// True if writes of zone 5 and resets of zone 6 fail.
    is_worn: bool,
}

impl ZonedDrive {
    pub(crate) fn new() -> ZonedDrive {
        ZonedDrive::with_capacity(ZONE)
    }

    /// A drive that loses zone 5 to a write, and zone 6 to a reset.
    pub(crate) fn worn() -> ZonedDrive {
        ZonedDrive { is_worn: true, ..ZonedDrive::new() }
    }

    /// A drive of one zone, which is offline.
    pub(crate) fn lost() -> ZonedDrive {
        let mut drive = ZonedDrive::new();
        drive.info.capacity = Bytes(ZONE);
        drive.zones.truncate(1);
        drive.zones[0].state = ZoneState::Offline;
        drive
    }

    /// A drive whose zones end with a hole after `bytes`.
    pub(crate) fn with_capacity(bytes: u64) -> ZonedDrive {
        let capacity = Bytes(ZONE * u64::from(ZONES));
        let zone = |number: u32| {
            let start = Bytes(ZONE * u64::from(number));
            Zone {
                start,
                size: Bytes(ZONE),
                capacity: Bytes(bytes),
                write_pointer: start,
                state: ZoneState::Empty,
            }
        };
        ZonedDrive {
            capacity: Bytes(bytes),
            is_worn: false,
            info: DeviceInfo::new(("zoned", DeviceKind::Sim), (capacity, Bytes(BLOCK)), 4),
            now: Nanos(0),
            in_flight: VecDeque::new(),
            zones: (0..ZONES).map(zone).collect(),
        }
    }

    fn count(&self, is: fn(ZoneState) -> bool) -> u32 {
        u32::try_from(self.zones.iter().filter(|zone| is(zone.state)).count()).unwrap()
    }

    /// Opens a zone. At the limit of open zones, closes the first zone that a write opened.
    fn enter(&mut self, number: usize, state: ZoneState) -> Result<(), Errno> {
        let before = self.zones[number].state;
        if !before.is_active() && self.count(ZoneState::is_active) == ACTIVE {
            return Err(Errno::EOVERFLOW);
        }
        if !before.is_open() && self.count(ZoneState::is_open) == OPEN {
            let implicit = |zone: &&mut Zone| zone.state == ZoneState::ImplicitlyOpen;
            let other = self.zones.iter_mut().find(implicit).ok_or(Errno::ETOOMANYREFS)?;
            other.state = ZoneState::Closed;
        }
        self.zones[number].state = state;
        Ok(())
    }

    fn write(&mut self, io: &Io) -> Result<(), Errno> {
        let number = usize::try_from(io.offset.0 / ZONE).unwrap();
        let zone = self.zones[number];
        assert_eq!(io.offset, zone.write_pointer, "only valid writes reach the drive");
        assert!(io.end() <= zone.end() && zone.state != ZoneState::Full && !zone.state.is_lost());
        if number == 5 && self.is_worn {
            self.zones[number].state = ZoneState::ReadOnly;
            return Err(Errno::EIO);
        }
        if !zone.state.is_open() {
            self.enter(number, ZoneState::ImplicitlyOpen)?;
        }
        let zone = &mut self.zones[number];
        zone.write_pointer = io.end();
        if zone.write_pointer == zone.end() {
            zone.state = ZoneState::Full;
        }
        Ok(())
    }

    fn touches_offline(&self, io: &Io) -> bool {
        let touched = |zone: &&Zone| zone.start < io.end() && zone.start + zone.size > io.offset;
        self.zones.iter().filter(touched).any(|zone| zone.state == ZoneState::Offline)
    }

    fn reset(&mut self, io: &Io) -> Result<(), Errno> {
        assert!(io.offset.is_multiple_of(Bytes(ZONE)) && io.len.is_multiple_of(Bytes(ZONE)));
        let touched = |zone: &&mut Zone| zone.start >= io.offset && zone.start < io.end();
        let mut result = Ok(());
        for zone in self.zones.iter_mut().filter(touched).filter(|zone| !zone.state.is_lost()) {
            (zone.write_pointer, zone.state) = (zone.start, ZoneState::Empty);
            if self.is_worn && zone.start == Bytes(6 * ZONE) {
                (zone.state, result) = (ZoneState::Offline, Err(Errno::EIO));
            }
        }
        result
    }
}

impl Device for ZonedDrive {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn now(&self) -> Nanos {
        self.now
    }
    fn submit(&mut self, io: &Io) {
        assert!(self.in_flight.len() < self.info.queue_depth as usize);
        assert!(io.end() <= self.info.capacity, "{io:?}");
        let result = match io.op {
            Op::Write => self.write(io),
            Op::Trim => self.reset(io),
            Op::Read if self.touches_offline(io) => Err(Errno::EIO),
            Op::Read | Op::Flush => Ok(()),
        };
        self.in_flight.push_back((*io, result));
    }
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let due = self.next_due().filter(|due| *due <= until)?;
        self.now = self.now.max(due);
        let (io, result) = self.in_flight.pop_front()?;
        Some(Completion { io, submitted: io.at, completed: due, result })
    }
    fn next_due(&self) -> Option<Nanos> {
        self.in_flight.front().map(|(io, _)| io.at + Nanos::micros(100))
    }
    fn zones(&mut self) -> Option<&mut dyn ZonedDevice> {
        Some(self)
    }
}

impl ZonedDevice for ZonedDrive {
    fn limits(&self) -> ZoneLimits {
        let (zones, capacity) = (u32::try_from(self.zones.len()).unwrap(), self.capacity);
        ZoneLimits { zones, size: Bytes(ZONE), capacity, open: OPEN, active: ACTIVE }
    }
    fn zone(&self, number: u32) -> Zone {
        self.zones[number as usize]
    }
    fn open(&mut self, number: u32) -> Result<(), Errno> {
        match self.zones[number as usize].state {
            state if state == ZoneState::Full || state.is_lost() => Err(Errno::EIO),
            _ => self.enter(number as usize, ZoneState::ExplicitlyOpen),
        }
    }
    fn close(&mut self, number: u32) -> Result<(), Errno> {
        let zone = &mut self.zones[number as usize];
        match zone.state.is_active() {
            true => zone.state = ZoneState::Closed,
            false => return Err(Errno::EIO),
        }
        Ok(())
    }
    fn finish(&mut self, number: u32) -> Result<(), Errno> {
        let zone = &mut self.zones[number as usize];
        if zone.state.is_lost() {
            return Err(Errno::EIO);
        }
        (zone.write_pointer, zone.state) = (zone.end(), ZoneState::Full);
        Ok(())
    }
    fn take_offline(&mut self, number: u32) -> Result<(), Errno> {
        let zone = &mut self.zones[number as usize];
        if !zone.state.is_lost() {
            return Err(Errno::EIO);
        }
        zone.state = ZoneState::Offline;
        Ok(())
    }
}
