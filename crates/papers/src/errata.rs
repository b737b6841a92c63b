//! What is wrong, or cannot be meant as it stands, in the papers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Paper;

/// An error in print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Erratum {
    /// Where.
    pub paper: Paper,
    /// Where in there.
    pub place: &'static str,
    /// What is printed.
    pub printed: &'static str,
    /// What it must be, or is here.
    pub right: &'static str,
    /// Why: the derivation, or the experiment.
    pub why: &'static str,
    /// The item that shows it.
    pub item: Option<&'static str>,
}

/// All that are known, by paper and in its order.
pub const ERRATA: &[Erratum] = &[
    Erratum {
        paper: Paper::Uflip,
        place: "Section 3.1",
        printed: "pause(p) = burst(1, p), of burst(Pause, Burst)",
        right: "burst(p, 1)",
        why: "A pause between all IOs is one between groups of one IO: the arguments are those of consecutive = burst(0, -), the other \
              way round.",
        item: Some("uflip-figure2"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Table 1, baseline patterns",
        printed: "consecutive: t(IO_{i+1}) + rt(IO_{i+1})",
        right: "t(IO_{i-1}) + rt(IO_{i-1})",
        why: "An IO cannot wait for the one after it. The rows of pause and bursts have i - 1.",
        item: Some("uflip-table1"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Table 1, partitioning",
        printed: "O_i = floor((i / Partitions) x IOSize) mod PS, and no TargetOffset",
        right: "TargetOffset + P_i x PS + (floor(i / Partitions) x IOSize) mod PS",
        why: "The floor is of the number of IOs that the partition had before: as printed, offsets within a partition are no \
              multiples of the IO size for any partition but the first. The other rows begin at TargetOffset.",
        item: Some("uflip-table1"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Table 1, bursts",
        printed: "t(IO_i) = t(IO_{i-1}) + rt(IO_{i-1}) + (i mod Burst) x Pause",
        right: "a pause before IO_i where i mod Burst = 0, i > 0, else none",
        why: "As printed, pauses grow from 0 to Burst - 1 times Pause within a burst, and there is none between two bursts. The \
              text has groups of Burst IOs with a pause between them, and so has the authors' tool.",
        item: Some("uflip-table1"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Section 4.2",
        printed: "the measured time will be about 25% lower than it should be",
        right: "23 to 24 %",
        why: "With 128 of 512 writes at .4 ms and the rest .4 or 27 ms by turns, whose mean is 13.7 ms, the mean of all is \
              384/512 x 13.7 + 128/512 x .4 = 10.4 ms: 24.3 % less than 13.7 ms where both are as frequent; with the period \
              of the drive that is meant, 23.4 %.",
        item: Some("uflip-section4.2"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Section 5.1",
        printed: "seven representative devices indicated with an arrow in Table 1",
        right: "Table 2",
        why: "Table 1 has no devices. In Table 2 seven have an arrow.",
        item: Some("uflip-table2"),
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Table 2",
        printed: "Kingston SD 4GB: 2 GB",
        right: "one of these",
        why: "The model and the size contradict each other.",
        item: None,
    },
    Erratum {
        paper: Paper::Uflip,
        place: "Section 5.2, Figure 7",
        printed: "random writes are up to a factor of five times slower than the other operations on the Memoright SSD",
        right: "12 to 17 times",
        why: "Table 3 has 5 ms for random writes, and .3 to .4 ms for the others.",
        item: Some("uflip-figure6"),
    },
    Erratum {
        paper: Paper::Agrawal,
        place: "Section 2.1 and Table 1",
        printed: "serial access: 100 us a page",
        right: "102.4 us, and 105.6 us with the page's metadata",
        why: "25 ns a byte, 4096 bytes of data and 128 of metadata. The rates of Table 3 are those of 105.6 us.",
        item: Some("agrawal-table1"),
    },
    Erratum {
        paper: Paper::Agrawal,
        place: "Table 3, rows with cleaning",
        printed: "327 us and 433 us",
        right: "328.9 us and 434.8 us for 5 million writes",
        why: "What cleaning adds depends on how much of a run comes before it begins, 102,816 writes of each package: the \
              printed times are those of runs of 3.4 and 4.5 million writes, which are of two lengths.",
        item: Some("agrawal-table3"),
    },
    Erratum {
        paper: Paper::Agrawal,
        place: "Table 4, no gang",
        printed: "237 us and 4425 IOPS",
        right: "4219 IOPS, or 226 us",
        why: "In the other two columns IOPS are 1 / latency, to 0.1 %.",
        item: Some("agrawal-table4"),
    },
    Erratum {
        paper: Paper::Agrawal,
        place: "Table 5",
        printed: "a block cleaned at an efficiency of 70 % takes 9.65 ms and 5.85 ms",
        right: "9.79 ms and 5.78 ms, for 19 of 63 pages",
        why: "Less the erase, the printed times are 19.18 pages of 425 us and 19.33 of 225 us; blocks have whole pages, and a \
              moved page is twice 105.6 us on the pins: 436.2 us.",
        item: Some("agrawal-table5"),
    },
    Erratum {
        paper: Paper::Agrawal,
        place: "Section 5.2",
        printed: "a disk that is half full will have twice the cleaning efficiency of a full disk",
        right: "three times (2.95) at the paper's own over-provisioning of 15 %; twice at 25.1 %",
        why: "Under random writes the efficiency is 1 / A, with A the write amplification of greedy cleaning: .298 of a full \
              drive and .881 of one that is half full.",
        item: Some("agrawal-section5.2"),
    },
    Erratum {
        paper: Paper::Boboila,
        place: "Equations 2 and 3",
        printed: "(1 + 1/w) exp(-B/w) = Pr(W >= B)",
        right: "the mean number of whole blocks that begin in a write, over its length: E[(W - B + 1)+] / w",
        why: "Pr(W >= B) of exponential lengths is exp(-B/w). The equations are right, the name is not.",
        item: Some("boboila-figure1"),
    },
    Erratum {
        paper: Paper::Boboila,
        place: "Equation 6",
        printed: "M_f = (F_m + F_t) f + F_h (1 - f), for any f",
        right: "f is 1 at most",
        why: "f stands for the chance that a data block has a log block. With as many log blocks as data blocks all have one; \
              the paper's own interpolation goes up to f = 1000.",
        item: None,
    },
    Erratum {
        paper: Paper::Boboila,
        place: "Equation 12",
        printed: "the second exponent: (1 - w) / w",
        right: "(1 - B) / w",
        why: "It comes from the upper limit of the integral of equation 11, h = B - 1. As printed, heads have a length below 0 \
              for w = 1 and for w above 100 of B = 64. The curves of Figure 2 are those of the right one.",
        item: Some("boboila-equations"),
    },
    Erratum {
        paper: Paper::Boboila,
        place: "Equation 13",
        printed: "f (L_f F_m + F_h)",
        right: "f (F_m + F_t + F_h) by renewal theory; the printed form is kept as a fit",
        why: "Every fragment that reaches a data block renews it, once. The factor L_f on the middles stands for the tails that \
              are left out: without it and without them the fit is worse. The derivation that has both is \
              `flashscope_model::fast_refined`, within 1 % of simulations.",
        item: Some("boboila-figure2"),
    },
    Erratum {
        paper: Paper::SunZhang,
        place: "Table 1",
        printed: "write: 200 to 700 us",
        right: "about 760 us for a page of the drive that is measured",
        why: "A merge of 120 ms programs 128 pages of 2 KB, beside reading them.",
        item: Some("sun-zhang-table1"),
    },
    Erratum {
        paper: Paper::SunZhang,
        place: "Sections 3.3 and 4.3",
        printed: "a write without a merge: 2 ms, 1.5 ms and 2.6 ms",
        right: "one of these",
        why: "It is the same thing in Figures 4 and 5 and in Table 2.",
        item: Some("sun-zhang-figure5"),
    },
    Erratum {
        paper: Paper::SunZhang,
        place: "Figure 14",
        printed: "a merge of which half is zeros: 60 ms, \"nearly half\"",
        right: "72 ms",
        why: "Where pages of 2 KB each cost what is written on them, it is the mean of 120 ms and 25 ms.",
        item: Some("sun-zhang-figure13"),
    },
    Erratum {
        paper: Paper::SunZhang,
        place: "Section 4.4",
        printed: "less than a quarter of the time for reading data in multiple chunks of 4KB",
        right: "a third, by the paper's own figures",
        why: "30 reads of .75 ms are 22.5 ms, and 30 times .25 ms (Figure 17) are 7.5 ms. Against reads of 1 ms, which change \
              the group, it is a quarter.",
        item: Some("sun-zhang-figure16"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    // Is every erratum shown by an item of the same paper, where it names one, and does that differ from print?
    #[test]
    fn items_show_errata() {
        for erratum in ERRATA {
            let Some(id) = erratum.item else { continue };
            let item = crate::item(id).unwrap_or_else(|| panic!("{id}"));
            assert_eq!(item.paper, erratum.paper, "{id}");
        }
    }
}
