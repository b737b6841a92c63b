//! The commands of one queue.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::command::{Command, FABRICS};
use super::controller::{Controller, Link};
use super::erasure::ErasureCount;
use super::pdu::Completion;
use super::plan::Plan;
use super::session::{Rejection, Transfer};
use super::status::Status;
use super::subsystem::Subsystem;
use super::{admin, fabrics, io};
use crate::lock;

/// The consequence of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// The command is completed immediately, with data for the host.
    Reply(Completion, Vec<u8>),
    /// Requests to the drive carry out the command.
    Submit(Plan),
    /// The command is completed later, by an event.
    Hold,
    /// The command is completed, and the connection ends.
    End(Completion),
}

impl Action {
    pub(super) fn reply(id: u16, result: u64, data: Vec<u8>) -> Action {
        Action::Reply(Completion { id, status: Status::SUCCESS, result }, data)
    }

    pub(super) fn data(id: u16, data: Vec<u8>) -> Action {
        Action::reply(id, 0, data)
    }

    pub(super) fn result(id: u16, result: u32) -> Action {
        Action::reply(id, result.into(), Vec::new())
    }

    fn failure(id: u16, status: Status) -> Action {
        Action::Reply(Completion::new(id, status), Vec::new())
    }
}

/// The number of resets of the controller and of erasures of the namespace when a command was
/// admitted. A reset or an erasure after that makes the admission invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Epoch {
    resets: u64,
    erasures: ErasureCount,
}

/// The commands of a queue that are not completed.
#[derive(Debug)]
pub struct Commands(Mutex<Ids>);

#[derive(Debug)]
struct Ids {
    /// The commands by their identifiers, with the counts when they were admitted.
    open: BTreeMap<u16, (Command, Epoch)>,
    /// The number of entries of the queue.
    entries: u16,
    head: u16,
    has_flow_control: bool,
}

impl Default for Commands {
    fn default() -> Commands {
        // Before Connect, only that command is allowed.
        Commands(Mutex::new(Ids {
            open: BTreeMap::new(),
            entries: 1,
            head: 0,
            has_flow_control: true,
        }))
    }
}

impl Commands {
    fn begin(&self, command: &Command, epoch: Epoch) -> Result<(), Rejection> {
        let id = command.id();
        let mut ids = lock(&self.0);
        ids.head = (ids.head + 1) % ids.entries;
        if ids.open.contains_key(&id) {
            return Err(Status::COMMAND_ID_CONFLICT.into());
        }
        if ids.open.len() == usize::from(ids.entries) {
            return Err(Rejection::Overflow);
        }
        ids.open.insert(id, (command.clone(), epoch));
        Ok(())
    }

    /// Completes a command. The host may use its identifier again.
    pub fn release(&self, id: u16) {
        self.end(id);
    }

    /// Completes a command, and returns it. Also returns the head of the submission queue, if the
    /// host controls its flow.
    pub(super) fn end(&self, id: u16) -> (Option<Command>, Option<u16>) {
        let mut ids = lock(&self.0);
        let command = ids.open.remove(&id).map(|(command, _)| command);
        (command, ids.has_flow_control.then_some(ids.head))
    }

    /// Returns the counts of resets and erasures when a command was admitted.
    fn epoch(&self, id: u16) -> Option<Epoch> {
        lock(&self.0).open.get(&id).map(|(_, epoch)| *epoch)
    }

    /// Returns the head of the submission queue without completing a command.
    pub(super) fn head(&self) -> Option<u16> {
        let ids = lock(&self.0);
        ids.has_flow_control.then_some(ids.head)
    }

    fn connect(&self, connected: &fabrics::ConnectedQueue) {
        let mut ids = lock(&self.0);
        ids.entries = connected.entries;
        // Connect was the first entry.
        ids.head = 1;
        ids.has_flow_control = connected.has_flow_control;
    }
}

/// A queue of a controller: it executes the commands of one connection.
pub struct Queue {
    subsystem: Arc<Subsystem>,
    link: Arc<dyn Link>,
    commands: Arc<Commands>,
    role: Option<Role>,
}

struct Role {
    controller: Arc<Controller>,
    number: u16,
}

impl Queue {
    /// Creates a queue whose first command must be Connect.
    pub fn new(subsystem: Arc<Subsystem>, link: Arc<dyn Link>, commands: Arc<Commands>) -> Queue {
        Queue { subsystem, link, commands, role: None }
    }

    /// Returns the controller and the number of the queue, once it is connected.
    pub(super) fn connected(&self) -> Option<(&Arc<Controller>, u16)> {
        self.role.as_ref().map(|role| (&role.controller, role.number))
    }

    /// Returns the direction and the length of a command's data, and counts the command as not
    /// completed.
    ///
    /// # Errors
    /// Returns the reason why the command is not executed. The command counts as not completed,
    /// except with a conflict of identifiers or an overflow.
    pub fn admit(&mut self, command: &Command) -> Result<Transfer, Rejection> {
        self.commands.begin(command, self.epoch(command))?;
        if let Some(role) = &self.role {
            role.controller.sign_of_life(self.subsystem.now());
        }
        if !command.has_valid_flags() {
            return Err(Status::INVALID_FIELD.into());
        }
        Ok(self.transfer(command)?)
    }

    /// Returns the resets and erasures so far that concern an I/O command.
    fn epoch(&self, command: &Command) -> Epoch {
        match &self.role {
            Some(Role { controller, number: 1.. }) => Epoch {
                resets: controller.resets(),
                erasures: self.subsystem.namespaces().erasures(command.namespace()),
            },
            _ => Epoch::default(),
        }
    }

    /// Checks that neither a reset nor an erasure began while the data of a command arrived. An
    /// erasure changes the contents of the namespace, and may change its format (NVM Express Base
    /// Specification 2.1, "Format NVM command" and "Sanitize Operations").
    fn check_epoch(&self, command: &Command) -> Result<(), Status> {
        let (before, now) = (self.commands.epoch(command.id()), self.epoch(command));
        let before = before.unwrap_or(now);
        if before.resets != now.resets {
            return Err(Status::ABORTED_BY_QUEUE_DELETION);
        }
        before.erasures.check(now.erasures)
    }

    fn transfer(&self, command: &Command) -> Result<Transfer, Status> {
        match (command.opcode(), &self.role) {
            (FABRICS, role) => {
                let connects = command.fabrics_type() == fabrics::CONNECT;
                match connects == role.is_none() {
                    true => fabrics::transfer(command),
                    false => Err(Status::COMMAND_SEQUENCE_ERROR),
                }
            }
            (_, None) => Err(Status::COMMAND_SEQUENCE_ERROR),
            (_, Some(Role { controller, number: 0 })) => {
                admin::transfer(self.subsystem.namespace(), controller, command)
            }
            (_, Some(Role { controller, .. })) if !controller.is_ready() => {
                Err(Status::COMMAND_SEQUENCE_ERROR)
            }
            (_, Some(_)) => {
                let space = io::namespace_of(self.subsystem.namespaces(), command)?;
                io::transfer(space, command)
            }
        }
    }

    /// Executes an admitted command with the data from the host.
    pub fn execute(&mut self, command: &Command, data: Vec<u8>) -> Action {
        let id = command.id();
        let action = match (command.opcode(), &self.role) {
            (FABRICS, None) => return self.connect(command, &data),
            (_, None) => Err(Status::COMMAND_SEQUENCE_ERROR),
            (FABRICS, Some(role)) => fabrics_command(role, command),
            (_, Some(Role { controller, number: 0 })) => {
                admin::execute(&self.subsystem, controller, command, &data)
            }
            (_, Some(Role { controller, .. })) => {
                let through = controller.features(|features| features.writes_through());
                let plan = io::namespace_of(self.subsystem.namespaces(), command)
                    .and_then(|space| io::plan(space, command, data, through));
                // Checked after the plan, which depends on the format of the namespace.
                self.check_epoch(command).and(plan).map(|plan| match plan {
                    Some(plan) => Action::Submit(plan),
                    None => Action::result(id, 0),
                })
            }
        };
        action.unwrap_or_else(|status| Action::failure(id, status))
    }

    fn connect(&mut self, command: &Command, data: &[u8]) -> Action {
        let id = command.id();
        let connected = match fabrics::connect(&self.subsystem, command, data) {
            Ok(connected) => connected,
            Err(refused) => return Action::Reply(refused.completion(id), Vec::new()),
        };
        let controller = Arc::clone(&connected.controller);
        if !controller.add_queue(connected.queue, Arc::clone(&self.link)) {
            return Action::failure(id, Status::COMMAND_SEQUENCE_ERROR);
        }
        self.commands.connect(&connected);
        let result = controller.id().into();
        self.role = Some(Role { controller, number: connected.queue });
        Action::result(id, result)
    }

    /// Ends the queue; the controller ends with its admin queue.
    pub fn close(&mut self) {
        let Some(role) = self.role.take() else { return };
        role.controller.remove_queue(role.number);
        if role.number == 0 {
            self.subsystem.remove(&role.controller);
        }
    }
}

fn fabrics_command(role: &Role, command: &Command) -> Result<Action, Status> {
    match (command.fabrics_type(), role.number) {
        (fabrics::PROPERTY_GET | fabrics::PROPERTY_SET, 0) => {
            fabrics::property(&role.controller, command)
        }
        // The admin queue ends with the connection only.
        (fabrics::DISCONNECT, 0) => Err(Status::INVALID_QUEUE_TYPE),
        (fabrics::DISCONNECT, _) => match command.u16(40) {
            0 => Ok(Action::End(Completion::new(command.id(), Status::SUCCESS))),
            _ => Err(Status::CONNECT_INCOMPATIBLE_FORMAT),
        },
        _ => Err(Status::INVALID_QUEUE_TYPE),
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;

    use super::*;
    use crate::attached::Export;
    use crate::nvme::subsystem::SubsystemOptions;

    struct NoLink;

    impl Link for NoLink {
        fn complete(&self, _: Completion) {}
        fn disconnect(&self) {}
    }

    fn command(opcode: u8, fields: &[(usize, u32)]) -> Command {
        let mut bytes = [0; 64];
        (bytes[0], bytes[1], bytes[4]) = (opcode, 0x40, 1);
        for (at, value) in fields {
            bytes[*at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        Command::parse(&bytes)
    }

    fn execute(queue: &mut Queue, command: &Command, data: Vec<u8>) -> Action {
        queue.admit(command).unwrap();
        let action = queue.execute(command, data);
        queue.commands.release(command.id());
        action
    }

    /// Returns a queue of the controller 1, which the admin queue creates.
    fn connected(subsystem: &Arc<Subsystem>, number: u16, controller: u16) -> Queue {
        let mut queue = Queue::new(Arc::clone(subsystem), Arc::new(NoLink), Arc::default());
        let mut data = vec![0; 1024];
        data[16..18].copy_from_slice(&controller.to_le_bytes());
        data[256..256 + subsystem.nqn().len()].copy_from_slice(subsystem.nqn().as_bytes());
        data[512..519].copy_from_slice(b"nqn.x:y");
        let connect = command(FABRICS, &[(40, u32::from(number) << 16), (44, 31)]);
        assert_eq!(execute(&mut queue, &connect, data), Action::result(0, 1));
        queue
    }

    fn enable(admin: &mut Queue, configuration: u32) {
        let mut fields = [(4, 0), (44, 0x14), (48, configuration)];
        fields[0].1 = u32::from(fabrics::PROPERTY_SET);
        let set = command(FABRICS, &fields);
        assert_eq!(execute(admin, &set, Vec::new()), Action::result(0, 0));
    }

    // Data that arrived before the connection ended are not written after a reset, even if the host
    // has enabled the controller again.
    #[test]
    fn commands_from_before_a_reset_are_aborted() {
        let export = Export::new("drive", (Bytes::mib(1), Bytes(512)));
        let address = "127.0.0.1:4420".parse().unwrap();
        let options = SubsystemOptions::default();
        let subsystem = Subsystem::new(&export, &options, address, Box::new(|| None)).unwrap();
        let subsystem = Arc::new(subsystem);
        let enabled = 1 | 6 << 16 | 4 << 20;
        let mut admin = connected(&subsystem, 0, u16::MAX);
        enable(&mut admin, enabled);
        let mut queue = connected(&subsystem, 1, 1);
        let write = command(io::WRITE, &[]);
        assert!(matches!(execute(&mut queue, &write, vec![1; 512]), Action::Submit(_)));
        assert_eq!(queue.admit(&write), Ok(Transfer::FromHost(512)));
        enable(&mut admin, 0);
        enable(&mut admin, enabled);
        let aborted = Action::failure(0, Status::ABORTED_BY_QUEUE_DELETION);
        assert_eq!(queue.execute(&write, vec![1; 512]), aborted);
    }
}
