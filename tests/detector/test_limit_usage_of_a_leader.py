"""A leader's counters always equal the sums of its records, and no admission exceeds a limit."""

from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from detector.limits.in_flight import Remediated
from health.policy.limit_usage import LimitUsage
from health.policy.limits import HOUR, LimitedRemediation, Limits, LimitScope
from health.policy.policy import Policy
from tests.detector.test_remediation_limits import KNOWN, ZONE, leader
from tests.support.state.small_cluster import CHECK
from tests.support.values.builders import NOW, limits

pytestmark = pytest.mark.rule("rule 43")

SECOND = timedelta(seconds=1)
POOL = "example.com/pool"
CHOICES = (
    limits(),
    limits(maxInFlight=1),
    limits(maxInFlight=3, maxInFlightByLabel={ZONE: 1}),
    limits(maxInFlightByLabel={ZONE: 2, POOL: 1}),
    limits(maxStartsPerHour=2),
    limits(maxInFlight=4, maxInFlightByLabel={POOL: 3}, maxStartsPerHour=6),
)
ANNOTATIONS: tuple[dict[str, str], ...] = (
    {},
    {"paramedic.dev/max-in-flight": "2"},
    {"paramedic.dev/max-in-flight-by-label": f"{POOL}=1", "paramedic.dev/max-starts-per-hour": "3"},
)
NODES = st.sampled_from([f"n{number}" for number in range(6)])
ZONES = st.sampled_from(["a", "b", ""])


class LeaderMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.leader = leader(limits(maxInFlight=2), nodes=6)
        self.records = self.leader.limits._records  # noqa: SLF001  the numbers show only in refusals
        self.queue = self.leader.limits._queue  # noqa: SLF001
        self.scopes = self.leader.limits._scopes  # noqa: SLF001

    @rule(node=NODES, would_act=st.booleans())
    def ask(self, node: str, would_act: bool) -> None:  # noqa: FBT001  hypothesis passes it by name
        was_begun = self.records.has_begun(Remediated(CHECK, node))
        if self.leader.ask(node, would_act=would_act).is_admitted and not was_begun:
            self._no_limit_is_exceeded(node)

    @rule()
    def ask_all(self) -> None:
        for number in range(6):
            self.ask(f"n{number}", would_act=True)

    @rule(node=NODES, age=st.integers(0, 70))
    def show_request(self, node: str, age: int) -> None:
        self.leader.cluster.request(node, age=timedelta(minutes=age))

    @rule(node=NODES)
    def delete_request(self, node: str) -> None:
        self.leader.cluster.delete_request(node)

    @rule(node=NODES, zone=ZONES, pool=ZONES, fails=st.booleans(), minutes=st.integers(6, 100))
    def change_node(self, node: str, zone: str, pool: str, fails: bool, minutes: int) -> None:  # noqa: FBT001
        labels = {"role": "worker", ZONE: zone, POOL: pool}
        since = NOW - timedelta(minutes=minutes)
        self.leader.cluster.node(node, ready="Unknown" if fails else "True", since=since, labels=labels)

    @rule(node=NODES)
    def delete_node(self, node: str) -> None:
        self.leader.cluster.delete_node(node)

    @initialize(chosen=st.sampled_from(CHOICES))
    def choose_policy(self, chosen: Limits) -> None:
        self.leader.policy = Policy(limits=chosen)

    @rule(chosen=st.sampled_from(CHOICES))
    def edit_policy(self, chosen: Limits) -> None:
        self.leader.policy = Policy(limits=chosen)

    @rule(annotations=st.sampled_from(ANNOTATIONS))
    def edit_check(self, annotations: dict[str, str]) -> None:
        self.leader.cluster.check(minHealthy=0, annotations=annotations)

    @rule(seconds=st.sampled_from([0.1, 1, 20, 40, 1800]), is_proven=st.booleans())
    def pass_time(self, seconds: float, is_proven: bool) -> None:  # noqa: FBT001
        self.leader.pass_time(seconds * SECOND, is_proven=is_proven)

    @rule(node=NODES, minutes=st.integers(1, 90))
    def list_ended(self, node: str, minutes: int) -> None:
        ended = self.leader.now() - timedelta(minutes=minutes)
        self.leader.limits.note_ended(Remediated(CHECK, node), ended)

    @rule()
    def lose_and_take_the_lead(self) -> None:
        self.leader.limits.lead_begins(self.leader.now())
        self.leader.limits.complete()
        self.leader.pass_time(KNOWN)

    @rule()
    def look(self) -> None:
        self.leader.look()

    @precondition(lambda self: not self.scopes.are_off)
    @rule()
    def select_within_a_second_as_if_from_the_beginning(self) -> None:
        self.leader.pass_time(SECOND)
        self.leader.look()
        now = self.leader.now()
        waits = self.queue._entries.keys() - self.queue._declined.keys()  # noqa: SLF001  since the selection, too
        in_turn = self.queue._in_turn.values()  # noqa: SLF001
        waiting = [key.waiting for key in in_turn if Remediated.of(key.incident) in waits]
        again = self.records.usage.select(waiting, now)
        assert list(self.queue.selection) == list(again)

    @invariant()
    def counts_equal_those_made_anew(self) -> None:
        anew = LimitUsage(scopes_of=self.scopes.of)
        for remediated in self.records._targets():  # noqa: SLF001
            anew.put(remediated, self.records._use(remediated))  # noqa: SLF001
        assert self.records.usage == anew

    def _no_limit_is_exceeded(self, node: str) -> None:
        admitted = self.records._use(Remediated(CHECK, node)).in_flight  # noqa: SLF001
        assert admitted is not None
        for scope in self.scopes.of(CHECK):
            self._no_limit_of_a_scope_is_exceeded(scope, admitted.remediation)

    def _no_limit_of_a_scope_is_exceeded(self, scope: LimitScope, admitted: LimitedRemediation) -> None:
        under_way, reservations = self.records._under_way, self.records._reserved  # noqa: SLF001
        reserved = [reservations[one].remediation for one in reservations.keys() - under_way.keys()]
        in_flight = [*(one.remediation for one in under_way.values()), *reserved]
        assert len(in_flight) <= (scope.limits.max_in_flight or len(in_flight))
        for label, most in scope.limits.max_in_flight_by_label.items():
            value = admitted.labels.get(label)
            alike = [one for one in in_flight if value is None or one.labels.get(label) in (None, value)]
            assert len(alike) <= most
        if scope.limits.max_starts_per_hour:
            starts, horizon = self.records._starts, self.leader.now() - HOUR  # noqa: SLF001
            began = [time for target in starts.targets() for time in starts.of(target) if time > horizon]
            assert len(began) + len(reserved) <= scope.limits.max_starts_per_hour


LeaderMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestLeaderMachine = LeaderMachine.TestCase
