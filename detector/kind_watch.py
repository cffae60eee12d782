"""KindWatch: the watch of one kind of objects that need not be served, and that we may not see.

CRDs and rights come and go while we run: what cannot be read is tried again every second or so, and what was
read and is not served any more is empty, which is the truth.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Generic

from kube.backoff import Waits
from kube.discovery import Discovery
from kube.errors import Forbidden, KindUnknown, KubernetesError
from kube.record import Change, RecordT
from kube.reflector import Reflector
from kube.reflector_settings import ReflectorSettings
from kube.resource import Resource
from kube.transport import Transport
from runtime.insisting import insist
from runtime.problems import Problems

Kind = tuple[str, str]
"""apiVersion and kind."""

NOT_YET = "they were not read completely yet"
LOOK_AGAIN_SECONDS = 1.0
EAGER = ReflectorSettings(waits=Waits(absent=timedelta(seconds=1.5)))
"""What is installed is noticed within two seconds."""


@dataclass(frozen=True)
class Subject(Generic[RecordT]):
    """What is watched, and who is told."""

    transport: Transport
    discovery: Discovery
    record: type[RecordT]
    name: str
    """What objects of the kind are to us: "requests"."""
    notify: Callable[[Kind, Change[RecordT]], None]
    changed: Callable[[Kind], None]
    """What is known of the kind as a whole is something else now."""
    problems: Problems

    def part(self, kind: Kind) -> str:
        """The kind, for people."""
        return f"{self.name} of kind {kind[1]} ({kind[0]})"


class KindWatch(Generic[RecordT]):
    """The watch of one kind, or why there is none."""

    def __init__(self, subject: Subject[RecordT], kind: Kind) -> None:
        self._subject = subject
        self._kind = kind
        self._refusal = ""
        self._is_served = True
        self.resource: Resource | None = None
        self.source: Reflector[RecordT] | None = None
        self.was_tried = asyncio.Event()
        """Set when it was read completely, or could not be at the first try."""

    @property
    def is_synced(self) -> bool:
        """Whether it was ever read completely."""
        return self.source is not None and self.source.synced

    @property
    def is_served(self) -> bool:
        """Whether the API server serves the kind, as far as we know."""
        return self._is_served if self.source is None else self.source.is_served

    @property
    def refusal(self) -> str:
        """Why the API server does not let us read it; "" where it does, or was not asked yet."""
        if self.source is None:
            return self._refusal
        return "" if self.source.is_served else self._not_served

    def age(self) -> timedelta | None:
        """How old what is known of it is; None if it was never complete."""
        return self.source.age() if self.source is not None and self.source.synced else None

    def problem(self, limit: timedelta) -> str:
        """Why what is known of it must not be acted on."""
        if self.source is None or not self.source.synced or not self.is_served:
            return self.refusal or NOT_YET
        age = self.source.age()
        return "" if age is not None and age <= limit else self.source.problem or NOT_YET

    @property
    def _not_served(self) -> str:
        api_version, kind = self._kind
        return f"the API server serves no kind {kind} in {api_version}"

    async def run(self) -> None:
        """Watch until cancelled."""
        subject = self._subject
        # What is wrong with one kind is said of its checks; see `_open` for what concerns the process.
        self.resource = await insist(
            subject.part(self._kind),
            self._open,
            (KubernetesError,),
            Problems(),
            EAGER.waits.absent.total_seconds(),
        )
        notify = partial(subject.notify, self._kind)
        self.source = Reflector(
            subject.transport, self.resource, subject.record, notify=notify, settings=EAGER
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.source.run())
            await self.source.wait_synced()
            self.was_tried.set()
            subject.changed(self._kind)
            await self._tell_of_refusals()

    async def _tell_of_refusals(self) -> None:
        known = self.refusal
        while True:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            if self.refusal != known:
                known = self.refusal
                self._subject.changed(self._kind)

    async def _open(self) -> Resource:
        """Where the kind is served, if we may list it."""
        try:
            resource = await self._subject.discovery.resource(*self._kind)
            await self._subject.transport.request("GET", resource.path(), query=(("limit", "1"),))
        except KubernetesError as error:
            self._refused(error)
            raise
        self._subject.problems.report(self._subject.part(self._kind), "")
        self._refusal, self._is_served = "", True
        return resource

    def _refused(self, error: KubernetesError) -> None:
        if isinstance(error, Forbidden):
            # A right that is missing is a fault of the installation, not of the check.
            self._subject.problems.report(self._subject.part(self._kind), error.message)
        self.was_tried.set()
        self._is_served = not isinstance(error, KindUnknown)
        refusal = error.message if isinstance(error, Forbidden) else ""
        if not self._is_served:
            refusal = self._not_served
        if refusal != self._refusal:
            self._refusal = refusal
            self._subject.changed(self._kind)
