"""Notes about remediators: those that the checks use, and those that fit a cluster whose checks use none."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cli.doctor.finding import Finding, note
from cli.doctor.remediators import REMEDIATORS, TEST_ON_ONE_NODE, Platform, Remediator, Tried
from health.check.health_check import HealthCheck
from health.model.references import NO_TEMPLATE, TemplateReference


@dataclass(frozen=True)
class RemediatorUse:
    """A remediator, with the checks that use it."""

    remediator: Remediator
    checks: tuple[str, ...]
    template: TemplateReference = NO_TEMPLATE
    """One of their templates, all of one kind; NO_TEMPLATE: these checks name none."""


@dataclass(frozen=True, kw_only=True)
class RemediatorPresence:
    """The parts of one remediator that the cluster has."""

    is_served: bool
    """True if the API server serves its template and, for a used remediator, its requests."""
    controller: str = ""
    """The Lease or Deployment that shows its controller; "": none was found."""
    is_hidden: bool = False
    """True if the caller may see neither Leases nor Deployments of others."""
    lacks_rights: bool | None = False
    """True if our processes may not do all that requests need; None: the caller may not review that."""


def uses_of(checks: Iterable[HealthCheck]) -> list[RemediatorUse]:
    """The remediators that these checks use, in the order of their steps."""
    found: dict[tuple[str, str], RemediatorUse] = {}
    for use in (use for check in checks for use in _uses(check)):
        key = (use.remediator.group, use.remediator.name)
        before = found.get(key, use)
        names = tuple(dict.fromkeys((*before.checks, *use.checks)))
        found[key] = replace(before, checks=names)
    return list(found.values())


def use_finding(use: RemediatorUse, presence: RemediatorPresence) -> Finding:
    """The note about a remediator that checks use; `presence` does not matter without a template."""
    row, checks = use.remediator, ", ".join(use.checks)
    advice = f"it needs {row.needs} ({row.anchor}); before you rely on it: {TEST_ON_ONE_NODE}"
    if use.template == NO_TEMPLATE:
        what = f"{checks} without a template: the remediator, {row.name} ({row.tried}), {row.acts}"
        return note("RemediatorUsed", what, advice)
    state = ", ".join((_served(presence), *_controller(row, presence), _rights(presence)))
    what = f"{use.template.request_kind}s are made for {checks}: {row.name} ({row.tried}) {state}"
    is_there = presence.is_served and (presence.controller or presence.is_hidden or not row.deployment)
    return note("RemediatorUsed" if is_there else "RemediatorNotFound", what, advice)


def fitting_findings(seen: frozenset[Platform], present: Sequence[RemediatorPresence]) -> Iterator[Finding]:
    """A note about each remediator that fits a cluster whose checks use none.

    `present` has one entry for each row of the table.
    """
    where = " and ".join(platform for platform in Platform if platform in seen) or "no machine API"
    for row, presence in zip(REMEDIATORS, present, strict=True):
        if row.fits(seen):
            what = f"no check remediates yet, in a cluster with {where}: {row.name} ({row.tried}) {row.acts}"
            crds = f"it {_served(presence)}, and" if row.template else "it"
            advice = f"{crds} needs {row.needs} ({row.anchor}); begin with {TEST_ON_ONE_NODE}"
            yield note("RemediatorFits", what, advice)


def _uses(check: HealthCheck) -> Iterator[RemediatorUse]:
    names = (str(check.reference).replace("/", " ", 1),)
    if check.steps:
        yield from (RemediatorUse(_row_of(step.template), names, step.template) for step in check.steps)
        return
    for row in REMEDIATORS:
        if row.without_template == check.reference.group:
            yield RemediatorUse(row, names)


def _row_of(template: TemplateReference) -> Remediator:
    wanted = (template.api_version.partition("/")[0], template.kind)
    return next((row for row in REMEDIATORS if (row.group, row.template) == wanted), _another(template))


def _another(template: TemplateReference) -> Remediator:
    return Remediator(
        name=template.request_kind,
        acts="is not in our table",
        needs="a role that lets Paramedic make its requests",
        tried=Tried.NO,
        api_version=template.api_version,
        template=template.kind,
        section="Another remediator",
    )


def _served(presence: RemediatorPresence) -> str:
    return "has its CRDs here" if presence.is_served else "has no CRDs here"


def _controller(row: Remediator, presence: RemediatorPresence) -> Iterator[str]:
    if presence.controller:
        yield f"its controller has {presence.controller}"
    elif row.deployment and presence.is_hidden:
        yield "you may not see whether its controller runs"
    elif row.deployment:
        yield f"its controller has neither a Deployment {row.deployment} nor holds a Lease {row.lease}"


def _rights(presence: RemediatorPresence) -> str:
    if not presence.is_served:
        return "so that Paramedic can make no requests"
    if presence.lacks_rights is None:
        return "and you may not see whether Paramedic may make its requests"
    return f"and Paramedic {'lacks rights for' if presence.lacks_rights else 'may make'} its requests"
