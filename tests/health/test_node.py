"""The slim copy of a Node, and the domains in which it may fail together with others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from health.model.node import EXCLUDE_LABEL, REGION_LABEL, ZONE_LABEL, Node
from health.policy.outage_guard import NodeGroup, groups_of, is_group_key
from tests.support.values.builders import condition, node, node_object


@pytest.mark.rule("NHC 2.0/node heartbeat", "rule 6/heartbeat")
def test_heartbeat_changes_nothing_of_a_node() -> None:
    quiet = node_object(condition("Ready", "True"))
    beating = node_object(
        condition("Ready", "True")
        | {"lastHeartbeatTime": "2026-03-01T12:00:10Z", "reason": "KubeletReady", "message": "is ready"}
    )

    assert Node.model_validate(quiet) == Node.model_validate(beating)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(node_object(condition("Ready", "False")), id="status"),
        pytest.param(node_object(condition("Ready", "True", None)), id="transition time"),
        pytest.param(node_object(condition("DiskPressure", "True")), id="type"),
        pytest.param(node_object(condition("Ready", "True"), labels={"a": "b"}), id="labels"),
        pytest.param(node_object(condition("Ready", "True"), uid="another"), id="uid"),
        pytest.param(
            node_object(condition("Ready", "True"), annotations={"machine.openshift.io/machine": "a/b"}),
            id="the Machine under it",
        ),
    ],
)
def test_fields_of_verdicts_and_requests_distinguish_nodes(other: dict[str, Any]) -> None:
    assert Node.model_validate(other) != node(condition("Ready", "True"))


def test_annotations_of_others_are_not_kept() -> None:
    annotated = node(annotations={"example.com/load": "17", "machine.openshift.io/machine": "ns/m-1"})

    assert annotated == node(annotations={"machine.openshift.io/machine": "ns/m-1", "example.com/load": "18"})
    assert annotated.metadata.annotations.machine == "ns/m-1"


@pytest.mark.rule("NHC 1.7/exclude-from-remediation")
@pytest.mark.parametrize(
    ("labels", "is_excluded"),
    [
        pytest.param({EXCLUDE_LABEL: "true"}, True, id="true"),
        pytest.param({EXCLUDE_LABEL: ""}, False, id="empty"),
        pytest.param({EXCLUDE_LABEL: "True"}, False, id="with a capital"),
        pytest.param({EXCLUDE_LABEL: "false"}, False, id="false"),
        pytest.param({}, False, id="none"),
    ],
)
def test_only_true_excludes(labels: dict[str, str], is_excluded: bool) -> None:  # noqa: FBT001  a column of the table
    assert node(labels=labels).is_excluded is is_excluded


def test_node_without_status_has_no_conditions() -> None:
    raw = node_object()
    del raw["status"]

    assert Node.model_validate(raw).status.conditions == ()


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(condition("Ready", "False") | {"lastTransitionTime": "yesterday"}, id="no time"),
        pytest.param(
            condition("Ready", "False") | {"lastTransitionTime": "2026-03-01T12:00:00"},
            id="a time of no zone",
        ),
        pytest.param({"type": "Ready"}, id="no status"),
    ],
)
def test_node_that_cannot_be_judged_does_not_parse(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        node(bad)


EAST = "fleet/east"
OLD_REGION, OLD_ZONE = "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"
SITE, WORKER = "example.com/site", "node-role.kubernetes.io/worker"


@pytest.mark.rule("rule 62")
@pytest.mark.parametrize(
    ("labels", "domains"),
    [
        ({}, []),
        ({REGION_LABEL: "", ZONE_LABEL: ""}, []),
        ({ZONE_LABEL: "a"}, [f"{ZONE_LABEL}=a"]),
        ({REGION_LABEL: "eu"}, [f"{REGION_LABEL}=eu"]),
        ({REGION_LABEL: "eu", ZONE_LABEL: "a"}, [f"{REGION_LABEL}=eu", f"{ZONE_LABEL}=eu/a"]),
        ({OLD_REGION: "eu", OLD_ZONE: "a"}, [f"{REGION_LABEL}=eu", f"{ZONE_LABEL}=eu/a"]),
        ({REGION_LABEL: "eu", OLD_REGION: "us"}, [f"{REGION_LABEL}=eu"]),
        ({SITE: "1", "other": "2"}, [f"{SITE}=1"]),
        ({WORKER: ""}, [f"{WORKER}="]),  # a label without a value is one domain
        ({REGION_LABEL: "eu", SITE: "1"}, [f"{REGION_LABEL}=eu", f"{SITE}=1"]),
    ],
)
def test_node_is_in_its_cluster_its_region_its_zone_and_the_domains_of_its_labels(
    labels: dict[str, str], domains: list[str]
) -> None:
    groups = groups_of(EAST, labels, [SITE, ZONE_LABEL, WORKER])
    assert [group.domain for group in groups] == ["", *domains]
    assert {group.cluster for group in groups} == {EAST}


@pytest.mark.rule("rule 62")
def test_zones_of_the_same_name_in_two_regions_are_two_domains() -> None:
    zones = [groups_of("", {REGION_LABEL: region, ZONE_LABEL: "a"}, ())[-1] for region in ("eu", "us")]
    assert [str(zone) for zone in zones] == [
        f"the zone a of the region {one} of the cluster" for one in ("eu", "us")
    ]
    assert zones[0].key != zones[1].key


@pytest.mark.rule("rule 62")
@pytest.mark.parametrize(
    ("group", "words"),
    [
        (NodeGroup(), "the cluster"),
        (NodeGroup(EAST), "the workload cluster fleet/east"),
        (NodeGroup(EAST, REGION_LABEL, "eu"), "the region eu of the workload cluster fleet/east"),
        (NodeGroup("", ZONE_LABEL, "a"), "the zone a of the cluster"),
        (NodeGroup("", SITE, "1"), "the domain example.com/site=1 of the cluster"),
        (NodeGroup("", WORKER), "the domain node-role.kubernetes.io/worker of the cluster"),
    ],
)
def test_words_name_the_domain_and_its_cluster(group: NodeGroup, words: str) -> None:
    assert str(group) == words
    assert is_group_key(group.key)


GROUPS = st.builds(
    NodeGroup,
    st.sampled_from(["", "a/b", "b/a"]),
    st.sampled_from([None, "a", "b/a", ZONE_LABEL]),
    st.sampled_from(["a", "b", "a/b"]),
).map(lambda group: group if group.label is not None else NodeGroup(group.cluster))


@pytest.mark.rule("rule 62")
@given(GROUPS, GROUPS)
def test_keys_of_two_groups_differ_and_none_is_the_name_of_a_cluster(
    one: NodeGroup, other: NodeGroup
) -> None:
    assert (one.key == other.key) is (one == other)
    assert is_group_key(one.key)
    assert not is_group_key(one.cluster)
