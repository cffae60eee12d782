"""Questions about the installation: its policy, the global stop, its detector and its status, and the clocks.

The `Date` header of the API server's answers shows the skew of our clock. The leader Lease shows the skew of
the detector's clock: the detector wrote renewTime, and the API server recorded the time of that write in
`managedFields`.
"""

from datetime import timedelta

from pydantic import ValidationError

from cli.doctor.cluster import ExaminedCluster, WrittenMetadata
from cli.doctor.finding import Finding, FindingRule, FindingRules, FindingSeverity, Found
from health.cluster.clock_skew import HELD, WARNED, skew_in_words
from health.cluster.global_stop import LeaseNamespace
from health.policy.policy import DEFAULTS, POLICY
from health.policy.policy_in_force import MISSING
from kube.errors import KindUnknown, NotFound
from kube.lease import LeaseRecord, LeaseSpec, holder_is_valid
from kube.resource import NAMESPACES, Object
from objects.durations import in_words
from objects.frozen import FrozenObject
from objects.timestamps import stamp
from runtime.paramedic_status import (
    CACHES_FULL,
    CACHES_NEARLY_FULL,
    NAME,
    PARAMEDIC_STATUSES,
    STALE,
    ConditionType,
)
from runtime.process_names import DETECTOR, LEADER_LEASE

PROBLEM, WARNING, NOTE = FindingSeverity
INSTALLATION_RULES = FindingRules[ExaminedCluster]()
finds = INSTALLATION_RULES.finds
_RENEWAL = timedelta(seconds=1)
"""The duration of a renewal, and the resolution of the API server's timestamps."""


@finds("NoDetector", PROBLEM, "start a detector, or look at /readyz of the one that runs")
async def no_leader(cluster: ExaminedCluster) -> Found:
    name, found = f"{cluster.settings.namespace}/{LEADER_LEASE}", await cluster.lease(LEADER_LEASE)
    if found is None:
        yield f"no detector has led yet: there is no Lease {name}"
        return
    lease = LeaseRecord.read(found)
    if not holder_is_valid(lease, cluster.now):
        renewed = lease.spec.renew_time
        last = f", last renewed at {stamp(renewed)}" if renewed else ""
        yield f"no detector leads: no process holds the Lease {name}{last}"


@finds(
    "AnotherDetector", PROBLEM, "stop it, or give all detectors of this cluster the same PARAMEDIC_NAMESPACE"
)
async def another_leader(cluster: ExaminedCluster) -> Found:
    for lease in await cluster.leases_everywhere(LEADER_LEASE):
        namespace = lease.metadata.namespace
        if namespace != cluster.settings.namespace and holder_is_valid(lease, cluster.now):
            yield f"{lease.spec.holder_identity!r} leads as well, by the Lease {namespace}/{LEADER_LEASE}"


@finds(
    "OtherInstallation",
    PROBLEM,
    "correct --cluster, PARAMEDIC_CLUSTER, PARAMEDIC_NAMESPACE, PARAMEDIC_LEASE_NAMESPACE or "
    "TEMPORAL_NAMESPACE; the other findings are about the values of this command",
)
async def other_installation(cluster: ExaminedCluster) -> Found:
    settings, installed = cluster.settings, (await cluster.status()).installation
    if installed.cluster and installed.cluster not in cluster.identities:
        where = f"no installation in {settings.namespace}"
        yield f"{where} has the cluster {settings.cluster!r}; there is {installed.cluster}"
    for subject, stored, chosen in (
        ("Leases in", installed.lease_namespace, settings.lease_namespace),
        ("the Temporal namespace", installed.temporal_namespace, cluster.temporal_namespace),
    ):
        if stored and stored != chosen:
            yield f"the detector in {settings.namespace} works with {subject} {stored}, not with {chosen}"


@finds("StatusNotServed", WARNING, "apply deploy/base/crds/paramedic.dev_paramedicstatuses.yaml")
async def status_not_served(cluster: ExaminedCluster) -> Found:
    try:
        await cluster.client.get(PARAMEDIC_STATUSES, NAME, cluster.settings.namespace)
    except KindUnknown:
        yield f"{PARAMEDIC_STATUSES.full_name} is not served: kubectl does not show whether we can work"
    except NotFound:  # no detector has led yet; the finding about its Lease says so
        return


def _says(
    type_: ConditionType, reason: str, severity: FindingSeverity, advice: str, *, because: str | None = None
) -> FindingRule[ExaminedCluster]:
    """The question whether the leading detector reports that this condition is False, not long ago.

    `because`: only for this reason of the condition.
    """

    @finds(reason, severity, advice)
    async def reported(cluster: ExaminedCluster) -> Found:
        status = await cluster.status()
        found = None if status.is_older(STALE, cluster.now) else status.unmet(type_)
        if found is not None and because in (None, found.reason):
            words = found.message or f"{found.type} is False"
            yield f"{status.heartbeat_by} reports since {stamp(found.last_transition_time)}: {words}"

    return reported


without_temporal = _says(
    ConditionType.TEMPORAL_REACHABLE,
    "DetectorWithoutTemporal",
    PROBLEM,
    "if it is reached from here, look at the detector's TEMPORAL_ settings, network policies and DNS",
)
slots_stuck = _says(
    ConditionType.SLOTS_AVAILABLE,
    "SlotsStuck",
    WARNING,
    "`paramedic show` says what each of these waits for; end or abort it",
)
incidents_refused = _says(
    ConditionType.INCIDENTS_ACCEPTED,
    "IncidentsRefused",
    PROBLEM,
    "correct what the error names; until then nothing is done for these targets",
)
_MORE_MEMORY = (
    "raise the memory limit of the detector, or PARAMEDIC_CACHE_LIMIT_MEBIBYTES; see docs/large-clusters.md"
)
cache_nearly_full = _says(
    ConditionType.CACHES_HAVE_ROOM, "CacheNearlyFull", WARNING, _MORE_MEMORY, because=CACHES_NEARLY_FULL
)
cache_full = _says(ConditionType.CACHES_HAVE_ROOM, "CacheFull", PROBLEM, _MORE_MEMORY, because=CACHES_FULL)


@finds("LeaseNamespaceMissing", PROBLEM, "`kubectl create namespace` with this name")
async def lease_namespace_missing(cluster: ExaminedCluster) -> Found:
    namespace = cluster.settings.lease_namespace
    try:
        await cluster.client.get(NAMESPACES, namespace)
    except NotFound:
        yield f"the namespace {namespace} for the Leases of targets is missing, so no remediation begins"


@finds("Stopped", WARNING, "`paramedic start` lifts it")
async def stopped(cluster: ExaminedCluster) -> Found:
    try:
        namespace = await cluster.client.get(NAMESPACES, cluster.settings.lease_namespace)
    except NotFound:
        return
    found = LeaseNamespace.model_validate(namespace)
    if found.stop is not None:
        since = f", since {stamp(found.stopped_since)}" if found.stopped_since else ""
        yield f"{found.stop.words}{since}"


@finds(
    "PolicyMissing",
    PROBLEM,
    "create it again; or set PARAMEDIC_MISSING_POLICY=allow, if no policy is meant to exist",
)
async def policy_missing(cluster: ExaminedCluster) -> Found:
    if (await cluster.policy()).is_missing:
        yield f"{MISSING} in the namespace {cluster.settings.namespace}: every check is held"


@finds(
    "PolicyRefused",
    PROBLEM,
    "correct it; the last valid one is in force, and after a restart nothing new is done",
)
async def policy_refused(cluster: ExaminedCluster) -> Found:
    found = await cluster.policy()
    if found.rejection and not found.is_missing:
        yield f"{found.stored} cannot be taken: {found.rejection}"


@finds("OutageGuardOff", NOTE, f"consider `outageGuard: {{}}` in the ConfigMap {POLICY} (docs/policy.md)")
async def outage_guard_off(cluster: ExaminedCluster) -> Found:
    found = await cluster.policy()
    if not found.rejection and found.policy.outage_guard is None:
        yield "the outage guard is off: nodes that a failing network makes silent all at once are remediated"


@finds("OrdersOpen", NOTE, "`ordersByAnnotation: false` refuses such orders (docs/security.md)")
async def orders_open(cluster: ExaminedCluster) -> Found:
    policy = (await cluster.policy()).policy
    number = policy.max_orders_in_flight
    if policy.orders_by_annotation and (policy.forced_orders or number > DEFAULTS.max_orders_in_flight):
        past = ", also past the threshold (forcedOrders)" if policy.forced_orders else ""
        most = f"{number} at a time for each check{past}"
        yield f"whoever may patch a Node or Machine may order its remediation, {most}"


@finds("ClockSkew", WARNING, "set it; ages and times in this output are off by as much")
async def own_clock(cluster: ExaminedCluster) -> Found:
    skew = cluster.connection.server_clock.skew()
    if skew is not None and abs(skew) > WARNED:
        yield f"the clock of the machine that this runs on is {skew_in_words(skew)}"


@finds("DetectorClockSkew", PROBLEM, "set the clock of its machine")
async def detector_clock(cluster: ExaminedCluster) -> Found:
    lease = await cluster.lease(LEADER_LEASE)
    skew = None if lease is None else skew_of_holder(lease)
    if skew is None or abs(skew) <= WARNED:
        return
    what = f"the clock of the detector that leads is {skew_in_words(skew)}"
    if abs(skew) > HELD:
        yield f"{what}: every check is held"
    else:
        advice = f"set the clock of its machine, over {in_words(HELD)} every check is held"
        yield Finding(severity=WARNING, reason="DetectorClockSkew", what=what, advice=advice)


class _WrittenLease(FrozenObject):
    metadata: WrittenMetadata
    spec: LeaseSpec


def skew_of_holder(lease: Object) -> timedelta | None:
    """The least skew of the holder's clock; None if the Lease does not show it."""
    try:
        found = _WrittenLease.model_validate(lease)
    except ValidationError:
        return None
    renewed = found.spec.renew_time
    # The times of the detector's writes, by the API server's clock.
    fields = found.metadata.managed_fields
    written = [field.time for field in fields if field.manager == DETECTOR and field.time is not None]
    if not (found.spec.holder_identity and renewed and renewed.tzinfo and written):
        return None
    apart = renewed - max(written)
    return max(apart - _RENEWAL, min(apart + _RENEWAL, timedelta(0)))
