use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Kind;

/// Limits of overtaking: at either limit, the oldest program or erase goes before reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// The number of later reads that may start before the oldest program or erase.
    pub overtakes: Option<u32>,
    /// The time that the oldest program or erase may wait.
    pub wait: Option<Nanos>,
}

/// The rules for suspending programs and erases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Suspension {
    /// Time from the request to suspend until the die takes a read.
    pub suspend: Nanos,
    /// Time to resume.
    pub resume: Nanos,
    /// The maximum number of suspensions of a command; `None` for any number.
    pub most: Option<u32>,
    /// The time in the cells, since the start or the last resumption, before which no command is
    /// suspended.
    pub min_progress: Nanos,
    /// The last part of the time in the cells, in which no command is suspended.
    pub min_remaining: Nanos,
}

/// The order in which a bus serves requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusOrder {
    /// Serves requests in the order in which they were made.
    #[default]
    Asking,
    /// Serves the data of reads before commands and the data of programs, as in MQSim.
    DataFirst,
}

/// The time at which a die chooses its next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceTime {
    /// The die chooses when it becomes free, even if its bus is busy.
    #[default]
    DieFree,
    /// The die chooses when its bus is granted, as in MQSim.
    BusGranted,
}

/// The parts that commands occupy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// For each die, its bus.
    pub bus_of: Vec<u32>,
    /// Number of buses.
    pub buses: u32,
    /// Number of planes of a die whose commands can be joined.
    pub planes: u32,
    /// Number of packages that a die stands for: packages of a gang that carry out commands of one
    /// kind at once, each with its own data pins. At most 64; 1 without such gangs.
    pub packages: u32,
}

/// The settings of a [`super::Scheduler`].
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// The policy of the dies.
    pub policy: Kind,
    /// The limits of overtaking.
    pub limits: Limits,
    /// The costs and limits of suspension, if the policy suspends.
    pub suspension: Suspension,
    /// Time of the command cycles of a command on the bus.
    pub command: Nanos,
    /// True if waiting commands of one kind and row in several planes are carried out at once.
    pub multi_plane: bool,
    /// True if only the oldest command of a plane is joined, so that the pages of a block are
    /// programmed in order.
    pub in_order_planes: bool,
    /// True if the next read begins when the data of the last one is in the cache register.
    pub cache_read: bool,
    /// True if the data of the next program crosses the bus while the previous program is in the
    /// cells.
    pub cache_program: bool,
    /// The order in which a bus serves requests.
    pub bus_order: BusOrder,
    /// The time at which a die chooses its next command.
    pub choice_time: ChoiceTime,
}

/// A setting that contradicts another setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Limits of overtaking with a policy by which no command overtakes.
    #[error("limits of overtaking need a policy by which reads overtake")]
    LimitsWithoutOvertaking,
    /// Settings of suspension with a policy that suspends nothing.
    #[error("suspension needs the policy `suspend`")]
    SuspensionWithoutPolicy,
    /// Suspension with cache registers, which no known flash chip combines.
    #[error("suspension cannot be combined with cache registers: choose one of them")]
    SuspensionWithCache,
    /// A limit of 0, which would allow nothing.
    #[error("a limit of overtaking must be at least 1")]
    LimitOfZero,
}

impl Setup {
    /// Returns the settings of a policy without any of the other features.
    pub fn of(policy: Kind) -> Setup {
        Setup {
            policy,
            limits: Limits::default(),
            suspension: Suspension::default(),
            command: Nanos(0),
            multi_plane: false,
            in_order_planes: false,
            cache_read: false,
            cache_program: false,
            bus_order: BusOrder::Asking,
            choice_time: ChoiceTime::DieFree,
        }
    }

    /// Returns true if dies have a cache register.
    #[inline]
    pub(crate) const fn has_registers(&self) -> bool {
        self.cache_read || self.cache_program
    }

    /// Checks that the settings do not contradict each other.
    ///
    /// # Errors
    /// Returns the first rule that the settings break.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.limits != Limits::default() && !self.policy.overtakes {
            return Err(Invalid::LimitsWithoutOvertaking);
        }
        if self.limits.overtakes == Some(0) || self.limits.wait == Some(Nanos(0)) {
            return Err(Invalid::LimitOfZero);
        }
        if self.suspension != Suspension::default() && !self.policy.suspends {
            return Err(Invalid::SuspensionWithoutPolicy);
        }
        if self.policy.suspends && (self.cache_read || self.cache_program) {
            return Err(Invalid::SuspensionWithCache);
        }
        Ok(())
    }
}
