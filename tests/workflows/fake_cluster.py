"""FakeCluster: a cluster with one node, its detector and the hands, played by a script.

It implements the contracts of the activities by name and writes down everything that happens, in order and
with the time of the workflow's own clock. `violations` says what must be true of any such log.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from temporalio import activity

from health.observation import Hold, Observation
from health.references import RequestReference
from tests.workflows.sights import expired
from workflows.contracts import (
    ACT,
    CLEAN_UP,
    FRESH,
    OBSERVE,
    RENEW,
    ActInput,
    ActResult,
    CleanUpInput,
    CleanUpResult,
    ObserveInput,
    RenewInput,
)

BUSIEST = 8
"""Calls of one activity within a second that no incident ever needs."""


@dataclass(frozen=True)
class Entry:
    """One thing that happened."""

    what: str
    when: datetime
    is_admitted: bool = False


class Gate:
    """Keeps an activity in flight for as long as a test wants."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self.entered = asyncio.Event()

    def close(self) -> None:
        self._open.clear()
        self.entered.clear()

    def open(self) -> None:
        self._open.set()

    async def pass_through(self) -> None:
        self.entered.set()
        await self._open.wait()


class FakeCluster:
    """The script and the log of one incident."""

    def __init__(self) -> None:
        self.sight = expired()
        self.refusals: deque[Hold] = deque()
        """What the next acts answer instead of acting."""
        self.lateness: deque[timedelta] = deque()
        """How old the next answers are when they arrive."""
        self.wakings = 0
        """How often a test woke the incident in a row, as fast as it answered."""
        self.has_finalizer = False
        self.requests: dict[str, RequestReference] = {}
        self.is_leased = False
        self.log: list[Entry] = []
        self.acts: list[ActInput] = []
        self.gates = {contract.name: Gate() for contract in (OBSERVE, ACT, CLEAN_UP, RENEW)}

    def times(self, what: str) -> list[datetime]:
        return [entry.when for entry in self.log if entry.what == what]

    def count(self, what: str) -> int:
        return len(self.times(what))

    def note(self, what: str, when: datetime, *, is_admitted: bool = False) -> None:
        self.log.append(Entry(what, when, is_admitted))

    def put_request(self) -> RequestReference:
        """A request of the incident, as an earlier run of it or the reference operator left it."""
        uid = f"request-{self.count('created') + 1}"
        request = RequestReference(
            api_version="example.com/v1", kind="Reboot", namespace="ns", name="node-1", uid=uid
        )
        self.requests[uid] = request
        self.is_leased = True
        return request

    def answer(self) -> Observation:
        return self.sight.model_copy(update={"requests": tuple(self.requests.values())})

    @property
    def eyes(self) -> list[Callable[..., Any]]:
        return [self.observe]

    @property
    def hands(self) -> list[Callable[..., Any]]:
        return [self.act, self.clean_up, self.renew]

    @activity.defn(name=OBSERVE.name)
    async def observe(self, asked: ObserveInput) -> Observation:  # noqa: ARG002  there is but one incident
        answer = self.answer()  # what is seen now, however long the answer is under way
        when = await self._begin(OBSERVE.name)
        self.note("answered", when, is_admitted=answer.is_admitted)
        late = self.lateness.popleft() if self.lateness else timedelta()
        return answer.model_copy(update={"answered_at": activity.info().started_time - late})

    @activity.defn(name=ACT.name)
    async def act(self, asked: ActInput) -> ActResult:
        when = await self._begin(ACT.name)
        self.acts.append(asked)
        if self.refusals:
            return ActResult(hold=self.refusals.popleft())
        for request in self.requests.values():
            return ActResult(request=request)
        request = self.put_request()
        self.note("created", when)
        return ActResult(request=request)

    @activity.defn(name=CLEAN_UP.name)
    async def clean_up(self, asked: CleanUpInput) -> CleanUpResult:
        when = await self._begin(CLEAN_UP.name)
        remaining = tuple(self._delete(request) for request in asked.requests if request.uid in self.requests)
        if self.has_finalizer and remaining:
            return CleanUpResult(remaining=remaining)
        for request in remaining:
            del self.requests[request.uid]
            self.note("deleted", when)
        self.is_leased = False
        return CleanUpResult()

    @activity.defn(name=RENEW.name)
    async def renew(self, asked: RenewInput) -> None:  # noqa: ARG002  there is but one incident
        await self._begin(RENEW.name)

    def remove_finalizer(self) -> None:
        """What hung on it goes, as in a real cluster."""
        self.has_finalizer = False
        self.requests = {uid: r for uid, r in self.requests.items() if not r.is_being_deleted}

    def _delete(self, request: RequestReference) -> RequestReference:
        deleted = request.model_copy(update={"is_being_deleted": True})
        self.requests[request.uid] = deleted
        return deleted

    async def _begin(self, name: str) -> datetime:
        when = activity.info().started_time
        self.note(name, when)
        await self.gates[name].pass_through()
        return when


def violations(cluster: FakeCluster) -> list[str]:
    """What happened that must never happen."""
    return [
        *_acts_without_a_fresh_admission(cluster.log),
        *_acts_against_an_order(cluster.log),
        *_second_requests(cluster.log),
        *_hot_loops(cluster),
    ]


def _acts_without_a_fresh_admission(log: list[Entry]) -> list[str]:
    found, admitted = [], None
    for entry in log:
        if entry.what == "answered":
            admitted = entry.when if entry.is_admitted else None
        if entry.what == ACT.name and (admitted is None or entry.when - admitted > FRESH):
            found.append(f"acted at {entry.when}, admitted at {admitted}")
    return found


def _acts_against_an_order(log: list[Entry]) -> list[str]:
    found, order = [], ""
    for entry in log:
        if entry.what in ("abort", "hold", "resume"):
            order = entry.what
        if entry.what == ACT.name and order in ("abort", "hold"):
            found.append(f"acted at {entry.when} against {order}")
    return found


def _second_requests(log: list[Entry]) -> list[str]:
    found, existing = [], 0
    for entry in log:
        existing += {"created": 1, "deleted": -1}.get(entry.what, 0)
        if existing > 1:
            found.append(f"a second request was made at {entry.when}")
    return found


def _hot_loops(cluster: FakeCluster) -> list[str]:
    found = []
    for name in cluster.gates:
        times = cluster.times(name)
        pairs = zip(times, times[BUSIEST + cluster.wakings :], strict=False)
        if any(last - first < timedelta(seconds=1) for first, last in pairs):
            found.append(f"{name} was called {len(times)} times, over {BUSIEST} times within a second")
    return found
