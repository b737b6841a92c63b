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
    fields: &[size(Some("uniform:4KiB..16KiB")), reads(Some("0.6"))],
    common: COMMON_BUT_SIZE_AND_READS,
    open: |values, target| Generator::open(values, target, places),
};
