use flashscope_block::Nanos;

use super::blocks::Blocks;
use super::{BlockId, Geometry, Illegal, Lpn, Page, Timing, later};

/// Why a flash command was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A request of the host, including the read of a read-modify-write.
    Host,
    /// Moving pages out of a block, and erasing it.
    Cleaning,
}

/// Flash commands of one type, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByCause {
    /// Given for requests of the host.
    pub host: u64,
    /// Given for cleaning.
    pub cleaning: u64,
}

impl ByCause {
    /// Commands of every cause.
    pub const fn total(&self) -> u64 {
        self.host + self.cleaning
    }

    /// Every cause by its name, and its commands.
    pub const fn entries(&self) -> [(&'static str, u64); 2] {
        [("host", self.host), ("cleaning", self.cleaning)]
    }

    fn since(&self, earlier: &ByCause) -> ByCause {
        ByCause { host: self.host - earlier.host, cleaning: self.cleaning - earlier.cleaning }
    }

    fn count(&mut self, cause: Cause) {
        match cause {
            Cause::Host => self.host += 1,
            Cause::Cleaning => self.cleaning += 1,
        }
    }
}

/// Every command that the flash has carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlashCounters {
    /// Pages read.
    pub reads: ByCause,
    /// Pages programmed.
    pub programs: ByCause,
    /// Blocks erased.
    pub erases: ByCause,
}

impl FlashCounters {
    /// What was carried out since `earlier`, an earlier reading of the same flash.
    pub fn since(&self, earlier: &FlashCounters) -> FlashCounters {
        FlashCounters {
            reads: self.reads.since(&earlier.reads),
            programs: self.programs.since(&earlier.programs),
            erases: self.erases.since(&earlier.erases),
        }
    }
}

/// The flash packages of a drive.
///
/// A *unit* carries out one command at a time: a package, or with interleaving a die, whose
/// package's serial bus then carries one page at a time for all its dies (section 2.2). Commands
/// are served in the order in which they are given. Each method takes the time at which the
/// command reaches the package and returns when it is done; an illegal command changes nothing.
pub struct Array {
    blocks: Blocks,
    timing: Timing,
    counters: FlashCounters,
    units: Vec<Nanos>,
    blocks_per_unit: u32,
    buses: Vec<Nanos>,
}

impl Array {
    /// Erased flash, idle at time 0. With `interleaving`, dies of one package work side by side.
    pub fn new(geometry: Geometry, timing: Timing, interleaving: bool) -> Self {
        let blocks_per_unit = match interleaving {
            true => geometry.blocks_per_die(),
            false => geometry.blocks_per_package(),
        };
        Array {
            units: vec![Nanos(0); (geometry.blocks() / blocks_per_unit) as usize],
            blocks_per_unit,
            buses: vec![Nanos(0); geometry.packages as usize],
            blocks: Blocks::new(geometry),
            timing,
            counters: FlashCounters::default(),
        }
    }

    fn unit(&self, block: BlockId) -> usize {
        (block.0 / self.blocks_per_unit) as usize
    }

    fn bus(&self, unit: usize) -> usize {
        // With interleaving there are as many units to a bus as a package has dies.
        if self.units.len() == self.buses.len() {
            unit
        } else {
            unit / self.geometry().dies_per_package as usize
        }
    }

    /// Reads a page into the controller, with the logical page that its metadata names.
    ///
    /// # Errors
    /// [`Illegal::ReadOfErasedPage`].
    #[inline]
    pub fn read(&mut self, page: Page, at: Nanos, cause: Cause) -> Result<(Lpn, Nanos), Illegal> {
        let lpn = self.blocks.read(page)?;
        self.counters.reads.count(cause);
        let unit = self.unit(page.block);
        let bus = self.bus(unit);
        let in_register = later(at.max(self.units[unit]), self.timing.page_read);
        let done = later(in_register.max(self.buses[bus]), self.timing.page_transfer);
        self.buses[bus] = done;
        self.units[unit] = done;
        Ok((lpn, done))
    }

    /// Programs a page with the data of logical page `lpn`, from the controller.
    ///
    /// # Errors
    /// [`Illegal::ProgramOutOfOrder`].
    #[inline]
    pub fn program(
        &mut self,
        page: Page,
        lpn: Lpn,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Illegal> {
        self.blocks.program(page, lpn)?;
        self.counters.programs.count(cause);
        let unit = self.unit(page.block);
        let bus = self.bus(unit);
        let start = at.max(self.units[unit]).max(self.buses[bus]);
        let in_register = later(start, self.timing.page_transfer);
        let done = later(in_register, self.timing.page_program);
        self.buses[bus] = in_register;
        self.units[unit] = done;
        Ok(done)
    }

    /// Erases a block.
    ///
    /// # Errors
    /// [`Illegal::EraseOfValidPages`].
    #[inline]
    pub fn erase(&mut self, block: BlockId, at: Nanos, cause: Cause) -> Result<Nanos, Illegal> {
        self.blocks.erase(block)?;
        self.counters.erases.count(cause);
        let unit = self.unit(block);
        let done = later(at.max(self.units[unit]), self.timing.block_erase);
        self.units[unit] = done;
        Ok(done)
    }

    /// Notes that the data of a valid page is out of date; returns how many pages of its block
    /// are still valid. Costs no time: it is bookkeeping of the controller.
    #[inline]
    pub fn supersede(&mut self, page: Page) -> u32 {
        self.blocks.supersede(page)
    }

    /// When the units that hold `blocks` have all carried out what they were given.
    pub fn idle_from(&self, blocks: std::ops::RangeInclusive<BlockId>) -> Nanos {
        let units = &self.units[self.unit(*blocks.start())..=self.unit(*blocks.end())];
        units.iter().copied().max().unwrap_or_default()
    }

    /// How the flash is divided.
    pub fn geometry(&self) -> &Geometry {
        self.blocks.geometry()
    }

    /// The logical page that the metadata of a programmed page names, without reading it.
    ///
    /// # Errors
    /// [`Illegal::ReadOfErasedPage`].
    pub fn logical(&self, page: Page) -> Result<Lpn, Illegal> {
        self.blocks.read(page)
    }

    /// How many pages of a block are valid: programmed and not superseded.
    #[inline]
    pub fn valid(&self, block: BlockId) -> u32 {
        self.blocks.valid(block)
    }

    /// Whether a page is programmed and not superseded.
    pub fn is_valid(&self, page: Page) -> bool {
        self.blocks.is_valid(page)
    }

    /// The first valid page of a block.
    #[inline]
    pub fn first_valid(&self, block: BlockId) -> Option<Page> {
        self.blocks.first_valid(block)
    }

    /// Every command carried out so far.
    pub fn counters(&self) -> FlashCounters {
        self.counters
    }

    /// How often each block was erased, in the order of [`BlockId`].
    pub fn erase_counts(&self) -> impl ExactSizeIterator<Item = u32> {
        self.blocks.erase_counts()
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;

    use super::*;

    const TIMING: Timing = Timing {
        page_read: Nanos(25_000),
        page_program: Nanos(200_000),
        block_erase: Nanos(1_500_000),
        page_transfer: Nanos(105_600),
    };

    /// One package of two dies, a block each.
    fn array(interleaving: bool) -> Array {
        let geometry = Geometry {
            packages: 1,
            dies_per_package: 2,
            planes_per_die: 1,
            blocks_per_plane: 1,
            pages_per_block: 4,
            page_size: Bytes(4096),
        };
        Array::new(geometry, TIMING, interleaving)
    }

    fn page(block: u32, index: u32) -> Page {
        Page { block: BlockId(block), index }
    }

    fn program(array: &mut Array, block: u32, index: u32, at: u64) -> u64 {
        array.program(page(block, index), Lpn(7), Nanos(at), Cause::Host).expect("legal").0
    }

    // Are the commands that flash cannot carry out refused, counted nowhere and without effect?
    #[test]
    fn refuses_illegal_commands() {
        let mut array = array(false);
        let read = array.read(page(0, 0), Nanos(0), Cause::Host);
        assert_eq!(read, Err(Illegal::ReadOfErasedPage(page(0, 0))));
        let gap = array.program(page(0, 1), Lpn(0), Nanos(0), Cause::Host);
        assert_eq!(gap, Err(Illegal::ProgramOutOfOrder { page: page(0, 1), next: 0 }));
        program(&mut array, 0, 0, 0);
        let again = array.program(page(0, 0), Lpn(0), Nanos(0), Cause::Host);
        assert_eq!(again, Err(Illegal::ProgramOutOfOrder { page: page(0, 0), next: 1 }));
        let erase = array.erase(BlockId(0), Nanos(0), Cause::Cleaning);
        assert_eq!(erase, Err(Illegal::EraseOfValidPages { block: BlockId(0), valid: 1 }));
        let past_end = (1..4).map(|index| program(&mut array, 0, index, 0)).max();
        assert_eq!(past_end, Some(4 * 305_600));
        assert!(array.program(page(0, 4), Lpn(0), Nanos(0), Cause::Host).is_err());
        assert_eq!(array.counters().programs, ByCause { host: 4, cleaning: 0 });
        assert_eq!(array.counters().erases.total() + array.counters().reads.total(), 0);
    }

    // Does a superseded block become programmable again by an erase, and count as erased once?
    #[test]
    fn erase_makes_a_block_new() {
        let mut array = array(false);
        program(&mut array, 0, 0, 0);
        assert_eq!(array.first_valid(BlockId(0)), Some(page(0, 0)));
        assert_eq!(array.supersede(page(0, 0)), 0);
        assert_eq!(array.first_valid(BlockId(0)), None);
        assert_eq!(
            array.erase(BlockId(0), Nanos(0), Cause::Cleaning),
            Ok(Nanos(305_600 + 1_500_000))
        );
        assert_eq!(array.erase_counts().collect::<Vec<_>>(), [1, 0]);
        program(&mut array, 0, 0, 0);
    }

    // Does a command that comes while the unit is busy wait exactly until it is free: not at all
    // when it comes at that time t, one nanosecond at t - 1?
    #[test]
    fn a_busy_unit_makes_the_next_command_wait() {
        for early in [0, 1] {
            let mut array = array(false);
            let free = program(&mut array, 0, 0, 10);
            assert_eq!(free, 10 + 305_600);
            let (lpn, done) = array.read(page(0, 0), Nanos(free - early), Cause::Host).unwrap();
            assert_eq!((lpn, done), (Lpn(7), Nanos(free + 130_600)));
            let arrival = done.0 - early;
            let erased = array.erase(BlockId(1), Nanos(arrival), Cause::Cleaning).unwrap();
            assert_eq!(erased.0 - arrival, 1_500_000 + early);
        }
    }

    // With interleaving, do two dies program at once but for the transfer, which the bus carries
    // one at a time, to the nanosecond? Without, one after the other?
    #[test]
    fn interleaved_dies_share_the_bus() {
        let mut one_by_one = array(false);
        program(&mut one_by_one, 0, 0, 0);
        assert_eq!(program(&mut one_by_one, 1, 0, 0), 2 * 305_600);
        for early in [0, 1] {
            let mut interleaved = array(true);
            program(&mut interleaved, 0, 0, 0);
            assert_eq!(program(&mut interleaved, 1, 0, 105_600 - early), 105_600 + 305_600);
            // Both cells are read while the other die's page is on the bus.
            let (_, first) = interleaved.read(page(0, 0), Nanos(500_000), Cause::Host).unwrap();
            let (_, second) = interleaved.read(page(1, 0), Nanos(500_000), Cause::Host).unwrap();
            assert_eq!((first.0, second.0), (630_600, 736_200));
        }
    }
}
