"""Which orders to an upgrade pause are refused, and with which error; these tests need no server."""

from datetime import UTC, datetime

import pytest
from temporalio.exceptions import ApplicationError

from health.cluster.upgrade import UpgradePhase
from health.model.references import CheckReference
from health.upgrade.observation import UpgradeObservation
from health.upgrade.pausable_check import PausableCheck
from workflows.upgrade_contracts import ForgetOrder, PauseOrder, UnpauseOrder
from workflows.upgrade_orders import (
    AMBIGUOUS_CHECK,
    CHECKS_UNREAD,
    NO_UPGRADE,
    NOT_OURS,
    OFF,
    UNKNOWN_CHECK,
    Order,
    exact,
    refuse_senseless,
)

A_WHILE = 60.0


def check(namespace: str, name: str, *, is_paused: bool = False) -> PausableCheck:
    reference = CheckReference(kind="MachineHealthCheck", namespace=namespace, name=name)
    return PausableCheck(
        reference=reference, uid=str(reference), resource_version="1", is_paused=is_paused, is_marked=False
    )


def seen(phase: UpgradePhase = UpgradePhase.UNDER_WAY, **more: object) -> UpgradeObservation:
    checks = (check("east", "same"), check("west", "same"), check("east", "theirs", is_paused=True))
    given = {"phase": phase, "since": datetime(2026, 1, 1, tzinfo=UTC), "checks": checks}
    return UpgradeObservation.model_validate(given | more)


OVER = seen(UpgradePhase.OVER)
UNREAD = seen(checks=(), unread="403")
PARTLY_READ = seen(unread="403")


@pytest.mark.parametrize(
    ("order", "look", "type_"),
    [
        (PauseOrder(check="none", for_seconds=A_WHILE), OVER, UNKNOWN_CHECK),
        (UnpauseOrder(check="none"), seen(), UNKNOWN_CHECK),
        (ForgetOrder(check="east/none"), seen(), UNKNOWN_CHECK),
        (PauseOrder(check="same", for_seconds=A_WHILE), OVER, AMBIGUOUS_CHECK),
        (PauseOrder(check="same"), seen(), AMBIGUOUS_CHECK),
        (PauseOrder(check="east/same"), OVER, NO_UPGRADE),
        (PauseOrder(), OVER, NO_UPGRADE),
        (UnpauseOrder(check="theirs"), seen(), NOT_OURS),
        (PauseOrder(for_seconds=A_WHILE), seen(is_turned_off=True), OFF),
        (PauseOrder(check="none"), PARTLY_READ, CHECKS_UNREAD),
    ],
)
def test_order_that_could_never_be_obeyed_is_refused_by_its_type(
    order: Order, look: UpgradeObservation, type_: str
) -> None:
    with pytest.raises(ApplicationError) as refused:
        refuse_senseless(order, look)
    assert refused.value.type == type_


def test_refusal_says_whose_the_pause_is_and_which_checks_there_are() -> None:
    with pytest.raises(
        ApplicationError, match=r"east/theirs was paused by another user or tool, which must unpause it$"
    ):
        exact(UnpauseOrder(check="theirs"), seen())
    with pytest.raises(
        ApplicationError, match=r"no check 'none' .*: .*east/same, .*east/theirs, .*west/same$"
    ):
        exact(ForgetOrder(check="none"), seen())


@pytest.mark.parametrize("look", [None, UNREAD])
def test_order_is_not_refused_before_the_checks_are_known_but_then_none_can_be_meant(
    look: UpgradeObservation | None,
) -> None:
    order = UnpauseOrder(check="same")
    refuse_senseless(order, look)
    with pytest.raises(ApplicationError) as refused:
        exact(order, look)
    assert refused.value.type == CHECKS_UNREAD


@pytest.mark.parametrize(
    ("order", "meant"),
    [
        (PauseOrder(check="east/same"), "MachineHealthCheck/east/same"),
        (ForgetOrder(check="theirs"), "MachineHealthCheck/east/theirs"),
        (UnpauseOrder(), ""),
    ],
)
def test_order_goes_on_with_the_full_name_of_its_check(order: Order, meant: str) -> None:
    assert exact(order, seen()).check == meant
