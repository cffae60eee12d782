"""Leading: a detector that leads over a small cluster, and answers the questions of people."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from detector.answers.observation_builder import Observer
from detector.answers.storms import Storms
from detector.context.sources_of_checks import CheckFreshness
from detector.inspection.inspector import Inspector
from detector.limits.remediation_limits import RemediationLimits
from health.cluster.cluster_context import ClusterContext
from health.gate.back_off import RemediationBackOff
from health.model.approval import Progress
from health.model.order import OrderRecord
from health.model.references import IncidentReference
from health.policy.policy import Policy
from health.policy.policy_in_force import PolicyInForce
from tests.support.state.small_cluster import SmallCluster, incident_of
from tests.support.state.small_state import SmallState
from tests.support.values.builders import NOW
from workflows.inspection_contracts import NameInput, SimulateInput

Cluster = TypeVar("Cluster", bound=SmallState)


class Leading(Generic[Cluster]):
    """A detector that leads, with everything that a question reads."""

    def __init__(self, cluster: Cluster, policy: Policy | None = None) -> None:
        self.cluster, self.state = cluster, cluster.cluster_state
        self.heard: Callable[[IncidentReference], bool] = lambda _: True
        self.leads = True
        self.policy = policy or Policy()
        self.state.take_context(ClusterContext(policy=PolicyInForce(policy=self.policy)))
        self.back_off = RemediationBackOff(self.policy.back_off_limit)
        self.limits = RemediationLimits(self.state, lambda: self.policy, lambda *_: True, lambda: NOW)
        self.limits.lead_begins(None)
        self.limits.complete()
        self.state.event_handlers.add_change_handler(self.limits.changed)
        self.state.event_handlers.add_request_handler(self.limits.request_changed)
        observer = Observer(
            cluster_state=self.state,
            freshness=lambda _: CheckFreshness(),
            storms=Storms(self.state, lambda _: True, lambda: NOW),
            back_off=lambda *_: self.back_off,
            limits=self.limits,
            now=lambda: NOW,
        )
        self.inspector = Inspector(
            cluster_state=self.state,
            observer=observer,
            is_heard=self._is_heard,
            is_leader=lambda: self.leads,
            identity="detector-1",
        )

    def _is_heard(self, incident: IncidentReference) -> bool:
        return self.heard(incident)

    def report(self, name: str, *standing: OrderRecord) -> None:
        self.state.reported(incident_of(name), Progress(standing=standing))

    async def decided(self) -> dict[str, str]:
        """The decision about each target that needs one, by name."""
        answer = await self.inspector.check(NameInput(name="workers"))
        return {each.target.removeprefix("Node/"): each.decided for each in answer.decisions}

    async def simulated(self, text: str, *, is_policy: bool = False) -> dict[str, tuple[str, str]]:
        """The decision about each target now, and under the text."""
        answer = await self.inspector.simulate(SimulateInput(text=text, is_policy=is_policy))
        (check,) = answer.checks
        now, after = (
            {each.target.removeprefix("Node/"): each for each in found}
            for found in (check.now, check.simulated)
        )
        words = {
            name: tuple(
                "" if each is None else f"{each.decided}{f': {each.hold.reason}' if each.hold else ''}"
                for each in (now.get(name), after.get(name))
            )
            for name in now.keys() | after.keys()
        }
        return cast("dict[str, tuple[str, str]]", words)


def leading(
    unhealthy: int = 1, healthy: int = 4, policy: Policy | None = None, **spec: Any
) -> Leading[SmallCluster]:
    """Healthy nodes h0, h1, … and unhealthy ones u0, u1, …"""
    cluster = SmallCluster()
    cluster.check(**{"minHealthy": 0} | spec)
    for number in range(healthy):
        cluster.node(f"h{number}")
    for number in range(unhealthy):
        cluster.unhealthy(f"u{number}")
    return Leading(cluster, policy)
