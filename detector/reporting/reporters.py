"""Reporters: all reporters on checks, targets and the policy, which run while this detector is the leader."""

import asyncio
from collections.abc import Callable

from detector.reporting.own_status import OwnStatus
from detector.reporting.policy_reporter import PolicyReporter
from detector.reporting.status_reporter import ReporterDependencies, StatusReporters
from detector.reporting.target_reporter import TargetReporter
from detector.reporting.trouble_reporter import TroubleReporter
from detector.reporting.unreadable_orders import UnreadableOrders
from health.model.references import CheckReference
from kube.connection import ClusterConnection


class Reporters:
    """The reporters of one detector, with shared dependencies."""

    def __init__(
        self,
        dependencies: ReporterDependencies,
        connection: ClusterConnection,
        sees_targets: Callable[[CheckReference], bool],
        own_status: OwnStatus,
        policy_namespace: str,
    ) -> None:
        cluster_state, now = dependencies.cluster_state, dependencies.now
        self.of_checks = StatusReporters(dependencies)
        self.of_targets = TargetReporter(connection, cluster_state, sees_targets, now)
        self.of_policy = PolicyReporter(
            dependencies.client,
            dependencies.instance,
            policy_namespace,
            lambda: cluster_state.cluster_context.policy,
            now,
        )
        self._of_trouble = TroubleReporter(
            cluster_state, own_status.reported, own_status.checks_without_slots, self.of_checks.emit, now
        )
        self._of_orders = UnreadableOrders(cluster_state, self.of_checks.emit)

    async def lead(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.of_checks.lead())
            for reporter in (self.of_targets, self.of_policy, self._of_trouble, self._of_orders):
                tasks.create_task(reporter.lead())
