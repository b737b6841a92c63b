//! Commands, refusals and timing of a small array, without an FTL.

use flashscope_block::{Bytes, Nanos};

use super::*;

const TIMING: Timing = Timing {
    page_read: Nanos(25_000),
    page_program: Nanos(200_000),
    zero_page_program: Nanos(200_000),
    slc_read: Nanos(10_000),
    slc_program: Nanos(100_000),
    block_erase: Nanos(1_500_000),
    page_transfer: Nanos(105_600),
    page_types: PageTypes::NONE,
    metadata_transfer: Nanos(3200),
    summary_transfer: Nanos(13_200),
};
const READ: u64 = 130_600;
const WRITE: u64 = 305_600;

const PLAIN: Wiring = Wiring {
    interleaving: Interleaving::None,
    two_plane: false,
    addresses: PlaneAddresses::SamePage,
    gang: 1,
    sharing: GangSharing::Bus,
    queue_per_package: true,
};

/// Creates an array of packages with two dies of two planes, and one block in each plane.
fn array(packages: u32, span: u32, wiring: Wiring) -> Array {
    let dimensions = Dimensions {
        packages,
        span,
        dies_per_package: 2,
        planes_per_die: 2,
        blocks_per_plane: 1,
        pages_per_block: 4,
        page_size: Bytes(4096),
        summary_pages: 0,
        logical_page_size: 4096 * span,
    };
    let reliability = Reliability {
        factory_bad_blocks: 0.0,
        program_failures: 0.0,
        erase_failures: 0.0,
        read_disturb: ReadDisturb { probability: 0.0, max_retries: 0, refresh_from: 1 },
        bit_errors: BitErrors::NONE,
        block_lifetime: 1000,
        seed: 1,
    };
    Array::new(&Parts {
        geometry: Geometry::new(dimensions).expect("small"),
        timing: TIMING,
        wiring,
        reliability,
        timed: true,
        stamped: true,
        settling: true,
        measures_energy: false,
        slc: false,
        queues: None,
    })
}

fn plain() -> Array {
    array(1, 1, PLAIN)
}

fn interleaved(interleaving: Interleaving) -> Array {
    array(1, 1, Wiring { interleaving, ..PLAIN })
}

fn page(block: u32, index: u32) -> Page {
    Page { block: BlockId(block), index }
}

fn slot(array: &Array, block: u32, index: u32) -> Slot {
    array.geometry().slot(BlockId(block), index)
}

const DATA: Entry = Entry { lpn: Lpn(7), stamp: 3, zero: false };

fn try_program(array: &mut Array, slot: Slot, at: u64) -> Result<Nanos, Fault> {
    let place = array.place(array.geometry().block(slot));
    array.program(place, slot, &[DATA], Nanos(at), Cause::Host)
}

/// Programs a page for the host at `at`; returns when it is done.
fn program(array: &mut Array, block: u32, index: u32, at: u64) -> u64 {
    let slot = slot(array, block, index);
    try_program(array, slot, at).expect("legal").0
}

fn read(array: &mut Array, block: u32, index: u32, at: u64) -> u64 {
    let span = array.geometry().span;
    array.read(page(block, index), 0..span, Nanos(at), Cause::Host).expect("legal").0
}

// A refused command is not counted and has no effect.
#[test]
fn refuses_illegal_commands() {
    let mut array = plain();
    let early = array.read(page(0, 0), 0..1, Nanos(0), Cause::Host);
    assert_eq!(early, Err(Fault::Illegal(IllegalCommand::ReadOfErasedPage(page(0, 0)))));
    let at = slot(&array, 0, 1);
    let gap = try_program(&mut array, at, 0);
    let refused = IllegalCommand::ProgramOutOfOrder { page: page(0, 1), next: 0 };
    assert_eq!(gap, Err(Fault::Illegal(refused)));
    program(&mut array, 0, 0, 0);
    let at = slot(&array, 0, 0);
    let again = try_program(&mut array, at, 0);
    let refused = IllegalCommand::ProgramOutOfOrder { page: page(0, 0), next: 1 };
    assert_eq!(again, Err(Fault::Illegal(refused)));
    let erase = array.erase(BlockId(0), Nanos(0), Cause::Cleaning);
    let refused = IllegalCommand::EraseOfValidPages { block: BlockId(0), valid: 1 };
    assert_eq!(erase, Err(Fault::Illegal(refused)));
    let to = slot(&array, 1, 0);
    let across = array.copy_back(at, to, Nanos(0), Cause::Cleaning);
    let refused = IllegalCommand::CopyBackAcrossPlanes { from: BlockId(0), to: BlockId(1) };
    assert_eq!(across, Err(Fault::Illegal(refused)));
    let past_end = (1..4).map(|index| program(&mut array, 0, index, 0)).max();
    assert_eq!(past_end, Some(4 * WRITE));
    let at = slot(&array, 0, 4);
    assert!(try_program(&mut array, at, 0).is_err());
    array.mark_bad(BlockId(3), Nanos(0));
    let at = slot(&array, 3, 0);
    let bad = try_program(&mut array, at, 0);
    assert_eq!(bad, Err(Fault::Illegal(IllegalCommand::BadBlock(BlockId(3)))));
    assert_eq!(array.counters().programs, ByCause { host: 4, ..ByCause::default() });
    assert_eq!(array.counters().erases.total() + array.counters().reads.total(), 0);
}

// The erase waits for the program that superseded the page.
#[test]
fn erase_makes_a_block_new() {
    let mut array = plain();
    program(&mut array, 0, 0, 0);
    let first = slot(&array, 0, 0);
    assert_eq!(array.next_valid(BlockId(0), 0), Some(first));
    assert_eq!(array.entry(first), Some(DATA));
    assert_eq!(array.supersede(first, Nanos(400_000)), 0);
    assert_eq!(array.next_valid(BlockId(0), 0), None);
    let erased = array.erase(BlockId(0), Nanos(0), Cause::Cleaning);
    assert_eq!(erased, Ok(Nanos(400_000 + 1_500_000)));
    assert_eq!(array.erase_counts().collect::<Vec<_>>(), [1, 0, 0, 0]);
    assert_eq!(array.entry(first), None);
    program(&mut array, 0, 0, 0);
}

// A command waits one nanosecond if it arrives one nanosecond before its unit becomes free. It does
// not wait if it arrives when the unit becomes free.
#[test]
fn a_busy_unit_makes_the_next_command_wait() {
    for early in [0, 1] {
        let mut array = plain();
        let free = program(&mut array, 0, 0, 10);
        assert_eq!(free, 10 + WRITE);
        assert_eq!(read(&mut array, 0, 0, free - early), free + READ);
        let arrival = free + READ - early;
        let erased = array.erase(BlockId(1), Nanos(arrival), Cause::Cleaning).expect("legal");
        assert_eq!(erased.0 - arrival, 1_500_000 + early);
    }
}

// With interleaving, dies or pairs of planes program in parallel except for the transfers, which
// share the bus. Without interleaving, and within a pair of planes, commands run one after the
// other.
#[test]
fn interleaved_units_share_the_bus() {
    let cases = [(Interleaving::None, 2, false), (Interleaving::Die, 2, true)];
    let pairs = [(Interleaving::Die, 1, false), (Interleaving::PlanePair, 1, false)];
    for (interleaving, other, at_once) in cases.into_iter().chain(pairs) {
        let mut array = interleaved(interleaving);
        program(&mut array, 0, 0, 0);
        let second = program(&mut array, other, 0, 0);
        assert_eq!(second, if at_once { 105_600 + WRITE } else { 2 * WRITE });
    }
    for early in [0, 1] {
        let mut array = interleaved(Interleaving::Die);
        program(&mut array, 0, 0, 0);
        assert_eq!(program(&mut array, 2, 0, 105_600 - early), 105_600 + WRITE);
        // Both dies read their cells at once; the second page then waits for the bus.
        assert_eq!(read(&mut array, 0, 0, 500_000), 630_600);
        assert_eq!(read(&mut array, 2, 0, 500_000), 736_200);
    }
}

// Planes of a pair carry out commands of one request together, with one page at a time on the bus.
// A command on another die, of another request, or one nanosecond late waits.
#[test]
fn two_planes_work_together() {
    let new = || array(1, 1, Wiring { two_plane: true, ..PLAIN });
    let mut both = new();
    both.next_request();
    program(&mut both, 0, 0, 0);
    assert_eq!(program(&mut both, 1, 0, 0), 2 * 105_600 + 200_000);
    both.next_request();
    let start = 1_000_000;
    assert_eq!(read(&mut both, 0, 0, start), start + READ);
    assert_eq!(read(&mut both, 1, 0, start), start + READ + 105_600);
    // A third page waits, because only two planes form a pair.
    assert_eq!(read(&mut both, 0, 0, start), start + READ + 105_600 + READ);
    for block in [0, 1] {
        let at = slot(&both, block, 0);
        both.supersede(at, Nanos(0));
        let erased = both.erase(BlockId(block), Nanos(5_000_000), Cause::Cleaning);
        assert_eq!(erased, Ok(Nanos(6_500_000)));
    }

    let mut other_die = new();
    other_die.next_request();
    program(&mut other_die, 0, 0, 0);
    assert_eq!(program(&mut other_die, 2, 0, 0), 2 * WRITE);

    let mut other_request = new();
    other_request.next_request();
    program(&mut other_request, 0, 0, 0);
    other_request.next_request();
    assert_eq!(program(&mut other_request, 1, 0, 0), 2 * WRITE);

    for late in [0, 1] {
        let mut array = new();
        array.next_request();
        program(&mut array, 0, 0, 0);
        // The first page is in its register, and its program begins.
        let second = program(&mut array, 1, 0, 105_600 + late);
        assert_eq!(second, if late == 0 { 105_600 + WRITE } else { 2 * WRITE });
    }
}

// Blocks 0 and 1 are on the planes of a pair.
#[test]
fn two_planes_work_together_only_at_the_same_page() {
    for (addresses, joins) in [(PlaneAddresses::Any, true), (PlaneAddresses::SamePage, false)] {
        let mut array = array(1, 1, Wiring { two_plane: true, addresses, ..PLAIN });
        array.next_request();
        program(&mut array, 0, 0, 0);
        array.next_request();
        program(&mut array, 0, 1, 1_000_000);
        let expected = if joins { 2 * 105_600 + 200_000 } else { 2 * WRITE };
        assert_eq!(program(&mut array, 1, 0, 1_000_000), 1_000_000 + expected);
    }
}

// A copy within the plane takes one read and one program, and keeps the metadata.
#[test]
fn copy_back_stays_off_the_bus() {
    let mut array = array(1, 1, Wiring { interleaving: Interleaving::Die, ..PLAIN });
    program(&mut array, 0, 0, 0);
    let (from, to) = (slot(&array, 0, 0), slot(&array, 0, 1));
    let start = 1_000_000;
    let done = array.copy_back(from, to, Nanos(start), Cause::Cleaning);
    assert_eq!(done, Ok(Nanos(start + 225_000)));
    assert_eq!(array.entry(to), Some(DATA));
    assert_eq!(program(&mut array, 2, 0, start), start + WRITE);
    assert_eq!(array.counters().copy_backs.cleaning, 1);
    assert_eq!(array.counters().reads.total(), 0);
}

// Copies on two pairs of planes run side by side (Agrawal et al., section 2.2): a page in 112.5 us,
// close to the 100 us of a full pipeline between two packages, and without the bus.
#[test]
fn copies_on_two_pairs_of_planes_run_side_by_side() {
    for (interleaving, last) in [(Interleaving::PlanePair, 225_000), (Interleaving::None, 450_000)]
    {
        let mut array = interleaved(interleaving);
        let start = 1_000_000;
        let copies = [0, 2].map(|block| {
            program(&mut array, block, 0, 0);
            let (from, to) = (slot(&array, block, 0), slot(&array, block, 1));
            (from, to)
        });
        let done = copies.map(|(from, to)| {
            array.copy_back(from, to, Nanos(start), Cause::Cleaning).expect("a legal copy").0
        });
        assert_eq!(done.into_iter().max(), Some(start + last));
    }
}

// Apart from the transfers, packages work in parallel, unless the gang has only one queue.
#[test]
fn a_shared_bus_carries_one_page_at_a_time() {
    let wiring = Wiring { gang: 2, ..PLAIN };
    let mut own_queues = array(2, 1, wiring);
    assert_eq!(program(&mut own_queues, 0, 0, 0), WRITE);
    assert_eq!(program(&mut own_queues, 4, 0, 0), 105_600 + WRITE);
    let mut one_queue = array(2, 1, Wiring { queue_per_package: false, ..wiring });
    assert_eq!(program(&mut one_queue, 0, 0, 0), WRITE);
    assert_eq!(program(&mut one_queue, 4, 0, 0), 2 * WRITE);
    let mut apart = array(2, 1, PLAIN);
    assert_eq!(program(&mut apart, 0, 0, 0), WRITE);
    assert_eq!(program(&mut apart, 4, 0, 0), WRITE);
}

// Commands of another kind wait for the gang, and so do commands that arrive a nanosecond late.
#[test]
fn shared_control_pins_start_commands_of_one_kind_together() {
    let wiring = Wiring { gang: 2, sharing: GangSharing::Control, ..PLAIN };
    for late in [0, 1] {
        let mut gang = array(2, 1, wiring);
        assert_eq!(program(&mut gang, 0, 0, 50), 50 + WRITE);
        let second = program(&mut gang, 4, 0, 50 + late);
        assert_eq!(second, if late == 0 { 50 + WRITE } else { 50 + 2 * WRITE });
    }
    let mut gang = array(2, 1, wiring);
    program(&mut gang, 0, 0, 0);
    program(&mut gang, 0, 1, 0);
    assert_eq!(program(&mut gang, 4, 0, 0), 2 * WRITE);
    // A read cannot run together with a program.
    assert_eq!(read(&mut gang, 4, 0, 0), 2 * WRITE + READ);
}

// Each package has its own bus, and a part of the page can be read from one package alone.
#[test]
fn a_page_that_spans_packages_takes_the_time_of_one() {
    let mut wide = array(2, 2, PLAIN);
    assert_eq!(program(&mut wide, 0, 0, 0), WRITE);
    assert_eq!(wide.counters().programs.host, 2);
    assert_eq!(read(&mut wide, 0, 0, WRITE), WRITE + READ);
    let part = wide.read(page(0, 0), 1..2, Nanos(1_000_000), Cause::Host);
    assert_eq!(part, Ok(Nanos(1_000_000 + READ)));
    let other = wide.read(page(0, 0), 0..1, Nanos(1_000_000), Cause::Host);
    assert_eq!(other, Ok(Nanos(1_000_000 + READ)));
    assert_eq!(wide.counters().reads.host, 4);
}

// Compares times, contents and counts, on one unit and between units.
#[test]
fn relocation_is_the_sum_of_its_parts() {
    for interleaving in [Interleaving::None, Interleaving::Die] {
        for (target, copy_back) in [(1, false), (2, false), (0, true)] {
            let mut arrays = [interleaved(interleaving), interleaved(interleaving)];
            let from = if copy_back { 0 } else { 3 };
            for array in &mut arrays {
                for index in 0..3 {
                    program(array, from, index, 0);
                }
                let hole = slot(array, from, 1);
                array.supersede(hole, Nanos(0));
            }
            // A copy-back stays in the same block here, which has one page left.
            let count = if copy_back { 1 } else { 2 };
            let at = Nanos(500_000);
            let [many, single] = &mut arrays;
            let to = slot(many, target, if copy_back { 3 } else { 0 });
            let moves = Moves { from: BlockId(from), to, count, copy_back };
            let mut moved = Vec::new();
            let done = many.relocate(moves, at, Cause::Cleaning, |lpns, first| {
                let places = (first.0..).map(Slot);
                moved.extend(lpns.iter().map(|lpn| Lpn(*lpn)).zip(places));
            });
            let mut expected = Vec::new();
            let mut last = at;
            for (nth, index) in (0u32..).zip([0, 2]).take(count as usize) {
                let (source, place) = (slot(single, from, index), Slot(to.0 + nth));
                last = last.max(if copy_back {
                    single.copy_back(source, place, at, Cause::Cleaning).expect("legal")
                } else {
                    let page = single.geometry().page(source);
                    let ready = single.read(page, 0..1, at, Cause::Cleaning).expect("legal");
                    single
                        .program(
                            single.place(BlockId(target)),
                            place,
                            &[DATA],
                            ready,
                            Cause::Cleaning,
                        )
                        .expect("legal")
                });
                single.supersede(source, Nanos(0));
                expected.push((DATA.lpn, place));
            }
            assert_eq!((done, &moved), (Ok(last), &expected));
            assert_eq!(many.counters(), single.counters());
            for block in 0..4 {
                let live = |array: &Array| {
                    let slots = (0..4).map(|index| slot(array, block, index));
                    slots.map(|slot| (array.is_valid(slot), array.entry(slot))).collect::<Vec<_>>()
                };
                assert_eq!(live(many), live(single), "block {block}");
            }
            assert_eq!(
                program(many, 1, many.written(BlockId(1)), 0),
                program(single, 1, single.written(BlockId(1)), 0)
            );
        }
    }
}

// Until the moves to another die are done, the block holds the only copies.
#[test]
fn an_erase_waits_for_moves_elsewhere() {
    let mut array = interleaved(Interleaving::Die);
    program(&mut array, 0, 0, 0);
    let moves = Moves { from: BlockId(0), to: slot(&array, 2, 0), count: 1, copy_back: false };
    let moved = array.relocate(moves, Nanos(WRITE), Cause::Cleaning, |_, _| {});
    assert_eq!(moved, Ok(Nanos(WRITE + READ + WRITE)));
    let erased = array.erase(BlockId(0), Nanos(WRITE), Cause::Cleaning);
    assert_eq!(erased, Ok(Nanos(WRITE + READ + WRITE + 1_500_000)));
}

// At a power cut, commands that have not started are undone, commands in progress leave unreadable
// pages, and finished commands stay in effect.
#[test]
fn a_power_cut_takes_back_what_was_not_done() {
    for (cut, first, second) in [
        (0, None, None),
        (1, None, None),
        (WRITE - 1, None, None),
        (WRITE, Some(DATA), None),
        (2 * WRITE, Some(DATA), Some(DATA)),
    ] {
        let mut array = plain();
        array.expect_power_cuts();
        program(&mut array, 0, 0, 0);
        program(&mut array, 0, 1, 0);
        array.cut_power(Nanos(cut));
        assert_eq!(array.entry(slot(&array, 0, 0)), first, "cut at {cut}");
        assert_eq!(array.entry(slot(&array, 0, 1)), second, "cut at {cut}");
        assert_eq!(array.is_torn(page(0, 0)), cut > 0 && cut < WRITE);
    }
    for (cut, kept, written) in
        [(WRITE, true, 1), (WRITE + 1, false, 4), (WRITE + 1_500_000, false, 0)]
    {
        let mut array = plain();
        array.expect_power_cuts();
        program(&mut array, 0, 0, 0);
        let place = slot(&array, 0, 0);
        array.supersede(place, Nanos(0));
        array.erase(BlockId(0), Nanos(0), Cause::Cleaning).expect("legal");
        array.cut_power(Nanos(cut));
        assert_eq!(array.entry(place).is_some(), kept, "cut at {cut}");
        assert_eq!(array.written(BlockId(0)), written, "cut at {cut}");
    }
}

// Compares times, counts and metadata with single commands. On one unit the times are computed in
// one step, on two units page by page. Some of the pages have no source.
#[test]
fn gathering_is_reading_and_programming() {
    for (wiring, target) in [(PLAIN, 3), (Wiring { interleaving: Interleaving::Die, ..PLAIN }, 3)] {
        let (mut many, mut single) = (array(1, 1, wiring), array(1, 1, wiring));
        let entry = |block, index| Entry {
            lpn: Lpn(10 * block + index),
            stamp: block + index,
            zero: false,
        };
        for array in [&mut many, &mut single] {
            for (block, index) in [(0, 0), (0, 1), (0, 2), (1, 0)] {
                let (to, place) = (slot(array, block, index), array.place(BlockId(block)));
                array
                    .program(place, to, &[entry(block, index)], Nanos(0), Cause::Host)
                    .expect("legal");
            }
        }
        let from = [None, Some((1, 0)), Some((0, 1)), Some((0, 2)), None];
        let places: Vec<u32> = from
            .map(|source| source.map_or(NOWHERE, |(block, index)| slot(&many, block, index).0 + 1))
            .into();
        let to = slot(&many, target, 0);
        let done = many.gather(&places[..4], to, Nanos(7), Cause::FullMerge).expect("legal");
        let mut last = Nanos(0);
        for (index, (block, from)) in
            (0u32..).zip(from).filter_map(|(i, source)| Some((i, source?)))
        {
            let read =
                single.read(page(block, from), 0..1, Nanos(7), Cause::FullMerge).expect("legal");
            single.skip_pages(BlockId(target), index).expect("it goes forward");
            let (to, place) = (slot(&single, target, index), single.place(BlockId(target)));
            last = single
                .program(place, to, &[entry(block, from)], read, Cause::FullMerge)
                .expect("legal");
            let source = slot(&single, block, from);
            single.supersede(source, Nanos(0));
        }
        assert_eq!((done, many.counters()), (last, single.counters()));
        for block in 0..4 {
            let state = |array: &Array| {
                let slots = (0..4).map(|index| slot(array, block, index));
                slots.map(|slot| (array.is_valid(slot), array.entry(slot))).collect::<Vec<_>>()
            };
            assert_eq!(state(&many), state(&single), "block {block}");
            let block = BlockId(block);
            assert_eq!(many.valid(block), single.valid(block));
            assert_eq!(many.written(block), single.written(block));
        }
    }
}

// After a failed program, the destination block has unreadable pages.
#[test]
fn a_gathering_that_fails_moves_nothing() {
    let mut failed = 0;
    for seed in 0..40 {
        let dimensions = **plain().geometry();
        let mut array = Array::new(&Parts {
            geometry: Geometry::new(dimensions).expect("small"),
            timing: TIMING,
            wiring: PLAIN,
            reliability: Reliability {
                factory_bad_blocks: 0.0,
                program_failures: 0.3,
                erase_failures: 0.0,
                read_disturb: ReadDisturb { probability: 0.0, max_retries: 0, refresh_from: 1 },
                bit_errors: BitErrors::NONE,
                block_lifetime: 1000,
                seed,
            },
            timed: true,
            stamped: true,
            settling: true,
            measures_energy: false,
            slc: false,
            queues: None,
        });
        if (0..3).any(|index| try_program(&mut array, slot(&plain(), 0, index), 0).is_err()) {
            continue;
        }
        let from: Vec<u32> = (0..3).map(|index| slot(&array, 0, index).0 + 1).collect();
        let to = slot(&array, 1, 0);
        match array.gather(&from, to, Nanos(0), Cause::FullMerge) {
            Ok(_) => assert_eq!((array.valid(BlockId(0)), array.valid(BlockId(1))), (0, 3)),
            Err(fault) => {
                assert!(matches!(fault, Fault::Failed(done) if done > Nanos(0)));
                assert_eq!((array.valid(BlockId(0)), array.valid(BlockId(1))), (3, 0));
                let written = array.written(BlockId(1));
                assert_eq!(u64::from(written), array.counters().programs.full_merge);
                assert!((0..written).all(|index| array.entry(slot(&array, 1, index)).is_none()));
                failed += 1;
            }
        }
    }
    assert!(failed > 3, "{failed} have failed");
}

// Skipped pages hold no data and cannot be programmed before the next erase.
#[test]
fn skipped_pages_stay_empty() {
    let mut array = plain();
    array.skip_pages(BlockId(0), 2).expect("it goes forward");
    program(&mut array, 0, 2, 0);
    assert_eq!((array.written(BlockId(0)), array.valid(BlockId(0))), (3, 1));
    assert_eq!(array.entry(slot(&array, 0, 1)), None);
    let again = slot(&array, 0, 1);
    assert!(try_program(&mut array, again, 0).is_err());
    assert!(array.skip_pages(BlockId(0), 1).is_err());
    assert!(array.skip_pages(BlockId(0), 5).is_err());
}
