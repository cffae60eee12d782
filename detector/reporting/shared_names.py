"""The Event that two machines use the name of one Node, on the target: a boot came back after another one."""

from detector.reporting.own_status import EmitEvents
from detector.state.cluster_state import ClusterState
from detector.state.target_store import place_of
from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference
from health.model.target import Target, facts_of_node
from objects.event import Event, Severity


class SharedNames:
    """Emits the Event when it becomes true, and not again while it stays true."""

    def __init__(self, cluster_state: ClusterState, emit: EmitEvents) -> None:
        self._cluster_state = cluster_state
        self._emit = emit
        self._reported: set[tuple[CheckReference, str]] = set()

    def changed(self, check: CheckReference, target: str | None) -> None:
        """Report a target whose Node has changed; a detector that does not lead emits nothing."""
        check_state = self._cluster_state.checks.get(check)
        if target is None or check_state is None:
            return
        found, key = self._cluster_state.targets.get(check, target), (check, target)
        if found is None or target not in check_state.selected or not facts_of_node(found).shared_name:
            self._reported.discard(key)
            return
        is_shadow = check_state.is_shadow_in(self._cluster_state.cluster_context)
        if key not in self._reported and not is_shadow and self._emit(check, [_event(check, found)]):
            self._reported.add(key)


def _event(check: CheckReference, target: Target) -> Event:
    reference = place_of(check).reference(target.metadata.name, target.metadata.uid)
    return Event(
        seed=f"{target.metadata.uid}\n{facts_of_node(target).boot_id}\nshared name",
        severity=Severity.WARNING,
        reason="NameUsedTwice",
        message=facts_of_node(target).shared_name,
        subject=CHECK_KINDS[check.group_kind].involved(reference),
    )
