"""The status of a check says what is not observed, if that lasts, with the first message."""

import pytest

from detector.context.sources_of_checks import UnseenChecks
from detector.reporting.snapshot_builder import SnapshotBuilder
from health.gate.back_off import NO_BACK_OFF
from health.gate.check_holds import ALL_SEEN, UnreadSource, Unseen
from health.kinds.nodehealthcheck.status import status_patch
from health.model.observation import Hold, HoldReason
from health.model.references import CheckReference
from tests.support.state.small_cluster import CHECK, SmallCluster
from tests.support.values.builders import NOW

pytestmark = pytest.mark.rule("rule 55", "rule 6")


def stale(seconds: int) -> Unseen:
    message = f"cannot read nodes: no answer (since {seconds})"
    return Unseen(Hold(reason=HoldReason.STALE_CACHE, message=message))


class World:
    """One check, whose unobserved part is `now`."""

    def __init__(self) -> None:
        self.cluster = SmallCluster()
        self.cluster.check()
        self.now = ALL_SEEN
        self.unseen_checks = UnseenChecks(self.cluster.cluster_state, self._unseen)

    def _unseen(self, check: CheckReference) -> Unseen:
        assert check == CHECK
        return self.now

    def looks(self, now: Unseen) -> bool:
        """True if a look that finds this leads to a write of the status."""
        self.now = now
        return self.unseen_checks.look() == [CHECK]

    def reason(self) -> str:
        builder = SnapshotBuilder(self.cluster.cluster_state, lambda *_: NO_BACK_OFF, self.unseen_checks.of)
        seen = builder.of(CHECK, None, NOW)
        assert seen is not None
        return str(status_patch(seen, {}, NOW)["reason"])


def test_stale_cache_is_said_once_when_it_lasts_and_no_more_when_it_is_over() -> None:
    world = World()
    assert not world.looks(ALL_SEEN)
    assert not world.looks(stale(31))
    assert "is begun" not in world.reason()
    assert world.looks(stale(36))
    assert world.reason().endswith("cannot read nodes: no answer (since 36)")
    assert not world.looks(stale(41))
    assert world.reason().endswith("(since 36)")
    assert world.looks(ALL_SEEN)
    assert world.reason() == "NHC is enabled, no ongoing remediation"


def test_flicker_is_not_said() -> None:
    world = World()
    assert not any(world.looks(now) for now in (stale(31), ALL_SEEN, stale(31), ALL_SEEN))


def test_another_reason_is_said_when_it_lasts() -> None:
    world = World()
    world.looks(stale(31))
    assert world.looks(stale(36))
    unread = Unseen(unread_requests=UnreadSource("requests"))
    assert not world.looks(unread)
    assert world.looks(unread)
    assert world.reason().endswith("requests: not read completely yet")


def test_check_that_is_deleted_is_forgotten() -> None:
    world = World()
    world.looks(stale(31))
    assert world.looks(stale(36))
    world.cluster.delete_check()
    world.looks(stale(41))
    assert world.unseen_checks.of(CHECK) == ALL_SEEN
