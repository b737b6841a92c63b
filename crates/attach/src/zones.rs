//! The zones of an attached drive: the address of an append, and changes of their states.

use flashscope_block::{Bytes, Errno, Op, Zone, ZoneState, ZonedDevice};

use crate::request::{Request, RequestError, ZoneError};

/// A change of the state of zones that moves no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneChange {
    /// Opens zones explicitly.
    Open,
    /// Closes open zones.
    Close,
    /// Makes zones full.
    Finish,
    /// Takes read-only zones offline, which loses their data.
    TakeOffline,
}

/// The zones to which a change applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneSelection {
    /// The zone of this number.
    One(u32),
    /// All zones in a state to which the change applies: [`ZoneChange::applies_to`].
    All,
}

impl ZoneChange {
    /// Returns true for the states of the zones that the change selects without a zone number
    /// (Zoned Namespace Command Set Specification 1.1, "Zone Management Send", Select All).
    fn applies_to(self, state: ZoneState) -> bool {
        match self {
            ZoneChange::Open => state == ZoneState::Closed,
            ZoneChange::Close => state.is_open(),
            ZoneChange::Finish => state.is_active(),
            ZoneChange::TakeOffline => state == ZoneState::ReadOnly,
        }
    }

    /// Returns the zones of a selection.
    ///
    /// # Errors
    /// Returns `TooManyOpen` if the zones cannot all be opened.
    pub(crate) fn selected(
        self,
        zones: &dyn ZonedDevice,
        selection: ZoneSelection,
    ) -> Result<Vec<u32>, ZoneError> {
        if let ZoneSelection::One(number) = selection {
            return Ok(vec![number]);
        }
        let limits = zones.limits();
        let with = |is: &dyn Fn(ZoneState) -> bool| -> Vec<u32> {
            (0..limits.zones).filter(|number| is(zones.zone(*number).state)).collect()
        };
        let selected = with(&|state| self.applies_to(state));
        let open = with(&|state| state == ZoneState::ExplicitlyOpen);
        match self == ZoneChange::Open && selected.len() + open.len() > limits.open as usize {
            true => Err(ZoneError::TooManyOpen),
            false => Ok(selected),
        }
    }

    /// Changes a zone.
    pub(crate) fn apply(self, zones: &mut dyn ZonedDevice, number: u32) -> Result<(), ZoneError> {
        let changed = match self {
            ZoneChange::Open => zones.open(number),
            ZoneChange::Close => zones.close(number),
            ZoneChange::Finish => zones.finish(number),
            ZoneChange::TakeOffline => zones.take_offline(number),
        };
        changed.map_err(|errno| match errno {
            Errno::EOVERFLOW => ZoneError::TooManyActive,
            Errno::ETOOMANYREFS => ZoneError::TooManyOpen,
            _ => ZoneError::InvalidTransition,
        })
    }
}

/// Returns the zones that a range touches.
fn touched(zones: &dyn ZonedDevice, offset: Bytes, len: Bytes) -> impl Iterator<Item = Zone> {
    let size = zones.limits().size.0;
    let number = |byte: u64| u32::try_from(byte / size).expect("zone numbers have 32 bits");
    let end = (offset + len).0.max(offset.0 + 1);
    (number(offset.0)..=number(end - 1)).map(|number| zones.zone(number))
}

/// Returns the zones that a trim resets: those that it touches, except read-only and offline zones.
/// Returns an error if it touches only one zone, which is read-only or offline (Zoned Namespace
/// Command Set Specification 1.1, section 3.4.3.1.4).
pub(crate) fn to_reset(zones: &dyn ZonedDevice, request: &Request) -> Result<Vec<Zone>, ZoneError> {
    let touched: Vec<Zone> = touched(zones, request.offset, request.len).collect();
    match touched[..] {
        [zone] if zone.state.is_lost() => Err(ZoneError::InvalidTransition),
        _ => Ok(touched.into_iter().filter(|zone| !zone.state.is_lost()).collect()),
    }
}

/// Returns the error of a request that the drive failed. It is [`ZoneError::Offline`] for a read of
/// an offline zone, and for a reset that took its zone offline (Zoned Namespace Command Set
/// Specification 1.1, section 2.1.1.2.1.2).
pub(crate) fn error_of(
    zones: Option<&mut dyn ZonedDevice>,
    (op, offset, len): (Op, Bytes, Bytes),
    errno: Errno,
) -> RequestError {
    let is_offline = |zone: Zone| zone.state == ZoneState::Offline;
    match zones {
        Some(zones)
            if matches!(op, Op::Read | Op::Trim) && touched(zones, offset, len).any(is_offline) =>
        {
            RequestError::Zone(ZoneError::Offline)
        }
        _ => RequestError::Drive(errno),
    }
}

/// Returns the zone that contains a byte.
fn zone_of(zones: &dyn ZonedDevice, offset: Bytes) -> Zone {
    let number = offset.0 / zones.limits().size.0;
    zones.zone(u32::try_from(number).expect("zone numbers have 32 bits"))
}

/// Sets the address of an append, and checks that the zone can accept the write.
pub(crate) fn place(zones: &dyn ZonedDevice, request: &mut Request) -> Result<(), ZoneError> {
    let zone = zone_of(zones, request.offset);
    match zone.state {
        ZoneState::Full => return Err(ZoneError::Full),
        ZoneState::ReadOnly => return Err(ZoneError::ReadOnly),
        ZoneState::Offline => return Err(ZoneError::Offline),
        _ => {}
    }
    if request.appends {
        request.offset = zone.write_pointer;
    }
    if request.offset != zone.write_pointer {
        return Err(ZoneError::InvalidWrite);
    }
    match request.offset + request.len <= zone.end() {
        true => Ok(()),
        false => Err(ZoneError::Boundary),
    }
}

/// Returns true if the zone has accepted a write that [`place`] permitted: its write pointer has
/// moved.
pub(crate) fn has_taken(zones: &dyn ZonedDevice, offset: Bytes, len: Bytes) -> bool {
    zone_of(zones, offset).write_pointer == offset + len
}
