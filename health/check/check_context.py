"""CheckContext: the context of one check at one moment, for status, Events and admission."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Self

from health.check.health_check import HealthCheck
from health.check.template_validity import TemplateKinds
from health.cluster.cluster_context import CheckProblem, ClusterContext
from health.cluster.global_stop import Stop
from health.cluster.pause_progress import PauseStage
from health.cluster.upgrade import upgrade_hold
from health.model.observation import Hold
from health.model.target import Target
from health.policy.maintenance_windows import Closed, closed


@dataclass(frozen=True)
class CheckContext:
    """The holds on new requests of one check; the default is none."""

    stop: Stop | None = None
    problem: CheckProblem | None = None
    """The problem that disables the check."""
    upgrade: Hold | None = None
    pause: Hold | None = None
    """The hold of the check's own pause."""
    is_fully_paused: bool = False
    """Whether the pause also stops clean-up and marks, so that nothing is written (rule 7)."""
    unreachable: Hold | None = None
    """The hold while the Nodes of its targets cannot be read, believed, or compared by time."""
    policy: Hold | None = None
    """The hold while no policy is known."""
    outage: Hold | None = None
    """The hold of a suspected outage of the cluster of its Nodes."""
    window: Closed | None = None
    """The maintenance windows that are closed now."""

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
        """The context of `check` now.

        `reconfigured` are its expired targets with a new configuration coming; `stage` is the progress of
        its pause for an upgrade.
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
        """True if any field is set; a full pause is also a pause."""
        return any(getattr(self, field.name) for field in fields(self))


NO_CONTEXT = CheckContext()
