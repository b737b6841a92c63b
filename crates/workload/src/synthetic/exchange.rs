use super::uniform::places;
use super::{COMMON_BUT_SIZE_AND_READS, Generator, Kind, reads, size};

/// The database of a mail server.
///
/// The trace of Agrawal et al. has three reads for two writes, and requests of several sizes. The
/// distribution of sizes comes from the manufacturer of a disk array, who also describes the
/// addresses as heavily random. The trace has 65,000 requests in 15 minutes, which is `rate=72`,
/// over 250 GB of one of six controllers. The paper does not explain the 900 requests a second of
/// its Table 4.
///
/// The model covers the database alone. The sequential log is on another drive, as in the trace.
/// The model leaves out that some mailboxes are busier than others, that writes come in bursts, and
/// that neighbouring pages are written together.
pub(super) const KIND: Kind = Kind {
    name: "exchange",
    argument: None,
    summary: "a mail server: three reads to two writes of 4 to 16 KiB at random places, without \
              its log",
    source: "Agrawal et al., USENIX ATC 2008, section 4.2; sizes and places: HP, StorageWorks 8000 \
             Enterprise Virtual Array and Microsoft Exchange Server 2003, 2007",
    leaves_out: Some(
        "the log, which is on another drive; busier and quieter mailboxes; bursts; and neighbouring \
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

    // There are three reads to two writes, and all sizes occur.
    #[test]
    fn three_reads_go_with_two_writes_and_all_sizes_occur() {
        let (mut sizes, mut ops) = ([0.0; 4], [0.0; 2]);
        for io in ios_on(&LARGE, "exchange", 100_000) {
            sizes[usize::try_from(io.len.0 / 4096).unwrap() - 1] += 1.0;
            ops[usize::from(io.op == Op::Write)] += 1.0;
        }
        assert_law(&sizes, |_| 0.25);
        assert_law(&ops, |i| [0.6, 0.4][i]);
    }
}
