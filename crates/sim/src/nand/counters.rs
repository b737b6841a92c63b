/// Why a flash command was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A request of the host, including the read of a read-modify-write.
    Host,
    /// Moving pages out of a block, and erasing it.
    Cleaning,
    /// Keeping the map: summaries of blocks, records of trims, and reading them at power-on.
    Mapping,
    /// Moving pages from the SLC region to the rest.
    Folding,
    /// Moving cold pages to worn blocks.
    Wear,
}

impl Cause {
    /// Every cause, in the order in which they are shown; `cause as usize` is its place.
    pub const ALL: [Cause; 5] =
        [Cause::Host, Cause::Cleaning, Cause::Mapping, Cause::Folding, Cause::Wear];

    /// Its name in what is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Host => "host",
            Cause::Cleaning => "cleaning",
            Cause::Mapping => "mapping",
            Cause::Folding => "folding",
            Cause::Wear => "wear",
        }
    }
}

/// Flash commands of one type, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByCause {
    /// See [`Cause::Host`].
    pub host: u64,
    /// See [`Cause::Cleaning`].
    pub cleaning: u64,
    /// See [`Cause::Mapping`].
    pub mapping: u64,
    /// See [`Cause::Folding`].
    pub folding: u64,
    /// See [`Cause::Wear`].
    pub wear: u64,
}

impl ByCause {
    /// Commands of every cause.
    pub const fn total(&self) -> u64 {
        self.host + self.cleaning + self.mapping + self.folding + self.wear
    }

    /// Every cause by its name, and its commands.
    pub const fn entries(&self) -> [(&'static str, u64); 5] {
        [
            (Cause::Host.name(), self.host),
            (Cause::Cleaning.name(), self.cleaning),
            (Cause::Mapping.name(), self.mapping),
            (Cause::Folding.name(), self.folding),
            (Cause::Wear.name(), self.wear),
        ]
    }

    fn combine(&self, other: &ByCause, with: fn(u64, u64) -> u64) -> ByCause {
        ByCause {
            host: with(self.host, other.host),
            cleaning: with(self.cleaning, other.cleaning),
            mapping: with(self.mapping, other.mapping),
            folding: with(self.folding, other.folding),
            wear: with(self.wear, other.wear),
        }
    }

    #[inline]
    pub(super) fn count(&mut self, cause: Cause, commands: u32) {
        let counter = match cause {
            Cause::Host => &mut self.host,
            Cause::Cleaning => &mut self.cleaning,
            Cause::Mapping => &mut self.mapping,
            Cause::Folding => &mut self.folding,
            Cause::Wear => &mut self.wear,
        };
        *counter += u64::from(commands);
    }
}

/// Every command that the flash has carried out. Commands on an element of several packages count
/// once for each package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlashCounters {
    /// Pages read over the serial bus.
    pub reads: ByCause,
    /// Pages programmed, copies within a plane included.
    pub programs: ByCause,
    /// Pages copied within a plane, without the serial bus.
    pub copy_backs: ByCause,
    /// Blocks erased.
    pub erases: ByCause,
    /// Programs that failed; they are among `programs`.
    pub failed_programs: u64,
    /// Erases that failed; they are among `erases`.
    pub failed_erases: u64,
}

impl FlashCounters {
    /// What was carried out since `earlier`, an earlier reading of the same flash.
    pub fn since(&self, earlier: &FlashCounters) -> FlashCounters {
        self.combine(earlier, |now, then| now - then)
    }

    /// The sum of what two arrays have carried out.
    pub fn plus(&self, other: &FlashCounters) -> FlashCounters {
        self.combine(other, |one, two| one + two)
    }

    fn combine(&self, other: &FlashCounters, with: fn(u64, u64) -> u64) -> FlashCounters {
        FlashCounters {
            reads: self.reads.combine(&other.reads, with),
            programs: self.programs.combine(&other.programs, with),
            copy_backs: self.copy_backs.combine(&other.copy_backs, with),
            erases: self.erases.combine(&other.erases, with),
            failed_programs: with(self.failed_programs, other.failed_programs),
            failed_erases: with(self.failed_erases, other.failed_erases),
        }
    }
}
