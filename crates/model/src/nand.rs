//! Costs of flash operations, and the rate at which several dies or planes execute them (Agrawal).

/// Times of flash operations, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nand {
    /// Time to sense a page.
    pub read: f64,
    /// Time to program a page.
    pub program: f64,
    /// Time to erase a block.
    pub erase: f64,
    /// Time to transfer a page with its metadata between register and controller.
    pub transfer: f64,
    /// True if pages are copied inside the flash, without transfers.
    pub copy_back: bool,
}

impl Nand {
    /// Returns the time to read a page (Agrawal, Table 3).
    #[must_use]
    pub fn read(&self) -> f64 {
        self.read + self.transfer
    }

    /// Returns the time to write a page (Agrawal, Table 3).
    #[must_use]
    pub fn write(&self) -> f64 {
        self.transfer + self.program
    }

    /// Returns the time to copy a page: read, program and, without copy-back, two transfers
    /// (Agrawal, section 4.1).
    #[must_use]
    pub fn copy(&self) -> f64 {
        self.read + self.program + if self.copy_back { 0.0 } else { 2.0 * self.transfer }
    }

    /// Returns the time to clean a block with `valid` valid pages (Agrawal, Table 5).
    #[must_use]
    pub fn cleaning(&self, valid: f64) -> f64 {
        valid * self.copy() + self.erase
    }

    /// Returns the operations per second of `parts` dies or planes that work in parallel behind one
    /// set of pins. Each operation takes `nanos`, including one transfer. Either the dies or planes
    /// limit the rate, or the transfers through the pins do (Agrawal, section 2.2).
    #[must_use]
    pub fn per_second(&self, nanos: f64, parts: f64) -> f64 {
        1e9 * (parts / nanos).min(1.0 / self.transfer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Agrawal's flash (Table 1), with 128 bytes of metadata in a page of 4 KB at 25 ns a byte.
    const K9XXG08UXM: Nand = Nand {
        read: 25_000.0,
        program: 200_000.0,
        erase: 1_500_000.0,
        transfer: 4224.0 * 25.0,
        copy_back: false,
    };

    #[track_caller]
    fn within(got: f64, printed: f64, tolerance: f64) {
        assert!((got / printed - 1.0).abs() <= tolerance, "{got} for {printed}");
    }

    // Compares latencies and rates with the first rows of Table 3, for eight elements.
    #[test]
    fn latencies_agree_with_table_3() {
        let nand = K9XXG08UXM;
        within(nand.read(), 130_600.0, 1e-12);
        within(8e9 / nand.read(), 61_255.0, 2e-5);
        // Includes a summary page of 528 bytes for every 63 data pages.
        let write = nand.write() + (nand.program + 528.0 * 25.0) / 63.0;
        within(write, 309_000.0, 1e-3);
        within(8e9 / write, 25_898.0, 1e-3);
    }

    // Section 2.2 assumes a transfer time of 100 µs.
    #[test]
    fn rates_agree_with_section_2_2() {
        let nand = Nand { transfer: 100_000.0, ..K9XXG08UXM };
        within(nand.per_second(nand.read(), 1.0), 8_000.0, 1e-12);
        within(nand.per_second(nand.read(), 2.0), 10_000.0, 1e-12);
        within(nand.per_second(nand.write(), 1.0), 3_333.0, 2e-4);
    }

    // About 70 % of the pages in blocks of 64 pages are superseded.
    #[test]
    fn cleaning_times_agree_with_table_5() {
        let nand = Nand { transfer: 100_000.0, ..K9XXG08UXM };
        within(nand.cleaning(0.3 * 64.0), 9_650_000.0, 0.005);
        let back = Nand { copy_back: true, ..nand };
        within(back.cleaning(0.302 * 64.0), 5_850_000.0, 0.005);
        within(nand.cleaning(0.0), 1_500_000.0, 1e-12);
    }
}
