"""Questions about the checks: kinds, parsing, conditions, selection, shadow, and a second controller."""

from datetime import timedelta

from cli.doctor.cluster import ExaminedCheck, ExaminedCluster
from cli.doctor.finding import Finding, FindingRules, FindingSeverity, Found, listed
from cli.shared.ages import short
from health.kinds.check_kind import UNREADABLE
from health.runbook.escalation import is_classic
from kube.errors import KindUnknown
from kube.lease import holder_is_valid
from objects.timestamps import stamp
from runtime.process_names import DETECTOR, WORKER

PROBLEM, WARNING, NOTE = FindingSeverity
CHECK_RULES = FindingRules[ExaminedCluster]()
finds = CHECK_RULES.finds
RECENTLY = timedelta(hours=1)
_OURS = frozenset({DETECTOR, WORKER})
"""The field managers of our processes."""
_STATUSES = frozenset({"True", "False", "Unknown"})
_NUMBERS = ("observedNodes", "expectedMachines")
"""The number of selected targets, in the status of any kind of check."""
_TWO_CONTROLLERS = "two controllers would remediate the same targets"


@finds("KindNotServed", PROBLEM, "install the CRDs, or leave it out of --check-kinds")
async def kind_not_served(cluster: ExaminedCluster) -> Found:
    for kind in cluster.settings.check_kinds:
        try:
            await cluster.stored_checks(kind)
            await cluster.connection.discovery.find(kind.targets)
        except KindUnknown:
            yield f"{kind.resource_name} is handled, and the API server does not serve it, or not its targets"


@finds(UNREADABLE, PROBLEM, "correct it; until then it does nothing")
async def unreadable(cluster: ExaminedCluster) -> Found:
    for check in await cluster.checks():
        if check.parsed.problem is not None:
            yield f"{check.name} cannot be read: {check.parsed.problem}"


@finds("CheckFails", PROBLEM, "fix the problem that it names; the fix is noticed by itself")
async def failing(cluster: ExaminedCluster) -> Found:
    """Conditions by which a check says that it does not work, each with the reason of its kind."""
    for check in await cluster.checks():
        if check.valid is None:
            continue  # its conditions are redundant, or out of date
        for condition in check.status.get("conditions") or ():
            for sign in check.kind.failing_conditions:
                if sign.is_shown_by(condition):
                    why = ": ".join(condition[key] for key in ("reason", "message") if condition.get(key))
                    what = f"{check.name} {sign.words}: {why}"
                    yield Finding(severity=PROBLEM, reason=sign.finding, what=what, advice=sign.advice)


@finds("SelectsNothing", WARNING, "correct spec.selector, or delete the check")
async def selects_nothing(cluster: ExaminedCluster) -> Found:
    for check in await cluster.checks():
        if total_of(check) == 0:
            yield f"{check.name} selects none of the {check.kind.targets.kind}s, by its status"


def total_of(check: ExaminedCheck) -> int | None:
    """The number of targets in the status of a check; None before a controller has written it."""
    counts = [check.status.get(name) for name in _NUMBERS]
    return next((count for count in counts if isinstance(count, int)), None)


@finds("NeverAllows", WARNING, "correct its threshold, if it is not meant as a pause")
async def never_allows(cluster: ExaminedCluster) -> Found:
    for check in await cluster.checks():
        total, valid = total_of(check), check.valid
        if not total or valid is None:
            continue
        numbers = reversed(range(total))
        if not any(valid.allowance(total=total, healthy=healthy).allowed for healthy in numbers):
            limit = valid.allowance(total=total, healthy=total - 1).limit
            targets = f"{total} {check.kind.targets.kind}s"
            yield f"{check.name} never allows a remediation of its {targets}: {limit}"


@finds("WatchesNoCondition", PROBLEM, "list the conditions in the fields of its apiVersion")
async def watches_no_condition(cluster: ExaminedCluster) -> Found:
    for check in await cluster.checks():
        if check.valid is not None and not check.valid.condition_rules:
            yield f"{check.name} watches no condition, so no target is remediated for one"


@finds("StatusImpossible", PROBLEM, "correct the status")
async def impossible_status(cluster: ExaminedCluster) -> Found:
    for check in await cluster.checks():
        for rule in check.valid.condition_rules if check.valid is not None else ():
            if rule.status not in _STATUSES:
                wanted = f"{rule.type}={rule.status}"
                yield f"{check.name} waits for {wanted}, and a condition is True, False or Unknown"


@finds("NoNextStep", WARNING, "remove the annotation: only an escalation has a next step")
async def no_next_step(cluster: ExaminedCluster) -> Found:
    for check in await cluster.checks():
        valid = check.valid
        if valid is not None and valid.choices.relapse is not None and is_classic(valid):
            one_step = "its remediations have one step"
            yield f"{check.name} has paramedic.dev/relapse, which changes nothing: {one_step}"


@finds("InShadow", NOTE, "`paramedic shadow` compares; docs/shadow.md says how to leave it")
async def in_shadow(cluster: ExaminedCluster) -> Found:
    for kind in cluster.settings.check_kinds:
        names = [check.name for check in await cluster.checks_of(kind) if check.is_shadow]
        if names:
            shown = ", ".join(listed(names))
            yield f"nothing is written for {len(names)} {kind.plural}, which are in shadow: {shown}"


@finds("ReferenceRuns", WARNING, f"stop it, {_TWO_CONTROLLERS}")
async def operator_runs(cluster: ExaminedCluster) -> Found:
    """Operators with a valid Lease; a note if several controllers share that Lease."""
    for kind in cluster.settings.check_kinds:
        checks = await cluster.checks_of(kind)
        if checks and all(check.is_shadow for check in checks):
            continue  # in shadow, the operator is expected to run
        for lease in await cluster.leases_everywhere(kind.operator_lease):
            if not holder_is_valid(lease, cluster.now):
                continue
            place, holder = f"{lease.metadata.namespace}/{lease.metadata.name}", lease.spec.holder_identity
            if not kind.operator_guide:
                yield f"the {kind.operator} runs: {holder!r} holds the Lease {place}"
                continue
            yield Finding(
                severity=NOTE,
                reason="ReferenceControllerMayRun",
                what=f"{holder!r} holds the Lease {place} for all controllers of {kind.operator} together, "
                f"and nothing says whether the one of {kind.plural} is off",
                advice=f"make sure by {kind.operator_guide}, {_TWO_CONTROLLERS}; "
                f"do not stop it, other controllers of {kind.operator} are in that process",
            )


@finds("StatusWrittenByAnother", WARNING, f"make sure that it is stopped, {_TWO_CONTROLLERS}")
async def written_by_another(cluster: ExaminedCluster) -> Found:
    """Other field managers that wrote the status of a check after us, or within the last hour.

    An old entry proves nothing: a stopped controller leaves it. A detector soon takes over the fields, so a
    running writer may have no entry.
    """
    for check in await cluster.checks():
        fields = [one for one in check.metadata.managed_fields if one.subresource == "status"]
        times = {} if check.is_shadow else {one.manager: one.time for one in fields if one.time is not None}
        ours = max((time for manager, time in times.items() if manager in _OURS), default=None)
        for manager, time in times.items():
            age = cluster.now - time
            if manager in _OURS or (age > RECENTLY and (ours is None or time <= ours)):
                continue
            ago = short(max(timedelta(), age))
            what = f"{manager!r} wrote the status of {check.name} {ago} ago (at {stamp(time)})"
            if manager == check.kind.operator_manager:
                advice = f"make sure by {check.kind.operator_guide} that it remediates nothing"
                yield Finding(severity=NOTE, reason="StatusWrittenByAnother", what=what, advice=advice)
            else:
                yield what
