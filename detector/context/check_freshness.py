"""CheckFreshness: the age of the cluster state for one check, and other reasons not to use it."""

from dataclasses import dataclass
from datetime import timedelta

from health.gate.check_holds import Unseen, stale_cache
from health.model.observation import Hold


@dataclass(frozen=True, kw_only=True)
class CheckFreshness:
    """The age of the cluster state for one check, and other reasons not to use it."""

    age: timedelta | None
    """Age of the oldest source; None while one was never read completely."""
    limit: timedelta
    unread_requests: str = ""
    """Why the requests of the check are not fresh enough to act; "" if they are."""
    unread_templates: str = ""
    """Why its templates are not fresh enough to act."""
    unread_context: str = ""
    """Why the cluster context is not fresh enough to act."""
    unreachable: Hold | None = None
    """Why the Nodes of its targets in a workload cluster are unreachable or distrusted."""
    clock: Hold | None = None
    """Why deadlines by the timestamps of those Nodes cannot be judged."""
    is_handled: bool = True
    """False if this detector handles no checks of this kind."""

    def unseen(self, clock: Hold | None) -> Unseen:
        """The unseen sources, for status and Events; `clock` is why deadlines cannot be judged."""
        return Unseen(
            stale_cache(self.age, self.limit) or clock or self.clock,
            self.unread_context,
            self.unread_templates,
            self.unread_requests,
        )

    def is_certain(self, clock: Hold | None) -> bool:
        """True if its targets can be judged now; `clock` is why deadlines cannot be judged."""
        is_fresh = stale_cache(self.age, self.limit) is None and self.unreachable is None
        return is_fresh and (clock or self.clock) is None
