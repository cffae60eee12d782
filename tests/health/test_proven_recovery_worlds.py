"""The worlds of the runbook where recovery is to be proven: machines boot, conditions flap, looks come late.

The invariants are about the true state of the world, not about the incident's memory.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from health.model.moves import End, Move, RemoveRequests
from health.model.observation import Hold, HoldReason, Observation, TargetState
from health.model.references import Step
from health.model.request_snapshot import RequestSnapshot
from health.runbook.failures import RETRIES
from tests.health.test_next_move_worlds import MOST_MOVES_TO_THE_END, World
from tests.support.values.builders import NOW, fact

TIME = timedelta(minutes=5)
_TOLD = frozenset({TargetState.HEALTHY, TargetState.WAITING, TargetState.EXPIRED})


class ProvenWorld(World):
    """One incident of a check that asks for a proof, and its cluster."""

    def __init__(self) -> None:
        super().__init__()
        self.proof = TIME
        self.boots = 0
        self.transition = NOW
        self.healthy_from: datetime | None = None
        """Since when it is healthy with one boot, in truth."""
        self.booted_before: set[str] = set()
        """The boot IDs before each request of the remediation that is not over."""
        self.was_confirmed = False

    @property
    def boot_id(self) -> str:
        return f"boot-{self.boots}"

    def look(self) -> Observation:
        proof = {
            "proven_recovery_seconds": self.proof.total_seconds(),
            "boot_id": self.boot_id,
            "last_transition": self.transition,
        }
        seen = super().look()
        if not self.proof or self.state not in _TOLD:
            return seen
        if seen.state is not TargetState.HEALTHY:  # by its conditions, or by an order
            return seen.model_copy(update=proof)
        same_boot = {"fact": fact(self.transition, self.boot_id, "boot"), "steps": self.steps}
        return seen.model_copy(update=proof | same_boot)

    def cluster_changes(self, state: TargetState, hold: Hold | None) -> None:
        raise NotImplementedError

    def node_boots(self) -> None:
        raise NotImplementedError

    @rule(
        state=st.sampled_from([TargetState.HEALTHY, *TargetState]),
        hold=st.none() | st.sampled_from([Hold(reason=HoldReason.THRESHOLD, message="")]),
    )
    def target_changes(self, state: TargetState, hold: Hold | None) -> None:
        self.becomes(state)
        self.hold = hold

    def becomes(self, state: TargetState) -> None:
        is_reported = state is not TargetState.UNKNOWN
        if is_reported and (state is TargetState.HEALTHY) != (self.healthy_from is not None):
            self.transition += timedelta(seconds=1)
            self.healthy_from = self.now if state is TargetState.HEALTHY else None
        self.state = state

    @precondition(lambda self: self.is_open)
    @rule()
    def remediation_is_admitted(self) -> None:
        self.becomes(TargetState.EXPIRED)
        super().remediation_is_admitted()

    @rule()
    def machine_boots(self) -> None:
        self.boots += 1
        self.has_booted = True
        if self.healthy_from is not None:
            self.healthy_from = self.now

    @precondition(lambda self: self.is_open and self.state is TargetState.EXPIRED)
    @rule(boots=st.integers(0, 1), seconds=st.sampled_from([1, 299, 301]))
    def target_recovers(self, boots: int, seconds: int) -> None:
        self.boots += boots
        self.has_booted = self.has_booted or bool(boots)
        self.becomes(TargetState.HEALTHY)
        self.move()
        self.now += timedelta(seconds=seconds)
        self.move()

    @rule(proof=st.sampled_from([timedelta(), TIME]))
    def choice_is_made(self, proof: timedelta) -> None:
        self.proof = proof

    def new_request(self, uid: str, step: Step) -> RequestSnapshot:
        self.booted_before.add(self.boot_id)
        return super().new_request(uid, step).model_copy(update={"boot_id": self.boot_id})

    @property
    def is_remediated(self) -> bool:
        is_same_boot = self.boot_id in self.booted_before or bool(self.memory.starts_over)
        is_unproven = bool(self.proof) and self.state is TargetState.HEALTHY and is_same_boot
        return super().is_remediated or is_unproven

    def judge(self, observation: Observation, move: Move) -> None:
        super().judge(observation, move)
        is_over = isinstance(move, RemoveRequests | End)
        is_let_off = self.memory.left_alone or self.memory.starts_over or self.is_confirmed or not self.proof
        living = [request for request in self.requests.values() if not request.is_being_deleted]
        fresh = [one for one in living if one.uid not in self.memory.cleaned_up]
        if is_over and fresh and self.state is TargetState.HEALTHY and not is_let_off:
            assert self.booted_before - {self.boot_id}, self.log
            assert self.healthy_from is not None, self.log
            assert self.now - self.healthy_from >= TIME, self.log

    def clean_up(self) -> None:
        super().clean_up()
        if not self.requests:
            self.booted_before = set()

    def teardown(self) -> None:
        """In every world in which the machine boots and stays healthy, the incident ends by itself."""
        self.delay, self.is_confirmed, self.hold = 0, False, None
        self.becomes(TargetState.HEALTHY)
        self.machine_boots()
        self.remediator_sets_finalizers(hang=False)
        self.broken = frozenset()
        self.memory = replace(self.memory, standing=())
        for _ in range(MOST_MOVES_TO_THE_END):
            if not self.is_open:
                break
            self.move()
            self.now += max(TIME, RETRIES.longest)
        assert not self.is_open, self.log
        super().teardown()


ProvenWorld.TestCase.settings = settings(max_examples=75, stateful_step_count=30)
TestProvenWorld = ProvenWorld.TestCase
del World
