use std::collections::VecDeque;

use flashscope_block::{Io, Nanos};

use crate::footprint::{Size, fixed, grown};
use crate::ftl::Slice;
use crate::nand::Lpn;
use crate::setup::Layout;

/// The number of sequential streams that are tracked, to serve hosts that read several files at
/// once. This value is a choice of the model.
const STREAMS: usize = 8;

/// A sequential stream: the position of the host and the pages fetched beyond it.
struct Stream {
    /// The address of the byte after the last read.
    next: u64,
    /// The page to which the first item of `fetched` belongs.
    first: u32,
    /// The times at which page `first` and the fetched pages after it arrive.
    fetched: VecDeque<Nanos>,
}

impl Stream {
    fn place(&self, lpn: Lpn) -> Option<usize> {
        let place = lpn.0.checked_sub(self.first)? as usize;
        (place < self.fetched.len()).then_some(place)
    }

    fn end(&self) -> u32 {
        self.first + u32::try_from(self.fetched.len()).expect("at most the pages read ahead")
    }

    /// Discards the pages before page `from`.
    fn advance(&mut self, from: u32) {
        let passed = from.saturating_sub(self.first) as usize;
        self.fetched.drain(..passed.min(self.fetched.len()));
        self.first = from;
    }
}

/// Pages that are fetched before the host requests them.
///
/// *The rule:* a read continues a stream if it begins where one of the last 8 streams ended. Any
/// other read begins a stream. After a read that continues a stream, the drive fetches the next
/// pages until `cache.read_ahead` complete pages after the read are in memory or being fetched.
/// Fetching stops before the end of the drive and before a page that is in the write buffer. The
/// drive discards a fetched page when the host writes or trims this page or an earlier fetched page
/// of the stream, or reads past it. When the host begins a ninth stream, the drive discards all
/// pages of the least recently used one.
///
/// *The memory* is separate from the write buffer and has 8 × (`cache.read_ahead` + 1) pages.
pub(super) struct ReadAhead {
    depth: u32,
    page_size: u64,
    logical_pages: u32,
    /// The streams, the most recently used last.
    streams: VecDeque<Stream>,
}

impl ReadAhead {
    /// Returns the size of the read-ahead memory.
    pub(super) fn footprint(layout: &Layout) -> Size {
        match layout.cache.read_ahead {
            0 => Size(0),
            // Covers the page that the host is reading, and the `depth` pages after it.
            depth => (fixed::<Stream>(2u32) + grown::<Nanos>(depth + 1)) * STREAMS as u64,
        }
    }

    pub(super) fn new(layout: &Layout) -> Self {
        ReadAhead {
            depth: layout.cache.read_ahead,
            page_size: u64::from(layout.logical_page_size()),
            logical_pages: layout.logical_pages(),
            streams: VecDeque::new(),
        }
    }

    /// Returns the time at which a page is in the read-ahead memory, or `None` if it is not
    /// fetched.
    #[inline]
    pub(super) fn find(&self, lpn: Lpn) -> Option<Nanos> {
        if self.depth == 0 {
            return None;
        }
        self.streams.iter().find_map(|stream| Some(stream.fetched[stream.place(lpn)?]))
    }

    /// Discards a page that is about to change, and the pages fetched after it.
    #[inline]
    pub(super) fn forget(&mut self, lpn: Lpn) {
        if self.depth == 0 {
            return;
        }
        for stream in &mut self.streams {
            if let Some(place) = stream.place(lpn) {
                stream.fetched.truncate(place);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.streams.clear();
    }

    /// Records a read. Calls `fetch` for each page to read ahead, until `fetch` returns `None`.
    #[inline]
    pub(super) fn follow(&mut self, read: &Io, fetch: impl FnMut(Slice) -> Option<Nanos>) {
        if self.depth > 0 {
            self.note(read, fetch);
        }
    }

    fn note(&mut self, read: &Io, mut fetch: impl FnMut(Slice) -> Option<Nanos>) {
        let (start, next) = (read.offset.0, read.end().0);
        let known = self.streams.iter().position(|stream| stream.next == start);
        let Some(mut stream) = known.and_then(|place| self.streams.remove(place)) else {
            if self.streams.len() == STREAMS {
                self.streams.pop_front();
            }
            self.streams.push_back(Stream { next, first: 0, fetched: VecDeque::new() });
            return;
        };
        let page = |page: u64| u32::try_from(page).expect("the pages of a drive fit in a u32");
        stream.next = next;
        stream.advance(page(next / self.page_size));
        let end = page(next.div_ceil(self.page_size)).saturating_add(self.depth);
        let len = u32::try_from(self.page_size).expect("a page fits in a u32");
        for lpn in (stream.end()..end.min(self.logical_pages)).map(Lpn) {
            let Some(here) =
                fetch(Slice { lpn, start: 0, len, zero: false, long: false, stream: read.stream })
            else {
                break;
            };
            stream.fetched.push_back(here);
        }
        self.streams.push_back(stream);
    }
}
