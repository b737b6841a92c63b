//! Admin commands (NVM Express Base Specification 2.1, "Admin Command Set").

use super::command::Command;
use super::controller::{Controller, Kind};
use super::features;
use super::identify::{self, IDENTIFY_LEN};
use super::log_page;
use super::namespace::Namespace;
use super::placement::{self, DIRECTIVE_RECEIVE, DIRECTIVE_SEND};
use super::plan::{Erase, Plan};
use super::queue::Action;
use super::session::Transfer;
use super::status::Status;
use super::subsystem::Subsystem;

const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;
const ABORT: u8 = 0x08;
const SET_FEATURES: u8 = 0x09;
const GET_FEATURES: u8 = 0x0A;
const ASYNCHRONOUS_EVENT: u8 = 0x0C;
const KEEP_ALIVE: u8 = 0x18;
pub(super) const FORMAT: u8 = 0x80;
pub(super) const SANITIZE: u8 = 0x84;

/// The only sanitize action: block erase.
const BLOCK_ERASE: u32 = 2;

/// The admin commands of every controller of a drive.
const COMMANDS: [u8; 9] = [
    GET_LOG_PAGE,
    IDENTIFY,
    ABORT,
    SET_FEATURES,
    GET_FEATURES,
    ASYNCHRONOUS_EVENT,
    KEEP_ALIVE,
    FORMAT,
    SANITIZE,
];

/// Returns the admin commands of a controller of this drive.
pub(super) fn commands(space: &Namespace) -> impl Iterator<Item = u8> {
    let has_directives = space.handles().is_some();
    let directives = [DIRECTIVE_SEND, DIRECTIVE_RECEIVE];
    COMMANDS.into_iter().chain(directives.into_iter().filter(move |_| has_directives))
}

/// Returns the direction and the length of a command's data.
pub(super) fn transfer(
    space: &Namespace,
    controller: &Controller,
    command: &Command,
) -> Result<Transfer, Status> {
    if !controller.is_ready() {
        return Err(Status::COMMAND_SEQUENCE_ERROR);
    }
    Ok(match command.opcode() {
        GET_LOG_PAGE => log_page::transfer(command)?,
        IDENTIFY => Transfer::ToHost(u32::try_from(IDENTIFY_LEN).expect("it is 4096")),
        SET_FEATURES => features::set_transfer(command),
        GET_FEATURES => features::get_transfer(command),
        DIRECTIVE_SEND | DIRECTIVE_RECEIVE if controller.kind() == Kind::Drive => {
            placement::directive_transfer(space, command)?
        }
        ABORT | FORMAT | SANITIZE if controller.kind() == Kind::Drive => Transfer::None,
        ASYNCHRONOUS_EVENT | KEEP_ALIVE => Transfer::None,
        _ => return Err(Status::INVALID_OPCODE),
    })
}

/// Executes a command for which [`transfer`] succeeded.
pub(super) fn execute(
    subsystem: &Subsystem,
    controller: &Controller,
    command: &Command,
    data: &[u8],
) -> Result<Action, Status> {
    let (id, space) = (command.id(), subsystem.namespace());
    let is_of_drive = controller.kind() == Kind::Drive;
    if is_of_drive && matches!(command.opcode(), GET_LOG_PAGE | SET_FEATURES | GET_FEATURES) {
        subsystem.namespaces().check(command.namespace())?;
    }
    match command.opcode() {
        GET_LOG_PAGE => Ok(Action::data(id, log_page::read(subsystem, controller, command)?)),
        IDENTIFY => Ok(Action::data(id, identify::identify(subsystem, controller, command)?)),
        SET_FEATURES => Ok(Action::result(id, features::set(space, controller, command, data)?)),
        GET_FEATURES => {
            let (value, data) = features::get(space, controller, command)?;
            Ok(Action::reply(id, value.into(), data))
        }
        ABORT => {
            let (queue, aborted) = (command.u16(40), command.u16(42));
            // Bit 0 is set if the command was not aborted, which the specification allows.
            Ok(Action::result(id, u32::from(!controller.abort(queue, aborted))))
        }
        KEEP_ALIVE => Ok(Action::result(id, 0)),
        ASYNCHRONOUS_EVENT => Ok(match controller.event_request(id)? {
            Some(event) => Action::result(id, event),
            None => Action::Hold,
        }),
        DIRECTIVE_SEND | DIRECTIVE_RECEIVE => {
            Ok(Action::data(id, placement::directive(space, command)?))
        }
        FORMAT => format(subsystem, command),
        SANITIZE => sanitize(subsystem, command),
        _ => Err(Status::INVALID_OPCODE),
    }
}

fn format(subsystem: &Subsystem, command: &Command) -> Result<Action, Status> {
    let namespace = command.namespace();
    let spaces = subsystem.namespaces().selected(namespace)?;
    // All namespaces have the same formats.
    let space = &spaces[0];
    if !space.is_writable() {
        return Err(Status::NAMESPACE_WRITE_PROTECTED);
    }
    let options = command.dword(10);
    let format = space.requested_format(options)?;
    // Secure erase is either none, or erases user data. The drive has no keys that could be
    // deleted.
    if options >> 9 & 0x7 > 1 {
        return Err(Status::INVALID_FIELD);
    }
    let erase = Erase::Format { namespace, format };
    subsystem.namespaces().begin(erase, options)?;
    Ok(Action::Submit(Plan::Erase(erase)))
}

fn sanitize(subsystem: &Subsystem, command: &Command) -> Result<Action, Status> {
    let space = subsystem.namespace();
    let options = command.dword(10);
    if !space.is_writable() {
        return Err(Status::NAMESPACE_WRITE_PROTECTED);
    }
    if options & 0x7 != BLOCK_ERASE {
        return Err(Status::INVALID_FIELD);
    }
    subsystem.namespaces().begin(Erase::Sanitize, options)?;
    Ok(Action::Submit(Plan::Erase(Erase::Sanitize)))
}
