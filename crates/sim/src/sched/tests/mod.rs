//! Tests the scheduler against times computed by hand, and against queueing theory.

mod by_hand;
mod theory;

use flashscope_block::Nanos;

use super::*;

/// A page takes 10 us on the bus, 50 us to read, 500 us to program; a block takes 3000 us to erase.
const BUS: u64 = 10_000;
const READ: u64 = 50_000;
const PROGRAM: u64 = 500_000;
const ERASE: u64 = 3_000_000;

fn command(op: Op, die: u32) -> Command {
    let (class, cells) = match op {
        Op::Read => (Class::HostRead, READ),
        Op::Program => (Class::HostWrite, PROGRAM),
        Op::Erase => (Class::HostWrite, ERASE),
    };
    Command {
        op,
        class,
        level: Level::Equal,
        die,
        package: 0,
        plane: 0,
        row: 0,
        joins: true,
        cells: Nanos(cells),
        transfer: Nanos(if op == Op::Erase { 0 } else { BUS }),
        owner: None,
    }
}

fn scheduler(setup: Setup, dies: u32, planes: u32) -> Scheduler {
    setup.check().expect("no contradiction");
    Scheduler::new(setup, &Parts { bus_of: vec![0; dies as usize], buses: 1, planes, packages: 1 })
}

fn policy(name: &str) -> Setup {
    Setup::of(*kind(name).expect("a registered policy"))
}

/// Submits commands at these times, in microseconds, and returns when each is done.
fn script(setup: Setup, dies: u32, planes: u32, commands: &[(u64, Command)]) -> Vec<u64> {
    let mut scheduler = scheduler(setup, dies, planes);
    for (owner, (at, command)) in (0..).zip(commands) {
        let command = Command { owner: Some(owner), ..*command };
        scheduler.submit(command, Nanos(at * 1000));
    }
    let mut done = vec![0; commands.len()];
    while let Some(happened) = scheduler.advance(Nanos::MAX) {
        if let SchedulerEvent::Done { owner, .. } = happened {
            done[usize::try_from(owner).expect("an index")] = scheduler.now().0 / 1000;
        }
    }
    done
}
