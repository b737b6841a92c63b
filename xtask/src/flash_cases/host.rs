//! The host of a case: tenants that submit commands, cleaning jobs, and a script instead of both.

use std::collections::VecDeque;

use anyhow::Result;
use flashscope_sim::sched::{Busy, Class, Command, Level, Nanos, Op, Scheduler, SchedulerEvent};

use super::case::{Arbitration, Arrivals, Case, Cleaning, Placement, Priority, nanoseconds};
use super::twister::Twister;

/// The kinds of timers, in the upper bits of a token; [`INDEX`] masks the lower bits.
const ARRIVAL: u32 = 1 << 28;
const SUBMISSION: u32 = 2 << 28;
const CLEANING: u32 = 3 << 28;
const SCRIPTED: u32 = 4 << 28;
const INDEX: u32 = (1 << 28) - 1;
/// The bit of an owner that marks a step of cleaning; the lower bits hold the die.
const STEP: u64 = 1 << 63;

/// A command of a tenant, from submission to completion.
#[derive(Debug, Clone, Copy)]
struct IssuedCommand {
    command: Command,
    tenant: usize,
    submitted: u64,
    label: Option<usize>,
}

#[derive(Debug)]
struct Tenant {
    /// The number of commands in flight; `None` for an open loop.
    depth: Option<u32>,
    rate: f64,
    arrivals: Arrivals,
    read_share: f64,
    erase_share: f64,
    weight: i64,
    queue: VecDeque<IssuedCommand>,
    clock: f64,
}

/// The cleaning of a die.
#[derive(Debug, Default)]
struct Cleaner {
    jobs: u32,
    /// The current step of the current job; `None` if no job runs.
    step: Option<u32>,
    programs_done: u64,
}

/// A completed command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompletedCommand {
    pub at: u64,
    pub latency: u64,
    pub op: Op,
    pub tenant: u16,
}

/// The counts at the start of the measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub at: u64,
    pub commands: usize,
    pub busy: Busy,
    pub jobs: u64,
}

/// A case while it runs.
pub(crate) struct Host<'a> {
    case: &'a Case,
    scheduler: Scheduler,
    random: Twister,
    /// The die of the next cleaning job.
    next_cleaned: u32,
    reads_ns: Vec<u64>,
    programs_ns: Vec<u64>,
    tenants: Vec<Tenant>,
    issued: Vec<IssuedCommand>,
    free: Vec<u32>,
    outstanding: u32,
    turn: usize,
    credit: i64,
    /// The next die in turn: for reads, and for programs and erases.
    turns: [u32; 2],
    /// The page type of the next program of each plane.
    next_type: Vec<u32>,
    cleaners: Vec<Cleaner>,
    clean_clock: f64,
    jobs_done: u64,
    pub done: Vec<CompletedCommand>,
    script_done: Vec<u64>,
}

impl<'a> Host<'a> {
    pub(crate) fn new(case: &'a Case) -> Result<Host<'a>> {
        let nanos = |times: &[f64]| times.iter().map(|us| nanoseconds(*us)).collect();
        let listed = case.tenants.clone().unwrap_or_else(|| vec![super::case::Tenant::default()]);
        let tenants = listed.iter().map(|tenant| {
            let rate = tenant.rate_per_s.or(case.rate_per_s).filter(|rate| *rate > 0.0);
            Tenant {
                depth: rate.is_none().then_some(tenant.queue_depth.unwrap_or(case.queue_depth)),
                rate: rate.unwrap_or_default(),
                arrivals: tenant.arrivals.unwrap_or(case.arrivals),
                read_share: tenant.read_share.unwrap_or(case.read_share),
                erase_share: tenant.erase_share.unwrap_or(case.erase_share),
                weight: tenant.weight.unwrap_or(1),
                queue: VecDeque::new(),
                clock: 0.0,
            }
        });
        let (dies, planes) = (case.dies() as usize, case.planes_per_die as usize);
        let mut host = Host {
            case,
            scheduler: Scheduler::new(case.setup()?, &case.parts()),
            random: Twister::new(case.seed),
            next_cleaned: 0,
            reads_ns: nanos(&case.read_us),
            programs_ns: nanos(&case.program_us),
            tenants: tenants.collect(),
            issued: Vec::new(),
            free: Vec::new(),
            outstanding: 0,
            turn: 0,
            credit: 1,
            turns: [0; 2],
            next_type: vec![0; dies * planes],
            cleaners: (0..dies).map(|_| Cleaner::default()).collect(),
            clean_clock: 0.0,
            jobs_done: 0,
            done: Vec::new(),
            script_done: Vec::new(),
        };
        host.credit = host.weight_of(0);
        host.start();
        Ok(host)
    }

    fn weight_of(&self, tenant: usize) -> i64 {
        match self.case.arbitration {
            Arbitration::Weighted => self.tenants[tenant].weight,
            Arbitration::RoundRobin => 1,
        }
    }

    fn start(&mut self) {
        if let Some(script) = &self.case.script {
            self.script_done = vec![0; script.len()];
            for (nth, (us, ..)) in script.iter().enumerate() {
                self.scheduler.set_timer(Nanos(nanoseconds(*us)), SCRIPTED | small(nth));
            }
            return;
        }
        if self.case.cleaning_jobs_per_s > 0.0 {
            self.next_cleaning();
        }
        for nth in 0..self.tenants.len() {
            match self.tenants[nth].depth {
                None => self.next_arrival(nth),
                Some(depth) => {
                    for _ in 0..depth {
                        self.scheduler.set_timer(Nanos(0), SUBMISSION | small(nth));
                    }
                }
            }
        }
    }

    /// Runs until `target` commands are done in total, and then handles all other events at the
    /// time of the last command.
    pub(crate) fn run(&mut self, target: usize) {
        while self.done.len() < target {
            let Some(happened) = self.scheduler.advance(Nanos::MAX) else { return };
            self.happen(happened);
        }
        let now = self.scheduler.now();
        while let Some(happened) = self.scheduler.advance(now) {
            self.happen(happened);
        }
    }

    /// Runs until the script is done. Returns the completion time of each command in microseconds.
    #[allow(clippy::cast_precision_loss, reason = "times of a script are short")]
    pub(crate) fn run_script(&mut self) -> Vec<f64> {
        self.run(self.script_done.len());
        self.script_done.iter().map(|done| *done as f64 / 1e3).collect()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            at: self.scheduler.now().0,
            commands: self.done.len(),
            busy: self.scheduler.busy(),
            jobs: self.jobs_done,
        }
    }

    fn happen(&mut self, happened: SchedulerEvent) {
        match happened {
            SchedulerEvent::Done { owner, .. } if owner & STEP != 0 => self.step_done(owner),
            SchedulerEvent::Done { owner, .. } => self.complete(owner),
            SchedulerEvent::Idle(_) | SchedulerEvent::Resumed { .. } => {}
            SchedulerEvent::Timer(token) => {
                let index = (token & INDEX) as usize;
                match token & !INDEX {
                    ARRIVAL => {
                        self.submit(index);
                        self.next_arrival(index);
                    }
                    SUBMISSION => self.submit(index),
                    SCRIPTED => self.submit_scripted(index),
                    _ => {
                        self.new_job(self.next_cleaned);
                        self.next_cleaning();
                    }
                }
            }
        }
    }

    fn next_arrival(&mut self, nth: usize) {
        let gap = 1e9 / self.tenants[nth].rate;
        let gap = match self.tenants[nth].arrivals {
            Arrivals::Poisson => self.random.exponential(1.0 / gap),
            Arrivals::Constant => gap,
        };
        let tenant = &mut self.tenants[nth];
        tenant.clock += gap;
        let at = whole(tenant.clock);
        self.scheduler.set_timer(Nanos(at), ARRIVAL | small(nth));
    }

    fn submit(&mut self, nth: usize) {
        let choice = self.random.unit();
        let tenant = &self.tenants[nth];
        let op = if choice < tenant.read_share {
            Op::Read
        } else if choice < tenant.read_share + tenant.erase_share {
            Op::Erase
        } else {
            Op::Program
        };
        let (place, which) = match op {
            Op::Read => (self.case.read_placement, 0),
            _ => (self.case.program_placement, 1),
        };
        let drawn = self.random.below(self.case.dies());
        let die = match place {
            Placement::Random => drawn,
            Placement::RoundRobin => {
                let die = self.turns[which] % self.case.dies();
                self.turns[which] = self.turns[which].wrapping_add(1) % self.case.dies();
                die
            }
        };
        let plane = self.random.below(self.case.planes_per_die);
        let row = self.random.below(self.case.block_rows);
        let page_type = self.random.below(small(self.reads_ns.len())) as usize;
        self.issue(nth, op, [die, plane, row], page_type, None);
    }

    fn submit_scripted(&mut self, nth: usize) {
        let case = self.case;
        let (_, kind, die, plane, row) = &case.script.as_ref().expect("a script")[nth];
        let op = match kind.as_str() {
            "read" => Op::Read,
            "program" => Op::Program,
            _ => Op::Erase,
        };
        self.issue(0, op, [*die, *plane, *row], 0, Some(nth));
    }

    fn issue(
        &mut self,
        tenant: usize,
        op: Op,
        [die, plane, row]: [u32; 3],
        page_type: usize,
        label: Option<usize>,
    ) {
        let class = if op == Op::Read { Class::HostRead } else { Class::HostWrite };
        let cells = match op {
            Op::Read => self.reads_ns[page_type],
            Op::Erase => nanoseconds(self.case.erase_us),
            Op::Program => {
                let next = &mut self.next_type[(die * self.case.planes_per_die + plane) as usize];
                let cells = self.programs_ns[*next as usize];
                *next = (*next + 1) % small(self.programs_ns.len());
                cells
            }
        };
        let joins = true;
        let command =
            Command { plane, row: row.into(), joins, ..self.command(op, class, die, cells) };
        let submitted = self.scheduler.now().0;
        self.tenants[tenant].queue.push_back(IssuedCommand { command, tenant, submitted, label });
        self.admit();
    }

    fn command(&self, op: Op, class: Class, die: u32, cells: u64) -> Command {
        let transfer = match op {
            Op::Erase => Nanos(0),
            Op::Read | Op::Program => Nanos(nanoseconds(self.case.bus_page_us)),
        };
        let (level, cells) = (Level::Equal, Nanos(cells));
        let (package, plane, row, joins, owner) = (0, 0, 0, false, None);
        Command { op, class, level, die, package, plane, row, joins, cells, transfer, owner }
    }

    /// Admits commands from the tenants in turn, up to the limit of the device.
    fn admit(&mut self) {
        let limit = self.case.device_limit.filter(|limit| *limit > 0).unwrap_or(u32::MAX);
        while self.outstanding < limit {
            let mut passed = 0;
            while self.credit <= 0 || self.tenants[self.turn].queue.is_empty() {
                if passed > self.tenants.len() {
                    return;
                }
                passed += 1;
                self.turn = (self.turn + 1) % self.tenants.len();
                self.credit = self.weight_of(self.turn);
            }
            if passed > self.tenants.len() {
                return;
            }
            self.credit -= 1;
            self.outstanding += 1;
            let issued = self.tenants[self.turn].queue.pop_front().expect("it has one");
            self.let_in(issued);
        }
    }

    fn let_in(&mut self, issued: IssuedCommand) {
        let index = match self.free.pop() {
            Some(index) => {
                self.issued[index as usize] = issued;
                index
            }
            None => {
                self.issued.push(issued);
                small(self.issued.len() - 1)
            }
        };
        let command = Command { owner: Some(index.into()), ..issued.command };
        self.scheduler.submit(command, self.scheduler.now());
    }

    fn complete(&mut self, owner: u64) {
        let index = u32::try_from(owner).expect("an index of a command");
        let IssuedCommand { command, tenant, submitted, label } = self.issued[index as usize];
        self.free.push(index);
        let now = self.scheduler.now();
        self.outstanding -= 1;
        self.done.push(CompletedCommand {
            at: now.0,
            latency: now.0 - submitted,
            op: command.op,
            tenant: u16::try_from(tenant).unwrap_or(u16::MAX),
        });
        if let Some(label) = label {
            self.script_done[label] = now.0;
        } else if self.tenants[tenant].depth.is_some() {
            match nanoseconds(self.case.host_turnaround_us) {
                0 => self.submit(tenant),
                wait => {
                    self.scheduler.set_timer(Nanos(now.0 + wait), SUBMISSION | small(tenant));
                }
            }
        }
        let every = self.case.cleaning_every_programs;
        if command.op == Op::Program && every > 0 {
            let cleaner = &mut self.cleaners[command.die as usize];
            cleaner.programs_done += 1;
            if cleaner.programs_done.is_multiple_of(every) {
                self.new_job(command.die);
            }
        }
        self.admit();
    }
}

/// The cleaning jobs.
impl Host<'_> {
    fn next_cleaning(&mut self) {
        self.clean_clock += self.random.exponential(self.case.cleaning_jobs_per_s / 1e9);
        self.next_cleaned = self.random.below(self.case.dies());
        self.scheduler.set_timer(Nanos(whole(self.clean_clock)), CLEANING);
    }

    /// Adds a job for a die. The job copies pages one by one, then erases a block.
    fn new_job(&mut self, die: u32) {
        if self.case.cleaning == Cleaning::Steps {
            let cleaner = &mut self.cleaners[die as usize];
            cleaner.jobs += 1;
            if cleaner.step.is_none() {
                self.start_job(die);
            }
            return;
        }
        let mut row = self.scheduler.add(self.step(die, 0));
        let first = row;
        for step in 1..self.steps() {
            row = self.scheduler.add_in_row(row, self.step(die, step));
        }
        self.scheduler.release(first, self.scheduler.now());
    }

    fn steps(&self) -> u32 {
        2 * self.case.cleaning_pages + 1
    }

    /// Returns the command of a step: reads and programs in turn, with page types in turn, and an
    /// erase at the end.
    fn step(&self, die: u32, step: u32) -> Command {
        let nth = (step / 2) as usize;
        let (op, cells) = if step + 1 == self.steps() {
            (Op::Erase, nanoseconds(self.case.erase_us))
        } else if step.is_multiple_of(2) {
            (Op::Read, self.reads_ns[nth % self.reads_ns.len()])
        } else {
            (Op::Program, self.programs_ns[nth % self.programs_ns.len()])
        };
        let level = match self.case.cleaning_priority {
            Priority::Low => Level::Low,
            Priority::Equal => Level::Equal,
        };
        let ends = self.case.cleaning != Cleaning::Steps && step + 1 == self.steps();
        let reports = ends || self.case.cleaning == Cleaning::Steps;
        let owner = reports.then_some(STEP | u64::from(die));
        Command { level, owner, ..self.command(op, Class::Cleaning, die, cells) }
    }

    fn start_job(&mut self, die: u32) {
        let cleaner = &mut self.cleaners[die as usize];
        cleaner.jobs -= 1;
        cleaner.step = Some(0);
        self.submit_step(die, 0);
    }

    fn submit_step(&mut self, die: u32, step: u32) {
        let command = self.step(die, step);
        self.scheduler.submit(command, self.scheduler.now());
    }

    fn step_done(&mut self, owner: u64) {
        let die = u32::try_from(owner & !STEP).expect("a die");
        let steps = self.steps();
        let cleaner = &mut self.cleaners[die as usize];
        if let Some(step) = cleaner.step
            && step + 1 < steps
        {
            cleaner.step = Some(step + 1);
            self.submit_step(die, step + 1);
            return;
        }
        self.jobs_done += 1;
        cleaner.step = None;
        if cleaner.jobs > 0 {
            self.start_job(die);
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole(nanoseconds: f64) -> u64 {
    nanoseconds.round_ties_even() as u64
}

fn small(value: usize) -> u32 {
    u32::try_from(value).expect("fewer than a u32 counts")
}
