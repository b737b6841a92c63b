//! The zones of an attached drive: the place of a write, and changes of their states.

use flashscope_block::{Bytes, Errno, Zone, ZoneState, ZonedDevice};

use crate::request::Request;

/// The reason why a zone refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneError {
    /// A write would not end within its zone.
    Boundary,
    /// The zone is full.
    Full,
    /// A write does not begin at the write pointer.
    InvalidWrite,
    /// Too many zones are open or closed.
    TooManyActive,
    /// Too many zones are open.
    TooManyOpen,
    /// The state of the zone does not permit the change.
    InvalidTransition,
}

impl ZoneError {
    /// Returns the error number of Linux for the refusal.
    pub(crate) fn errno(self) -> Errno {
        match self {
            ZoneError::TooManyActive => Errno::EOVERFLOW,
            ZoneError::TooManyOpen => Errno::ETOOMANYREFS,
            ZoneError::Boundary
            | ZoneError::Full
            | ZoneError::InvalidWrite
            | ZoneError::InvalidTransition => Errno::EIO,
        }
    }
}

/// A change of the state of zones that moves no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneChange {
    /// Opens zones explicitly.
    Open,
    /// Closes open zones.
    Close,
    /// Makes zones full.
    Finish,
}

/// The zones to which a change applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneSelection {
    /// The zone of this number.
    One(u32),
    /// All zones in a state that the change is meant for: [`ZoneChange::applies_to`].
    All,
}

impl ZoneChange {
    /// Returns true for the states of the zones that the change selects if it names none
    /// (Zoned Namespace Command Set Specification 1.2, "Zone Management Send", Select All).
    fn applies_to(self, state: ZoneState) -> bool {
        match self {
            ZoneChange::Open => state == ZoneState::Closed,
            ZoneChange::Close => state.is_open(),
            ZoneChange::Finish => state.is_active(),
        }
    }

    /// Returns the zones of a selection.
    ///
    /// # Errors
    /// `TooManyOpen` if the zones cannot all be opened.
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
        };
        changed.map_err(|errno| match errno {
            Errno::EOVERFLOW => ZoneError::TooManyActive,
            Errno::ETOOMANYREFS => ZoneError::TooManyOpen,
            _ => ZoneError::InvalidTransition,
        })
    }
}

/// Returns the zone that contains a byte.
fn zone_of(zones: &dyn ZonedDevice, offset: Bytes) -> Zone {
    let number = offset.0 / zones.limits().size.0;
    zones.zone(u32::try_from(number).expect("a zone of the drive"))
}

/// Gives an append its place, and checks that the zone can take the write.
pub(crate) fn place(zones: &dyn ZonedDevice, request: &mut Request) -> Result<(), ZoneError> {
    let zone = zone_of(zones, request.offset);
    if zone.state == ZoneState::Full {
        return Err(ZoneError::Full);
    }
    if request.appends {
        request.offset = zone.write_pointer;
    }
    if request.offset != zone.write_pointer {
        return Err(ZoneError::InvalidWrite);
    }
    match request.offset + request.len <= zone.start + zone.size {
        true => Ok(()),
        false => Err(ZoneError::Boundary),
    }
}

/// Returns true if the zone has taken a write that [`place`] permitted: its pointer has moved.
pub(crate) fn has_taken(zones: &dyn ZonedDevice, offset: Bytes, len: Bytes) -> bool {
    zone_of(zones, offset).write_pointer == offset + len
}
