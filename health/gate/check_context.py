"""CheckContext: the context of one check at one moment, as status, Events and admission all see it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Self

from health.gate.cluster_context import CheckProblem, ClusterContext
from health.gate.global_stop import Stop
from health.gate.health_check import HealthCheck
from health.gate.maintenance_windows import Closed, closed
from health.gate.pause_progress import PauseStage
from health.gate.template_validity import TemplateKinds
from health.gate.upgrade import upgrade_hold
from health.model.observation import Hold
from health.model.target import Target


@dataclass(frozen=True)
class CheckContext:
    """What holds new requests of one check; the default is nothing."""

    stop: Stop | None = None
    problem: CheckProblem | None = None
    """Why the check is disabled."""
    upgrade: Hold | None = None
    pause: Hold | None = None
    """Why the check itself allows nothing now."""
    is_fully_paused: bool = False
    """Whether that stops clean-up and marks too, and nothing at all is written (rule 7)."""
    unreachable: Hold | None = None
    """Why the Nodes of its targets cannot be seen, believed, or judged by the time."""
    policy: Hold | None = None
    """Why it is not known by which policy to decide."""
    outage: Hold | None = None
    """Why what sees the Nodes of its targets is suspected, not they."""
    window: Closed | None = None
    """Why nothing may begin at this time."""

    @classmethod
    def of(  # noqa: PLR0913, PLR0917  a context has these sources
        cls,
        check: HealthCheck,
        context: ClusterContext,
        kinds: TemplateKinds,
        reconfigured: Sequence[Target],
        now: datetime,
        stage: PauseStage = PauseStage.NONE,
    ) -> Self:
        """What it is for `check` now, whose expired targets with another configuration to come are given.

        `stage` is how far it is paused for an upgrade that goes on.
        """
        windows = context.policy.policy.maintenance_windows
        return cls(
            context.stop,
            check.problem(context, kinds),
            upgrade_hold(context.upgrade_of(check.managed_cluster), reconfigured, stage),
            check.hold_in(context),
            check.is_fully_paused_in(context),
            context.unreachable_hold(check.node_cluster(context)),
            context.policy.hold,
            context.outages.hold(check.node_cluster(context)),
            closed(windows, check.choices.maintenance_windows, now),
        )

    @property
    def holds(self) -> bool:
        """Whether anything holds: each field that is set does; a full pause is a pause, too."""
        return any(getattr(self, field.name) for field in fields(self))


NO_CONTEXT = CheckContext()
