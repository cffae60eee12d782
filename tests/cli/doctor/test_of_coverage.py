"""Doctor asks what checks do in a cluster: each question with its inputs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.doctor.finding import Finding, FindingSeverity
from cli.doctor.of_coverage import MOST_NAMED, Coverage, coverage_findings, fields_beyond
from detector.state.cluster_state import ClusterState
from health.kinds.nodehealthcheck.kind import NODE_HEALTH_CHECK
from health.kinds.registry import CHECK_KINDS
from health.model.node import EXCLUDE_LABEL, Node
from health.model.owner_signs import OwnerSign
from health.model.target import TargetName
from health.policy.held_nodes import HeldNodes
from health.policy.policy import Policy
from tests.support.state.small_cluster import SmallCluster
from tests.support.state.small_cluster_api import SmallClusterApi, machine_object
from tests.support.values.builders import NOW, TEMPLATE, condition, node_object
from tests.support.values.cluster_api import NOT_READY

READY_FALSE = [{"type": "Ready", "status": "False", "duration": "5m"}]
EXCLUDED = {"role": "worker", EXCLUDE_LABEL: "true"}
SCHEMAS = [*Path("deploy/base/crds").glob("*.yaml"), *Path("tools/devcluster/crds").rglob("*.yaml")]
NOT_THERE = f"has fields that {NODE_HEALTH_CHECK.api_version} does not have: "


def findings(state: ClusterState, *, are_all_read: bool = True) -> list[Finding]:
    return coverage_findings(
        Coverage(cluster_state=state, now=NOW, is_read=lambda _: True, are_all_read=are_all_read)
    )


def said(found: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(finding.reason, finding.what) for finding in found]


def small_cluster(nodes: int = 3, **spec: Any) -> SmallCluster:
    cluster = SmallCluster()
    for number in range(nodes):
        cluster.node(f"node-{number}")
    cluster.check(**spec)
    return cluster


def put_node(
    cluster: SmallCluster, name: str, spec: dict[str, Any], ready: str = "True", **metadata: Any
) -> None:
    made = node_object(
        condition("Ready", ready, NOW), labels={"role": "worker"}, name=name, uid=f"uid-{name}", **metadata
    )
    node = Node.model_validate(made | {"spec": spec})
    cluster.cluster_state.target_changed(TargetName("Node", "", name), node)


def tainted(key: str) -> dict[str, Any]:
    return {"taints": [{"key": key, "effect": "NoSchedule"}]}


def test_check_that_works_here_leads_to_no_finding() -> None:
    cluster = small_cluster()
    cluster.unhealthy("node-1")
    assert findings(cluster.cluster_state) == []


@pytest.mark.parametrize(
    ("labels", "reason", "words"),
    [
        ({"role": "infra"}, "SelectsNothing", "selects none of the 2 Nodes"),
        (EXCLUDED, "SelectsOnlyExcluded", "selects only excluded Nodes: node-a, node-b"),
    ],
)
def test_check_that_selects_no_target_for_remediation_is_named(
    labels: dict[str, str], reason: str, words: str
) -> None:
    cluster = SmallCluster()
    for name in ("node-a", "node-b"):
        cluster.node(name, labels=labels)
    cluster.check(minHealthy=0)
    assert said(findings(cluster.cluster_state)) == [(reason, f"NodeHealthCheck workers {words}")]


SPECS: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    (
        "no condition",
        {"unhealthyConditions": []},
        [("WatchesNoCondition", "watches no condition, so none of its Nodes is remediated for one")],
    ),
    (
        "a typo in a type",
        {"unhealthyConditions": [{**READY_FALSE[0], "type": "Redy"}, *READY_FALSE]},
        [("ConditionNotReported", "watches conditions that none of its Nodes has: Redy")],
    ),
    (
        "a status that no condition has",
        {"unhealthyConditions": [{**READY_FALSE[0], "status": "false"}]},
        [("StatusImpossible", "waits for Ready=false, and a condition is True, False or Unknown")],
    ),
    (
        "a threshold that allows none",
        {"minHealthy": None, "maxUnhealthy": 0},
        [("NeverAllows", "never allows a remediation of its 3 Nodes: at most 0 allowed")],
    ),
    (
        "a threshold that requires all",
        {"minHealthy": "100%"},
        [("NeverAllows", "never allows a remediation of its 3 Nodes: at most 0 allowed")],
    ),
    (
        "a number of healthy Nodes that there are not",
        {"minHealthy": 7},
        [("NeverAllows", "never allows a remediation of its 3 Nodes: at least 7 healthy required")],
    ),
    ("a threshold that allows one", {"minHealthy": 2}, []),
    (
        "a field with a typo",
        {
            "unhealthyCondition": READY_FALSE,
            "selector": {"matchLabels": {"role": "worker"}, "matchLabel": {}},
        },
        [("UnknownFields", f"{NOT_THERE}spec.selector.matchLabel, spec.unhealthyCondition")],
    ),
    (
        "fields in a list, and in a field that may be missing",
        {
            "unhealthyConditions": [{**READY_FALSE[0], "timeout": "5m"}],
            "remediationTemplate": {**TEMPLATE, "uid": "a", "nameSpace": "b"},
        },
        [
            (
                "UnknownFields",
                f"{NOT_THERE}spec.remediationTemplate.nameSpace, spec.unhealthyConditions[0].timeout",
            )
        ],
    ),
    (
        "a long field",
        {"b" * 100: 1},
        [("UnknownFields", f"{NOT_THERE}spec.{'b' * 74}…")],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), [row[1:] for row in SPECS], ids=[row[0] for row in SPECS])
def test_spec_that_can_remediate_nothing_here_is_named(
    spec: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    found = findings(small_cluster(**spec).cluster_state)
    assert sorted(said(found)) == sorted(
        (reason, f"NodeHealthCheck workers {words}") for reason, words in expected
    )


OLD = {"unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "5m"}], "maxUnhealthy": "100%"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"checks": None}, ["WatchesNoCondition"], id="pruned, so that nothing is left"),
        pytest.param(
            {"checks": None, **OLD},
            ["UnknownFields: spec.maxUnhealthy, spec.unhealthyConditions"],
            id="fields of the other version are stored",
        ),
        pytest.param(
            {"checks": None, "unhealthyNodeConditions": [NOT_READY]},
            ["WatchesNoCondition", "UnknownFields: spec.unhealthyNodeConditions"],
            id="fields of this version one level too high",
        ),
        pytest.param(
            {"checks": {"unhealthyNodeConditions": [NOT_READY], "nodeStartupTimeout": "10m"}},
            ["UnknownFields: spec.checks.nodeStartupTimeout"],
            id="an old field in a new section",
        ),
        pytest.param({}, [], id="as the version wants it"),
    ],
)
def test_check_of_cluster_api_with_fields_of_another_version_or_place_is_named(
    spec: dict[str, Any], expected: list[str]
) -> None:
    cluster = SmallClusterApi()
    for name in ("machine-0", "machine-1"):
        cluster.node(name)
        cluster.machine(machine_object(name))
    cluster.check(**spec)
    found = [
        f"{one.reason}: {one.what.partition('does not have: ')[2]}"
        if one.reason == "UnknownFields"
        else one.reason
        for one in findings(cluster.cluster_state)
    ]
    assert found == expected


def _schemas(path: Path) -> list[tuple[str, str, str, dict[str, Any]]]:
    crds = [
        one
        for one in yaml.safe_load_all(path.read_text())
        if one and one["kind"] == "CustomResourceDefinition"
    ]
    return [
        (
            crd["spec"]["group"],
            crd["spec"]["names"]["kind"],
            version["name"],
            version["schema"]["openAPIV3Schema"],
        )
        for crd in crds
        for version in crd["spec"]["versions"]
    ]


def test_no_field_of_a_schema_of_the_handled_kinds_counts_as_unknown() -> None:
    seen = set()
    for path in SCHEMAS:
        for group, kind, version, schema in _schemas(path):
            for handled in CHECK_KINDS.values():
                if (handled.group, handled.kind) == (group, kind) and version in handled.versions:
                    seen.add((group, version))
                    model = handled.spec_model(f"{group}/{version}")
                    assert list(fields_beyond(model, _example(schema["properties"]["spec"]))) == []
    assert len(seen) > len(CHECK_KINDS), "Cluster API has two versions"


def _example(schema: dict[str, Any]) -> object:
    """A value with every field of a schema; only its sections matter."""
    if "items" in schema:
        return [_example(schema["items"])]
    return {name: _example(part) for name, part in schema.get("properties", {}).items()}


def test_unhealthy_nodes_that_no_check_selects_are_named_up_to_a_bound() -> None:
    cluster = small_cluster(
        unhealthyConditions=[*READY_FALSE, {"type": "Hung", "status": "True", "duration": "1m"}]
    )
    for number in range(MOST_NAMED + 1):
        cluster.node(f"gpu-{number}", ready="Unknown", labels={"role": "gpu"})
    cluster.node_with("gpu-6", condition("Hung", "True", NOW), labels={"role": "gpu"})
    cluster.node("gpu-7", ready="False", labels={"role": "gpu", EXCLUDE_LABEL: "true"})
    cluster.node("gpu-8", labels={"role": "gpu"})
    names = ", ".join(f"gpu-{number}" for number in range(MOST_NAMED))
    left = "7 unhealthy Nodes that no handled check selects"
    assert ("UnhealthyAndUnselected", f"{left}: {names}, and 2 more") in said(findings(cluster.cluster_state))
    assert "UnhealthyAndUnselected" not in dict(said(findings(cluster.cluster_state, are_all_read=False)))


@pytest.mark.parametrize(
    ("spec", "annotations", "sign"),
    [
        ({"unschedulable": True}, {}, "cordoned"),
        (tainted("ToBeDeletedByClusterAutoscaler"), {}, ""),
        (
            tainted("aws-node-termination-handler/spot-itn"),
            {},
            "the taint aws-node-termination-handler/spot-itn of the AWS node termination handler",
        ),
        (
            {},
            {"weave.works/kured-reboot-in-progress": "2026-03-01T12:00:00Z"},
            "the annotation weave.works/kured-reboot-in-progress of kured",
        ),
        (tainted("nvidia.com/gpu"), {}, ""),
        (tainted("node.kubernetes.io/unreachable"), {}, ""),
    ],
    ids=["cordoned", "an owner at work, which holds it", "a prefix", "kured", "of a pool", "of Kubernetes"],
)
@pytest.mark.parametrize(("ready", "reason"), [("Unknown", "ClaimedAndUnhealthy"), ("True", "Claimed")])
def test_node_that_others_work_on_and_that_would_be_remediated_is_named(
    spec: dict[str, Any], annotations: dict[str, str], sign: str, ready: str, reason: str
) -> None:
    cluster = small_cluster()
    _hold(cluster, HeldNodes(without=(OwnerSign.KURED,)))  # else kured's Node is held, and nothing claims it
    put_node(cluster, "node-1", spec, ready, annotations=annotations)
    found = findings(cluster.cluster_state)
    assert [one.reason for one in found] == ([reason] if sign else [])
    assert all(one.what.endswith(f"others work on: node-1 ({sign})") for one in found)


def _hold(cluster: SmallCluster, held_nodes: HeldNodes) -> None:
    context = cluster.cluster_state.cluster_context
    policy = replace(context.policy, policy=Policy(held_nodes=held_nodes))
    cluster.cluster_state.take_context(replace(context, policy=policy))


def _held_by_policy(cluster: SmallCluster) -> None:
    _hold(cluster, HeldNodes(cordoned=True))


@pytest.mark.parametrize(
    "hold",
    [
        pytest.param(_held_by_policy, id="the policy holds it"),
        pytest.param(lambda cluster: cluster.request("node-1"), id="a remediation is under way"),
        pytest.param(
            lambda cluster: cluster.check(annotations={"paramedic.dev/shadow": "true"}), id="in shadow"
        ),
    ],
)
def test_node_that_would_not_be_remediated_is_not_named(hold: Callable[[SmallCluster], None]) -> None:
    cluster = small_cluster()
    put_node(cluster, "node-1", {"unschedulable": True}, "Unknown")
    hold(cluster)
    assert findings(cluster.cluster_state) == []


def test_checks_over_the_same_nodes_are_noted_together() -> None:
    cluster = small_cluster()
    cluster.check("others")
    (found,) = findings(cluster.cluster_state)
    assert (found.severity, found.reason) == (FindingSeverity.NOTE, "NodesShared")
    assert found.what == "NodeHealthCheck others, NodeHealthCheck workers select the same 3 Nodes"
