use flashscope_block::Bytes;

/// A block, counted over the whole array: package by package, die by die, plane by plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// A physical page number, counted over the whole array in the order of [`BlockId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppn(pub u32);

/// A logical page number: the host's address space in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lpn(pub u32);

/// A physical page as a block and the place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The block that holds it.
    pub block: BlockId,
    /// Its place in the block, from 0.
    pub index: u32,
}

/// How the flash is divided (Agrawal et al., section 2 and Table 1).
///
/// The number of pages fits in a `u32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Flash packages.
    pub packages: u32,
    /// Dies in a package.
    pub dies_per_package: u32,
    /// Planes in a die.
    pub planes_per_die: u32,
    /// Erase blocks in a plane.
    pub blocks_per_plane: u32,
    /// Pages in a block.
    pub pages_per_block: u32,
    /// Data bytes in a page, without its metadata.
    pub page_size: Bytes,
}

impl Geometry {
    /// Blocks in a die.
    pub const fn blocks_per_die(&self) -> u32 {
        self.planes_per_die * self.blocks_per_plane
    }

    /// Blocks in a package.
    pub const fn blocks_per_package(&self) -> u32 {
        self.dies_per_package * self.blocks_per_die()
    }

    /// Blocks in the array.
    pub const fn blocks(&self) -> u32 {
        self.packages * self.blocks_per_package()
    }

    /// Pages in the array.
    pub const fn pages(&self) -> u32 {
        self.blocks() * self.pages_per_block
    }

    /// The number of `page`.
    pub const fn ppn(&self, page: Page) -> Ppn {
        Ppn(page.block.0 * self.pages_per_block + page.index)
    }

    /// The page with number `ppn`.
    pub const fn page(&self, ppn: Ppn) -> Page {
        Page { block: BlockId(ppn.0 / self.pages_per_block), index: ppn.0 % self.pages_per_block }
    }
}
