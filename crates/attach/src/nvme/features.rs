//! Features (NVM Express Base Specification 2.1, "Features").

use super::command::Command;
use super::controller::Controller;
use super::namespace::Namespace;
use super::placement::{self, FEATURE_EVENTS};
use super::session::Transfer;
use super::status::Status;

/// The maximum number of I/O queues of a controller.
pub(super) const IO_QUEUES: u16 = 64;

const ARBITRATION: u8 = 0x01;
const POWER_MANAGEMENT: u8 = 0x02;
const TEMPERATURE_THRESHOLD: u8 = 0x04;
const ERROR_RECOVERY: u8 = 0x05;
const WRITE_CACHE: u8 = 0x06;
const NUMBER_OF_QUEUES: u8 = 0x07;
const WRITE_ATOMICITY: u8 = 0x0A;
const ASYNCHRONOUS_EVENTS: u8 = 0x0B;
const KEEP_ALIVE: u8 = 0x0F;
const HOST_BEHAVIOR: u8 = 0x16;
const COMMAND_SET_PROFILE: u8 = 0x19;
const HOST_IDENTIFIER: u8 = 0x81;

/// The features of a controller of a drive.
pub(super) const FEATURES: [u8; 12] = [
    ARBITRATION,
    POWER_MANAGEMENT,
    TEMPERATURE_THRESHOLD,
    ERROR_RECOVERY,
    WRITE_CACHE,
    NUMBER_OF_QUEUES,
    WRITE_ATOMICITY,
    ASYNCHRONOUS_EVENTS,
    KEEP_ALIVE,
    HOST_BEHAVIOR,
    COMMAND_SET_PROFILE,
    HOST_IDENTIFIER,
];

/// The length of the data of host behavior support in bytes.
const BEHAVIOR_LEN: usize = 512;

/// The features of a controller as its host set them.
#[derive(Debug)]
pub(super) struct Features {
    arbitration: u32,
    temperature_threshold: [u32; 2],
    error_recovery: u32,
    write_cache: bool,
    /// The number of I/O queues that the host may create.
    queues: u16,
    write_atomicity: u32,
    events: u32,
    keep_alive_ms: u32,
    behavior: Vec<u8>,
}

impl Features {
    pub(super) fn new(keep_alive_ms: u32) -> Features {
        Features {
            arbitration: 0,
            temperature_threshold: [u16::MAX.into(), 0],
            error_recovery: 0,
            write_cache: true,
            queues: IO_QUEUES,
            write_atomicity: 0,
            events: 0,
            keep_alive_ms: whole_units(keep_alive_ms),
            behavior: vec![0; BEHAVIOR_LEN],
        }
    }

    pub(super) fn keep_alive_ms(&self) -> u32 {
        self.keep_alive_ms
    }

    /// Returns true if writes must be durable, because the host turned off the write cache.
    pub(super) fn writes_through(&self) -> bool {
        !self.write_cache
    }

    pub(super) fn queues(&self) -> u16 {
        self.queues
    }

    /// Returns true if the host enabled the event for changed namespaces.
    pub(super) fn reports_namespaces(&self) -> bool {
        self.events & 1 << 8 != 0
    }

    /// Returns the value of a feature.
    fn get(&self, feature: u8, command: &Command) -> Option<u32> {
        Some(match feature {
            ARBITRATION => self.arbitration,
            POWER_MANAGEMENT | HOST_BEHAVIOR | COMMAND_SET_PROFILE | HOST_IDENTIFIER => 0,
            TEMPERATURE_THRESHOLD => self.temperature_threshold[threshold_of(command)?],
            ERROR_RECOVERY => self.error_recovery,
            WRITE_CACHE => self.write_cache.into(),
            NUMBER_OF_QUEUES => pair(self.queues - 1),
            WRITE_ATOMICITY => self.write_atomicity,
            ASYNCHRONOUS_EVENTS => self.events,
            KEEP_ALIVE => self.keep_alive_ms,
            _ => return None,
        })
    }

    /// Changes a feature, and returns the result of the command.
    fn set(&mut self, feature: u8, command: &Command, data: &[u8]) -> Result<u32, Status> {
        let value = command.dword(11);
        match feature {
            ARBITRATION => self.arbitration = value,
            // There is one power state, 0.
            POWER_MANAGEMENT if value & 0x1F == 0 => {}
            TEMPERATURE_THRESHOLD => {
                let threshold = threshold_of(command).ok_or(Status::INVALID_FIELD)?;
                self.temperature_threshold[threshold] = value & 0xFFFF;
            }
            // Errors for deallocated blocks are not supported.
            ERROR_RECOVERY if value >> 16 & 1 == 0 => self.error_recovery = value & 0xFFFF,
            WRITE_CACHE => self.write_cache = value & 1 == 1,
            NUMBER_OF_QUEUES => return self.set_queues(value),
            WRITE_ATOMICITY => self.write_atomicity = value & 1,
            ASYNCHRONOUS_EVENTS => self.events = value,
            KEEP_ALIVE => self.keep_alive_ms = whole_units(value),
            HOST_BEHAVIOR => self.behavior = data.to_vec(),
            // There is one combination of command sets, 0.
            COMMAND_SET_PROFILE if value & 0x1FF == 0 => {}
            COMMAND_SET_PROFILE => return Err(Status::COMMAND_SET_COMBINATION_REJECTED),
            // The host identifies itself when it connects.
            HOST_IDENTIFIER => return Err(Status::COMMAND_SEQUENCE_ERROR),
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(0)
    }

    fn set_queues(&mut self, value: u32) -> Result<u32, Status> {
        let [submission, completion] = [value & 0xFFFF, value >> 16];
        if submission == 0xFFFF || completion == 0xFFFF {
            return Err(Status::INVALID_FIELD);
        }
        let most = u32::from(IO_QUEUES - 1);
        self.queues = u16::try_from(submission.min(completion).min(most)).expect("limited") + 1;
        Ok(pair(self.queues - 1))
    }
}

/// Returns the index of the threshold that a command names: 0 for over temperature and 1 for under
/// temperature of the composite sensor.
fn threshold_of(command: &Command) -> Option<usize> {
    let value = command.dword(11);
    match (value >> 16 & 0xF, value >> 20 & 0x3) {
        (0, kind @ (0 | 1)) => Some(kind as usize),
        _ => None,
    }
}

/// Rounds a time up to the unit of keep alive, 1 s.
fn whole_units(ms: u32) -> u32 {
    ms.div_ceil(1000).saturating_mul(1000)
}

fn pair(number: u16) -> u32 {
    u32::from(number) << 16 | u32::from(number)
}

/// Returns the direction and the length of the data transfer of Get Features.
pub(super) fn get_transfer(command: &Command) -> Transfer {
    match feature_of(command) {
        HOST_BEHAVIOR => Transfer::ToHost(512),
        HOST_IDENTIFIER => Transfer::ToHost(16),
        FEATURE_EVENTS if command.byte(46) > 0 => Transfer::ToHost(2 * u32::from(command.byte(46))),
        _ => Transfer::None,
    }
}

/// Returns the direction and the length of the data transfer of Set Features.
pub(super) fn set_transfer(command: &Command) -> Transfer {
    match feature_of(command) {
        HOST_BEHAVIOR => Transfer::FromHost(512),
        FEATURE_EVENTS if command.byte(46) > 0 => Transfer::FromHost(command.byte(46).into()),
        _ => Transfer::None,
    }
}

/// Executes Get Features: returns the result and the data.
pub(super) fn get(
    space: &Namespace,
    controller: &Controller,
    command: &Command,
) -> Result<(u32, Vec<u8>), Status> {
    // Only current values can be selected; there are no saved values.
    if command.dword(10) >> 8 & 0x7 != 0 {
        return Err(Status::INVALID_FIELD);
    }
    let feature = feature_of(command);
    if is_of_placement(feature) {
        return placement::get_feature(space, command);
    }
    let value = controller.features(|features| features.get(feature, command));
    let value = value.ok_or(Status::INVALID_FIELD)?;
    let data = match feature {
        HOST_BEHAVIOR => controller.features(|features| features.behavior.clone()),
        HOST_IDENTIFIER if command.dword(11) & 1 == 0 => return Err(Status::INVALID_FIELD),
        HOST_IDENTIFIER => controller.host().id.to_vec(),
        _ => Vec::new(),
    };
    Ok((value, data))
}

/// Executes Set Features: returns the result.
pub(super) fn set(
    space: &Namespace,
    controller: &Controller,
    command: &Command,
    data: &[u8],
) -> Result<u32, Status> {
    let feature = feature_of(command);
    if command.dword(10) >> 31 == 1 {
        return Err(Status::FEATURE_NOT_SAVEABLE);
    }
    if feature == NUMBER_OF_QUEUES && controller.has_io_queues() {
        return Err(Status::COMMAND_SEQUENCE_ERROR);
    }
    if is_of_placement(feature) {
        return placement::set_feature(space, command, data);
    }
    controller.features(|features| features.set(feature, command, data))
}

/// Returns true for the features of an endurance group or a namespace, which controllers share.
fn is_of_placement(feature: u8) -> bool {
    matches!(feature, placement::FEATURE | FEATURE_EVENTS)
}

fn feature_of(command: &Command) -> u8 {
    command.byte(40)
}
