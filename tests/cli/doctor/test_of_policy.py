"""Findings about a policy that lets orders do more than by default."""

from dataclasses import replace

import pytest

from cli.doctor.of_installation import policy_findings
from health.policy.outage_guard import OutageGuard
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce


@pytest.mark.parametrize(
    ("policy", "what"),
    [
        (Policy(), []),
        (Policy(orders_by_annotation=False, forced_orders=True), []),
        (Policy(forced_orders=True), ["1 at a time for each check, also past the threshold (forcedOrders)"]),
        (Policy(max_orders_in_flight=3), ["3 at a time for each check"]),
    ],
)
def test_orders_that_may_do_more_than_by_default_are_named(policy: Policy, what: list[str]) -> None:
    in_force = PolicyInForce(policy=replace(policy, outage_guard=OutageGuard()))
    found = [*policy_findings(in_force, "paramedic-system")]
    assert [finding.reason for finding in found] == ["OrdersOpen"] * len(what)
    assert all(finding.what.endswith(words) for finding, words in zip(found, what, strict=True))
