"""The order `claim`: it is shown, blocks nothing, and the next one replaces it."""

from health.model.moves import Phase
from health.runbook.decide import next_move
from health.runbook.orders import (
    ORDERS,
    ClaimOrder,
    HoldOrder,
    OrderContext,
    ResumeOrder,
    UnclaimOrder,
    answer_to,
    claim_of,
    ordered,
)
from health.runbook.state import Memory
from health.runbook.step_orders import why_blocked
from tests.support.values.builders import MINUTE, NOW, seen

CLAIM_ROW, UNCLAIM = ORDERS["claim"], ORDERS["unclaim"]
ADAS_CLAIM = ClaimOrder(identity="ada@desk", reason="INC-7")
BOBS_CLAIM = ClaimOrder(identity="bob@home")
CLAIMED = ordered(Memory(), ADAS_CLAIM, NOW)


def situation(memory: Memory, phase: Phase = Phase.HELD) -> OrderContext:
    return OrderContext(phase=phase, memory=memory, observation=seen(), now=NOW)


def test_claim_blocks_nothing() -> None:
    assert next_move(seen(), CLAIMED, NOW) == next_move(seen(), Memory(), NOW)
    assert CLAIMED.intent(NOW) == Memory().intent(NOW)
    assert why_blocked(CLAIMED) is None


def test_next_claim_replaces_the_earlier_one_and_its_answer_says_whose_it_was() -> None:
    answer = answer_to(BOBS_CLAIM, "Node/node-1", situation(CLAIMED))
    assert answer == (
        "shows your claim on Node/node-1 until unclaim, and goes on; "
        "ended the claim by ada@desk: INC-7 (of 2026-03-01T12:00:00Z)"
    )
    memory = ordered(CLAIMED, BOBS_CLAIM, NOW + MINUTE)
    assert [one.identity for one in memory.standing] == ["bob@home"]
    assert [one.identity for one in memory.orders] == ["ada@desk", "bob@home"]


def test_first_claim_says_nothing_of_another_one() -> None:
    answer = answer_to(ADAS_CLAIM, "Node/node-1", situation(Memory()))
    assert answer == "shows your claim on Node/node-1 until unclaim, and goes on: INC-7"


def test_claim_outlasts_resume_and_ends_with_unclaim_alone() -> None:
    memory = ordered(ordered(CLAIMED, HoldOrder(), NOW), ResumeOrder(), NOW)
    assert [one.order for one in memory.standing] == ["claim"]
    held = ordered(ordered(CLAIMED, HoldOrder(), NOW), UnclaimOrder(), NOW)
    assert [one.order for one in held.standing] == ["hold"]
    assert claim_of(held) is None


def test_only_a_claimed_incident_can_be_unclaimed() -> None:
    refusal = UNCLAIM.refused(UnclaimOrder(), situation(Memory()))
    assert refusal is not None
    assert refusal.why == "it is not claimed"
    assert UNCLAIM.refused(UnclaimOrder(), situation(CLAIMED)) is None


def test_show_proposes_a_claim_or_its_end() -> None:
    for phase in Phase:
        assert CLAIM_ROW.is_offered(situation(Memory(), phase)) is (phase is not Phase.ENDED)
        assert not UNCLAIM.is_offered(situation(Memory(), phase))
        assert not CLAIM_ROW.is_offered(situation(CLAIMED, phase))
        assert UNCLAIM.is_offered(situation(CLAIMED, phase))
