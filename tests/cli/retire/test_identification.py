"""Which name of a cluster may be retired: values in, a refusal or none out."""

from typing import Any

import pytest

from cli.retire.identification import Traces, refuse_other_name, refuse_other_place, traces_of
from cli.retire.owned_objects import Snapshot, Stored
from cli.shared.errors import ExitCode, NotFoundError
from cli.shared.installations import FoundInstallation, named_by_leases, named_by_statuses
from health.model.references import CheckReference, IncidentReference, TargetReference
from health.model.remediation_request import INCIDENT
from kube.resource import Resource
from runtime.paramedic_status import Installation
from runtime.process_names import CLUSTER_ANNOTATION
from runtime.settings import Settings
from tests.support.values.builders import NOW

PROD, TYPO = "prod-1a2b3c4d", "prdo-1a2b3c4d"
INSTALLED = FoundInstallation(
    "ParamedicStatus ours/paramedic", "ours", Installation(cluster=PROD, lease_namespace="leases")
)


def installed(cluster: str) -> Traces:
    return Traces(installed=[FoundInstallation("Lease ours/l", "ours", Installation(cluster=cluster))])


@pytest.mark.parametrize(
    ("traces", "beside"),
    [
        ({PROD: installed(PROD)}, ()),
        ({PROD: Traces(closed=1)}, ()),
        ({PROD: Traces(open=1)}, ()),
        ({PROD: Traces(requests=1)}, ()),
        ({PROD: installed(PROD), "old-1a2b3c4d": Traces(closed=9)}, ()),
        ({PROD: installed(PROD), "old-1a2b3c4d": Traces(open=9)}, ("old",)),
        ({PROD: Traces(closed=1), "new-1a2b3c4d": installed("new-1a2b3c4d")}, ("new-1a2b3c4d",)),
    ],
    ids=[
        "that never had an incident",
        "of which Temporal remembers incidents",
        "that has an open incident",
        "that has a request",
        "with an earlier name in the past",
        "with another name that a person knows of",
        "with another installation that a person knows of",
    ],
)
def test_installation_is_retired(traces: dict[str, Traces], beside: tuple[str, ...]) -> None:
    refuse_other_name(PROD, traces, beside)


@pytest.mark.parametrize(
    ("given", "traces", "words"),
    [
        (TYPO, {}, "no installation called prdo-1a2b3c4d, nothing was changed: there is none of any name"),
        (
            TYPO,
            {PROD: installed(PROD)},
            "called prdo-1a2b3c4d, nothing was changed: prod-1a2b3c4d has Lease ours/l",
        ),
        (TYPO, {PROD: Traces(open=2, closed=1)}, "prod-1a2b3c4d has 2 open workflows, 1 closed workflows"),
        (TYPO, {PROD: Traces(requests=2)}, "prod-1a2b3c4d has 2 requests"),
        (PROD, {PROD: Traces(closed=1), "new-1a2b3c4d": installed("new")}, "--beside new-1a2b3c4d"),
        (PROD, {PROD: Traces(closed=1), "new-1a2b3c4d": Traces(closed=1)}, "--beside new-1a2b3c4d"),
        (PROD, {PROD: installed(PROD), "old-1a2b3c4d": Traces(open=1)}, "old-1a2b3c4d has 1 open workflows"),
        (PROD, {PROD: installed(PROD), "old-1a2b3c4d": Traces(requests=1)}, "old-1a2b3c4d has 1 requests"),
        (PROD, {PROD: installed(PROD), "old-1a2b3c4d": installed("old")}, "old-1a2b3c4d has Lease ours/l"),
    ],
)
def test_other_name_is_refused_with_the_names_that_there_are(
    given: str, traces: dict[str, Traces], words: str
) -> None:
    with pytest.raises(NotFoundError) as refused:
        refuse_other_name(given, traces)
    assert words in str(refused.value)
    assert refused.value.code is ExitCode.NOT_FOUND


def test_name_that_a_person_knows_of_does_not_make_an_unknown_one_known() -> None:
    with pytest.raises(NotFoundError):
        refuse_other_name(TYPO, {PROD: installed(PROD)}, ("prod",))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"namespace": "other"}, "PARAMEDIC_NAMESPACE=ours, and other is given"),
        ({"lease_namespace": "other"}, "PARAMEDIC_LEASE_NAMESPACE=leases, and other is given"),
        ({"temporal": "other"}, "TEMPORAL_NAMESPACE=nodes, and other is given"),
    ],
)
def test_other_namespaces_than_those_of_the_installation_are_refused(
    given: dict[str, str], words: str
) -> None:
    known = Installation(cluster=PROD, lease_namespace="leases", temporal_namespace="nodes")
    traces = {PROD: Traces(installed=[FoundInstallation("its status", "ours", known)])}
    place = {"namespace": "ours", "lease_namespace": "leases", "temporal": "nodes"}

    def refuse(temporal: str, **namespaces: Any) -> None:
        refuse_other_place(PROD, traces, Settings(cluster="prod", **namespaces), temporal)

    refuse(**place)
    refuse(**place | {"temporal": ""})
    with pytest.raises(NotFoundError, match=words):
        refuse(**place | given)


def test_traces_are_of_names_of_this_cluster_alone() -> None:
    def request(cluster: str) -> Stored:
        check = CheckReference(kind="NodeHealthCheck", name="workers")
        target = TargetReference(kind="Node", name="n", uid="0123abcd-2222")
        incident = IncidentReference(cluster=cluster, check=check, target=target)
        metadata = {
            "name": "n",
            "uid": "u",
            "creationTimestamp": NOW.isoformat(),
            "annotations": {INCIDENT: incident.workflow_id},
        }
        return Stored(
            Resource("example.com/v1", "Reboot", "reboots", namespaced=True), {"metadata": metadata}
        )

    elsewhere = FoundInstallation("copied", "ours", Installation(cluster="prod-ffffffff"))
    snapshot = Snapshot(
        now=NOW,
        requests=(request(PROD), request(PROD), request("prod-ffffffff")),
        installed=(INSTALLED, elsewhere),
    )
    found = traces_of(TYPO, snapshot, {PROD: Traces(open=3), "test-ffffffff": Traces(open=1)})
    assert found == {PROD: Traces(installed=[INSTALLED], requests=2, open=3)}


def test_status_and_lease_that_name_no_installation_are_none() -> None:
    def body(**rest: Any) -> dict[str, Any]:
        metadata = {"name": "n", "namespace": "ours", "uid": "u", "creationTimestamp": NOW.isoformat()}
        return {"metadata": metadata | rest.pop("metadata", {})} | rest

    assert named_by_statuses([body(), body(status={"conditions": "?"})]) == ()
    assert named_by_leases([body()]) == ()
    (one,) = named_by_leases([body(metadata={"annotations": {CLUSTER_ANNOTATION: PROD}})])
    assert (one.source, one.namespace, one.installation.cluster) == ("Lease ours/n", "ours", PROD)
    (one,) = named_by_statuses([body(status={"installation": {"cluster": PROD, "leaseNamespace": "l"}})])
    assert one.installation == Installation(cluster=PROD, lease_namespace="l")
