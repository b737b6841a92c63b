/// A profile that comes with the program.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name after `sim:`.
    pub name: &'static str,
    /// What drive it is, in a sentence.
    pub summary: &'static str,
    /// Where its parameters are from.
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
        summary: "the same chips in a 1 GiB drive behind SATA that cleans in the background: \
                  quick to fill, and shows what drives show",
        source: "flash as in agrawal-2008; size, interface and background cleaning chosen",
        toml: include_str!("../../../../profiles/demo.toml"),
    },
];
