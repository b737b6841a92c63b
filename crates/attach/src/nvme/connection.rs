//! The connection of one queue: a thread reads and submits its commands.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use flashscope_block::Op;
use socket2::Socket;

use super::command::Command;
use super::controller::{Controller, Link};
use super::job::{Job, Step};
use super::namespace::Namespace;
use super::pdu::{Completion, Format, Reply};
use super::placement::PlacementCommand;
use super::plan::{Erase, Finish, Plan};
use super::protection::first_different;
use super::queue::{Action, Commands, Queue};
use super::session::{Event, Session};
use super::status::Status;
use super::subsystem::Subsystem;
use super::zones::ZoneCommand;
use crate::attached::AttachedDrive;
use crate::net::{Client, Input, Outbox};
use crate::request::{Answer, CompletedRequest, PendingRequest, Request, RequestError};

/// The maximum number of requests submitted together. While they are served, the host can process
/// the previous replies and send more commands.
const BATCH: usize = 8;

/// The maximum cost in bytes of a queue's commands that wait for a reply; a command costs its data
/// and [`COST`]. It limits the memory for a host that reads no replies.
const MAX_PENDING: u64 = 64 << 20;

/// The cost in bytes of a command in addition to its data.
const COST: u64 = 256;

/// The timeout of each read until the host has connected a queue.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// The command to which a reply of the drive belongs.
#[derive(Debug)]
pub struct Recipient(To);

#[derive(Debug)]
enum To {
    /// A command with one request.
    Whole { connection: Arc<Connection>, id: u16, finish: Finish, cost: u64 },
    /// A request of the current step of a job, by its index in the step.
    Part { job: Arc<Job>, place: usize },
}

impl Recipient {
    /// Returns the recipient of the reply to a part of a command.
    pub(super) fn part(job: Arc<Job>, place: usize) -> Recipient {
        Recipient(To::Part { job, place })
    }
}

/// A reply and the cost of its command in bytes.
type Costing = (Reply, u64);

impl Answer for Recipient {
    fn process_read(&mut self, read: &mut Request) {
        match &mut self.0 {
            To::Whole { finish, .. } => finish.process(read),
            To::Part { job, .. } => job.process_read(read),
        }
    }

    fn answer(done: &mut Vec<CompletedRequest<Recipient>>) {
        // Replies to the same connection are sent together.
        let mut replies: Vec<(Arc<Connection>, Vec<Costing>)> = Vec::new();
        for CompletedRequest { request, result, to } in done.drain(..) {
            match to.0 {
                To::Part { job, place } => {
                    job.answered(place, CompletedRequest { request, result, to: () });
                }
                // The connection is about to be cut.
                To::Whole { .. } if result == Err(RequestError::Lost) => {}
                To::Whole { connection, id, finish, cost } => {
                    let (completion, data) = finished(id, finish, request, result);
                    let reply = connection.reply(&completion, data);
                    match replies.iter_mut().find(|(other, _)| Arc::ptr_eq(other, &connection)) {
                        Some((_, replies)) => replies.push((reply, cost)),
                        None => replies.push((connection, vec![(reply, cost)])),
                    }
                }
            }
        }
        for (connection, replies) in replies {
            connection.outbox.send(&connection.socket, replies.into_iter());
        }
    }
}

/// Returns the completion of a command with one request, and its data.
fn finished(
    id: u16,
    finish: Finish,
    request: Request,
    result: Result<(), RequestError>,
) -> (Completion, Vec<u8>) {
    let success = Completion::new(id, Status::SUCCESS);
    match (result, finish) {
        (Err(error), _) => (Completion::new(id, Status::of(request.op, error)), Vec::new()),
        (Ok(()), Finish::Data) => (success, request.data),
        (Ok(()), Finish::Compare(data, block)) => {
            let block = usize::try_from(block.0).expect("a block fits in memory");
            let status = match first_different(&request.data, &data, block) {
                Some(index) => Status::COMPARE_FAILURE.at_block(index),
                None => Status::SUCCESS,
            };
            (Completion::new(id, status), Vec::new())
        }
        (Ok(()), Finish::Failure(status)) => (Completion::new(id, status), Vec::new()),
        // `process_read` would have replaced `Extended`: the data were not checked.
        (Ok(()), Finish::Extended(_)) => (Completion::new(id, Status::INTERNAL_ERROR), Vec::new()),
        (Ok(()), Finish::Place(block)) => {
            (Completion { result: request.offset.0 / block.0, ..success }, Vec::new())
        }
        (Ok(()), Finish::Status) => (success, Vec::new()),
    }
}

/// A connection of a host: one queue.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    outbox: Outbox<Reply>,
    commands: Arc<Commands>,
    format: OnceLock<Format>,
    role: OnceLock<Role>,
}

/// The controller of a connection, and the number of its queue.
struct Role {
    controller: Arc<Controller>,
    queue: u16,
}

impl std::fmt::Debug for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "queue {} of controller {}", self.queue, self.controller.id())
    }
}

impl Link for Connection {
    fn complete(&self, completion: Completion) {
        self.outbox.owe(COST);
        self.finish(&completion, Vec::new(), COST);
    }

    fn abandon(&self, ids: &[u16]) {
        ids.iter().for_each(|id| self.commands.release(*id));
    }

    fn disconnect(&self) {
        self.close();
    }
}

impl Client for Connection {
    type Reply = Reply;

    fn socket(&self) -> &Socket {
        &self.socket
    }

    fn outbox(&self) -> &Outbox<Reply> {
        &self.outbox
    }
}

impl Connection {
    pub(super) fn new(socket: Socket) -> Arc<Connection> {
        Arc::new(Connection {
            socket,
            outbox: Outbox::new(),
            commands: Arc::default(),
            format: OnceLock::new(),
            role: OnceLock::new(),
        })
    }

    /// Serves the queue until the host disconnects and its commands are completed.
    pub(super) fn serve(
        self: &Arc<Connection>,
        subsystem: &Arc<Subsystem>,
        drive: &AttachedDrive<Recipient>,
        steps: &Sender<Step>,
    ) {
        thread::scope(|scope| {
            let sends = thread::Builder::new().name("nvme-sends".into());
            if sends.spawn_scoped(scope, || self.outbox.send_rest(&self.socket)).is_ok() {
                let link: Arc<dyn Link> = Arc::clone(self) as Arc<dyn Link>;
                let commands = Arc::clone(&self.commands);
                let mut queue = Queue::new(Arc::clone(subsystem), link, commands);
                // Even after an error, the host's earlier commands are completed if possible.
                let _ = self.converse(&mut queue, (drive, subsystem.namespace()), steps);
                queue.close();
                self.outbox.wait_until_answered();
            }
            self.close();
        });
    }

    fn converse(
        self: &Arc<Connection>,
        queue: &mut Queue,
        (drive, space): (&AttachedDrive<Recipient>, &Namespace),
        steps: &Sender<Step>,
    ) -> io::Result<()> {
        self.socket.set_read_timeout(Some(HANDSHAKE))?;
        self.socket.set_tcp_nodelay(true)?;
        // Keepalive detects a host whose machine is gone.
        self.socket.set_keepalive(true)?;
        let (mut session, mut input, mut output) = (Session::new(), Input::new(), Vec::new());
        let requests = Vec::new();
        let mut batch = Batch { connection: self, drive, space, steps, requests, owed: 0, room: 0 };
        loop {
            if !input.fill(&self.socket)? {
                return Ok(());
            }
            let mut arrived = input.arrived();
            let goes_on =
                self.understand(&mut session, &mut arrived, &mut output, queue, &mut batch);
            let left = arrived.len();
            input.keep(left);
            // Commands received before the host disconnected or broke the protocol are still
            // executed.
            batch.hand_over();
            self.send(&mut output);
            if !goes_on? {
                return Ok(());
            }
        }
    }

    /// Processes the received bytes; returns false if the connection ends.
    fn understand(
        self: &Arc<Connection>,
        session: &mut Session,
        arrived: &mut &[u8],
        output: &mut Vec<u8>,
        queue: &mut Queue,
        batch: &mut Batch<'_>,
    ) -> io::Result<bool> {
        loop {
            let event = session.next(arrived, output, &mut |command| queue.admit(command));
            match event.map_err(io::Error::other)? {
                None => return Ok(true),
                Some(Event::End) => return Ok(false),
                Some(Event::Begin(format)) => {
                    let _ = self.format.set(format);
                    self.send(output);
                }
                Some(Event::Refused(command, status)) => batch.refuse(&command, status),
                Some(Event::Command(command, data)) => {
                    let was_connected = self.role.get().is_some();
                    let action = queue.execute(&command, data);
                    if !was_connected {
                        self.connected(queue)?;
                    }
                    if !batch.act(command.id(), action) {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Stores the controller and the number of the queue after Connect.
    fn connected(&self, queue: &Queue) -> io::Result<()> {
        if let Some((controller, number)) = queue.connected() {
            let _ = self.role.set(Role { controller: Arc::clone(controller), queue: number });
            self.socket.set_read_timeout(None)?;
        }
        Ok(())
    }

    /// Sends PDUs that do not reply to a command.
    fn send(&self, output: &mut Vec<u8>) {
        if !output.is_empty() {
            let reply = Reply::raw(std::mem::take(output));
            self.outbox.send(&self.socket, std::iter::once((reply, 0)));
        }
    }

    /// Completes a command, and returns its encoded completion.
    fn reply(&self, completion: &Completion, data: Vec<u8>) -> Reply {
        let (command, head) = self.commands.end(completion.id);
        if let Some(command) = command {
            self.record(command, completion.status);
        }
        let format = self.format.get().copied().unwrap_or_default();
        Reply::new(format, completion, data, head)
    }

    fn record(&self, command: Command, status: Status) {
        if let (Some(role), true) = (self.role.get(), status != Status::SUCCESS) {
            role.controller.failed(role.queue, command, status);
        }
    }

    /// Completes a command that costs `cost` bytes.
    pub(super) fn finish(&self, completion: &Completion, data: Vec<u8>, cost: u64) {
        let reply = self.reply(completion, data);
        self.outbox.send(&self.socket, std::iter::once((reply, cost)));
    }

    /// Ends a shutdown of the controller. `is_done` is true if all data are on the flash.
    pub(super) fn end_shutdown(&self, is_done: bool) {
        if let Some(role) = self.role.get() {
            role.controller.end_shutdown(is_done);
        }
    }
}

/// Commands that arrived together, to be submitted together.
struct Batch<'a> {
    connection: &'a Arc<Connection>,
    drive: &'a AttachedDrive<Recipient>,
    space: &'a Namespace,
    steps: &'a Sender<Step>,
    requests: Vec<PendingRequest<Recipient>>,
    /// The cost of the commands in the batch, in bytes.
    owed: u64,
    /// The maximum of `owed`.
    room: u64,
}

impl Batch<'_> {
    /// Carries out an action; returns false if the connection ends.
    fn act(&mut self, id: u16, action: Action) -> bool {
        match action {
            Action::Reply(completion, data) => self.reply(&completion, data),
            Action::Submit(plan) => self.submit(id, plan),
            Action::Hold => {}
            Action::End(completion) => {
                self.reply(&completion, Vec::new());
                return false;
            }
        }
        true
    }

    /// Submits the previous commands, then changes or reports zones.
    fn use_zones(&mut self, id: u16, command: &ZoneCommand) {
        self.hand_over();
        let (status, data) = match command.run(self.drive) {
            Ok(data) => (Status::SUCCESS, data),
            Err(error) => (Status::of(Op::Write, error), Vec::new()),
        };
        self.reply(&Completion::new(id, status), data);
    }

    /// Submits the previous commands, then reports or updates reclaim unit handles.
    fn use_handles(&mut self, id: u16, command: &PlacementCommand) {
        self.hand_over();
        let data = command.run(self.space, self.drive);
        self.reply(&Completion::new(id, Status::SUCCESS), data);
    }

    /// Submits the previous commands, then returns true if at least one zone is not lost.
    fn has_zones(&mut self) -> bool {
        self.hand_over();
        self.drive.report_zones(0).iter().any(|zone| !zone.state.is_lost())
    }

    fn submit(&mut self, id: u16, plan: Plan) {
        let plan = match plan {
            Plan::Zones(command) => return self.use_zones(id, &command),
            Plan::Placement(command) => return self.use_handles(id, &command),
            Plan::ResetZones(reset) if self.has_zones() => Plan::One(reset, Finish::Status),
            Plan::ResetZones(_) => {
                return self.reply(&Completion::new(id, Status::SUCCESS), Vec::new());
            }
            plan => plan,
        };
        if plan == Plan::Erase(Erase::Sanitize) {
            // The operation continues after its command is complete.
            self.reply(&Completion::new(id, Status::SUCCESS), Vec::new());
            Job::start(self.connection, (id, 0), plan, self.steps);
            return;
        }
        let cost = COST + plan.cost();
        self.make_room();
        self.owed += cost;
        if let Plan::One(request, finish) = plan {
            let connection = Arc::clone(self.connection);
            let from = Recipient(To::Whole { connection, id, finish, cost });
            return self.requests.push(PendingRequest { request, from });
        }
        // The cost is owed first, because the job may be complete before `start` returns.
        self.connection.outbox.owe(std::mem::take(&mut self.owed));
        let first = Job::start(self.connection, (id, cost), plan, self.steps);
        self.requests.extend(first);
    }

    /// Completes a command that needs no access to the drive.
    fn reply(&mut self, completion: &Completion, data: Vec<u8>) {
        let cost = COST + data.len() as u64;
        self.make_room();
        self.connection.outbox.owe(cost);
        self.connection.finish(completion, data, cost);
        self.room = self.room.saturating_sub(cost);
    }

    fn refuse(&mut self, command: &Command, status: Status) {
        let completion = Completion::new(command.id(), status);
        if status != Status::COMMAND_ID_CONFLICT {
            return self.reply(&completion, Vec::new());
        }
        // This reply must not complete the other command with this identifier.
        self.make_room();
        let connection = self.connection;
        connection.record(command.clone(), status);
        let format = connection.format.get().copied().unwrap_or_default();
        let reply = Reply::new(format, &completion, Vec::new(), connection.commands.head());
        connection.outbox.owe(COST);
        connection.outbox.send(&connection.socket, std::iter::once((reply, COST)));
        self.room = self.room.saturating_sub(COST);
    }

    /// Submits a full batch, and waits while too many replies are pending.
    fn make_room(&mut self) {
        if self.owed >= self.room || self.requests.len() >= BATCH {
            self.hand_over();
            self.room = self.connection.outbox.room(MAX_PENDING);
        }
    }

    fn hand_over(&mut self) {
        self.connection.outbox.owe(std::mem::take(&mut self.owed));
        if !self.requests.is_empty() {
            self.drive.submit(&mut self.requests);
        }
        self.room = 0;
    }
}
