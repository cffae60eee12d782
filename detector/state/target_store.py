"""TargetStore: all that could be targets of checks, by kind and namespace, as they were last seen."""

from collections import defaultdict
from collections.abc import Mapping

from health.kinds.registry import CHECK_KINDS
from health.model.references import CheckReference, TargetReference
from health.model.target import Target, TargetName, TargetPlace
from kube.record import Key


def place_of(check: CheckReference) -> TargetPlace:
    """Where the targets of a check are: those of a check in a namespace are in that one."""
    kind = CHECK_KINDS.get(check.kind)  # None: of an incident that another version of us began
    return TargetPlace(kind.target_kind if kind else "", check.namespace)


class TargetStore:
    """Targets, selected or not."""

    def __init__(self) -> None:
        self._places: defaultdict[TargetPlace, dict[str, Target]] = defaultdict(dict)
        self.broken: dict[str, Mapping[Key, str]] = {}
        """By kind, those that exist but do not parse, with what is wrong; they are nobody's targets.

        A Machine whose Node is one of them looks as if that was gone.
        """

    def put(self, name: TargetName, target: Target | None) -> TargetPlace:
        """Keep what a target is now, None if it is gone; answers where it is."""
        place = TargetPlace(name.kind, name.namespace)
        if target is None:
            self._places[place].pop(name.name, None)
        else:
            self._places[place][name.name] = target
        return place

    def at(self, place: TargetPlace) -> Mapping[str, Target]:
        """All of a kind in a namespace, by name."""
        return self._places.get(place, {})

    def of(self, check: CheckReference) -> Mapping[str, Target]:
        """All that could be targets of `check`, by name."""
        return self.at(place_of(check))

    def get(self, check: CheckReference, name: str) -> Target | None:
        """What could be a target of `check`, by its name; None if it is not there."""
        return self.of(check).get(name)

    def is_unreadable(self, name: TargetName) -> bool:
        """Whether it is there, and does not parse."""
        return Key(name.namespace, name.name) in self.broken.get(name.kind, {})

    def problem(self, target: TargetReference) -> str | None:
        """What of a target that is there does not parse: itself, or its Node; None where nothing is wrong."""
        own = self.broken.get(target.kind, {}).get(Key(target.namespace, target.name))
        if own is not None:
            return f"{target} cannot be read: {own}"
        seen = self.at(TargetPlace(target.kind, target.namespace)).get(target.name)
        if seen is None or seen.metadata.uid != target.uid:
            return None
        of_node = self.broken.get("Node", {}).get(Key("", seen.node_name))
        return None if of_node is None else f"Node {seen.node_name} of {target} cannot be read: {of_node}"
