"""Upgrade pauses as a command sees them, made of values: no server is asked."""

from typing import Any

from cli.upgrade.summary import UpgradeSummary
from health.cluster.upgrade import UpgradePhase
from health.model.references import CheckReference
from health.upgrade.memory import CheckPauseState, Handled
from health.upgrade.observation import UpgradeObservation
from health.upgrade.pausable_check import PausableCheck
from tests.support.values.builders import MINUTE, NOW
from workflows.upgrade_contracts import UpgradePauseState


def check(name: str, namespace: str = "machines") -> CheckReference:
    return CheckReference(kind="MachineHealthCheck", namespace=namespace, name=name)


def handled(name: str, how: CheckPauseState, **fields: Any) -> Handled:
    return Handled(reference=check(name), uid=f"uid-{name}", how=how, **fields)


def observed(*checks: CheckReference) -> UpgradeObservation:
    return UpgradeObservation(
        phase=UpgradePhase.UNDER_WAY,
        since=NOW - 10 * MINUTE,
        sign="ClusterVersion/version: Progressing=True",
        checks=tuple(
            PausableCheck(reference=reference, uid=f"uid-{reference.name}", resource_version="1")
            for reference in checks
        ),
    )


def state(*rows: Handled, seen: UpgradeObservation | None = None, **fields: Any) -> UpgradePauseState:
    return UpgradePauseState(
        details="the cluster is being upgraded",
        handled=rows,
        observed=seen,
        upgrading_since=NOW - 10 * MINUTE,
        **fields,
    )


def summary(of: UpgradePauseState | None, **fields: Any) -> UpgradeSummary:
    return UpgradeSummary(
        cluster="prod-1a2b",
        workflow_id="upgrade/prod-1a2b",
        run_id="run",
        status=fields.pop("status", "Running"),
        started=NOW - 9 * MINUTE,
        state=of,
        **fields,
    )
