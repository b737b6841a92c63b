//! What commands cost, and how many of them go side by side: Agrawal's arithmetic.

/// Times of flash, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nand {
    /// To sense a page.
    pub read: f64,
    /// To program a page.
    pub program: f64,
    /// To erase a block.
    pub erase: f64,
    /// For a page, with what is kept beside it, to pass between register and controller.
    pub transfer: f64,
    /// Whether pages are copied without leaving the flash.
    pub copy_back: bool,
}

impl Nand {
    /// To read a page (Agrawal, Table 3).
    #[must_use]
    pub fn read(&self) -> f64 {
        self.read + self.transfer
    }

    /// To write a page (Agrawal, Table 3).
    #[must_use]
    pub fn write(&self) -> f64 {
        self.transfer + self.program
    }

    /// To move a page: read, write and, unless it is copied back, two transfers (Agrawal, section 4.1).
    #[must_use]
    pub fn copy(&self) -> f64 {
        self.read + self.program + if self.copy_back { 0.0 } else { 2.0 * self.transfer }
    }

    /// To clean a block that holds so many valid pages (Agrawal, Table 5).
    #[must_use]
    pub fn cleaning(&self, valid: f64) -> f64 {
        valid * self.copy() + self.erase
    }

    /// Commands per second of `parts` dies or planes that work side by side behind one set of pins, each
    /// command taking `nanos` with one transfer in it: as many as the parts, or the pins, allow (Agrawal,
    /// section 2.2).
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

    // Are the latencies and rates of Table 3's first rows, for eight elements, those that are printed?
    #[test]
    fn table_3() {
        let nand = K9XXG08UXM;
        within(nand.read(), 130_600.0, 1e-12);
        within(8e9 / nand.read(), 61_255.0, 2e-5);
        // With a summary page of 528 bytes in 64.
        let write = nand.write() + (nand.program + 528.0 * 25.0) / 63.0;
        within(write, 309_000.0, 1e-3);
        within(8e9 / write, 25_898.0, 1e-3);
    }

    // Are the rates of section 2.2 those that are printed, of a page in 100 µs on the pins?
    #[test]
    fn section_2_2() {
        let nand = Nand { transfer: 100_000.0, ..K9XXG08UXM };
        within(nand.per_second(nand.read(), 1.0), 8_000.0, 1e-12);
        within(nand.per_second(nand.read(), 2.0), 10_000.0, 1e-12);
        within(nand.per_second(nand.write(), 1.0), 3_333.0, 2e-4);
    }

    // Are the cleaning times of Table 5 those of about 70 % of 64 superseded pages?
    #[test]
    fn table_5() {
        let nand = Nand { transfer: 100_000.0, ..K9XXG08UXM };
        within(nand.cleaning(0.3 * 64.0), 9_650_000.0, 0.005);
        let back = Nand { copy_back: true, ..nand };
        within(back.cleaning(0.302 * 64.0), 5_850_000.0, 0.005);
        within(nand.cleaning(0.0), 1_500_000.0, 1e-12);
    }
}
