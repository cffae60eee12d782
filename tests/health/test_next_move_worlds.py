"""The runbook in worlds that change under it: whatever happens in whatever order, these things never happen.

The machine carries moves out as `workflows/remediation.py` does, on a cluster of one target. Hypothesis lets
the target fail and recover, others delete requests, finalizers hang, acts break off in the middle, people
give orders, and the incident lose its memory. Every look shows the cluster as it is.
"""

from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from health.next_move import (
    NOT_HELD,
    NOT_LEFT_ALONE,
    Act,
    CleanUp,
    End,
    Memory,
    Move,
    Outcome,
    Phase,
    Renew,
    Rest,
    lease_duration,
    next_move,
)
from health.observation import ENDED, Hold, HoldReason, Observation, TargetState
from health.references import RequestReference
from tests.health.samples import NOW, fact, request
from tests.health.test_next_move import STEP

HOLDS = st.sampled_from([None, *(Hold(reason=reason, message="") for reason in HoldReason)])
STATES = st.sampled_from(list(TargetState))
MOST_MOVES_TO_THE_END = 4


class World(RuleBasedStateMachine):
    """One incident and its cluster."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.state = TargetState.WAITING
        self.hold: Hold | None = None
        self.requests: dict[str, RequestReference] = {}
        self.has_finalizers = False
        self.has_lease = False
        self.has_forgotten = False
        self.made = 0
        self.memory = Memory()
        self.outcome: Outcome | None = None
        self.log: list[str] = []

    @property
    def is_open(self) -> bool:
        return self.outcome is None

    def look(self) -> Observation:
        return Observation(
            state=self.state,
            reason=str(self.state),
            remaining_seconds=60,
            fact=None if self.state in ENDED else fact(),
            hold=self.hold,
            steps=(STEP,),
            requests=tuple(self.requests.values()),
        )

    @rule(state=STATES, hold=HOLDS)
    def cluster_changes(self, state: TargetState, hold: Hold | None) -> None:
        self.state, self.hold = state, hold

    @rule(seconds=st.sampled_from([1, 60, 599, 3600]))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(hang=st.booleans())
    def remediator_sets_finalizers(self, hang: bool) -> None:  # noqa: FBT001  hypothesis passes it by name
        self.has_finalizers = hang
        if not hang:
            self.requests = {u: r for u, r in self.requests.items() if not r.is_being_deleted}

    @rule()
    def somebody_deletes_the_requests(self) -> None:
        self.delete(tuple(self.requests))

    @precondition(lambda self: self.is_open)
    @rule(seconds=st.none() | st.sampled_from([30, 600]))
    def person_aborts(self, seconds: int | None) -> None:
        until = None if seconds is None else self.now + timedelta(seconds=seconds)
        self.remember(left_alone=True, left_alone_reason="abort", left_alone_until=until)

    @precondition(lambda self: self.is_open)
    @rule()
    def person_resumes(self) -> None:
        self.remember(**NOT_LEFT_ALONE, **NOT_HELD)

    @precondition(lambda self: self.is_open)
    @rule(seconds=st.none() | st.sampled_from([30, 600]))
    def person_holds(self, seconds: int | None) -> None:
        until = None if seconds is None else self.now + timedelta(seconds=seconds)
        self.remember(held=True, held_reason="hold", held_until=until)

    @precondition(lambda self: self.is_open)
    @rule()
    def incident_is_terminated_and_started_anew(self) -> None:
        self.memory = Memory()
        self.has_forgotten = True

    @precondition(lambda self: not self.is_open and self.state not in ENDED)
    @rule()
    def target_fails_again(self) -> None:
        self.memory, self.outcome = Memory(), None

    @precondition(lambda self: self.is_open)
    @rule(is_refused=st.booleans())
    def incident_moves(self, is_refused: bool) -> None:  # noqa: FBT001  hypothesis passes it by name
        self.move(is_refused=is_refused)

    def move(self, *, is_refused: bool = False) -> Move:
        seen = self.look()
        self.memory = self.memory.at(self.now)
        move = next_move(seen, self.memory, self.now)
        self.log.append(f"{self.state}, {len(seen.requests)} requests, {self.memory}: {move}")
        self.judge(seen, move)
        match move:
            case Act():
                self.act(is_refused=is_refused)
            case Renew():
                self.remember(renew_at=self.now + lease_duration(STEP))
            case CleanUp():
                self.clean_up(seen)
            case End(outcome=outcome):
                self.outcome = outcome
        return move

    def judge(self, seen: Observation, move: Move) -> None:
        """What must be so of every single move."""
        if isinstance(move, Act):
            assert seen.is_admitted, self.log
            assert not self.requests, self.log
            assert not self.memory.left_alone, self.log
            assert not self.memory.held, self.log
        if isinstance(move, CleanUp):
            # A hold alone keeps what exists.
            assert self.state in ENDED or self.memory.left_alone, self.log
        if isinstance(move, End):
            assert self.state in ENDED, self.log
            assert not self.requests, self.log
            assert not self.memory.owns_something, self.log
            assert self.has_forgotten or not self.has_lease, self.log
        if isinstance(move, Renew):
            assert self.requests, self.log
            assert not self.memory.left_alone, self.log
        if isinstance(move, Rest):
            assert self.state not in ENDED, self.log
            assert move.details, self.log
            self.judge_rest(move)

    def judge_rest(self, move: Rest) -> None:
        """Who holds an incident is told that, and for no longer than the hold lasts."""
        if not self.memory.held or self.memory.left_alone:
            return
        assert "held by a person: hold" in move.details, self.log
        assert move.phase is (Phase.REMEDIATING if self.requests else Phase.HELD), self.log
        if self.memory.held_until is not None:
            assert move.seconds is not None, self.log
            assert move.seconds <= (self.memory.held_until - self.now).total_seconds(), self.log

    def act(self, *, is_refused: bool) -> None:
        self.remember(may_hold_lease=True)
        self.has_lease = True
        if is_refused:
            return
        self.made += 1
        made = request(f"request-{self.made}")
        self.requests[made.uid] = made
        self.remember(has_acted=True, requests=(made,), renew_at=self.now + lease_duration(STEP))

    def clean_up(self, seen: Observation) -> None:
        known = {one.uid: one for one in (*self.memory.requests, *seen.requests)}
        self.delete(tuple(known))
        remaining = tuple(one for uid, one in self.requests.items() if uid in known)
        if not remaining:
            self.has_lease = False
        self.remember(
            requests=remaining,
            may_hold_lease=bool(remaining),
            renew_at=None,
            has_acted=self.memory.has_acted or bool(known),
        )

    def delete(self, uids: tuple[str, ...]) -> None:
        for uid in uids:
            if uid not in self.requests:
                continue
            if self.has_finalizers:
                self.requests[uid] = self.requests[uid].model_copy(update={"is_being_deleted": True})
            else:
                del self.requests[uid]

    def remember(self, **changes: object) -> None:
        self.memory = self.memory.model_copy(update=changes)

    @invariant()
    def there_is_one_request_at_most(self) -> None:
        assert len(self.requests) <= 1, self.log

    def teardown(self) -> None:
        """Every world that recovers ends, and soon, with nothing left behind."""
        self.state, self.hold = TargetState.HEALTHY, None
        self.remediator_sets_finalizers(hang=False)
        for _ in range(MOST_MOVES_TO_THE_END):
            if not self.is_open:
                break
            self.move()
        assert not self.is_open, self.log
        assert self.outcome in (Outcome.RECOVERED, Outcome.REMEDIATED, Outcome.RELEASED, Outcome.GONE)
        assert self.has_forgotten or not self.has_lease, self.log


World.TestCase.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
TestWorld = World.TestCase
