"""The domains in which a Node may fail together with others, by its labels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.node import REGION_LABEL, ZONE_LABEL
from health.policy.outage_guard import NodeGroup, groups_of, is_group_key

pytestmark = pytest.mark.rule("rule 62")

EAST = "fleet/east"
OLD_REGION, OLD_ZONE = "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone"
SITE, WORKER = "example.com/site", "node-role.kubernetes.io/worker"


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


def test_zones_of_the_same_name_in_two_regions_are_two_domains() -> None:
    zones = [groups_of("", {REGION_LABEL: region, ZONE_LABEL: "a"}, ())[-1] for region in ("eu", "us")]
    assert [str(zone) for zone in zones] == [
        f"the zone a of the region {one} of the cluster" for one in ("eu", "us")
    ]
    assert zones[0].key != zones[1].key


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


@given(GROUPS, GROUPS)
def test_keys_of_two_groups_differ_and_none_is_the_name_of_a_cluster(
    one: NodeGroup, other: NodeGroup
) -> None:
    assert (one.key == other.key) is (one == other)
    assert is_group_key(one.key)
    assert not is_group_key(one.cluster)
