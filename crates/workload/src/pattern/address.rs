use rand::distr::{Distribution, Uniform};
use rand::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Address;

impl Address {
    /// Returns the minimum number of slots with which the address function behaves as its name
    /// says.
    pub(super) fn min_slots(self) -> u64 {
        match self {
            Address::Sequential | Address::Random | Address::Ordered { incr: 0 } => 1,
            Address::Ordered { incr: 1 | -1 } => 1,
            // With fewer than two rows, a step of `incr` would never occur, and the addresses would
            // be sequential.
            Address::Ordered { incr } => incr.unsigned_abs().saturating_mul(2),
            Address::Partitioned { partitions } => partitions.max(1),
        }
    }
}

/// The position of an address function, which yields successive slots without a division.
pub(super) enum Cursor {
    Sequential {
        slots: u64,
        next: u64,
    },
    Random {
        slot: Uniform<u64>,
        rng: Xoshiro256PlusPlus,
    },
    /// `mirror` is the last slot for decreasing patterns.
    Columns {
        rows: u64,
        columns: u64,
        row: u64,
        column: u64,
        mirror: Option<u64>,
    },
    Partitioned {
        partitions: u64,
        slots_each: u64,
        partition: u64,
        slot: u64,
    },
}

impl Cursor {
    /// Creates a cursor over `slots` slots, at least [`Address::min_slots`].
    pub(super) fn new(address: Address, slots: u64, seed: u64) -> Cursor {
        match address {
            Address::Sequential => Cursor::Sequential { slots, next: 0 },
            Address::Random => Cursor::Random {
                slot: Uniform::new(0, slots).expect("a valid pattern has a slot"),
                rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            },
            Address::Ordered { incr: 0 } => Cursor::Sequential { slots: 1, next: 0 },
            Address::Ordered { incr } => {
                let columns = incr.unsigned_abs();
                let mirror = (incr < 0).then_some(slots - 1);
                Cursor::Columns { rows: slots / columns, columns, row: 0, column: 0, mirror }
            }
            Address::Partitioned { partitions } => {
                let slots_each = slots / partitions;
                Cursor::Partitioned { partitions, slots_each, partition: 0, slot: 0 }
            }
        }
    }

    pub(super) fn next(&mut self) -> u64 {
        match self {
            Cursor::Sequential { slots, next } => step(next, *slots).0,
            Cursor::Random { slot, rng } => slot.sample(rng),
            Cursor::Columns { rows, columns, row, column, mirror } => {
                let (this_row, row_wrapped) = step(row, *rows);
                let slot = this_row * *columns + *column;
                if row_wrapped {
                    step(column, *columns);
                }
                mirror.map_or(slot, |last| last - slot)
            }
            Cursor::Partitioned { partitions, slots_each, partition, slot } => {
                let this_slot = *slot;
                let (this_partition, partition_wrapped) = step(partition, *partitions);
                if partition_wrapped {
                    step(slot, *slots_each);
                }
                this_partition * *slots_each + this_slot
            }
        }
    }
}

/// Advances a counter. Returns its previous value, and true if it wrapped to 0.
fn step(counter: &mut u64, limit: u64) -> (u64, bool) {
    let value = *counter;
    *counter += 1;
    let wrapped = *counter == limit;
    if wrapped {
        *counter = 0;
    }
    (value, wrapped)
}
