use flashscope_block::Bytes;

/// The number of an erase block, counted over the array: element by element, die by die, plane by
/// plane.
///
/// An *element* is the set of packages that a logical page spans: one package, or
/// [`Dimensions::span`] packages that work in step. A block of an element is one block of each of
/// its packages, and all are erased together. A page of an element is one page of each package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// A slot: the physical location of one logical page. [`Geometry::slot`] computes it from a block
/// and an index in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// A logical page number: an address of the host in units of logical pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lpn(pub u32);

/// A physical page, given by its block and its index in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The block that holds the page.
    pub block: BlockId,
    /// The index of the page in its block, from 0.
    pub index: u32,
}

/// The dimensions of the flash (Agrawal et al., section 2 and Table 1) and the size of a logical
/// page (section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions {
    /// Number of flash packages.
    pub packages: u32,
    /// Packages that a logical page spans; divides `packages`.
    pub span: u32,
    /// Dies in a package.
    pub dies_per_package: u32,
    /// Planes in a die.
    pub planes_per_die: u32,
    /// Erase blocks in a plane.
    pub blocks_per_plane: u32,
    /// Pages in a block.
    pub pages_per_block: u32,
    /// Data bytes of a page, without its metadata.
    pub page_size: Bytes,
    /// Pages at the end of each block that hold its summary.
    pub summary_pages: u32,
    /// Bytes of a logical page: a divisor or a multiple of the bytes of an element's page.
    pub logical_page_size: u32,
}

/// [`Dimensions`] and the values derived from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    dimensions: Dimensions,
    /// Logical pages that fit in a block.
    pub slots_per_block: u32,
    /// Logical pages in a page of an element; 1 if a logical page is larger.
    pub slots_per_page: u32,
    /// Pages of an element in a logical page; 1 if a logical page is smaller.
    pub pages_per_slot: u32,
    /// Number of low bits of a [`Slot`] that hold the index in the block.
    slot_bits: u32,
}

impl std::ops::Deref for Geometry {
    type Target = Dimensions;

    fn deref(&self) -> &Dimensions {
        &self.dimensions
    }
}

impl Geometry {
    /// Minimum number of index bits in a slot: the valid bits are stored in words of 64.
    const MIN_SLOT_BITS: u32 = 6;

    /// Derives the geometry from `dimensions`. Only `summary_pages` may be 0.
    ///
    /// # Errors
    /// Returns the number of slot numbers if a `u32` cannot hold them all.
    pub fn new(dimensions: Dimensions) -> Result<Geometry, u64> {
        let page = dimensions.page_size.0 * u64::from(dimensions.span);
        let logical = u64::from(dimensions.logical_page_size);
        let small = |value: u64| u32::try_from(value.max(1)).unwrap_or(u32::MAX);
        let (slots_per_page, pages_per_slot) = (small(page / logical), small(logical / page));
        let data_pages = dimensions.pages_per_block.saturating_sub(dimensions.summary_pages);
        let slots_per_block =
            u64::from(data_pages) * u64::from(slots_per_page) / u64::from(pages_per_slot);
        let slot_bits =
            slots_per_block.next_power_of_two().trailing_zeros().max(Self::MIN_SLOT_BITS);
        let mut geometry =
            Geometry { dimensions, slots_per_block: 0, slots_per_page, pages_per_slot, slot_bits };
        // Map entries store the slot number plus 1, which must also fit.
        let numbers = u64::from(geometry.blocks()) << slot_bits;
        if numbers >= u64::from(u32::MAX) {
            return Err(numbers);
        }
        geometry.slots_per_block = small(slots_per_block);
        if slots_per_block == 0 {
            geometry.slots_per_block = 0;
        }
        Ok(geometry)
    }

    /// Returns the number of elements in the array.
    pub const fn elements(&self) -> u32 {
        self.dimensions.packages / self.dimensions.span
    }

    /// Returns the number of blocks in a die of an element.
    pub(crate) const fn blocks_per_die(&self) -> u32 {
        self.dimensions.planes_per_die * self.dimensions.blocks_per_plane
    }

    /// Returns the number of blocks in an element.
    pub(crate) const fn blocks_per_element(&self) -> u32 {
        self.dimensions.dies_per_package * self.blocks_per_die()
    }

    /// Returns the number of blocks in the array.
    pub const fn blocks(&self) -> u32 {
        self.elements() * self.blocks_per_element()
    }

    /// Returns the number of pages of a block that hold data.
    pub const fn data_pages(&self) -> u32 {
        self.dimensions.pages_per_block - self.dimensions.summary_pages
    }

    /// Returns the size of a page of an element in bytes.
    pub(crate) const fn element_page(&self) -> u64 {
        self.dimensions.page_size.0 * self.dimensions.span as u64
    }

    /// Returns how many slot numbers the array uses. Some numbers stand for no physical slot.
    pub(crate) const fn slot_numbers(&self) -> usize {
        (self.blocks() as usize) << self.slot_bits
    }

    /// Returns the size, in 64-bit words, of a bitmap with one bit for each slot number of a block.
    pub(crate) const fn words_per_block(&self) -> usize {
        1 << (self.slot_bits - Self::MIN_SLOT_BITS)
    }

    /// Returns how many low bits of a slot hold the index in the block.
    pub(super) const fn slot_bits(&self) -> u32 {
        self.slot_bits
    }

    /// Returns the slot at `index` of `block`.
    #[inline]
    pub const fn slot(&self, block: BlockId, index: u32) -> Slot {
        Slot((block.0 << self.slot_bits) | index)
    }

    /// Returns the block that contains the slot.
    #[inline]
    pub const fn block(&self, slot: Slot) -> BlockId {
        BlockId(slot.0 >> self.slot_bits)
    }

    /// Returns the index of the slot in its block.
    #[inline]
    pub const fn index(&self, slot: Slot) -> u32 {
        slot.0 & ((1 << self.slot_bits) - 1)
    }

    /// Returns the page that contains the slot, or the first page if the slot spans several.
    #[inline]
    pub const fn page(&self, slot: Slot) -> Page {
        let index = self.index(slot) / self.slots_per_page * self.pages_per_slot;
        Page { block: self.block(slot), index }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(span: u32, logical_page_size: u32) -> Geometry {
        Geometry::new(Dimensions {
            packages: 8,
            span,
            dies_per_package: 2,
            planes_per_die: 4,
            blocks_per_plane: 16,
            pages_per_block: 64,
            page_size: Bytes::kib(4),
            summary_pages: 1,
            logical_page_size,
        })
        .expect("small")
    }

    // Covers logical pages from a quarter of a flash page to an eighth of a block (Agrawal et al.,
    // section 3.1).
    #[test]
    fn logical_pages_of_any_size_have_their_places() {
        for (span, size, per_block) in
            [(1, 1024, 252), (1, 4096, 63), (1, 16_384, 15), (8, 32_768, 63), (2, 65_536, 7)]
        {
            let geometry = geometry(span, size);
            assert_eq!(geometry.slots_per_block, per_block);
            assert_eq!(geometry.blocks(), 8 / span * 2 * 4 * 16);
            let last = geometry.slot(BlockId(5), per_block - 1);
            assert_eq!((geometry.block(last), geometry.index(last)), (BlockId(5), per_block - 1));
            let bytes = u64::from(geometry.page(last).index) * geometry.element_page();
            assert_eq!(
                bytes,
                u64::from(per_block - 1) * u64::from(size) / 4096 / u64::from(span)
                    * 4096
                    * u64::from(span)
            );
            assert!(geometry.page(last).index < geometry.data_pages());
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let mut large = *geometry(1, 4096);
        large.blocks_per_plane = 1 << 20;
        assert_eq!(Geometry::new(large).err(), Some(1 << 32));
        large.blocks_per_plane -= 1;
        assert!(Geometry::new(large).is_ok());
    }
}
