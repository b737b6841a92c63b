//! The older asynchronous IO of Linux, by raw system calls (`io_setup(2)`, `io_submit(2)`,
//! `io_getevents(2)`), because the standard C library does not wrap them.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "IOs of a drive: on the descriptor that the guard opened"
    )
)]
#![allow(unsafe_code, reason = "asynchronous IO with completions in memory shared with the kernel")]

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use flashscope_block::{Io, Nanos, Op};

use super::queued::{Answer, Kernel, QueuedEngine};
use super::{Engine, Setup};
use crate::buffer::Buffers;
use crate::clock::Clock;

const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
const IOCB_CMD_FDSYNC: u16 = 3;

/// `struct iocb` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    /// `aio_key` and `aio_rw_flags`, in an order that depends on the machine; both stay zero.
    key_and_flags: [u32; 2],
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    len: u64,
    offset: u64,
    reserved: u64,
    flags: u32,
    result_fd: u32,
}

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

/// `struct aio_ring` of `fs/aio.c`: the head of the event ring. The kernel maps the ring at the
/// address that is the context's identifier, and programs may read it without a system call.
#[repr(C)]
struct EventRing {
    id: u32,
    len: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    header_len: u32,
}

/// The value of `EventRing::magic` for this layout.
const RING_MAGIC: u32 = 0xa10a_10a1;

const _: () = assert!(size_of::<EventRing>() == 32);
const _: () = assert!(size_of::<Iocb>() == 64 && size_of::<Event>() == 32);

struct Context {
    id: libc::c_ulong,
    /// The identifier as the address of the event ring.
    address: usize,
    fd: u32,
    iocbs: Vec<Iocb>,
    /// Slots that are prepared but not submitted.
    ready: Vec<usize>,
    pointers: Vec<*mut Iocb>,
    events: Vec<Event>,
}

// SAFETY: the pointers refer to `iocbs`; the kernel uses them during `io_submit` only.
unsafe impl Send for Context {}

pub(super) fn start(setup: &Setup) -> io::Result<Box<dyn Engine>> {
    let mut id: libc::c_ulong = 0;
    // SAFETY: the kernel writes the identifier of the new context to `id`.
    check(unsafe { libc::syscall(libc::SYS_io_setup, setup.depth, &raw mut id) })?;
    let context = Context {
        id,
        address: usize::try_from(id).expect("an address"),
        fd: u32::try_from(setup.target.file().as_raw_fd()).expect("an open file"),
        iocbs: vec![Iocb::default(); setup.depth],
        ready: Vec::with_capacity(setup.depth),
        pointers: Vec::with_capacity(setup.depth),
        events: vec![Event::default(); setup.depth],
    };
    let buffers = Buffers::new(setup.depth, setup.max_io)?;
    Ok(Box::new(QueuedEngine::new(context, buffers, setup)))
}

fn check(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

impl Context {
    /// Takes the events that are already in the ring, without a system call.
    fn reap(&self, answers: &mut Vec<Answer>) {
        let base = std::ptr::with_exposed_provenance::<u8>(self.address);
        // SAFETY: the kernel maps the ring at this address as long as the context lives.
        let ring = unsafe { &*base.cast::<EventRing>() };
        if ring.magic != RING_MAGIC || ring.incompatible != 0 {
            return;
        }
        let mut head = ring.head.load(Ordering::Relaxed);
        let tail = ring.tail.load(Ordering::Acquire);
        while head != tail {
            let offset = ring.header_len as usize + head as usize * size_of::<Event>();
            // SAFETY: from `head` to `tail`, the ring holds events that the kernel has finished;
            // both indices are below `len`.
            let event = unsafe { base.add(offset).cast::<Event>().read() };
            answers.push(Answer::from(event));
            head = (head + 1) % ring.len;
        }
        ring.head.store(head, Ordering::Release);
    }
}

impl From<Event> for Answer {
    fn from(event: Event) -> Answer {
        // `QueuedEngine` ignores invalid slots.
        Answer { slot: usize::try_from(event.data).unwrap_or(usize::MAX), result: event.result }
    }
}

impl Kernel for Context {
    fn takes(&self, op: Op) -> bool {
        op != Op::Trim
    }

    unsafe fn ready(&mut self, slot: usize, io: &Io, buffer: *mut u8) {
        let opcode = match io.op {
            Op::Read => IOCB_CMD_PREAD,
            Op::Write => IOCB_CMD_PWRITE,
            Op::Flush => IOCB_CMD_FDSYNC,
            Op::Trim => unreachable!("`QueuedEngine` executes trims itself"),
        };
        // The kernel rejects a flush with a range.
        let buffer = if io.op == Op::Flush { 0 } else { buffer.expose_provenance() as u64 };
        self.iocbs[slot] = Iocb {
            data: slot as u64,
            opcode,
            fd: self.fd,
            buffer,
            len: io.len.0,
            offset: if io.op == Op::Flush { 0 } else { io.offset.0 },
            ..Iocb::default()
        };
        self.ready.push(slot);
    }

    fn hand_over(&mut self, answers: &mut Vec<Answer>) {
        self.pointers.clear();
        for slot in &self.ready {
            self.pointers.push(&raw mut self.iocbs[*slot]);
        }
        let mut taken = 0;
        while taken < self.ready.len() {
            let rest = &mut self.pointers[taken..];
            // SAFETY: the pointers refer to live iocbs, and those to live buffers, as the callers
            // of `ready` guarantee.
            let result = check(unsafe {
                libc::syscall(libc::SYS_io_submit, self.id, rest.len(), rest.as_mut_ptr())
            });
            match result {
                Ok(count) => taken += count,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => {
                    // The kernel rejected the first of the remaining IOs.
                    let number = error.raw_os_error().unwrap_or(libc::EIO);
                    answers.push(Answer { slot: self.ready[taken], result: -i64::from(number) });
                    taken += 1;
                }
            }
        }
        self.ready.clear();
    }

    fn exchange(
        &mut self,
        timeout: Option<Duration>,
        clock: &Clock,
        answers: &mut Vec<Answer>,
    ) -> Nanos {
        if !self.ready.is_empty() {
            self.hand_over(answers);
        }
        self.reap(answers);
        if !answers.is_empty() {
            return clock.now();
        }
        let timeout = timeout.map(|timeout| libc::timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: `events` has room for that many events; `timeout` is null or a live value.
        let result = check(unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.id,
                1 as libc::c_long,
                self.events.len(),
                self.events.as_mut_ptr(),
                timeout,
            )
        });
        let returned = clock.now();
        let count = result.unwrap_or_else(|error| {
            let interrupted = error.raw_os_error() == Some(libc::EINTR);
            assert!(interrupted, "invalid call of io_getevents: {error}");
            0
        });
        answers.extend(self.events[..count].iter().copied().map(Answer::from));
        returned
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: this value owns the context, and `QueuedEngine` leaves nothing in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.id) };
    }
}
