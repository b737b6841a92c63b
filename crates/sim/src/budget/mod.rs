//! Limits the total memory of simulated drives. A drive computes its need
//! ([`crate::Profile::footprint`]) and reserves it from a [`Budget`] before it allocates anything.
//! The budget refuses the drive if too little memory is free, because a failed allocation would end
//! the process.

mod machine;

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use flashscope_block::Bytes;

use machine::memory_of_machine;

/// The limit if the memory of the machine is unknown.
const UNKNOWN: Bytes = Bytes::gib(4);

/// The size from which the budget tries an allocation before it creates a drive.
const LARGE: Bytes = Bytes::mib(64);

/// A limit on the memory of simulated drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The maximum number of bytes of all drives together.
    pub total: Bytes,
    /// The maximum number of bytes of one drive, including all members of an array; at most
    /// `total`.
    pub each: Bytes,
    /// The origin of the limit.
    pub source: Source,
}

/// The origin of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Half of the machine's memory.
    Machine,
    /// A value that the user set.
    Option,
    /// The part of a server's memory that one drive of a request may use.
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
    /// Returns a limit of half of the machine's memory, or of 4 GiB if that memory is unknown.
    pub fn of_machine() -> Limit {
        let half = memory_of_machine().map_or(UNKNOWN, |all| Bytes(all.0 / 2));
        Limit { total: half, each: half, source: Source::Machine }
    }

    /// Returns the limit that a user sets.
    pub const fn of(total: Bytes) -> Limit {
        Limit { total, each: total, source: Source::Option }
    }

    /// Returns the limit of a server for `requests` concurrent requests: a drive of a request may
    /// use `total` divided by their number. A request with several drives may use more.
    pub const fn of_server(total: Bytes, requests: u64) -> Limit {
        Limit { total, each: Bytes(total.0 / requests), source: Source::Server }
    }
}

/// The reason why a budget refuses a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The drive needs more than the limit.
    Limit {
        /// The need of the drive.
        need: Bytes,
        /// The limit.
        limit: Limit,
    },
    /// Other drives have reserved too much of the limit.
    InUse {
        /// The need of the drive.
        need: Bytes,
        /// The memory that other drives have reserved.
        in_use: Bytes,
        /// The limit.
        limit: Limit,
    },
    /// The machine does not have that much memory.
    Unavailable {
        /// The need of the drive.
        need: Bytes,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let smaller = "make the drive smaller, for example with `flash.blocks_per_plane`";
        match self {
            Refusal::Limit { need, limit: Limit { each, source: Source::Server, .. } } => write!(
                f,
                "needs {need} of memory; the limit is {each} ({}): {smaller}, or start the server \
                 with a larger `--memory`",
                Source::Server
            ),
            Refusal::Limit { need, limit } => write!(
                f,
                "needs {need} of memory; the limit is {} ({}): raise it with `--memory {}`, or \
                 {smaller}",
                limit.each,
                limit.source,
                enough(*need)
            ),
            Refusal::InUse { need, in_use, limit } => write!(
                f,
                "needs {need} of memory, and other simulated drives use {in_use} of the limit, {} \
                 ({}): simulate fewer at once, raise the limit with `--memory`, or {smaller}",
                limit.total, limit.source
            ),
            Refusal::Unavailable { need } => write!(
                f,
                "needs {need} of memory, which this machine does not have: {smaller}, or free memory"
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// Returns a size for the user to type, in whole units: at least `need`, and at most about a tenth
/// more.
fn enough(need: Bytes) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let (name, shift) =
        units.into_iter().find(|(_, shift)| need.0 >> shift >= 10).unwrap_or(("KiB", 10));
    format!("{}{name}", need.0.div_ceil(1 << shift))
}

/// A memory budget that a set of simulated drives shares. Clones share the same budget.
#[derive(Debug, Clone)]
pub struct Budget {
    shared: Arc<Account>,
    waits: bool,
}

#[derive(Debug)]
struct Account {
    limit: Limit,
    reserved: Mutex<u64>,
    released: Condvar,
}

impl Account {
    fn reserved(&self) -> MutexGuard<'_, u64> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Budget {
    /// Returns a budget of half of the machine's memory.
    fn default() -> Budget {
        Budget::new(Limit::of_machine())
    }
}

impl Budget {
    /// Returns a budget with this limit and no reservations.
    #[must_use]
    pub fn new(limit: Limit) -> Budget {
        let (reserved, released) = (Mutex::new(0), Condvar::new());
        Budget { shared: Arc::new(Account { limit, reserved, released }), waits: false }
    }

    /// Returns a handle whose reservations wait until other drives of the budget release enough
    /// memory, instead of being refused. A need above the limit is still refused.
    ///
    /// Use this handle for work that is divided among threads, if each thread holds at most one
    /// drive at a time. A thread that waits while it holds a drive may wait forever.
    #[must_use]
    pub fn waiting(&self) -> Budget {
        Budget { waits: true, ..self.clone() }
    }

    /// Reserves memory, within the limit.
    ///
    /// # Errors
    /// Returns an error if `need` exceeds the limit, the unreserved part of the limit, or the
    /// memory that the machine can provide.
    pub fn reserve(&self, need: Bytes) -> Result<Reservation, Refusal> {
        let Budget { shared, waits } = self;
        let limit = shared.limit;
        if need > limit.each {
            return Err(Refusal::Limit { need, limit });
        }
        let mut reserved = shared.reserved();
        while reserved.saturating_add(need.0) > limit.total.0 {
            if !waits {
                return Err(Refusal::InUse { need, in_use: Bytes(*reserved), limit });
            }
            reserved = shared.released.wait(reserved).unwrap_or_else(PoisonError::into_inner);
        }
        if !is_available(need) {
            return Err(Refusal::Unavailable { need });
        }
        *reserved += need.0;
        Ok(Reservation { shared: Arc::clone(shared), bytes: need.0 })
    }
}

/// A reservation of memory, which ends when this value is dropped.
#[derive(Debug)]
pub struct Reservation {
    shared: Arc<Account>,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut reserved = self.shared.reserved();
        *reserved = reserved.saturating_sub(self.bytes);
        drop(reserved);
        self.shared.released.notify_all();
    }
}

/// Returns true if an allocation of this size succeeds, or if the size is below [`LARGE`]. The
/// system may still run out of memory when the memory is used.
fn is_available(need: Bytes) -> bool {
    let tried = || Vec::<u8>::new().try_reserve_exact(usize::try_from(need.0).ok()?).ok();
    need < LARGE || tried().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggested_limits_suffice_and_are_at_most_a_tenth_more() {
        for need in [1, 1023, 20 << 10, (11 << 30) + 1, 999 << 30, 5 << 40, 1 << 60] {
            let suggested: Bytes = enough(Bytes(need)).parse().expect("a size");
            assert!(suggested.0 >= need, "{suggested:?} for {need}");
            assert!(suggested.0 <= (need + need / 9).max(10 << 10), "{suggested:?} for {need}");
        }
    }

    #[test]
    fn budgets_are_independent_and_clones_share_theirs() {
        let [one, other] = [(), ()].map(|()| Budget::new(Limit::of(Bytes(100))));
        let held = one.reserve(Bytes(60)).expect("nothing is reserved");
        let refused = one.clone().reserve(Bytes(60)).expect_err("60 of 100 are reserved");
        assert!(matches!(refused, Refusal::InUse { in_use: Bytes(60), .. }));
        other.reserve(Bytes(60)).expect("another budget");
        let waiting = one.waiting();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| waiting.reserve(Bytes(60)).is_ok());
            drop(held);
            assert!(waits.join().expect("no panic"));
        });
    }

    #[test]
    fn refusals_name_need_limit_origin_and_option() {
        let need = Bytes((12 << 40) / 10);
        let limit = Limit { total: Bytes::gib(12), each: Bytes::gib(12), source: Source::Machine };
        let text = Refusal::Limit { need, limit }.to_string();
        for part in ["1.2 TiB", "12 GiB", "half of this machine's", "`--memory 1229GiB`"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let server = Limit::of_server(Bytes::gib(4), 2);
        let text = Refusal::Limit { need, limit: server }.to_string();
        assert!(text.contains("2 GiB") && text.contains("request"), "{text}");
    }
}
