use super::uniform::places;
use super::{COMMON_BUT_SIZE_AND_READS, Generator, Kind, reads, size};

/// A server of electronic mail, as its database sees it.
///
/// From the trace of Agrawal et al. are the reads, three to two writes, and that sizes vary; how
/// they do is from the manufacturer of a disk array, who also calls the places heavily random.
/// The trace has 65 000 requests of 15 minutes, that is `rate=72`, over 250 GB of one of six
/// controllers; the 900 a second of their Table 4 are not explained.
///
/// Modelled is the database alone. The log, which a server writes in sequence, lies elsewhere, as
/// in the trace; that some mailboxes are busier than others, that writes come in bursts, and that
/// neighbouring pages are written together, are left out.
pub(super) const KIND: Kind = Kind {
    name: "exchange",
    argument: None,
    summary: "a mail server: three reads to two writes of 4 to 16 KiB at random places, without \
              its log",
    source: "Agrawal et al., USENIX ATC 2008, section 4.2; sizes and places: HP, StorageWorks 8000 \
             Enterprise Virtual Array and Microsoft Exchange Server 2003, 2007",
    leaves_out: Some(
        "the log, which lies elsewhere; busier and quieter mailboxes; bursts; and neighbouring \
         pages that are written together",
    ),
    fields: &[size(Some("uniform:4KiB..16KiB")), reads(Some("0.6"))],
    common: COMMON_BUT_SIZE_AND_READS,
    open: |values, target| Generator::open(values, target, places),
};

#[cfg(test)]
mod tests {
    use flashscope_block::Op;

    use super::super::tests::{LARGE, assert_law, ios_on};

    // Are there three reads to two writes, and all sizes?
    #[test]
    fn shares() {
        let (mut sizes, mut ops) = ([0.0; 4], [0.0; 2]);
        for io in ios_on(&LARGE, "exchange", 100_000) {
            sizes[usize::try_from(io.len.0 / 4096).unwrap() - 1] += 1.0;
            ops[usize::from(io.op == Op::Write)] += 1.0;
        }
        assert_law(&sizes, |_| 0.25);
        assert_law(&ops, |i| [0.6, 0.4][i]);
    }
}
