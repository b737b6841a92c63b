//! How much memory all simulated drives of this process may take together. A drive states what it
//! needs ([`crate::Profile::footprint`]) and reserves it before it allocates anything, and is
//! refused where that is more than is left: an allocation that fails would end the process.

mod machine;

use std::cell::Cell;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use flashscope_block::Bytes;

pub use machine::memory_of_machine;

/// Where nothing is known of the machine.
const UNKNOWN: Bytes = Bytes::gib(4);

/// An allocation of so much is tried before the drive is made.
const LARGE: Bytes = Bytes::mib(64);

/// How much memory simulated drives may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// All of them together.
    pub total: Bytes,
    /// One of them, with all drives of its array; no more than `total`.
    pub each: Bytes,
    /// Where the limit comes from.
    pub source: Source,
}

/// Where a limit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// It is half of the machine's memory.
    Machine,
    /// The user set it.
    Option,
    /// It is that of a server, for each request.
    Server,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Machine => "half of this machine's",
            Source::Option => "set by `--memory`",
            Source::Server => "for one request to this server",
        })
    }
}

impl Limit {
    /// Half of the machine's memory.
    pub fn of_machine() -> Limit {
        let half = memory_of_machine().map_or(UNKNOWN, |all| Bytes(all.0 / 2));
        Limit { total: half, each: half, source: Source::Machine }
    }

    /// That which a user asks for.
    pub const fn of(total: Bytes) -> Limit {
        Limit { total, each: total, source: Source::Option }
    }

    /// That of a server: of `total`, each of `requests` at once may take its share.
    pub const fn of_server(total: Bytes, requests: u64) -> Limit {
        Limit { total, each: Bytes(total.0 / requests), source: Source::Server }
    }
}

/// Why a drive is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It needs more than the limit.
    Limit {
        /// What it needs.
        need: Bytes,
        /// The limit.
        limit: Limit,
    },
    /// Other drives take too much of the limit.
    InUse {
        /// What it needs.
        need: Bytes,
        /// What other drives have reserved.
        in_use: Bytes,
        /// The limit.
        limit: Limit,
    },
    /// The machine does not give it.
    Unavailable {
        /// What it needs.
        need: Bytes,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let smaller = "make the drive smaller, such as by `flash.blocks_per_plane`";
        match self {
            Refusal::Limit { need, limit: Limit { each, source: Source::Server, .. } } => write!(
                f,
                "needs {need} of memory, the limit is {each} ({}): {smaller}, or start the server \
                 with a larger `--memory`",
                Source::Server
            ),
            Refusal::Limit { need, limit } => write!(
                f,
                "needs {need} of memory, the limit is {} ({}): raise it with `--memory {}`, or \
                 {smaller}",
                limit.each,
                limit.source,
                enough(*need)
            ),
            Refusal::InUse { need, in_use, limit } => write!(
                f,
                "needs {need} of memory, and other simulated drives take {in_use} of the limit, {} \
                 ({}): simulate fewer at once, raise the limit with `--memory`, or {smaller}",
                limit.total, limit.source
            ),
            Refusal::Unavailable { need } => write!(
                f,
                "needs {need} of memory, which this machine does not give: {smaller}, or free memory"
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// A size to type that is no less than `need`, in whole units and not much more.
fn enough(need: Bytes) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let (name, shift) =
        units.into_iter().find(|(_, shift)| need.0 >> shift >= 10).unwrap_or(("KiB", 10));
    format!("{}{name}", need.0.div_ceil(1 << shift))
}

struct State {
    /// The machine's before it is asked for first.
    limit: Option<Limit>,
    reserved: u64,
}

static STATE: Mutex<State> = Mutex::new(State { limit: None, reserved: 0 });
static RELEASED: Condvar = Condvar::new();

thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The limit for drives that are made from now on.
pub fn limit() -> Limit {
    *state().limit.get_or_insert_with(Limit::of_machine)
}

/// Sets the limit for drives that are made from now on.
pub fn set_limit(limit: Limit) {
    state().limit = Some(limit);
    RELEASED.notify_all();
}

/// Has drives that `work` makes on this thread wait until there is room for them, where others of
/// this process are in the way. For work that is divided among threads, each of which has one drive
/// at a time: a thread that waits while it has a drive may wait forever.
pub fn queued<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            WAITS.set(self.0);
        }
    }
    let _restore = Restore(WAITS.replace(true));
    work()
}

/// Memory that is reserved until this is dropped.
#[derive(Debug)]
pub struct Reservation(u64);

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = state();
        state.reserved = state.reserved.saturating_sub(self.0);
        drop(state);
        RELEASED.notify_all();
    }
}

/// Reserves memory, within the limit.
///
/// # Errors
/// That it is more than the limit, than other drives leave of it, or than the machine gives.
pub fn reserve(need: Bytes) -> Result<Reservation, Refusal> {
    let mut state = state();
    loop {
        let limit = *state.limit.get_or_insert_with(Limit::of_machine);
        if need > limit.each {
            return Err(Refusal::Limit { need, limit });
        }
        if state.reserved.saturating_add(need.0) <= limit.total.0 {
            break;
        }
        if !WAITS.get() {
            return Err(Refusal::InUse { need, in_use: Bytes(state.reserved), limit });
        }
        state = RELEASED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    if !is_available(need) {
        return Err(Refusal::Unavailable { need });
    }
    state.reserved += need.0;
    Ok(Reservation(need.0))
}

/// Whether the machine gives so much, as far as it says so before it is used.
fn is_available(need: Bytes) -> bool {
    let tried = || Vec::<u8>::new().try_reserve_exact(usize::try_from(need.0).ok()?).ok();
    need < LARGE || tried().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is the size that a message suggests always enough, and at most a tenth more?
    #[test]
    fn suggested_limits_are_enough() {
        for need in [1, 1023, 20 << 10, (11 << 30) + 1, 999 << 30, 5 << 40, 1 << 60] {
            let suggested: Bytes = enough(Bytes(need)).parse().expect("a size");
            assert!(suggested.0 >= need, "{suggested:?} for {need}");
            assert!(suggested.0 <= (need + need / 9).max(10 << 10), "{suggested:?} for {need}");
        }
    }

    // Does a refusal say the figure, the limit, where it comes from, and what to type?
    #[test]
    fn refusals_say_what_to_do() {
        let need = Bytes((12 << 40) / 10);
        let limit = Limit { total: Bytes::gib(12), each: Bytes::gib(12), source: Source::Machine };
        let said = Refusal::Limit { need, limit }.to_string();
        for part in ["1.2 TiB", "12 GiB", "half of this machine's", "`--memory 1229GiB`"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let server = Limit::of_server(Bytes::gib(4), 2);
        let said = Refusal::Limit { need, limit: server }.to_string();
        assert!(said.contains("2 GiB") && said.contains("request"), "{said}");
    }
}
