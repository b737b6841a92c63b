use flashscope_block::{Bytes, Device, Nanos, Op};

use crate::request;

#[test]
fn an_array_reports_the_flash_of_its_drives() {
    for drives in [1u64, 2] {
        let spec = format!("flashsim-2009?raid.drives={drives}");
        let mut drive = flashscope_sim::open(&spec).unwrap_or_else(|error| panic!("{error}"));
        let told = drive.flash().expect("a simulated drive reports it");
        assert_eq!((told.capacity, told.block), (Bytes::gib(drives), Bytes::kib(128)));
        assert!(told.capacity > drive.info().capacity);
        assert_eq!((told.programmed, told.erasures), (Bytes(0), 0));
        // Writes one page 64 times, which fills its log block, and once more, for which the log
        // block is merged.
        for _ in 0..65 {
            drive.submit(&request(Op::Write, 0, 2048, drive.now()));
            drive.complete(Nanos::MAX).expect("an IO in flight completes");
        }
        let told = drive.flash().expect("a simulated drive reports it");
        assert!(told.programmed >= Bytes::kib(130) && told.erasures > 0, "{told:?}");
        assert_eq!(told.host_written, Bytes(65 * 2048));
    }
}

#[test]
fn wear_follows_writes_erases_and_bad_blocks() {
    let spec = "demo?reliability.block_lifetime=20&reliability.factory_bad_blocks=0.01";
    let mut drive = flashscope_sim::open(spec).unwrap_or_else(|error| panic!("{error}"));
    let page = 4096;
    let new = drive.flash().expect("a simulated drive reports it");
    assert_eq!((new.most_erases, new.fewest_erases, new.rated_erases), (0, 0, 20));
    assert_eq!((new.retired_blocks, new.read_only), (0, false));
    let spare = new.capacity.0 - drive.info().capacity.0;
    let told = new.spare_blocks * new.block.0;
    assert!(told < spare && told > spare / 2, "{told} B of {spare} B, of which some are bad");
    let pages = drive.info().capacity.0 / page;
    let mut write = |lpn: u64| {
        drive.submit(&request(Op::Write, lpn * page, page, drive.now()));
        drive.complete(Nanos::MAX).expect("an IO in flight completes").result.is_ok()
    };
    for lpn in 0..pages {
        assert!(write(lpn));
    }
    // Writes single pages in scattered order until blocks are worn out and the drive refuses a
    // write.
    let mut written = pages;
    while write(written * 7919 % pages) {
        written += 1;
    }
    let worn = drive.flash().expect("a simulated drive reports it");
    assert!(worn.free_blocks < new.free_blocks / 2, "{worn:?}");
    assert!(worn.most_erases >= 19 && worn.fewest_erases <= worn.most_erases, "{worn:?}");
    assert!(worn.mean_erases() <= 20.0 && worn.mean_erases() > 1.0, "{worn:?}");
    assert_eq!(worn.spare_blocks + worn.retired_blocks, new.spare_blocks.max(worn.retired_blocks));
    assert!(worn.read_only && worn.retired_blocks > 0, "{worn:?}");
    assert_eq!((worn.host_written, worn.unaligned_writes), (Bytes(written * page), 0));
    assert!(worn.read > Bytes(0));
}

#[test]
fn only_writes_that_begin_within_a_page_are_unaligned() {
    let mut drive = flashscope_sim::open("demo").unwrap_or_else(|error| panic!("{error}"));
    for (offset, len) in [(0, 512), (512, 3584), (4096, 4096), (8704, 4096)] {
        drive.submit(&request(Op::Write, offset, len, drive.now()));
        drive.complete(Nanos::MAX).expect("an IO in flight completes");
    }
    let told = drive.flash().expect("a simulated drive reports it");
    assert_eq!((told.unaligned_writes, told.host_written), (2, Bytes(12_288)));
}
