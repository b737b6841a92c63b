use flashscope_block::{Bytes, Device, Nanos, Op};

use crate::request;

// Does a drive tell what its flash holds and what was done to it, and an array that of its drives?
#[test]
fn flash_is_told() {
    for drives in [1u64, 2] {
        let spec = format!("flashsim-2009?raid.drives={drives}");
        let mut drive = flashscope_sim::open(&spec).unwrap_or_else(|error| panic!("{error}"));
        let told = drive.flash().expect("a simulated drive tells");
        assert_eq!((told.capacity, told.block), (Bytes::gib(drives), Bytes::kib(128)));
        assert!(told.capacity > drive.info().capacity);
        assert_eq!((told.programmed, told.erasures), (Bytes(0), 0));
        // A page, 64 times: its log block is full then, and merged for the next.
        for _ in 0..65 {
            drive.submit(&request(Op::Write, 0, 2048, drive.now()));
            drive.complete(Nanos::MAX).expect("an IO in flight completes");
        }
        let told = drive.flash().expect("a simulated drive tells");
        assert!(told.programmed >= Bytes::kib(130) && told.erasures > 0, "{told:?}");
    }
}
