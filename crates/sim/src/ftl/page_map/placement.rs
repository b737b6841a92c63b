//! Placement of data by the host: the handle and the reclaim group of a write, and the fate of the
//! data of each handle.

use flashscope_block::StreamId;

use super::lane::Role;
use super::{MapStorage, PageMap};
use crate::ftl::Slice;
use crate::nand::{Array, BlockId};
use crate::setup::{Identifiers, Isolation, Layout};

/// Counts of a drive's work on the data of one handle since its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HandleCounts {
    /// Logical pages written to the handle.
    pub pages_written: u64,
    /// Reclaim units that the handle began to fill.
    pub units_opened: u64,
    /// Reclaim units of the handle that were erased.
    pub units_reclaimed: u64,
    /// Logical pages that the drive moved out of reclaim units of the handle, mostly in garbage
    /// collection.
    pub pages_moved: u64,
}

impl HandleCounts {
    /// Combines the counts with those of the same handle at another time or in another drive.
    fn combine(&self, other: &HandleCounts, with: fn(u64, u64) -> u64) -> HandleCounts {
        HandleCounts {
            pages_written: with(self.pages_written, other.pages_written),
            units_opened: with(self.units_opened, other.units_opened),
            units_reclaimed: with(self.units_reclaimed, other.units_reclaimed),
            pages_moved: with(self.pages_moved, other.pages_moved),
        }
    }
}

/// Counts of a drive's work on placed data since its creation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlacementCounts {
    /// The counts of each handle; empty without placement.
    pub handles: Vec<HandleCounts>,
    /// The counts of the reclaim units for moved data of all handles.
    pub moved: HandleCounts,
    /// Slices ([`Slice`]) written with a stream that names no handle or no group.
    pub invalid_identifiers: u64,
    /// Streams that took the handle of another stream.
    pub streams_replaced: u64,
    /// Slices ([`Slice`]) written to a reclaim group other than the requested group, because the
    /// requested group was full.
    pub groups_overflowed: u64,
}

impl PlacementCounts {
    /// Returns the counts since `earlier`, an earlier reading of the same drive.
    #[must_use]
    pub fn since(&self, earlier: &PlacementCounts) -> PlacementCounts {
        self.combine(earlier, |now, then| now - then)
    }

    /// Returns the sum of the counts of two drives of the same profile.
    #[must_use]
    pub fn plus(&self, other: &PlacementCounts) -> PlacementCounts {
        self.combine(other, |one, two| one + two)
    }

    fn combine(&self, other: &PlacementCounts, with: fn(u64, u64) -> u64) -> PlacementCounts {
        let handles = self.handles.iter().zip(&other.handles);
        PlacementCounts {
            handles: handles.map(|(one, two)| one.combine(two, with)).collect(),
            moved: self.moved.combine(&other.moved, with),
            invalid_identifiers: with(self.invalid_identifiers, other.invalid_identifiers),
            streams_replaced: with(self.streams_replaced, other.streams_replaced),
            groups_overflowed: with(self.groups_overflowed, other.groups_overflowed),
        }
    }
}

/// The handles of a drive.
pub(super) struct Handles {
    /// With [`Identifiers::Streams`], the stream of each handle from handle 1 on, most recently
    /// used first.
    streams: Vec<(StreamId, u8)>,
    /// On a drive with zones, for each handle: the opening number of the newest block at the time
    /// when a zone last gave back the handle.
    ended: Vec<u32>,
    pub(super) counts: PlacementCounts,
}

impl Handles {
    pub(super) fn new(layout: &Layout) -> Handles {
        let placement = layout.placement;
        let handles = if placement.is_on() { placement.handles as usize } else { 0 };
        let counts = vec![HandleCounts::default(); handles];
        Handles {
            streams: Vec::new(),
            ended: if layout.zones.is_some() { vec![0; handles] } else { Vec::new() },
            counts: PlacementCounts { handles: counts, ..PlacementCounts::default() },
        }
    }

    /// Forgets the streams, as a drive does that loses power.
    pub(super) fn forget_streams(&mut self) {
        self.streams.clear();
    }

    /// Records that a zone gave back a handle when `opened` was the opening number of the newest
    /// block.
    pub(super) fn end(&mut self, handle: StreamId, opened: u32) {
        if let Some(ended) = self.ended.get_mut(usize::from(handle)) {
            *ended = opened;
        }
    }

    /// Returns true if a block of this role and this opening number has data of a zone that gave
    /// back its handle.
    pub(super) fn has_ended(&self, role: Role, opened: u32) -> bool {
        let handle = role.handle().map(usize::from);
        let ended = handle.and_then(|handle| self.ended.get(handle));
        ended.is_some_and(|ended| opened <= *ended)
    }

    /// Returns the handle of a stream other than stream 0. If no handle is free, the stream takes
    /// the handle of the least recently used stream. The drive has `handles` handles, at least 2.
    fn of_stream(&mut self, stream: StreamId, handles: u32) -> u8 {
        let known = self.streams.iter().position(|(known, _)| *known == stream);
        let more = self.streams.len() + 1 < handles as usize;
        let handle = match known {
            Some(place) => self.streams.remove(place).1,
            None if more => u8::try_from(self.streams.len() + 1).expect("at most 128 handles"),
            None => {
                self.counts.streams_replaced += 1;
                self.streams.pop().map_or(0, |(_, handle)| handle)
            }
        };
        self.streams.insert(0, (stream, handle));
        handle
    }

    /// Returns the counts for blocks of a role.
    fn of_role(&mut self, role: Role) -> Option<&mut HandleCounts> {
        match role.handle() {
            Some(handle) => self.counts.handles.get_mut(usize::from(handle)),
            None if role == Role::Other && !self.counts.handles.is_empty() => {
                Some(&mut self.counts.moved)
            }
            None => None,
        }
    }
}

impl<M: MapStorage> PageMap<M> {
    /// Returns the role and the reclaim group of a page that is written to this stream. If the
    /// group is `None`, the page may go to any group.
    #[cold]
    pub(super) fn place(&mut self, stream: StreamId) -> (Role, Option<u32>) {
        let placement = self.layout.placement;
        if stream == 0 {
            return (Role::Host, None);
        }
        let below = StreamId::BITS - placement.group_bits();
        let (group, number) = (u32::from(stream) >> below, u32::from(stream) & ((1 << below) - 1));
        let has_handle =
            placement.identifiers == Identifiers::Streams || number < placement.handles;
        if group >= placement.groups || !has_handle {
            self.handles.counts.invalid_identifiers += 1;
            return (Role::Host, None);
        }
        let handle = match placement.identifiers {
            Identifiers::Streams if number > 0 && placement.handles > 1 => {
                let number = StreamId::try_from(number).expect("part of a stream");
                self.handles.of_stream(number, placement.handles)
            }
            Identifiers::Streams => 0,
            Identifiers::Handles => u8::try_from(number).expect("below 128"),
        };
        (Role::of_handle(handle), (placement.groups > 1).then_some(group))
    }

    /// Returns the role of moved data that was in a block of this role.
    pub(super) fn placed_again(&self, role: Role) -> Role {
        match self.layout.placement.isolation {
            Isolation::Initial => Role::Other,
            Isolation::Persistent => role.handle().map_or(Role::Host, Role::of_handle),
        }
    }

    /// Returns a stream whose data is placed like the data of `block`.
    pub(super) fn stream_for(&self, nand: &Array, block: BlockId) -> StreamId {
        let placement = self.layout.placement;
        let handle = Role::of(nand.opened(block).1).handle().unwrap_or(0);
        let number = match placement.identifiers {
            Identifiers::Handles => handle.into(),
            Identifiers::Streams => {
                let of = |(_, other): &&(StreamId, u8)| *other == handle;
                self.handles.streams.iter().find(of).map_or(0, |(stream, _)| *stream)
            }
        };
        let lanes = self.layout.lanes_per_pool;
        let lane = match lanes {
            1 => 0,
            _ => self.lane_of(0, block) % lanes,
        };
        let group = lane / (lanes / placement.groups);
        let group = StreamId::try_from(group).expect("the bits of a stream can name every group");
        let below = StreamId::BITS - placement.group_bits();
        group.checked_shl(below).unwrap_or(0) | number
    }

    /// Counts the pages of a slice that was written to the frontier of a role.
    #[cold]
    pub(super) fn count_placed(&mut self, role: Role, slice: &Slice) {
        let pages = self.lpns(slice).len() as u64;
        if let Some(counts) = self.handles.of_role(role) {
            counts.pages_written += pages;
        }
    }

    /// Counts a block that was opened for a role.
    pub(super) fn count_opened(&mut self, role: Role) {
        if let Some(counts) = self.handles.of_role(role) {
            counts.units_opened += 1;
        }
    }

    /// Counts a block of a role that was erased.
    pub(super) fn count_reclaimed(&mut self, role: Role) {
        if let Some(counts) = self.handles.of_role(role) {
            counts.units_reclaimed += 1;
        }
    }

    /// Counts pages that were moved out of a block.
    #[inline]
    pub(super) fn count_moved(&mut self, nand: &Array, block: BlockId, pages: u64) {
        if self.layout.placement.is_on()
            && let Some(counts) = self.handles.of_role(Role::of(nand.opened(block).1))
        {
            counts.pages_moved += pages;
        }
    }
}
