"""Builders of orders to remediate a target that looks healthy."""

from datetime import timedelta
from typing import Any

from health.check.ordered import fact_of
from health.model.observation import Observation
from health.model.remediation_order import REMEDIATE, RemediationOrder
from tests.support.values.builders import INCIDENT, NOW, seen

BOOT, NEXT_BOOT = "boot-1", "boot-2"


def remediation_order(**fields: Any) -> RemediationOrder:
    """An order for an hour, given now for the node of these tests."""
    order = RemediationOrder(
        check=str(INCIDENT.check),
        reason="its kubelet hangs",
        identity="alice",
        given=NOW,
        until=NOW + timedelta(hours=1),
        boot_id=BOOT,
    )
    return order.model_copy(update=fields)


ORDER = remediation_order()


def annotated(order: RemediationOrder = ORDER) -> dict[str, str]:
    """The annotation as the command writes it."""
    return {REMEDIATE: order.model_dump_json(exclude_defaults=True)}


def ordered(order: RemediationOrder | None = ORDER, **fields: Any) -> Observation:
    """The answer for a target that only this order makes unhealthy; None: it was just removed."""
    given = order or ORDER
    answer = seen(fact=fact_of(given), deadline=given.given, order=order, reason=ORDER.words)
    return answer.model_copy(update=fields)
