"""Selection: the waiting targets whose remediation may begin next, and the slots that other targets wait for.

A selected target stays so until it begins, leaves, or the next selection is made. Any other target may begin
only where the selected targets before it leave room.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator

from health.policy.limits import Place, Slot, Waiting


class Selection:
    """The selected targets by name, in the order of their places."""

    def __init__(self) -> None:
        self._selected: dict[str, tuple[Place, tuple[Slot, ...]]] = {}
        self._places: defaultdict[Slot, list[Place]] = defaultdict(list)
        """The places of selected targets by slot, in order."""
        self._waited_for: set[Slot] = set()

    def __iter__(self) -> Iterator[str]:
        return iter(self._selected)

    def __len__(self) -> int:
        return len(self._selected)

    def __contains__(self, name: str) -> bool:
        return name in self._selected

    def add_last(self, waiting: Waiting, slots: tuple[Slot, ...]) -> None:
        """Select a target that is to use these slots; its place is after those of all selected targets."""
        self._selected[waiting.name] = waiting.place, slots
        for slot in slots:
            self._places[slot].append(waiting.place)

    def remove(self, name: str) -> tuple[Slot, ...]:
        """Remove a target that begins or leaves; returns its slots, none if it was not selected."""
        if name not in self._selected:
            return ()
        place, slots = self._selected.pop(name)
        for slot in slots:
            places = self._places[slot]
            del places[bisect_left(places, place)]
        return slots

    def count(self, slot: Slot) -> int:
        """How many selected targets are to use a slot."""
        return len(self._places.get(slot, ()))

    def count_before(self, place: Place, slots: Iterable[Slot]) -> int:
        """How many come before a place, of those that are to use these slots."""
        return sum(bisect_left(self._places.get(slot, ()), place) for slot in slots)

    def wait_for(self, slots: Iterable[Slot]) -> None:
        """Record the used slots that keep a target from being selected."""
        self._waited_for.update(slots)

    def is_waited_for(self, slots: Iterable[Slot]) -> bool:
        """True if freeing these slots may allow selecting another target."""
        return not self._waited_for.isdisjoint(slots)
