//! The commands of one queue.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::command::{Command, FABRICS};
use super::controller::{Controller, Link};
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

/// The commands of a queue that are not completed.
#[derive(Debug)]
pub struct Commands(Mutex<Ids>);

#[derive(Debug)]
struct Ids {
    open: BTreeSet<u16>,
    /// The number of entries of the queue.
    entries: u16,
    head: u16,
    has_flow_control: bool,
}

impl Default for Commands {
    fn default() -> Commands {
        // Before Connect, only that command is allowed.
        Commands(Mutex::new(Ids {
            open: BTreeSet::new(),
            entries: 1,
            head: 0,
            has_flow_control: true,
        }))
    }
}

impl Commands {
    fn begin(&self, id: u16) -> Result<(), Rejection> {
        let mut ids = lock(&self.0);
        ids.head = (ids.head + 1) % ids.entries;
        if ids.open.contains(&id) {
            return Err(Status::COMMAND_ID_CONFLICT.into());
        }
        if ids.open.len() == usize::from(ids.entries) {
            return Err(Rejection::Overflow);
        }
        ids.open.insert(id);
        Ok(())
    }

    /// Completes a command. The host may use its identifier again.
    pub fn release(&self, id: u16) {
        self.end(id);
    }

    /// Completes a command. Returns the head of the submission queue, if the host controls its
    /// flow.
    pub(super) fn end(&self, id: u16) -> Option<u16> {
        let mut ids = lock(&self.0);
        ids.open.remove(&id);
        ids.has_flow_control.then_some(ids.head)
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

    /// Returns the data that a command moves, and counts the command as not completed.
    ///
    /// # Errors
    /// Returns the reason why the command is not executed. The command counts as not completed,
    /// except with a conflict of identifiers.
    pub fn admit(&mut self, command: &Command) -> Result<Transfer, Rejection> {
        self.commands.begin(command.id())?;
        if let Some(role) = &self.role {
            role.controller.sign_of_life(self.subsystem.now());
        }
        if !command.has_valid_flags() {
            return Err(Status::INVALID_FIELD.into());
        }
        Ok(self.transfer(command)?)
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
                io::namespace_of(self.subsystem.namespaces(), command)
                    .and_then(|space| io::plan(space, command, data, through))
                    .map(|plan| match plan {
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
