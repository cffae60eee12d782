"""Findings from the ParamedicStatus that this command cannot observe itself.

`paramedic doctor` sees itself whether a detector leads and a worker polls. It cannot see whether the detector
reaches Temporal, because it uses a connection of its own.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from cli.doctor.finding import Finding, problem, warning
from objects.timestamps import stamp
from runtime.paramedic_status import (
    PARAMEDIC_STATUSES,
    STALE,
    Answer,
    ConditionType,
    Installation,
    ParamedicStatusDocument,
)
from runtime.settings import Settings


def not_served() -> Finding:
    """The finding that the CRD of ParamedicStatus is missing."""
    what = f"{PARAMEDIC_STATUSES.full_name} is not served: kubectl does not show whether we can work"
    return warning("StatusNotServed", what, "apply deploy/base/crds/paramedic.dev_paramedicstatuses.yaml")


def installation_findings(
    installation: Installation, expected: Sequence[str], settings: Settings, temporal: str
) -> Iterator[Finding]:
    """Compare the configuration of the installation in the namespace of `settings` with that of this command.

    `expected` are the identities that the given name may mean, `temporal` is the Temporal namespace.
    """
    for what, variable, stored, given in (
        ("the cluster", "PARAMEDIC_CLUSTER", installation.cluster, expected),
        ("Leases in", "PARAMEDIC_LEASE_NAMESPACE", installation.lease_namespace, (settings.lease_namespace,)),
        ("the Temporal namespace", "TEMPORAL_NAMESPACE", installation.temporal_namespace, (temporal,)),
    ):
        if stored and stored not in given:
            sentence = f"the detector in {settings.namespace} works with {what} {stored}, not with {given[0]}"
            advice = f"correct {variable}, or PARAMEDIC_NAMESPACE; this command looked at what it was given"
            yield problem("OtherInstallation", sentence, advice)


def own_status_findings(status: ParamedicStatusDocument, now: datetime) -> Iterator[Finding]:
    """Problems that the leading detector reports; an outdated status is ignored."""
    if status.is_older(STALE, now):
        return
    temporal = status.condition(ConditionType.TEMPORAL_REACHABLE)
    if temporal is not None and temporal.status == Answer.FALSE:
        since = stamp(temporal.last_transition_time)
        yield problem(
            "DetectorWithoutTemporal",
            f"{status.heartbeat_by}, which leads, has not reached Temporal since {since}: {temporal.message}",
            "if it is reached from here, look at the detector's TEMPORAL_ settings, network policies and DNS",
        )
    slots = status.condition(ConditionType.SLOTS_AVAILABLE)
    if slots is not None and slots.status == Answer.FALSE:
        what = f"targets wait since {stamp(slots.last_transition_time)}: {slots.message}"
        yield warning(
            "SlotsStuck", what, "`paramedic show` says what each of these waits for; end or abort it"
        )
