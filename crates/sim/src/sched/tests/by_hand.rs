//! Checks the effect of each setting against times computed by hand, in microseconds.

use super::*;

const R: Op = Op::Read;
const P: Op = Op::Program;
const E: Op = Op::Erase;

/// Builds commands from times in microseconds, operations and dies.
fn on_dies(commands: &[(u64, Op, u32)]) -> Vec<(u64, Command)> {
    commands.iter().map(|(at, op, die)| (*at, command(*op, *die))).collect()
}

/// Builds commands on die 0 from times in microseconds, operations, planes and rows.
fn in_planes(commands: &[(u64, Op, u32, u32)]) -> Vec<(u64, Command)> {
    let placed = |(at, op, plane, row): &(u64, Op, u32, u32)| {
        (*at, Command { plane: *plane, row: (*row).into(), ..command(*op, 0) })
    };
    commands.iter().map(placed).collect()
}

#[test]
fn the_bus_is_not_kept_for_a_busy_die() {
    let found = script(policy("fcfs"), 2, 1, &on_dies(&[(0, P, 0), (20, R, 0), (30, R, 1)]));
    assert_eq!(found, [510, 570, 90]);
    let found = script(policy("fcfs"), 2, 1, &on_dies(&[(0, P, 0), (1, P, 0), (2, P, 1)]));
    assert_eq!(found, [510, 1020, 520]);
}

#[test]
fn the_bus_serves_in_the_order_of_asking() {
    let found = script(policy("fcfs"), 3, 1, &on_dies(&[(0, R, 0), (5, R, 1), (52, P, 2)]));
    assert_eq!(found, [60, 80, 570]);
}

#[test]
fn command_cycles_go_over_the_bus() {
    let setup = Setup { command: Nanos(2000), ..policy("fcfs") };
    assert_eq!(script(setup, 2, 1, &on_dies(&[(0, R, 0), (0, R, 1)])), [62, 72]);
    assert_eq!(script(setup, 2, 1, &on_dies(&[(0, P, 0), (0, E, 1)])), [512, 3014]);
}

#[test]
fn cache_registers_free_the_cells() {
    let reads = on_dies(&[(0, R, 0); 3]);
    assert_eq!(script(policy("fcfs"), 1, 1, &reads), [60, 120, 180]);
    let setup = Setup { cache_read: true, ..policy("fcfs") };
    assert_eq!(script(setup, 1, 1, &reads), [60, 110, 160]);
    let programs = on_dies(&[(0, P, 0); 3]);
    assert_eq!(script(policy("fcfs"), 1, 1, &programs), [510, 1020, 1530]);
    let setup = Setup { cache_program: true, ..policy("fcfs") };
    assert_eq!(script(setup, 1, 1, &programs), [510, 1010, 1510]);
}

#[test]
fn reads_overtake_as_far_as_the_limits_allow() {
    let commands = on_dies(&[(0, P, 0), (1, P, 0), (2, R, 0), (3, R, 0), (4, R, 0)]);
    assert_eq!(script(policy("fcfs"), 1, 1, &commands), [510, 1020, 1080, 1140, 1200]);
    assert_eq!(script(policy("read-first"), 1, 1, &commands), [510, 1200, 570, 630, 690]);
    let limits = Limits { overtakes: Some(1), wait: None };
    let setup = Setup { limits, ..policy("read-first") };
    assert_eq!(script(setup, 1, 1, &commands), [510, 1080, 570, 1140, 1200]);
    let limits = Limits { overtakes: None, wait: Some(Nanos(600_000)) };
    let setup = Setup { limits, ..policy("read-first") };
    assert_eq!(script(setup, 1, 1, &commands), [510, 1140, 570, 630, 1200]);
}

// While die 1 has the bus from 5 to 15, a read on die 0 can start and a program cannot.
#[test]
fn out_of_order_starts_what_needs_no_bus() {
    let commands = on_dies(&[(5, P, 1), (5, P, 0), (5, R, 0)]);
    let mut later = commands.clone();
    (later[1].0, later[2].0) = (6, 6);
    assert_eq!(script(policy("fcfs"), 2, 1, &later), [515, 525, 585]);
    assert_eq!(script(policy("out-of-order"), 2, 1, &later), [515, 576, 66]);
}

#[test]
fn reads_suspend_programs_within_the_rules() {
    let commands = on_dies(&[(0, P, 0), (100, R, 0)]);
    let rules = Suspension { suspend: Nanos(5000), resume: Nanos(20_000), ..Default::default() };
    let with = |suspension| Setup { suspension, ..policy("suspend") };
    assert_eq!(script(policy("read-first"), 1, 1, &commands), [510, 570]);
    // The program is in the cells from 10 to 100. Suspending it takes 5, the read 60 and resuming
    // 20; then it needs the other 410.
    assert_eq!(script(with(rules), 1, 1, &commands), [595, 165]);
    let min_progress = Nanos(200_000);
    let found = script(with(Suspension { min_progress, ..rules }), 1, 1, &commands);
    assert_eq!(found, [595, 275]);
    let min_remaining = Nanos(420_000);
    let found = script(with(Suspension { min_remaining, ..rules }), 1, 1, &commands);
    assert_eq!(found, [510, 570]);
    let twice = on_dies(&[(0, P, 0), (100, R, 0), (300, R, 0)]);
    assert_eq!(script(with(rules), 1, 1, &twice), [680, 165, 365]);
    let most = Some(1);
    assert_eq!(script(with(Suspension { most, ..rules }), 1, 1, &twice), [595, 165, 655]);
}

#[test]
fn commands_in_other_planes_are_joined() {
    let setup = Setup { multi_plane: true, ..policy("fcfs") };
    let programs = in_planes(&[(0, P, 0, 0), (0, P, 0, 0), (0, P, 1, 0)]);
    assert_eq!(script(policy("fcfs"), 1, 2, &programs), [510, 1020, 1530]);
    assert_eq!(script(setup, 1, 2, &programs), [520, 1030, 520]);
    // Each of two joined reads ends when its own data has crossed the bus.
    assert_eq!(script(setup, 1, 2, &in_planes(&[(0, R, 0, 0), (0, R, 1, 0)])), [60, 70]);
    // Commands are joined only if their rows agree. With `in_order_planes`, no command overtakes an
    // earlier one of its plane.
    let rows = in_planes(&[(0, P, 0, 1), (0, P, 1, 0), (0, P, 1, 1)]);
    assert_eq!(script(setup, 1, 2, &rows), [520, 1030, 520]);
    let in_order = Setup { in_order_planes: true, ..setup };
    assert_eq!(script(in_order, 1, 2, &rows), [510, 1020, 1530]);
}

#[test]
fn levels_go_before_each_other() {
    let at = |level| (1, Command { level, class: Class::Cleaning, ..command(P, 0) });
    let mut commands = on_dies(&[(0, P, 0), (1, P, 0), (2, R, 0)]);
    for (level, expected) in [
        (Level::Low, [510, 1020, 1080, 1590]),
        (Level::Equal, [510, 1020, 1590, 1530]),
        (Level::Urgent, [510, 1530, 1590, 1020]),
    ] {
        commands.truncate(3);
        commands.push(at(level));
        assert_eq!(script(policy("fcfs"), 1, 1, &commands), expected, "{level:?}");
    }
}

// The bus order of MQSim. Die 1 requests the bus at 45 for its program, die 0 at 50 for the data of
// its read. The bus is busy until 52.
#[test]
fn data_may_go_before_commands() {
    let commands = on_dies(&[(0, R, 0), (42, P, 2), (45, P, 1)]);
    assert_eq!(script(policy("fcfs"), 3, 1, &commands), [72, 552, 562]);
    let setup = Setup { bus_order: BusOrder::DataFirst, ..policy("fcfs") };
    assert_eq!(script(setup, 3, 1, &commands), [62, 552, 572]);
}

// Die 1 has the bus from 0 to 10. Die 0 is free at 1, but chooses at 10, when the read has arrived.
#[test]
fn a_die_may_choose_when_it_gets_the_bus() {
    let commands = on_dies(&[(0, P, 1), (1, P, 0), (5, R, 0)]);
    assert_eq!(script(policy("read-first"), 2, 1, &commands), [510, 520, 580]);
    let setup = Setup { choice_time: ChoiceTime::BusGranted, ..policy("read-first") };
    assert_eq!(script(setup, 2, 1, &commands), [510, 580, 70]);
}

#[test]
fn a_row_is_not_interrupted() {
    let mut scheduler = scheduler(policy("suspend"), 1, 1);
    let first = scheduler.add(Command { owner: Some(0), ..command(P, 0) });
    scheduler.add_in_row(first, Command { owner: Some(1), ..command(E, 0) });
    scheduler.release(first, Nanos(0));
    scheduler.submit(Command { owner: Some(2), ..command(R, 0) }, Nanos(100_000));
    let mut done = Vec::new();
    while let Some(SchedulerEvent::Done { owner, .. }) = scheduler.advance(Nanos::MAX) {
        done.push((owner, scheduler.now().0 / 1000));
    }
    assert_eq!(done, [(0, 510), (1, 3510), (2, 3570)]);
}

#[test]
fn a_command_waits_for_what_it_follows() {
    let mut scheduler = scheduler(policy("fcfs"), 2, 1);
    let read = scheduler.submit(command(R, 0), Nanos(0));
    let program = scheduler.add(command(P, 1));
    scheduler.follow(program, read);
    scheduler.release(program, Nanos(0));
    let tally = scheduler.count(Scheduler::NO_TALLY, 5, program);
    let erase = scheduler.add(Command { owner: Some(7), ..command(E, 0) });
    scheduler.follow_tally(erase, tally, 5);
    scheduler.release(erase, Nanos(0));
    assert_eq!(scheduler.status(erase), Status::Waiting);
    let (arrived, started) = (Nanos(570_000), Nanos(570_000));
    let done = SchedulerEvent::Done { owner: 7, arrived, started, together: 1 };
    assert_eq!(scheduler.advance(Nanos::MAX), Some(done));
    assert_eq!(scheduler.now(), Nanos(3_570_000));
    assert_eq!(scheduler.status(read), Status::Done);
    assert_eq!(scheduler.status(erase), Status::Done);
}

// The number of a freed tally may stand for the tally of another key.
#[test]
fn a_command_does_not_wait_for_a_tally_of_another_key() {
    let mut scheduler = scheduler(policy("fcfs"), 2, 1);
    let read = scheduler.submit(command(R, 0), Nanos(0));
    let freed = scheduler.count(Scheduler::NO_TALLY, 5, read);
    assert_eq!(scheduler.advance(Nanos::MAX), None);
    let now = scheduler.now();
    let program = scheduler.submit(command(P, 1), now);
    assert_eq!(scheduler.count(Scheduler::NO_TALLY, 6, program), freed);
    let erase = scheduler.add(Command { owner: Some(7), ..command(E, 0) });
    scheduler.follow_tally(erase, freed, 5);
    scheduler.release(erase, now);
    let done = SchedulerEvent::Done { owner: 7, arrived: now, started: now, together: 1 };
    assert_eq!(scheduler.advance(Nanos::MAX), Some(done));
    assert_eq!(scheduler.now(), Nanos(now.0 + 3_000_000));
}

#[test]
fn contradictions_are_refused() {
    let limits = Limits { overtakes: Some(3), wait: None };
    let rules = Suspension { suspend: Nanos(1), ..Default::default() };
    for (setup, rule) in [
        (Setup { limits, ..policy("fcfs") }, Invalid::LimitsWithoutOvertaking),
        (Setup { suspension: rules, ..policy("read-first") }, Invalid::SuspensionWithoutPolicy),
        (Setup { cache_read: true, ..policy("suspend") }, Invalid::SuspensionWithCache),
        (
            Setup { limits: Limits { overtakes: Some(0), wait: None }, ..policy("suspend") },
            Invalid::LimitOfZero,
        ),
    ] {
        assert_eq!(setup.check(), Err(rule));
    }
}
