/// A profile that comes with the program.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name after `sim:`.
    pub name: &'static str,
    /// A sentence that describes the drive.
    pub summary: &'static str,
    /// The source of its parameters.
    pub source: &'static str,
    /// The profile, each parameter with its source.
    pub toml: &'static str,
}

/// Every profile, in the order in which they are shown.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "agrawal-2008",
        summary: "the baseline of Agrawal et al.: 32 GB of SLC flash in 8 packages, page-mapped, \
                  with a host interface that costs nothing",
        source: "Agrawal et al., USENIX ATC'08, Table 1 and section 4.3",
        toml: include_str!("../../../../profiles/agrawal-2008.toml"),
    },
    Kind {
        name: "demo",
        summary: "the chips of agrawal-2008 in a 1 GiB SATA drive that collects garbage in the \
                  background: quick to fill, with the effects that SSDs typically show",
        source: "flash as in agrawal-2008; size, interface and background GC chosen",
        toml: include_str!("../../../../profiles/demo.toml"),
    },
    Kind {
        name: "dram-less",
        summary: "a DRAM-less NVMe drive of 3.7 GiB: most of its map is on the flash, and the host \
                  lends 1 MiB of memory for a part of the map",
        source: "chosen, in the proportions of drives with a host memory buffer (NVM Express 1.2, \
                 section 8.9)",
        toml: include_str!("../../../../profiles/dram-less.toml"),
    },
    Kind {
        name: "flashsim-2009",
        summary: "1 GiB of the flash that Boboila and Desnoyers simulate, with BAST: 7 % of its \
                  blocks are log blocks",
        source: "Boboila and Desnoyers, MSST 2011, section III; times as in FlashSim",
        toml: include_str!("../../../../profiles/flashsim-2009.toml"),
    },
    Kind {
        name: "flashsim-2009-30g",
        summary: "30 GiB of the same flash, the size that Boboila and Desnoyers use for traces",
        source: "as flashsim-2009",
        toml: include_str!("../../../../profiles/flashsim-2009-30g.toml"),
    },
    Kind {
        name: "sun-zhang-unknown",
        summary: "the USB drive of Sun and Zhang whose write time depends on the data: three log \
                  blocks, four groups",
        source: "Sun and Zhang, Tables 2 and 3, sections 3.3 and 4",
        toml: include_str!("../../../../profiles/sun-zhang-unknown.toml"),
    },
    Kind {
        name: "sun-zhang-kingston",
        summary: "the Kingston Data Traveler of Sun and Zhang: four log blocks, two groups",
        source: "Sun and Zhang, Table 3; times as in sun-zhang-unknown",
        toml: include_str!("../../../../profiles/sun-zhang-kingston.toml"),
    },
    Kind {
        name: "sun-zhang-pny",
        summary: "the PNY attache of Sun and Zhang: four larger log blocks, two groups",
        source: "Sun and Zhang, Table 3; times as in sun-zhang-unknown",
        toml: include_str!("../../../../profiles/sun-zhang-pny.toml"),
    },
    Kind {
        name: "memoright",
        summary: "a fast SSD of 2008, scaled to 1 GiB, with log blocks and a write buffer \
                  protected against power cuts",
        source: "fitted to uFLIP, CIDR'09, Table 3, Memoright",
        toml: include_str!("../../../../profiles/memoright.toml"),
    },
    Kind {
        name: "mtron",
        summary: "a fast SSD of 2008, scaled to 1 GiB, with log blocks and a write buffer",
        source: "fitted to uFLIP, CIDR'09, Table 3, Mtron",
        toml: include_str!("../../../../profiles/mtron.toml"),
    },
    Kind {
        name: "samsung",
        summary: "an SSD of 2008, scaled to 1 GiB, with log blocks and a small write buffer",
        source: "fitted to uFLIP, CIDR'09, Table 3, Samsung",
        toml: include_str!("../../../../profiles/samsung.toml"),
    },
    Kind {
        name: "transcend-module",
        summary: "an IDE module of 2008, scaled to 1 GiB, with log blocks",
        source: "fitted to uFLIP, CIDR'09, Table 3, Transcend Module",
        toml: include_str!("../../../../profiles/transcend-module.toml"),
    },
    Kind {
        name: "transcend-mlc",
        summary: "a slow SSD of MLC flash of 2008, scaled to 1 GiB, with log blocks",
        source: "fitted to uFLIP, CIDR'09, Table 3, Transcend MLC",
        toml: include_str!("../../../../profiles/transcend-mlc.toml"),
    },
    Kind {
        name: "kingston-dthx",
        summary: "a fast USB drive of 2008, scaled to 1 GiB, with log blocks that take few pages \
                  out of order",
        source: "fitted to uFLIP, CIDR'09, Table 3, Kingston DTHX",
        toml: include_str!("../../../../profiles/kingston-dthx.toml"),
    },
    Kind {
        name: "kingston-dti",
        summary: "a USB drive of 2008, scaled to 1 GiB: block-mapped, every random write costs a \
                  merge",
        source: "fitted to uFLIP, CIDR'09, Table 3, Kingston DTI",
        toml: include_str!("../../../../profiles/kingston-dti.toml"),
    },
];
