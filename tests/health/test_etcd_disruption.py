"""The guard of etcd in an OpenShift cluster for control-plane nodes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.gate.etcd_disruption import DisruptionBudget, GuardPod, objection

pytestmark = pytest.mark.rule("NHC 2.4/1/etcd")

NODE = "master-1"
GUARD = {"app": "guard"}


def budget(allowed: int | None) -> DisruptionBudget:
    status = {} if allowed is None else {"disruptionsAllowed": allowed}
    return DisruptionBudget.model_validate(
        {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": GUARD}}, "status": status}
    )


def pod(node: str | None, ready: str | None, labels: dict[str, str] | None = None) -> GuardPod:
    conditions: list[dict[str, Any]] = [{"type": "Initialized", "status": "True"}]
    if ready is not None:
        conditions.append({"type": "Ready", "status": ready})
    return GuardPod.model_validate(
        {
            "metadata": {"name": "guard", "labels": GUARD if labels is None else labels},
            "spec": {} if node is None else {"nodeName": node},
            "status": {"conditions": conditions},
        }
    )


@pytest.mark.parametrize(
    ("allowed", "pods", "may_go"),
    [
        pytest.param(1, [pod(NODE, "True")], True, id="a disruption is allowed"),
        pytest.param(2, [pod(NODE, "True")], True, id="two are"),
        pytest.param(0, [pod(NODE, "True")], False, id="none is, and this node is ready"),
        pytest.param(0, [pod(NODE, "Unknown")], False, id="nobody knows whether this node is ready"),
        pytest.param(0, [pod(NODE, "False")], True, id="this node is the disrupted one"),
        pytest.param(0, [pod(NODE, None)], True, id="its guard says nothing"),
        pytest.param(0, [], True, id="no guard at all"),
        pytest.param(0, [pod("master-2", "True")], True, id="no guard on this node"),
        pytest.param(0, [pod(None, "True")], True, id="a guard that is not placed yet"),
        pytest.param(0, [pod("master-2", "False"), pod(NODE, "True")], False, id="another is disrupted"),
        pytest.param(0, [pod(NODE, "False"), pod(NODE, "True")], False, id="one of two guards is ready"),
        pytest.param(0, [pod(NODE, "True", {"app": "etcd"})], True, id="a Pod that is no guard"),
        pytest.param(None, [pod(NODE, "True")], False, id="a budget without a status"),
    ],
)
def test_node_goes_if_etcd_can_spare_it(allowed: int | None, pods: list[GuardPod], *, may_go: bool) -> None:
    why = objection(NODE, [budget(allowed)], pods)
    assert (why == "") is may_go
    if why:
        assert why == "preventing control plane / etcd quorum loss: etcd allows no disruption now"


@pytest.mark.parametrize("count", [0, 2, 3])
def test_anything_but_one_budget_keeps_the_node(count: int) -> None:
    why = objection(NODE, [budget(1)] * count, [pod(NODE, "False")])
    assert why.endswith(f"{count} disruption budgets in openshift-etcd, where one is expected")


PODS = st.lists(
    st.builds(pod, st.sampled_from([NODE, "master-2"]), st.sampled_from(["True", "False", "Unknown", None]))
)


@given(pods=PODS)
def test_guards_of_other_nodes_decide_nothing(pods: list[GuardPod]) -> None:
    mine = [one for one in pods if one.spec.node_name == NODE]
    assert objection(NODE, [budget(0)], pods) == objection(NODE, [budget(0)], mine)
