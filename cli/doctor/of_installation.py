"""Findings about the installation: its policy, the global stop, its detector and its status, and the clocks.

`paramedic doctor` sees itself whether a detector leads and a worker polls. It cannot see whether the detector
reaches Temporal, because it uses a connection of its own; the ParamedicStatus says so.

The `Date` header of the API server's answers shows the skew of our clock. The leader Lease shows the skew of
the detector's clock: the detector wrote renewTime, and the API server recorded the time of that write in
`managedFields`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import ValidationError

from cli.doctor.finding import Finding, note, problem, warning
from health.cluster.clock_skew import HELD, WARNED, skew_in_words
from health.cluster.global_stop import LeaseNamespace
from health.model.status_writers import ManagedFields
from health.policy.policy import DEFAULTS
from health.policy.policy_document import POLICY, StoredPolicy
from health.policy.policy_in_force import MISSING, NO_OBJECT, PolicyInForce
from kube.client import Client
from kube.errors import Forbidden, KindUnknown, KubernetesError, NotFound, none_if_absent
from kube.lease import LeaseRecord, LeaseSpec, holder_is_valid
from kube.resource import CONFIG_MAPS, LEASES, NAMESPACES, Object
from objects.durations import in_words
from objects.frozen import FrozenObject
from objects.timestamps import stamp
from runtime.paramedic_status import (
    NAME,
    PARAMEDIC_STATUSES,
    STALE,
    ConditionType,
    Installation,
    ParamedicStatusDocument,
)
from runtime.process_names import DETECTOR, LEADER_LEASE
from runtime.settings import Settings


async def read_policy(client: Client, settings: Settings) -> PolicyInForce:
    """The policy in the namespace of `settings`, as a detector reads it that starts now.

    Raises:
        KubernetesError: it cannot be read.
        ValidationError: its ConfigMap is none.

    """
    found = await none_if_absent(client.get(CONFIG_MAPS, POLICY, settings.namespace))
    stored = None if found is None else StoredPolicy.model_validate(found)
    return replace(NO_OBJECT, is_required=settings.requires_policy).after(stored, DEFAULTS)


def policy_findings(found: PolicyInForce, namespace: str) -> Iterator[Finding]:
    """A policy that is missing or invalid, an outage guard that is off, and more orders than by default."""
    if found.is_missing:
        what = f"{MISSING} in the namespace {namespace}: every check is held"
        advice = "create it again; or set PARAMEDIC_MISSING_POLICY=allow, if no policy is meant to exist"
        yield problem("PolicyMissing", what, advice)
    elif found.rejection:
        what = f"{found.stored} cannot be taken: {found.rejection}"
        advice = "correct it; the last valid one is in force, and after a restart nothing new is done"
        yield problem("PolicyRefused", what, advice)
    elif found.policy.outage_guard is None:
        what = "the outage guard is off: nodes that a failing network makes silent all at once are remediated"
        yield note(
            "OutageGuardOff", what, f"consider `outageGuard: {{}}` in the ConfigMap {POLICY} (docs/policy.md)"
        )
    forced, number = found.policy.forced_orders, found.policy.max_orders_in_flight
    if found.policy.orders_by_annotation and (forced or number > DEFAULTS.max_orders_in_flight):
        past = ", also past the threshold (forcedOrders)" if forced else ""
        most = f"{number} at a time for each check{past}"
        what = f"whoever may patch a Node or Machine may order its remediation, {most}"
        yield note("OrdersOpen", what, "`ordersByAnnotation: false` refuses such orders (docs/security.md)")


async def stop_findings(client: Client, namespace: str) -> list[Finding]:
    """The global stop in the namespace of the Leases, or that the namespace is missing.

    Raises:
        KubernetesError: the namespace cannot be read.

    """
    try:
        found = LeaseNamespace.model_validate(await client.get(NAMESPACES, namespace))
    except NotFound:
        what = f"the namespace {namespace} for the Leases of targets is missing, so no remediation begins"
        return [problem("LeaseNamespaceMissing", what, f"`kubectl create namespace {namespace}`")]
    if found.stop is None:
        return []
    since = f", since {stamp(found.stopped_since)}" if found.stopped_since else ""
    return [warning("Stopped", f"{found.stop.words}{since}", "`paramedic start` lifts it")]


async def status_findings(client: Client, namespace: str, now: datetime) -> list[Finding]:
    """Problems that the leading detector reports in the ParamedicStatus of this namespace.

    Raises:
        KubernetesError: it cannot be read.

    """
    try:
        found = await client.get(PARAMEDIC_STATUSES, NAME, namespace)
    except KindUnknown:
        what = f"{PARAMEDIC_STATUSES.full_name} is not served: kubectl does not show whether we can work"
        advice = "apply deploy/base/crds/paramedic.dev_paramedicstatuses.yaml"
        return [warning("StatusNotServed", what, advice)]
    except NotFound:  # no detector has led yet; the finding about its Lease says so
        return []
    return list(own_status_findings(ParamedicStatusDocument.read(found), now))


async def detector_findings(client: Client, namespace: str, now: datetime) -> list[Finding]:
    """Findings if no detector leads by the Lease of this namespace, or if its clock is skewed.

    Raises:
        KubernetesError: the Lease cannot be read.

    """
    found = await none_if_absent(client.get(LEASES, LEADER_LEASE, namespace))
    name = f"{namespace}/{LEADER_LEASE}"
    if found is None:
        return leader_findings(name, None, now)
    return [*leader_findings(name, LeaseRecord.read(found), now), *detector_clock_findings(found)]


async def other_installation_findings(
    client: Client, expected: Sequence[str], settings: Settings, temporal: str
) -> list[Finding]:
    """As `installation_findings`; none if the ParamedicStatus cannot be read, which is another finding."""
    try:
        found = await client.get(PARAMEDIC_STATUSES, NAME, settings.namespace)
    except KubernetesError:
        return []
    stored = ParamedicStatusDocument.read(found).installation
    return list(installation_findings(stored, expected, settings, temporal))


def installation_findings(
    installation: Installation, expected: Sequence[str], settings: Settings, temporal: str
) -> Iterator[Finding]:
    """Compare the configuration of the installation in the namespace of `settings` with that of this command.

    `expected` are the identities that the given name may mean, `temporal` is the Temporal namespace.
    """
    others = "the other findings are about the values of this command"
    if installation.cluster and installation.cluster not in expected:
        where = f"no installation in {settings.namespace}"
        sentence = f"{where} has the cluster {settings.cluster!r}; there is {installation.cluster}"
        advice = f"correct --cluster or PARAMEDIC_CLUSTER, or PARAMEDIC_NAMESPACE; {others}"
        yield problem("OtherInstallation", sentence, advice)
    for subject, variable, stored, chosen in (
        ("Leases in", "PARAMEDIC_LEASE_NAMESPACE", installation.lease_namespace, settings.lease_namespace),
        ("the Temporal namespace", "TEMPORAL_NAMESPACE", installation.temporal_namespace, temporal),
    ):
        if stored and stored != chosen:
            works = f"the detector in {settings.namespace} works with {subject} {stored}"
            advice = f"correct {variable}, or PARAMEDIC_NAMESPACE; {others}"
            yield problem("OtherInstallation", f"{works}, not with {chosen}", advice)


def own_status_findings(status: ParamedicStatusDocument, now: datetime) -> Iterator[Finding]:
    """Problems that the leading detector reports; an outdated status is ignored."""
    if status.is_older(STALE, now):
        return
    temporal = status.unmet(ConditionType.TEMPORAL_REACHABLE)
    if temporal is not None:
        since = stamp(temporal.last_transition_time)
        yield problem(
            "DetectorWithoutTemporal",
            f"{status.heartbeat_by}, which leads, has not reached Temporal since {since}: {temporal.message}",
            "if it is reached from here, look at the detector's TEMPORAL_ settings, network policies and DNS",
        )
    slots = status.unmet(ConditionType.SLOTS_AVAILABLE)
    if slots is not None:
        what = f"targets wait since {stamp(slots.last_transition_time)}: {slots.message}"
        yield warning(
            "SlotsStuck", what, "`paramedic show` says what each of these waits for; end or abort it"
        )
    accepted = status.unmet(ConditionType.INCIDENTS_ACCEPTED)
    if accepted is not None:
        what = f"since {stamp(accepted.last_transition_time)} {accepted.message}"
        advice = "correct what the error names; until then nothing is done for these targets"
        yield problem("IncidentsRefused", what, advice)
    room = status.unmet(ConditionType.CACHES_HAVE_ROOM)
    if room is not None:
        advice = "raise the memory limit of the detector; see docs/large-clusters.md"
        yield warning("CacheNearlyFull", room.message, advice)


_RENEWAL = timedelta(seconds=1)
"""The duration of a renewal, and the resolution of the API server's timestamps."""


class _LeaseMetadata(FrozenObject):
    managed_fields: tuple[ManagedFields, ...] = ()


class _WrittenLease(FrozenObject):
    metadata: _LeaseMetadata
    spec: LeaseSpec

    @property
    def written(self) -> datetime | None:
        """The time of the detector's last write, by the API server's clock."""
        times = [field.time for field in self.metadata.managed_fields if field.manager == DETECTOR]
        return max((time for time in times if time is not None), default=None)


def own_clock_findings(skew: timedelta | None) -> Iterator[Finding]:
    """A finding if the clock of this machine differs from the API server's by more than the limit."""
    if skew is None or abs(skew) <= WARNED:
        return
    what = f"the clock of the machine that this runs on is {skew_in_words(skew)}"
    yield warning("ClockSkew", what, "set it; ages and times in this output are off by as much")


def detector_clock_findings(lease: Object) -> Iterator[Finding]:
    """A finding if the clock of the leading detector differs from the API server's by more than the limit."""
    skew = _skew_of_holder(lease)
    if skew is None or abs(skew) <= WARNED:
        return
    what = f"the clock of the detector that leads is {skew_in_words(skew)}"
    if abs(skew) > HELD:
        yield problem("DetectorClockSkew", f"{what}: every check is held", "set the clock of its machine")
    else:
        held = f"set the clock of its machine, over {in_words(HELD)} every check is held"
        yield warning("DetectorClockSkew", what, held)


def _skew_of_holder(lease: Object) -> timedelta | None:
    """The least skew of the holder's clock; None if the Lease does not show it."""
    try:
        found = _WrittenLease.model_validate(lease)
    except ValidationError:
        return None
    renewed, written = found.spec.renew_time, found.written
    if not found.spec.holder_identity or renewed is None or renewed.tzinfo is None or written is None:
        return None
    apart = renewed - written
    return max(apart - _RENEWAL, min(apart + _RENEWAL, timedelta(0)))


def leader_findings(name: str, lease: LeaseRecord | None, now: datetime) -> list[Finding]:
    """Findings about the leader Lease `name` of our detector; None if there is no such Lease."""
    advice = "start a detector, or look at /readyz of the one that runs"
    if lease is None:
        return [problem("NoDetector", f"no detector has led yet: there is no Lease {name}", advice)]
    if holder_is_valid(lease, now):
        return []
    renewed = lease.spec.renew_time
    last = f", last renewed at {stamp(renewed)}" if renewed else ""
    return [problem("NoDetector", f"no detector leads: no process holds the Lease {name}{last}", advice)]


async def other_detector_findings(client: Client, namespace: str, now: datetime) -> list[Finding]:
    """Detectors that lead by the Lease of another namespace, as far as the caller may list Leases.

    Raises:
        KubernetesError: the API server cannot be asked.

    """
    leases = await leases_named(client, LEADER_LEASE)
    return list(other_leader_findings(LEADER_LEASE, namespace, leases, now))


async def leases_named(client: Client, name: str) -> Sequence[LeaseRecord]:
    """The Leases of that name in all namespaces; none without the right, which our processes lack."""
    try:
        return [LeaseRecord.read(lease) for lease in await client.list(LEASES, name=name)]
    except Forbidden:
        return ()


def other_leader_findings(
    ours: str, namespace: str, leases: Sequence[LeaseRecord], now: datetime
) -> Iterator[Finding]:
    """Detectors that lead by a Lease `ours` in a namespace other than `namespace`."""
    for lease in leases:
        if lease.metadata.namespace == namespace or not holder_is_valid(lease, now):
            continue
        where = lease.metadata.namespace
        yield problem(
            "AnotherDetector",
            f"{lease.spec.holder_identity!r} leads as well, by the Lease {where}/{ours}",
            f"stop it, or give all detectors of this cluster one PARAMEDIC_NAMESPACE (here: {namespace})",
        )
