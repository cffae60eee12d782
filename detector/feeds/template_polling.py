"""TemplatePolling: reads templates one by one where we may get but not list them.

A remediator that was made for the NodeHealthCheck operator may grant only `get` on its templates. This right
is enough to act: the detector reads the templates that checks name as often as that operator does, and at
once when a check is edited. Other templates stay unknown.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from detector.feeds.kind_watch import Kind
from health.check.template_validity import Place, Template, TemplateKind
from health.gate.check_holds import UnreadSource
from health.model.references import TemplateReference
from kube.connection import ClusterConnection
from kube.decoding import Decoder, Undecodable
from kube.decoding_thread import decoded
from kube.errors import KindUnknown, KubernetesError, NotFound, RequestRefused
from kube.resource import Resource
from kube.server_clock import monotonic_clock, wall_clock

EVERY = timedelta(seconds=15)


class Naming(NamedTuple):
    """The template that one check names in this generation."""

    generation: int
    template: TemplateReference

    @property
    def kind(self) -> Kind:
        return self.template.api_version, self.template.kind


@dataclass(frozen=True)
class UndecodableTemplate:
    """The template exists, but does not decode."""

    why: str


@dataclass(frozen=True)
class RefusedTemplate:
    """The API server refuses to let us read the template."""

    why: str


@dataclass(frozen=True)
class NotServed(RefusedTemplate):
    """The API server does not serve the kind of the template."""


@dataclass(frozen=True)
class Reading:
    """The last answer of the API server about one template."""

    at: float = field(compare=False)
    found: Template | UndecodableTemplate | RefusedTemplate | None
    """None: it does not exist."""
    read_at: datetime = field(compare=False, default_factory=wall_clock)


class TemplatePolling:
    """The latest reading of each named template; kinds that may be listed are not read."""

    def __init__(
        self,
        connection: ClusterConnection,
        changed: Callable[[Kind], None],
        *,
        every: Callable[[], timedelta] = lambda: EVERY,
        clock: Callable[[], float] = monotonic_clock,
    ) -> None:
        self._connection = connection
        self._changed = changed
        self.every = every
        self._clock = clock
        self._decoder = Decoder(Template)
        self._named: dict[Kind, Counter[TemplateReference]] = defaultdict(Counter)
        """By kind, how many checks name each template."""
        self._edited: dict[Kind, asyncio.Event] = defaultdict(asyncio.Event)
        self._readings: dict[TemplateReference, Reading] = {}
        self._failing: dict[TemplateReference, UnreadSource] = {}
        """Templates whose latest request failed, with its error."""

    def name(self, before: frozenset[Naming], now: frozenset[Naming]) -> None:
        """Read the templates that a check names now, and not those that only its earlier version named."""
        for naming in now - before:
            self._named[naming.kind][naming.template] += 1
        for kind, template in ((naming.kind, naming.template) for naming in before - now):
            self._named[kind][template] -= 1
            if not self._named[kind][template]:
                del self._named[kind][template]
                self._forget(template)
        for naming in before ^ now:
            self._edited[naming.kind].set()

    def _forget(self, template: TemplateReference) -> None:
        self._readings.pop(template, None)
        self._failing.pop(template, None)

    async def read(self, kind: Kind, resource: Resource) -> None:
        """Read all named templates of a kind.

        Raises the first KubernetesError after all of them were tried.
        """
        self._edited[kind].clear()
        before, failure = dict(self._readings), None
        for template in self._templates(kind):
            try:
                await self._read(template, resource)
            except KubernetesError as error:
                failure = failure or error
                before_it = self._failing.get(template, UnreadSource(str(template)))
                self._failing[template] = before_it.failing(error.message, wall_clock())
            else:
                self._failing.pop(template, None)
            if template not in self._named[kind]:
                self._forget(template)  # no check names it any more since the request was sent
        if self._readings != before:
            self._changed(kind)
        if failure is not None:
            raise failure

    async def wait_due(self, kind: Kind) -> None:
        """Return when the next read is due: after the interval, or when a check was edited."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.every().total_seconds()):
                await self._edited[kind].wait()

    def kind(self, kind: Kind, *, is_namespaced: bool) -> TemplateKind:
        """The known templates of a kind that is polled."""
        scope = TemplateKind(is_namespaced=is_namespaced)
        readings = {scope.place(template): self._readings.get(template) for template in self._templates(kind)}
        read = {place: reading.found for place, reading in readings.items() if reading is not None}
        not_served = next((found.why for found in read.values() if isinstance(found, NotServed)), "")
        if not_served:
            return replace(scope, rejection=not_served)
        templates: dict[Place, Template] = {
            at: found for at, found in read.items() if isinstance(found, Template)
        }
        return TemplateKind(
            templates=templates,
            unreadable={
                place: found.why for place, found in read.items() if isinstance(found, UndecodableTemplate)
            },
            is_namespaced=is_namespaced,
            refused={place: found.why for place, found in read.items() if isinstance(found, RefusedTemplate)},
            unread=frozenset(readings.keys() - read.keys()),
        )

    def unread(self, templates: Iterable[TemplateReference], limit: timedelta) -> UnreadSource | None:
        """Why these templates must not be acted on; None if they may."""
        for template in templates:
            reading = self._readings.get(template)
            if reading is None or timedelta(seconds=self._clock() - reading.at) > limit:
                since = None if reading is None else reading.read_at
                return self._failing.get(template, UnreadSource(str(template), since=since))
        return None

    def age(self, kind: Kind) -> timedelta | None:
        """Age of the oldest reading of a kind; None if one is missing or refused."""
        readings = [self._readings.get(template) for template in self._templates(kind)]
        times = [
            reading.at
            for reading in readings
            if reading is not None and not isinstance(reading.found, RefusedTemplate)
        ]
        if not times or len(times) < len(readings):
            return None
        return timedelta(seconds=self._clock() - min(times))

    async def _read(self, template: TemplateReference, resource: Resource) -> None:
        if resource.namespaced and not template.namespace:
            return  # the check reports it, and the path would not lead to any object
        at, path = self._clock(), resource.path(template.namespace, template.name)
        try:
            answer = await self._connection.transport.request("GET", path, most_values=None)
            found = await decoded(self._decoder.object, answer)
        except (RequestRefused, KindUnknown) as error:
            refused = NotServed if isinstance(error, KindUnknown) else RefusedTemplate
            self._readings[template] = Reading(at, refused(error.message))
            raise
        except NotFound:
            self._readings[template] = Reading(at, None)
            return
        read = UndecodableTemplate(found.error) if isinstance(found, Undecodable) else found
        self._readings[template] = Reading(at, read)

    def _templates(self, kind: Kind) -> list[TemplateReference]:
        return sorted(self._named[kind], key=str) if kind in self._named else []
