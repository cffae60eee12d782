"""What Leases of leaders say: that no detector leads, that another one does, or that the reference runs."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from cli.doctor.finding import Finding, problem, warning
from health.kinds.check_kind import CheckKind
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.openshift.kind import MACHINE_HEALTH_CHECK
from kube.lease import LeaseRecord, holder_is_valid
from objects.timestamps import stamp

OF_REFERENCES = {
    NODE_HEALTH_CHECK.kind: "e1f13584.medik8s.io",
    MACHINE_HEALTH_CHECK.kind: "cluster-api-provider-healthcheck-leader",
}
"""The leader Lease of the reference controller of each kind."""


def leader_findings(name: str, lease: LeaseRecord | None, now: datetime) -> list[Finding]:
    """What is wrong with the leader Lease `name` of our detector, None where there is none."""
    advice = "start a detector, or look at /readyz of the one that runs"
    if lease is None:
        return [problem("NoDetector", f"no detector has led yet: there is no Lease {name}", advice)]
    if holder_is_valid(lease, now):
        return []
    renewed = lease.spec.renew_time
    last = f", last renewed at {stamp(renewed)}" if renewed else ""
    return [problem("NoDetector", f"no detector leads: nobody holds the Lease {name}{last}", advice)]


def other_leader_findings(
    ours: str, namespace: str, leases: Sequence[LeaseRecord], now: datetime
) -> Iterator[Finding]:
    """Detectors that lead by a Lease `ours` in another namespace than `namespace`."""
    for lease in leases:
        if lease.metadata.namespace == namespace or not holder_is_valid(lease, now):
            continue
        where = lease.metadata.namespace
        yield problem(
            "AnotherDetector",
            f"{lease.spec.holder_identity!r} leads as well, by the Lease {where}/{ours}",
            f"stop it, or give all detectors of this cluster one PARAMEDIC_NAMESPACE (here: {namespace})",
        )


def reference_findings(kind: CheckKind, leases: Sequence[LeaseRecord], now: datetime) -> Iterator[Finding]:
    """Reference controllers of a kind that hold one of `leases`, which are of the name that they use."""
    for lease in leases:
        if not holder_is_valid(lease, now):
            continue
        place, holder = f"{lease.metadata.namespace}/{lease.metadata.name}", lease.spec.holder_identity
        yield warning(
            "ReferenceRuns",
            f"the reference controller of {kind.kind}s runs: {holder!r} holds the Lease {place}",
            "stop it, two controllers would remediate the same targets",
        )
