"""The decision that `paramedic explain` prints for an unhealthy target."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from cli.inspection.explanation import explanation_page
from cli.inspection.explanation_view import ExplanationView, HoldView
from health.model.observation import HoldReason

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
THRESHOLD = HoldView(reason=HoldReason.THRESHOLD, message="3 of 5 unhealthy")


def decision(**changes: Any) -> str:
    view = ExplanationView(
        check="NodeHealthCheck/workers",
        target="Node/node-4",
        uid="u",
        state="Expired",
        reason="Ready is Unknown",
        deadline=NOW - timedelta(minutes=1),
        holds=(),
        conditions=(),
        threshold=None,
        limits=(),
        maintenance_windows="none",
        leases=(),
        back_off="off",
        steps=(),
        requests=(),
        is_shadow=False,
        incident="i",
        if_it_failed=None,
    )
    console = Console(width=200)
    with console.capture() as printed:
        console.print(explanation_page(view.model_copy(update=changes), NOW))
    (line,) = [line for line in printed.get().splitlines() if line.startswith("Decision")]
    return line.removeprefix("Decision").strip()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "may act now, unless an order holds its incident: see paramedic show"),
        ({"holds": (THRESHOLD,)}, "held: Threshold: 3 of 5 unhealthy"),
        (
            {"state": "Waiting", "deadline": NOW + timedelta(minutes=5), "holds": (THRESHOLD,)},
            "waits for 5m, until 12:05:00Z; then held: Threshold: 3 of 5 unhealthy",
        ),
        ({"requests": ("Reboot/ns/node-4",)}, "being remediated: Reboot/ns/node-4"),
    ],
)
def test_decision_does_not_claim_that_no_order_holds_the_incident(
    changes: dict[str, Any], expected: str
) -> None:
    assert decision(**changes) == expected
