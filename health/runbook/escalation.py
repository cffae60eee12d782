"""Escalation: which request is running, until when, and which step comes next. Pure.

Rule (NHC 2.4/2, NHC 2.4/6, rules 10, 18, 22): the steps are tried in their order, each once. A request is
over when its step's timeout has passed since its creation, when its remediator reports Succeeded=False, when
it is annotated as timed out, or by a person's order `skip`; it is not deleted then. A step without a timeout
(a classic remediation) fails by that annotation alone. A request whose template the check no longer lists
keeps running until it fails or is annotated, and the next step is taken from the new list. With no step left
the remediation is exhausted.

A person means a step by a name of its template; the shortest such name is shown.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from health.model.references import RequestReference, Step, TemplateReference
from health.model.request_snapshot import RequestSnapshot
from objects.bounds import bounded_seconds

CLASSIC_LEASE = timedelta(minutes=10)
"""The duration of a Lease for a step without a timeout (NHC 2.5)."""


class Stepped(Protocol):
    """Any object that has steps: a check or an observation."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of a remediation, in order."""


def lease_duration(step: Step) -> timedelta:
    """The duration of the target's Lease while `step` runs (NHC 2.5/durations)."""
    return timedelta(seconds=step.timeout_seconds) if step.timeout_seconds else CLASSIC_LEASE


def is_classic(check: Stepped) -> bool:
    """True for a remediation without timeouts, which is not an escalation."""
    return all(step.timeout_seconds is None for step in check.steps)


@dataclass(frozen=True)
class StepProgress:
    """The progress of a remediation at one time."""

    running: RequestSnapshot | None
    """The request that is running."""
    until: datetime | None
    """When that request times out; None: only its remediator ends it."""
    over: tuple[RequestSnapshot, ...]
    next_step: int | None
    """The next step once no request runs; None: no template is left."""

    @property
    def due_step(self) -> int | None:
        """The step to take now; None while a request runs, or if no template is left."""
        return self.next_step if self.running is None else None

    @property
    def is_exhausted(self) -> bool:
        """True if every step was tried and failed."""
        return self.running is None and self.next_step is None


@dataclass(frozen=True)
class Plan:
    """The steps of a check and the steps already tried."""

    steps: Sequence[Step]
    spent: Sequence[TemplateReference] = ()
    """Templates that were tried; the cluster may no longer show their requests."""
    skipped: Collection[str] = ()
    """The uids of requests that a person's order ended."""

    def progress(self, requests: Iterable[RequestSnapshot], now: datetime) -> StepProgress:
        """The progress of a remediation with these requests at `now`."""
        by_age = sorted(requests, key=lambda request: request.created)
        over = tuple(request for request in by_age if self.is_over(request, now))
        running = next((request for request in reversed(by_age) if request not in over), None)
        until = None if running is None else self.end_of(running)
        tried = {step for request in over for step in self._steps_of(request.reference)}
        numbered = enumerate(self.steps)
        untried = (n for n, step in numbered if step.template not in self.spent and step not in tried)
        return StepProgress(running, until, over, next(untried, None))

    def latest(self, requests: Iterable[RequestSnapshot]) -> RequestSnapshot:
        """The latest request; of two created in the same second, the one of the later step."""
        numbers: dict[Step | None, int] = {step: number for number, step in enumerate(self.steps)}
        return max(
            requests, key=lambda request: (request.created, numbers.get(self.step_of(request.reference), -1))
        )

    def is_over(self, request: RequestSnapshot, now: datetime) -> bool:
        """True if the request has timed out, has failed, or was skipped."""
        if request.uid in self.skipped or self.timed_out_at(request, now) is not None:
            return True
        step = self.step_of(request.reference)
        may_fail = step is None or step.timeout_seconds is not None
        return may_fail and request.succeeded is False

    def timed_out_at(self, request: RequestSnapshot, now: datetime) -> datetime | None:
        """When it timed out; None while it has not. A request that succeeded is not annotated."""
        end = self.end_of(request)
        return request.timed_out_at or (end if end is not None and now > end else None)

    def end_of(self, request: RequestSnapshot) -> datetime | None:
        """When its step times out; None for a step without a timeout or a template no longer listed."""
        step = self.step_of(request.reference)
        if step is None or step.timeout_seconds is None:
            return None
        return request.created + timedelta(seconds=step.timeout_seconds)

    def step_of(self, request: RequestReference) -> Step | None:
        """The step of a request; None if the check no longer lists its template."""
        return next(iter(self._steps_of(request)), None)

    def _steps_of(self, request: RequestReference) -> list[Step]:
        """The possible steps of a request; other API versions count only if none matches exactly."""
        steps = [step for step in self.steps if _is_made_from(request, step.template)]
        return [step for step in steps if step.template.api_version == request.api_version] or steps

    def time_before(self, step: Step) -> timedelta:
        """The sum of the timeouts of all steps before `step` (NHC 2.5/overdue)."""
        before = self.steps[: list(self.steps).index(step)] if step in self.steps else ()
        return timedelta(seconds=bounded_seconds(sum(earlier.timeout_seconds or 0 for earlier in before)))


def _is_made_from(request: RequestReference, template: TemplateReference) -> bool:
    """True if the request is of that template; a request that does not name its template matches any.

    Versions of a kind are not distinguished, because the check may name another version than the request's.
    """
    group, _, _ = request.api_version.rpartition("/")
    template_group, _, _ = template.api_version.rpartition("/")
    is_kind = (group, request.kind) == (template_group, template.request_kind)
    # A request of a cluster-scoped kind has no namespace, even if the check gives one for its template.
    is_there = request.namespace in ("", template.namespace)
    return is_kind and is_there and request.template in ("", template.name)


def meant_by(name: str, templates: Iterable[TemplateReference]) -> frozenset[TemplateReference]:
    """The templates that `name` may mean: NAME, KIND/NAME or KIND/NAMESPACE/NAME."""
    return frozenset(template for template in templates if name in template.names)


def short_name(template: TemplateReference, templates: Iterable[TemplateReference]) -> str:
    """The shortest name with its kind that means this template and no other of `templates`."""
    name = f"{template.kind}/{template.name}"
    others = (other for other in templates if other != template)
    return str(template) if meant_by(name, others) else name
