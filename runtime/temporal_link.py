"""TemporalLink: the Temporal connection of a process that also has work without Temporal.

Before the first connection, callers get the same error as in an outage. Workers and calls then recover by
themselves; a worker that ends anyway (Temporal failed right after the connection, or revoked access) is
started again.

A connection keeps the content of its credential files. When a file changes, as after the renewal of a
certificate, calls and worker get a new connection, long before Temporal refuses the old one.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from temporalio.client import Client, Interceptor
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter
from temporalio.envconfig import ClientConnectConfig
from temporalio.runtime import Runtime
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from runtime import search_attributes
from runtime.problems import BACKOFF, Problems, one_sentence, retry_forever
from runtime.settings import SettingsError
from runtime.temporal import address_of, connect, temporal_settings
from runtime.temporal_trouble import (
    NOT_USABLE,
    SILENCE,
    TemporalRefuses,
    TemporalUnreachable,
    refusing,
    trouble_with,
)

_log = logging.getLogger(__name__)

CHECK_EVERY_SECONDS = 5.0
"""How often Temporal is asked whether it serves."""
CHECK_NAMESPACE_EVERY = timedelta(minutes=5)
"""How often the search attributes are read while there is no error; their list is a call with a limit."""
ANSWER_WITHIN = timedelta(seconds=10)
REACHED_WITHIN = timedelta(seconds=CHECK_EVERY_SECONDS) + ANSWER_WITHIN
"""After this time without an answer Temporal counts as unreachable: one check would have been answered."""
_NO_CONNECTION = (TemporalUnreachable, SettingsError)
"""A setting may become invalid while a process runs, for example while one file of a pair is replaced."""


class NotSetUp(Exception):
    """The Temporal namespace lacks our search attributes, or has them with other types."""


@dataclass(frozen=True)
class _Connection:
    client: Client
    settings: ClientConnectConfig
    """The configuration and the content of its files at the time of the connection."""


class TemporalLink:
    """The connection of one process to Temporal, with a worker that may use it."""

    def __init__(  # noqa: PLR0913  each says how it connects
        self,
        identity: str,
        problems: Problems,
        runtime: Runtime | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        converter: DataConverter = pydantic_data_converter,
        interceptors: Sequence[Interceptor] = (),
    ) -> None:
        self._problems = problems
        self._environment = dict(os.environ)  # only the files that it names change later
        self._connect = partial(
            connect,
            identity,
            self._environment,
            runtime=runtime,
            converter=converter,
            interceptors=interceptors,
        )
        self._connection: _Connection | None = None
        self._workers: dict[str, tuple[Worker, _Connection]] = {}
        self._is_there = asyncio.Event()
        self._clock = clock
        self._well_at = self._namespace_check_due = clock()
        self.is_answered = False
        """True if Temporal answered the last check, although it cannot be used."""

    def __call__(self) -> Client:
        """The client.

        Raises:
            RPCError: there is no connection yet, or the namespace is not set up.

        """
        if self._connection is None or not self._is_there.is_set():
            raise RPCError(NOT_USABLE, RPCStatusCode.UNAVAILABLE, b"")
        return self._connection.client

    def silence(self) -> timedelta:
        """The time since the last successful check, or since the start before the first one."""
        return timedelta(seconds=self._clock() - self._well_at)

    def trouble(self) -> str | None:
        """Why Temporal cannot be used, None if the last check succeeded a moment ago."""
        if self.silence() < REACHED_WITHIN:
            return None
        problems = self._problems
        return problems.sentence("temporal") or problems.sentence("search attributes") or SILENCE

    async def try_once(self) -> None:
        """Check the settings, and connect if Temporal can be reached now.

        Raises:
            SettingsError: the configuration in the environment is invalid.

        """
        try:
            self._connection = await self._open()
            await _check(self._connection.client)
            self._note_that_all_is_well()
        except NotSetUp as error:
            self._problems.report("search attributes", one_sentence(error))
        except TemporalUnreachable as error:
            self._problems.report("temporal", one_sentence(error))

    async def hold(self) -> None:
        """Connect, retrying without a limit, and then check continuously that Temporal answers.

        After an error, and every five minutes, also check that the namespace is set up: without a search
        attribute no incident can start or end, and Temporal reports that only in its log.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_settings())
            while True:
                await self._until_well()
                self._note_that_all_is_well()
                await asyncio.sleep(CHECK_EVERY_SECONDS)

    async def work(self, make: Callable[[Client], Worker], part: str = "worker") -> None:
        """Run the worker that `make` returns, again whenever it ends; `part` names it in problems."""
        ends = (*_NO_CONNECTION, RPCError, RuntimeError)  # RuntimeError: a worker of the SDK ends with it
        await self._is_there.wait()
        await retry_forever(part, partial(self._work, make, part), ends, self._problems)

    async def _work(self, make: Callable[[Client], Worker], part: str) -> None:
        # On a connection of its own: of one worker that did not get as far as its first question the SDK
        # would refuse a second on the same connection (seen with 1.35).
        connection = await self._open()
        self._problems.report(part, None)
        worker = make(connection.client)
        self._workers[part] = worker, connection
        try:
            await worker.run()
        finally:
            del self._workers[part]
            self._namespace_check_due = self._clock()

    async def _open(self) -> _Connection:
        # Before: what changes meanwhile is seen at the next look.
        settings = temporal_settings(self._environment)
        return _Connection(await self._connect(), settings)

    def _note_that_all_is_well(self) -> None:
        self._well_at = self._clock()
        self._is_there.set()

    async def _until_well(self) -> None:
        """Return when Temporal answers and its namespace is set up; report which of both is missing."""
        problems, refusals = self._problems, (NotSetUp, TemporalRefuses)
        while True:
            await retry_forever("temporal", self._answer, _NO_CONNECTION, problems)
            with contextlib.suppress(TemporalUnreachable):
                return await retry_forever("search attributes", self._check, refusals, problems)
            await asyncio.sleep(BACKOFF.first.total_seconds())

    async def _answer(self) -> None:
        with self._noting_answers():
            if self._connection is None:
                self._connection = await self._open()
            await _answer(self._connection.client)

    async def _check(self) -> None:
        """Check the namespace at the start, after an error, and then rarely."""
        if self._connection is not None and self._clock() >= self._namespace_check_due:
            with self._noting_answers():
                await _check(self._connection.client)
            self._namespace_check_due = self._clock() + CHECK_NAMESPACE_EVERY.total_seconds()

    @contextlib.contextmanager
    def _noting_answers(self) -> Iterator[None]:
        try:
            yield
        except (NotSetUp, *_NO_CONNECTION) as error:
            self._namespace_check_due = self._clock()
            self.is_answered = isinstance(error, NotSetUp | TemporalRefuses)
            raise

    async def _follow_settings(self) -> None:
        """Separate from the checks, which a hanging new connection must not block."""
        while True:
            await asyncio.sleep(CHECK_EVERY_SECONDS)
            if self._connection is not None:
                self._connection = await self._renewed(self._connection)

    async def _renewed(self, connection: _Connection) -> _Connection:
        """The connection for the present settings; the existing one if they cannot be used."""
        try:
            settings = temporal_settings(self._environment)
            if connection.settings != settings:
                connection = await self._open()
                self._namespace_check_due = self._clock()
            for part in tuple(self._workers):
                if part not in self._workers or self._workers[part][1].settings == settings:
                    continue
                of_worker = await self._open()
                # A worker that is ending or starting is found by the next look.
                if part in self._workers and self._workers[part][0].is_running:
                    worker, _ = self._workers[part]
                    worker.client = of_worker.client
                    self._workers[part] = worker, of_worker
        except SettingsError as error:
            self._problems.report("temporal settings", one_sentence(error))
        except TemporalUnreachable as error:  # its message may vary while the cause stays
            _log.debug("no new connection", exc_info=error)
            sentence = (
                f"{address_of(connection.client)} accepts no connection with the present content of its files"
            )
            self._problems.report("temporal settings", sentence)
        else:
            self._problems.report("temporal settings", None)
        return connection


async def _answer(client: Client) -> None:
    with _with_address_in_errors(client):
        if not await client.service_client.check_health(timeout=ANSWER_WITHIN):
            raise refusing(address_of(client), "that it does not serve")


async def _check(client: Client) -> None:
    try:
        with _with_address_in_errors(client):
            missing = await search_attributes.missing(client, client.namespace, ANSWER_WITHIN)
    except search_attributes.SearchAttributeConflict as error:
        raise NotSetUp(str(error)) from error
    if missing:
        raise NotSetUp(
            f"namespace {client.namespace} lacks the search attributes {', '.join(missing)}: "
            "run `paramedic setup`"
        )


@contextlib.contextmanager
def _with_address_in_errors(client: Client) -> Iterator[None]:
    try:
        yield
    except RPCError as error:
        raise trouble_with(address_of(client), error) from error
