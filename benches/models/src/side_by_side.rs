//! Runs comparisons on two threads.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Applies `one` to each item on two threads. Returns the outcomes in the order of the items.
pub(crate) fn side_by_side<T: Sync, R: Send>(items: &[T], one: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while let nth = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(item) = items.get(nth)
                {
                    let outcome = one(item);
                    done.lock().expect("no thread panics").insert(nth, outcome);
                }
            });
        }
    });
    done.into_inner().expect("no thread panics").into_values().collect()
}
