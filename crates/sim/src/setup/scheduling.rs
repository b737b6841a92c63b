//! Scheduling of the flash commands that wait for a die and a bus: the section of a profile, and
//! its rules.

use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::{broken, require};
use super::{MapMemory, Profile, ProfileError, quantity};
use crate::nand::{Geometry, Levels, Queues, Wiring, bus_has_one_die};
use crate::sched::{self, BusOrder, ChoiceTime, Invalid, Level, Limits, Setup, Suspension};

/// The section `scheduling` of a profile: the order of the flash commands that wait for a die and a
/// bus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scheduling {
    /// The policy that chooses the next command of a die: a name of [`crate::sched::KINDS`].
    /// Default: `fcfs`. Source: section 2 has queues of packages.
    pub policy: String,
    /// The number of reads that may overtake the oldest program or erase of a die before that
    /// command goes first; 0 for no limit. Default: 0. Source: none; schedulers that prefer reads
    /// limit this.
    pub overtake_limit: u32,
    /// The time after which the oldest waiting program or erase of a die goes first; 0 for no
    /// limit. Default: 0. Source: as `overtake_limit`.
    #[serde(deserialize_with = "quantity::time")]
    pub overtake_wait: Nanos,
    /// Time from the suspension of a program or an erase until its die can start a read.
    /// Default: 0. Source: none; Wu and He, FAST'12, describe suspension.
    #[serde(deserialize_with = "quantity::time")]
    pub suspend_time: Nanos,
    /// Time to resume a suspended program or erase. Default: 0. Source: as `suspend_time`.
    #[serde(deserialize_with = "quantity::time")]
    pub resume_time: Nanos,
    /// The maximum number of suspensions of a command; 0 for no limit. Default: 0. Source: as
    /// `suspend_time`.
    pub max_suspensions: u32,
    /// The minimum time that a command spends in the cells, after its start or its last resumption,
    /// before it may be suspended. Default: 0. Source: as `suspend_time`.
    #[serde(deserialize_with = "quantity::time")]
    pub min_progress: Nanos,
    /// The remaining time in the cells below which a command is not suspended. Default: 0. Source:
    /// as `suspend_time`.
    #[serde(deserialize_with = "quantity::time")]
    pub min_remaining: Nanos,
    /// The time for which the command cycles of each command occupy the bus. Default: 0. Source:
    /// section 2.1, where they are part of the transfer.
    #[serde(deserialize_with = "quantity::time")]
    pub command_cycles: Nanos,
    /// True if the next read of a die begins once the data of the previous one has moved to the
    /// cache register. Default: false. Source: none; ONFI's cache read.
    pub cache_read: bool,
    /// True if the data of the next program crosses the bus while the previous program is in the
    /// cells. Default: false. Source: none; ONFI's cache program.
    pub cache_program: bool,
    /// The order of transfers on the bus: as dies request it (`asking`), or the data of reads first
    /// (`data-first`). Default: `asking`. Source: none; `data-first` is as in MQSim.
    pub bus_order: BusOrder,
    /// The time at which a die chooses its next command: when it is free (`die-free`), or when it
    /// gets the bus (`bus-granted`). Default: `die-free`. Source: none; `bus-granted` is as in
    /// MQSim.
    pub choice_time: ChoiceTime,
    /// The unit in which the drive queues its own work. With `block`, it queues all commands for a
    /// block together. With `step`, it queues the next command of a die once the previous one is
    /// done, and host commands can run in between. `by-policy` is `block` for `fcfs`, and `step`
    /// for the other policies, which refuse `block`. Default: `by-policy`. Source: none.
    pub cleaning: CleaningUnit,
    /// The number of consecutive commands of the drive's own work on a die before another waiting
    /// command may go first (1 to the pages of a block). Above 1 only if the drive queues its own
    /// work in steps. Commands in a row are not suspended. Default: 1. Source: none.
    pub steps_in_a_row: u32,
    /// The priority of the drive's own work that a write waits for: `urgent` before the host's
    /// commands, `equal` like them, `low` after them. Background work is always `low`.
    /// Default: `equal`. Source: none.
    pub cleaning_priority: Level,
    /// The priority of erases that a write waits for: as `cleaning_priority` (`as-cleaning`), or
    /// `urgent`, `equal` or `low`. Default: `as-cleaning`. Source: none.
    pub erase_priority: OwnPriority,
    /// The priority of pages that wear levelling or a read refresh moves, as `erase_priority`. Only
    /// for drives that do either. Default: `as-cleaning`. Source: none.
    pub wear_priority: OwnPriority,
    /// The priority of commands for the mapping table: `urgent` or `equal`. Only for drives that
    /// store the table on the flash. Default: `equal`. Source: none.
    pub mapping_priority: Level,
    /// True if reads and background work take turns, as on a controller that does one thing at a
    /// time. While a read is in progress, from its command to its last byte, no step of background
    /// work begins. After a read, each die carries out one step, or one row of `steps_in_a_row`,
    /// and the next read begins when they are done. The evictions of `cache.write_back` and their
    /// merges are then background work, too. Writes take no turns. Default: false. Source: none;
    /// fitted to uFLIP's Figure 5.
    pub turns: bool,
}

/// The priority of a class of the drive's own work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OwnPriority {
    /// That of `cleaning_priority`.
    AsCleaning,
    /// Before commands of the host.
    Urgent,
    /// Like commands of the host.
    Equal,
    /// After commands of the host.
    Low,
}

impl OwnPriority {
    fn level(self, cleaning: Level) -> Level {
        match self {
            OwnPriority::AsCleaning => cleaning,
            OwnPriority::Urgent => Level::Urgent,
            OwnPriority::Equal => Level::Equal,
            OwnPriority::Low => Level::Low,
        }
    }
}

/// The unit in which the drive queues its own work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CleaningUnit {
    /// All commands for a block with the policy `fcfs`, and one command of each die with any other
    /// policy.
    ByPolicy,
    /// All commands for a block.
    Block,
    /// One command of each die.
    Step,
}

impl Default for Scheduling {
    fn default() -> Self {
        Scheduling {
            policy: sched::KINDS[0].name.into(),
            overtake_limit: 0,
            overtake_wait: Nanos(0),
            suspend_time: Nanos(0),
            resume_time: Nanos(0),
            max_suspensions: 0,
            min_progress: Nanos(0),
            min_remaining: Nanos(0),
            command_cycles: Nanos(0),
            cache_read: false,
            cache_program: false,
            bus_order: BusOrder::Asking,
            choice_time: ChoiceTime::DieFree,
            cleaning: CleaningUnit::ByPolicy,
            steps_in_a_row: 1,
            cleaning_priority: Level::Equal,
            erase_priority: OwnPriority::AsCleaning,
            wear_priority: OwnPriority::AsCleaning,
            mapping_priority: Level::Equal,
            turns: false,
        }
    }
}

impl Profile {
    /// Returns the queues of flash commands, or `None` if a command reserves its die and its bus
    /// when it is submitted. It does so if all settings are defaults and, in addition, either
    /// commands take no time or each bus has one die. On a bus with one die, no command can
    /// overtake another.
    pub(super) fn queues(
        &self,
        geometry: &Geometry,
        wiring: Wiring,
    ) -> Result<Option<Queues>, ProfileError> {
        let scheduling = &self.scheduling;
        let policy = &scheduling.policy;
        let names: Vec<_> = sched::KINDS.iter().map(|kind| kind.name).collect();
        let rule = format!("it must be one of: {}", names.join(", "));
        let kind = sched::kind(policy).ok_or_else(|| broken("scheduling.policy", policy, rule))?;
        if scheduling.is_plain() && (!self.timed || bus_has_one_die(geometry, wiring)) {
            return Ok(None);
        }
        let setup = scheduling.setup(*kind, wiring);
        let rule =
            "it must be true where scheduling is set: commands without time do not wait in queues";
        require(self.timed, "timed", "false", rule)?;
        setup.check().map_err(|invalid| scheduling.refusal(invalid))?;
        let in_order = !kind.overtakes && !kind.weighs_starts;
        let steps = match scheduling.cleaning {
            CleaningUnit::ByPolicy => !in_order,
            CleaningUnit::Block => false,
            CleaningUnit::Step => true,
        };
        let rule = "it needs the policy fcfs: other policies overtake, and queue work for a block \
                    in steps";
        require(steps || in_order, "scheduling.cleaning", "block", rule)?;
        let (in_a_row, pages) = (scheduling.steps_in_a_row, self.flash.pages_per_block);
        let field = "scheduling.steps_in_a_row";
        let rule = format!("it must be from 1 to the {pages} pages of a block");
        require((1..=pages).contains(&in_a_row), field, in_a_row, rule)?;
        let rule = "it must be 1 unless work is queued in steps: set scheduling.cleaning to step";
        require(steps || in_a_row == 1, field, in_a_row, rule)?;
        self.check_turns(steps, kind.suspends)?;
        self.check_priorities()?;
        let cleaning = scheduling.cleaning_priority;
        Ok(Some(Queues {
            setup,
            steps,
            steps_in_a_row: in_a_row,
            foreground: cleaning,
            levels: Levels {
                erase: scheduling.erase_priority.level(cleaning),
                wear: scheduling.wear_priority.level(cleaning),
                mapping: scheduling.mapping_priority,
            },
            turns: scheduling.turns,
            blocks_per_lane: 1,
            span: 1,
        }))
    }

    /// Checks that the drive has commands of the classes whose priorities are set.
    fn check_priorities(&self) -> Result<(), ProfileError> {
        let (scheduling, field) = (&self.scheduling, "scheduling.wear_priority");
        let set = scheduling.wear_priority != OwnPriority::AsCleaning;
        let moves = self.wear.policy != "none"
            || self.reliability.read_disturb > 0.0
            || self.errors.rate > 0.0;
        let rule =
            "no commands have this class: set wear.policy, reliability.read_disturb or errors.rate";
        require(!set || moves, field, "set", rule)?;
        let (level, field) = (scheduling.mapping_priority, "scheduling.mapping_priority");
        let stored = self.ftl == "dftl" || self.persistence.map != MapMemory::NvRam;
        let rule = "no commands have this class: the mapping table is not on the flash";
        require(level == Level::Equal || stored, field, "set", rule)?;
        let rule = "it must be urgent or equal: the host waits for the mapping table";
        require(level != Level::Low, field, "low", rule)
    }

    /// Checks that reads can take turns with background work.
    fn check_turns(&self, steps: bool, suspends: bool) -> Result<(), ProfileError> {
        let (scheduling, field) = (&self.scheduling, "scheduling.turns");
        if !scheduling.turns {
            return Ok(());
        }
        let works = self.cache.write_back > 0.0 || self.background_cleaning;
        let rule = "the drive has no background work: set cache.write_back or background_cleaning";
        require(works, field, true, rule)?;
        let rule = "work for a whole block takes no turns: set scheduling.cleaning to step";
        require(steps, field, true, rule)?;
        let rule = "reads do not wait for a step that they suspend: choose another policy";
        require(!suspends, field, true, rule)?;
        let rule = "a read may need a step at once: scheduling.cleaning_priority must not be low";
        require(scheduling.cleaning_priority != Level::Low, field, true, rule)?;
        let rule = "a step must begin when its turn comes, not when the bus is free: scheduling.choice_time must be die-free";
        require(scheduling.choice_time == ChoiceTime::DieFree, field, true, rule)
    }
}

impl Scheduling {
    /// Returns true if dies serve commands in the order of arrival, without any other feature of
    /// this section.
    fn is_plain(&self) -> bool {
        let cleaning = match self.cleaning {
            CleaningUnit::Block => CleaningUnit::ByPolicy,
            other => other,
        };
        Scheduling { cleaning, ..self.clone() } == Scheduling::default()
    }

    fn setup(&self, policy: sched::Kind, wiring: Wiring) -> Setup {
        let some = |count: u32| (count > 0).then_some(count);
        Setup {
            policy,
            limits: Limits {
                overtakes: some(self.overtake_limit),
                wait: (self.overtake_wait > Nanos(0)).then_some(self.overtake_wait),
            },
            suspension: Suspension {
                suspend: self.suspend_time,
                resume: self.resume_time,
                most: some(self.max_suspensions),
                min_progress: self.min_progress,
                min_remaining: self.min_remaining,
            },
            command: self.command_cycles,
            multi_plane: wiring.two_plane,
            in_order_planes: true,
            cache_read: self.cache_read,
            cache_program: self.cache_program,
            bus_order: self.bus_order,
            choice_time: self.choice_time,
        }
    }

    /// Returns the error for the field that breaks a rule of the scheduler.
    fn refusal(&self, invalid: Invalid) -> ProfileError {
        let limit = if self.overtake_limit > 0 { "overtake_limit" } else { "overtake_wait" };
        let register = if self.cache_read { "cache_read" } else { "cache_program" };
        let field = match (invalid, limit, register) {
            (Invalid::LimitsWithoutOvertaking | Invalid::LimitOfZero, "overtake_limit", _) => {
                "scheduling.overtake_limit"
            }
            (Invalid::LimitsWithoutOvertaking | Invalid::LimitOfZero, ..) => {
                "scheduling.overtake_wait"
            }
            (Invalid::SuspensionWithCache, _, "cache_read") => "scheduling.cache_read",
            (Invalid::SuspensionWithCache, ..) => "scheduling.cache_program",
            (Invalid::SuspensionWithoutPolicy, ..) => "scheduling.policy",
        };
        broken(field, &self.policy, format!("{invalid}; the policy is {}", self.policy))
    }
}
