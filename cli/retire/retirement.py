"""Retirement: ends all incidents of a cluster, so that nothing is lost or done twice (ADR 37).

1. The global stop is set: no act begins any more, whichever process runs (rule 42).
2. The detector must be gone, removed by the user who deployed it: it would start each incident again that is
   ended here. After that, the open incidents are the only ones.
3. Each incident gets the order to abort, so that the workers clean up, and is ended when they have
   (`cli/retire/incident_step.py`). With `--hand-over` it is ended as it is.
4. The remaining objects are removed with the rights of the caller (`cli/retire/owned_objects.py`).

Without Temporal no order can be sent, and the actions of a worker are unknown: it must be gone, like the
detector.

Each round reads everything again and does what is possible then, so the command may be interrupted and
repeated at any time. It ends after two rounds in a row without anything to do, because a list of Temporal may
be late.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

from cli.retire.cluster import RetiredCluster
from cli.retire.identification import refuse_other_name, refuse_other_place, traces_of
from cli.retire.no_workflows import NoWorkflows
from cli.retire.owned_objects import (
    Disposition,
    OwnedObject,
    Ownership,
    Snapshot,
    owned_objects,
    running_operators,
)
from cli.retire.workflows import ClusterWorkflows
from cli.shared.errors import CommandError
from health.kinds.registry import CHECK_KINDS
from kube.errors import KubernetesError
from runtime.process_names import DETECTOR, WORKER

BETWEEN_ROUNDS = timedelta(seconds=1)
QUIET_ROUNDS = 2
MOST_WAITS_SHOWN = 10
"""The most reasons in the message of a time-out."""
_DONE = {
    Disposition.DELETE: "deleted",
    Disposition.UNPAUSE: "unpaused",
    Disposition.REMOVE_ORDERS: "removed the orders on",
}


@dataclass(frozen=True)
class RetirementPass:
    """The result of one round: actions, waits and leftovers."""

    waits: tuple[str, ...] = ()
    """Conditions that are not met yet."""
    has_acted: bool = False
    left: tuple[OwnedObject, ...] = ()

    @property
    def is_quiet(self) -> bool:
        """True if there was nothing to do."""
        return not self.waits and not self.has_acted


class Retirement:
    """Retires one cluster, in rounds that may be interrupted and repeated."""

    def __init__(  # noqa: PLR0913  each is a part of what is retired, or of how it is reported
        self,
        cluster: RetiredCluster,
        workflows: ClusterWorkflows | NoWorkflows,
        identity: str,
        *,
        beside: Collection[str],
        is_handed_over: bool,
        scale_down: Callable[[str], str],
        print_line: Callable[[str], None],
        print_progress: Callable[[str], None],
    ) -> None:
        """`beside`: other known names of this cluster; `scale_down`: the command that ends a process."""
        self._cluster = cluster
        self._workflows = workflows
        self._identity = identity
        self._beside = beside
        self._is_handed_over = is_handed_over
        self._scale_down = scale_down
        self._print_line = print_line
        self._print_progress = print_progress
        self._progress = ""

    async def planned(self) -> list[str]:
        """The actions that `carry_out` would take now; nothing is changed.

        Raises:
            CommandError: the retirement cannot begin.
            KubernetesError: a part of the cluster cannot be read.
            RPCError: Temporal cannot be asked.

        """
        snapshot = await self._identified()
        listed = await self._workflows.note_open()
        names = [f"{one.incident.check.name}/{one.incident.target.name}" for one in listed]
        how = "leave what exists of it, and end it" if self._is_handed_over else "abort it, and end it"
        return [
            *(f"wait for {process} {one} to end: {advice}" for process, one, advice in await self._running()),
            *(f"{name}: {how}" for name in sorted(names)),
            *(f"{one}: end it" for one in await self._workflows.strangers()),
            *map(str, owned_objects(snapshot, await self._ownership())),
        ]

    async def examine(self) -> None:
        """Check that the retirement can begin, before any change.

        Raises:
            CommandError: the name is wrong, an operator runs, or an incident cannot be read.
            KubernetesError: a part of the cluster cannot be read.
            RPCError: Temporal cannot be asked.

        """
        await self._identified()
        await self._workflows.note_open()

    async def carry_out(self, within: timedelta) -> tuple[OwnedObject, ...]:
        """Retire the cluster. Returns the objects that are left.

        Raises:
            CommandError: the time is over before the end.
            RPCError: Temporal cannot be asked.

        """
        quiet, latest = 0, RetirementPass(waits=("nothing has been looked at yet",))
        try:
            async with asyncio.timeout(within.total_seconds()):
                while quiet < QUIET_ROUNDS:
                    latest = await self._round()
                    quiet = quiet + 1 if latest.is_quiet else 0
                    self._show(latest.waits)
                    await asyncio.sleep(BETWEEN_ROUNDS.total_seconds() if quiet < QUIET_ROUNDS else 0)
        except TimeoutError as error:
            waits = "; ".join(latest.waits[:MOST_WAITS_SHOWN]) or "it was not looked at twice"
            more = (
                f"; and {len(latest.waits) - MOST_WAITS_SHOWN} more"
                if len(latest.waits) > MOST_WAITS_SHOWN
                else ""
            )
            message = f"not retired yet: {waits}{more}; `paramedic retire` goes on from here"
            raise CommandError(message) from error
        return latest.left

    async def _identified(self) -> Snapshot:
        """The snapshot, if the installation in it has the name that is to be retired."""
        snapshot = await self._examined()
        traces = traces_of(self._identity, snapshot, await self._workflows.traces())
        refuse_other_name(self._identity, traces, self._beside)
        refuse_other_place(self._identity, traces, self._cluster.settings, self._workflows.namespace)
        return snapshot

    async def _examined(self) -> Snapshot:
        """The snapshot, unless an operator runs that may own the objects that would be removed."""
        snapshot = await self._cluster.read()
        leases = await self._cluster.operator_leases()
        running = running_operators(CHECK_KINDS.values(), leases, snapshot.now)
        if running and not self._is_handed_over:
            message = "its objects look like ours, which would be removed: --hand-over leaves all to it"
            raise CommandError(f"{running[0]}; {message}")
        return snapshot

    async def _running(self) -> list[tuple[str, str, str]]:
        """The processes that must end first: kind, name, and the command that ends each."""
        running = [
            ("the detector", one, self._scale_down(DETECTOR)) for one in await self._cluster.detectors()
        ]
        if isinstance(self._workflows, NoWorkflows):  # with Temporal, the worker is needed to clean up
            running += [
                ("the worker", one, self._scale_down(WORKER)) for one in await self._cluster.workers()
            ]
        return running

    async def _round(self) -> RetirementPass:
        try:
            if running := await self._running():
                return RetirementPass(
                    waits=tuple(f"{process} {one} runs: {advice}" for process, one, advice in running)
                )
            if waits := await self._workflows.advance():
                return RetirementPass(waits=waits)
            return await self._sweep(await self._examined())
        except KubernetesError as error:
            return RetirementPass(waits=(error.message,))

    async def _sweep(self, snapshot: Snapshot) -> RetirementPass:
        found = owned_objects(snapshot, await self._ownership())
        due = [one for one in found if one.disposal in _DONE]
        waits = [f"{one.name}: {one.why}" for one in found if one.disposal is Disposition.AWAIT]
        for one in due:
            if problem := await self._cluster.dispose(one):
                waits.append(problem)
            else:
                self._print_line(f"{_DONE[one.disposal]} {one.name}: {one.why}")
        left = tuple(one for one in found if one.disposal is Disposition.LEAVE)
        return RetirementPass(tuple(waits), bool(due), left)

    async def _ownership(self) -> Ownership:
        return Ownership(
            cluster=self._identity,
            incidents=frozenset(self._workflows.incidents),
            earlier=await self._workflows.terminated(),
            adopted=self._workflows.adopted,
            is_handed_over=self._is_handed_over,
            is_without_temporal=isinstance(self._workflows, NoWorkflows),
        )

    def _show(self, waits: tuple[str, ...]) -> None:
        """Print the progress when the first wait changes."""
        if not waits:
            return
        more = f"; and for {len(waits) - 1} more" if len(waits) > 1 else ""
        progress = f"{self._workflows.progress}; waits for {waits[0]}{more}"
        if progress != self._progress:
            self._print_progress(progress)
        self._progress = progress
