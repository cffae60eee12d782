"""The annotation that `paramedic remediate` writes is the order of its user, however the answer is forged."""

from typing import Any

import pytest

from cli.inspection.order import annotation
from cli.shared.errors import CommandError
from health.model.references import CheckReference
from health.model.remediation_order import REMEDIATE, order_in
from tests.support.values.builders import INCIDENT
from tests.support.values.remediation_orders import NEXT_BOOT, ORDER, annotated, remediation_order
from workflows.inspection_contracts import OrderPreview, PreviewOrderInput

PREVIEW = OrderPreview(cluster="main-0a1b", check=INCIDENT.check, target=INCIDENT.target, order=ORDER)
OTHER = CheckReference(kind="NodeHealthCheck", name="others")


def patch(found: dict[str, Any], *, target: str = "node-1", preview: OrderPreview = PREVIEW) -> str:
    """The annotation for an object that was read live."""
    wanted = PreviewOrderInput(target=target, check="workers", reason="hangs", duration_seconds=3600)
    written: str = annotation(wanted, preview, ORDER, found)["metadata"]["annotations"][REMEDIATE]
    return written


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("node-1", {"metadata": {"name": "node-1"}}),
        ("Node/node-1", {"metadata": {"name": "node-1"}}),
        ("node-1", {"metadata": {"name": "machine-7"}, "status": {"nodeRef": {"name": "node-1"}}}),
        (
            "node-1",
            {"metadata": {"name": "node-1", "annotations": annotated(remediation_order(boot_id=NEXT_BOOT))}},
        ),
    ],
    ids=["a Node", "with its kind", "the Machine of the Node", "an order that a boot fulfilled"],
)
def test_order_is_written_on_the_object_that_the_user_named(target: str, found: dict[str, Any]) -> None:
    assert order_in(patch(found, target=target)) == ORDER


@pytest.mark.parametrize(
    ("found", "preview", "why"),
    [
        (
            {"metadata": {"name": "node-9"}},
            PREVIEW,
            "nothing was written: the answer is about Node/node-1 of",
        ),
        (
            {"metadata": {"name": "node-1"}},
            PREVIEW.model_copy(update={"check": OTHER}),
            "nothing was written: the answer is about Node/node-1 of NodeHealthCheck/others",
        ),
        ({"metadata": {"name": "node-1", "annotations": annotated()}}, PREVIEW, "another order stands until"),
    ],
    ids=["another object", "another check", "another order"],
)
def test_order_is_not_written_for_another_target_or_check_or_over_another_order(
    found: dict[str, Any], preview: OrderPreview, why: str
) -> None:
    with pytest.raises(CommandError, match=why):
        patch(found, preview=preview)
