"""Mail between the workers of a run: what one level owes the next goes from worker to worker.

The scheduler starts tasks; it does not stand between two levels. Every attempt has a mailbox on
each of its workers. A task that waits for mail gives its place to others after a moment
(:mod:`daskbfs.engine.exchange.waiting`), and ends when its result is not wanted.

Dask takes 10 to 12 ms to schedule a wave and a gather on two cores, however empty they are: levels
that depended on each other by way of the scheduler took 17 to 19 ms, and take 7 to 9 by mail.
Workers of one host need no mail for levels (:mod:`daskbfs.engine.exchange.shared_memory`).

A task that fails mails the error to all workers of its attempt, so that no task waits for what
cannot come. A mailbox lives as long as the states of its attempt, which are a Dask key of their
own.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import pickle
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass
from typing import Any

from distributed import get_worker
from distributed.protocol.serialize import to_serialize

from daskbfs.engine.exchange.waiting import Abandoned, is_leaving, wait_politely
from daskbfs.telemetry.records import About

_HANDLER = "daskbfs_deliver"
_ERROR = "error"  # the topic of mail after which none follows
_OVER = "over"  # that of mail to workers where an attempt may never start
_UNOPENED_SECONDS = 600  # mail for attempts that never started here is kept no longer


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a run: its name, and the workers that take part."""

    run: str
    workers: tuple[str, ...]
    """Addresses; the first is the coordinator's."""
    about: About | None = None
    """What the scheduler is told of it; None where it does not listen."""
    wave_seconds: float = 0.0
    """A wave over shared memory has as many levels as take so long, one at least."""

    @property
    def coordinator(self) -> str:
        """The worker that gathers."""
        return self.workers[0]


class Mailbox:
    """What one worker has received for one attempt, and who waits for it."""

    def __init__(self) -> None:
        self.born = time.monotonic()
        self.opened = False
        self._changed = threading.Condition()
        self._mail: dict[str, dict[str, Any]] = {}
        self._error: BaseException | None = None
        self.reported = False
        """Whether all workers of the attempt have been told of an error."""

    def put(self, topic: str, sender: str, content: Any) -> None:
        """Take mail in."""
        with self._changed:
            self._mail.setdefault(topic, {})[sender] = content
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Tell tasks that wait, or will wait, that no more mail comes; the first error stays."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def read(
        self,
        topic: str,
        n: int = 1,
        unless: str | None = None,
        patient: bool = True,
    ) -> dict[str, Any] | None:
        """Mail on a topic, by sender, as soon as ``n`` have sent some.

        None if mail on ``unless`` came instead, or the attempt has failed; without ``unless``, that
        is raised. A task lets others have its place when it has to wait: a patient one after a
        moment.
        """

        def ready() -> bool:
            return (
                len(self._mail.get(topic, ())) >= n
                or self._error is not None
                or unless in self._mail
            )

        with self._changed:
            wait_politely(functools.partial(self._changed.wait_for, ready), patient=patient)
            mail = self._mail.get(topic, {})
            if len(mail) >= n:
                return mail
            if unless is None and self._error is not None:
                raise _portable(self._error)
            return None

    def take(self, topic: str, *arguments: Any, **more: Any) -> dict[str, Any] | None:
        """Like ``read``; the mail is gone then."""
        mail = self.read(topic, *arguments, **more)
        if mail is not None:
            del self._mail[topic]
        return mail

    def check(self) -> None:
        """Raise the error that has ended the attempt, where there is one."""
        with self._changed:
            if self._error is not None:
                raise _portable(self._error)


_founding = threading.Lock()


class Mailboxes:
    """The mailboxes of one worker."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._boxes: dict[str, Mailbox] = {}
        self._closed: deque[str] = deque(maxlen=256)
        self._sending: set[asyncio.Future[None]] = set()
        """Mail on its way: there is no other strong reference to these tasks."""
        worker.handlers[_HANDLER] = self._deliver

    @classmethod
    def here(cls) -> Mailboxes:
        """The mailboxes of the worker that runs the current task."""
        worker: Any = get_worker()
        with _founding:
            if not hasattr(worker, "daskbfs_mail"):
                worker.daskbfs_mail = cls(worker)
        mailboxes: Mailboxes = worker.daskbfs_mail
        return mailboxes

    @property
    def address(self) -> str:
        """The worker's address: what others send mail to."""
        address: str = self._worker.address
        return address

    def box(self, run: str) -> Mailbox:
        """The mailbox of an attempt."""
        box = self._boxes.get(run)
        if box is None and run in self._closed:  # a task that started late
            box = Mailbox()
            box.fail(Abandoned("the run is over"))
        elif box is None:
            box = self._boxes.setdefault(run, Mailbox())
            self._forget_unopened()
        return box

    def open(self, run: str, owner: Any) -> Mailbox:
        """The mailbox of an attempt, for as long as its owner lives."""
        box = self.box(run)
        box.opened = True
        weakref.finalize(owner, self._close, run).atexit = False
        return box

    def _close(self, run: str) -> None:
        self._closed.append(run)
        self._boxes.pop(run, None)

    def _forget_unopened(self) -> None:
        """Drop mail for attempts that were cancelled before they started here."""
        limit = time.monotonic() - _UNOPENED_SECONDS
        for run, box in list(self._boxes.items()):
            if not box.opened and box.born < limit:
                self._close(run)

    def send(self, run: str, to: str, topic: str, content: Any) -> None:
        """Send mail from a task; does not wait for it to arrive."""
        if to == self.address:
            self._deliver(run, topic, to, content)
            return
        loop = self._worker.loop.asyncio_loop
        with contextlib.suppress(RuntimeError):  # the worker is gone, and its loop with it
            loop.call_soon_threadsafe(self._start_sending, run, to, topic, content)

    def _start_sending(self, *mail: Any) -> None:
        """Send mail, from the event loop."""
        sending = asyncio.ensure_future(self._send(*mail))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

    async def _send(self, run: str, to: str, topic: str, content: Any) -> None:
        peer = self._worker.rpc(to)
        try:
            await getattr(peer, _HANDLER)(
                run=run, topic=topic, sender=self.address, content=to_serialize(content)
            )
        except Exception as error:
            self.box(run).fail(ConnectionError(f"worker {to} cannot be reached: {error}"))

    def _deliver(self, run: str, topic: str, sender: str, content: Any) -> None:
        """What a peer calls."""
        if topic == _ERROR:
            self.box(run).reported = True
            self.box(run).fail(content)
        elif topic == _OVER:
            box = self._boxes.get(run)
            if box is None or not box.opened:  # else it goes with its states
                self._close(run)
        else:
            self.box(run).put(topic, sender, content)

    def tell(self, attempt: Attempt, error: BaseException) -> None:
        """Tell all workers of an attempt that a task of it failed: they wait for its mail.

        They learn of a cancelled run too: one that has not begun never will, and
        would keep what the others have sent it.
        """
        box = self.box(attempt.run)
        cancelled = isinstance(error, Abandoned)
        if not box.reported and not (cancelled and is_leaving(self._worker)):
            box.reported = True
            topic, content = (_OVER, None) if cancelled else (_ERROR, _portable(error))
            for worker in attempt.workers:
                self.send(attempt.run, worker, topic, content)


def _portable(error: BaseException) -> BaseException:
    """A copy of an error, as it arrives elsewhere; the error itself holds what its frames hold."""
    try:
        copy: BaseException = pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(repr(error))
    return copy
