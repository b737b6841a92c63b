//! Errors in the papers: statements that are wrong or ambiguous as printed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Paper;

/// An error in print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Erratum {
    /// The paper.
    pub paper: Paper,
    /// The location within the paper.
    pub place: &'static str,
    /// The printed text or value.
    pub printed: &'static str,
    /// The correct text or value, or the text or value that this project uses instead.
    pub right: &'static str,
    /// The derivation or the experiment behind the correction.
    pub why: &'static str,
    /// The item that demonstrates the erratum, if there is one.
    pub item: Option<&'static str>,
}

/// All known errata, by paper and location.
pub const ERRATA: &[Erratum] = &[
    Erratum {
        paper: Paper::Uflip,
        place: "Section 3.1",
        printed: "pause(p) = burst(1, p), of burst(Pause, Burst)",
        right: "burst(p, 1)",
        why: "A pause between all IOs is a pause between groups of one IO. The printed arguments are in the wrong order: in the paper's own consecutive = burst(0, -), the pause comes first.",
        item: Some("uflip-figure2"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Table 1, baseline patterns",
        printed: "consecutive: t(IO_{i+1}) + rt(IO_{i+1})",
        right: "t(IO_{i-1}) + rt(IO_{i-1})",
        why: "An IO cannot wait for its successor. The rows of pause and bursts have i - 1.",
        item: Some("uflip-table1"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Table 1, partitioning",
        printed: "O_i = floor((i / Partitions) x IOSize) mod PS, and no TargetOffset",
        right: "TargetOffset + P_i x PS + (floor(i / Partitions) x IOSize) mod PS",
        why: "The floor must apply to the number of earlier IOs of the partition: as printed, only the first partition has offsets that \
                     are multiples of the IO size. The other rows begin at TargetOffset.",
        item: Some("uflip-table1"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Table 1, bursts",
        printed: "t(IO_i) = t(IO_{i-1}) + rt(IO_{i-1}) + (i mod Burst) x Pause",
        right: "a pause before IO_i where i mod Burst = 0, i > 0, else none",
        why: "As printed, pauses grow from 0 to Burst - 1 times Pause within a burst, and two bursts have no pause between them. The \
                     text describes groups of Burst IOs with a pause between them, and the authors' tool implements that.",
        item: Some("uflip-table1"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Section 4.2",
        printed: "the measured time will be about 25% lower than it should be",
        right: "23 to 24 %",
        why: "128 of 512 writes take .4 ms; the others alternate between .4 and 27 ms, with a mean of 13.7 ms. The mean of all is \
                     384/512 x 13.7 + 128/512 x .4 = 10.4 ms, 24.3 % below 13.7 ms if both kinds are equally frequent; with the period \
                     of the drive in question, 23.4 %.",
        item: Some("uflip-section4.2"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Section 5.1",
        printed: "seven representative devices indicated with an arrow in Table 1",
        right: "Table 2",
        why: "Table 1 lists no devices. Seven devices in Table 2 have an arrow.",
        item: Some("uflip-table2"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Table 2",
        printed: "Kingston SD 4GB: 2 GB",
        right: "4 GB or 2 GB",
        why: "The model and the size contradict each other.",
        item: None,
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Section 5.2, Figure 7",
        printed: "random writes are up to a factor of five times slower than the other operations on the Memoright SSD",
        right: "12 to 17 times",
        why: "Table 3 gives 5 ms for random writes, and .3 to .4 ms for the others.",
        item: Some("uflip-figure6"),
    },
    Erratum {
        paper: Paper::Agrawal,
        place: "Section 2.1 and Table 1",
        printed: "serial access: 100 us a page",
        right: "102.4 us, and 105.6 us with the page's metadata",
        why: "25 ns per byte, 4096 bytes of data and 128 of metadata. The rates of Table 3 imply 105.6 us.",
        item: Some("agrawal-table1"),
    },
    Erratum {
        paper: Paper::Agrawal,
        place: "Table 3, rows with cleaning",
        printed: "327 us and 433 us",
        right: "328.9 us and 434.8 us for 5 million writes",
        why: "The cost of cleaning depends on the share of a run before the first cleaning, 102,816 writes per package. The \
                     printed times imply two different run lengths, 3.4 and 4.5 million writes.",
        item: Some("agrawal-table3"),
    },
    Erratum {
        paper: Paper::Agrawal,
        place: "Table 4, no gang",
        printed: "237 us and 4425 IOPS",
        right: "4219 IOPS, or 226 us",
        why: "In the other two columns, IOPS are 1 / latency, to 0.1 %.",
        item: Some("agrawal-table4"),
    },
    Erratum {
        paper: Paper::Agrawal,
        place: "Table 5",
        printed: "a block cleaned at an efficiency of 70 % takes 9.65 ms and 5.85 ms",
        right: "9.79 ms and 5.78 ms, for 19 of 63 pages",
        why: "Without the erase, the printed times are those of 19.18 pages of 425 us and of 19.33 pages of 225 us, \
              but a number of pages is an integer. A \
                     moved page takes 436.2 us, because it occupies the pins twice for 105.6 us.",
        item: Some("agrawal-table5"),
    },
    Erratum {
        paper: Paper::Agrawal,
        place: "Section 5.2",
        printed: "a disk that is half full will have twice the cleaning efficiency of a full disk",
        right: "three times (2.95) at the paper's own over-provisioning of 15 %; twice at 25.1 %",
        why: "Under random writes the efficiency is 1 / A, where A is the write amplification of greedy cleaning: .298 for a full \
                     drive and .881 for a half-full one.",
        item: Some("agrawal-section5.2"),
    },
    Erratum {
        paper: Paper::Boboila,
        place: "Equations 2 and 3",
        printed: "(1 + 1/w) exp(-B/w) = Pr(W >= B)",
        right: "the mean number of whole blocks that begin in a write, divided by its length: E[(W - B + 1)+] / w",
        why: "For exponential lengths, Pr(W >= B) is exp(-B/w). The equations are right, the name is wrong.",
        item: Some("boboila-figure1"),
    },
    Erratum {
        paper: Paper::Boboila,
        place: "Equation 6",
        printed: "M_f = (F_m + F_t) f + F_h (1 - f), for any f",
        right: "f is at most 1",
        why: "f is the probability that a data block has a log block. With as many log blocks as data blocks, every data block has one; \
                     the paper's own interpolation goes up to f = 1000.",
        item: None,
    },
    Erratum {
        paper: Paper::Boboila,
        place: "Equation 12",
        printed: "the second exponent: (1 - w) / w",
        right: "(1 - B) / w",
        why: "The upper limit of the integral of equation 11 is h = B - 1. As printed, heads have a negative length \
                     for w = 1, and for B = 64 also for w above 100. The curves of Figure 2 use the correct exponent.",
        item: Some("boboila-equations"),
    },
    Erratum {
        paper: Paper::Boboila,
        place: "Equation 13",
        printed: "f (L_f F_m + F_h)",
        right: "f (F_m + F_t + F_h) by renewal theory; this project uses the printed form as a fit",
        why: "Every fragment that reaches a data block renews it once. The factor L_f on the middles compensates for the omitted \
                     tails: without it, and without the tails, the fit is worse. `flashscope_model::fast_refined` derives the form with \
                     both, within 1 % of simulations.",
        item: Some("boboila-figure2"),
    },
    Erratum {
        paper: Paper::SunZhang,
        place: "Table 1",
        printed: "write: 200 to 700 us",
        right: "about 760 us per page of the measured drive",
        why: "A merge of 120 ms reads and programs 128 pages of 2 KB.",
        item: Some("sun-zhang-table1"),
    },
    Erratum {
        paper: Paper::SunZhang,
        place: "Sections 3.3 and 4.3",
        printed: "a write without a merge: 2 ms, 1.5 ms and 2.6 ms",
        right: "one of these values",
        why: "Figures 4 and 5 and Table 2 give three values for the same quantity.",
        item: Some("sun-zhang-figure5"),
    },
    Erratum {
        paper: Paper::SunZhang,
        place: "Figure 14",
        printed: "a merge of which half is zeros: 60 ms, \"nearly half\"",
        right: "72 ms",
        why: "If the content of each 2 KB page sets its cost, the time is the mean of 120 ms and 25 ms.",
        item: Some("sun-zhang-figure13"),
    },
    Erratum {
        paper: Paper::SunZhang,
        place: "Section 4.4",
        printed: "less than a quarter of the time for reading data in multiple chunks of 4KB",
        right: "a third, by the paper's own figures",
        why: "30 reads of .75 ms take 22.5 ms, and 30 times .25 ms (Figure 17) is 7.5 ms. That is a quarter only of 30 reads of \
                     1 ms, which change the group.",
        item: Some("sun-zhang-figure16"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_errata_exist_and_are_of_the_same_paper() {
        for erratum in ERRATA {
            let Some(id) = erratum.item else { continue };
            let item = crate::item(id).unwrap_or_else(|| panic!("{id}"));
            assert_eq!(item.paper, erratum.paper, "{id}");
        }
    }
}
