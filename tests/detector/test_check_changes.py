"""Questions and answers of an upgrade pause: bounded pages add up to the detector's full state."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.upgrade.pause_state import PAGE, TAKES_NO_PAGES, CheckChanges
from health.cluster.pause_progress import MOST_CHECKS, PauseStage
from health.cluster.upgrade import Upgrade, UpgradePhase, upgrade_hold
from health.upgrade.failed_write import PauseAnswer, WriteOutcome
from health.upgrade.memory import PauseMemory
from health.upgrade.next_pass import MOST_PATCHES, next_pass
from health.upgrade.observation import MOST_TRANSITIONS, UpgradeObservation
from health.upgrade.pausable_check import PausableCheck
from tests.support.values.longest import BLOB_LIMIT, BLOB_WARNING, Longest, payload_bytes
from tests.support.values.looks import BEGAN, NOW, check, passed, under_way
from workflows.upgrade_contracts import ObserveUpgradeInput, WritePausesInput, WritePausesResult
from workflows.upgrade_questions import UpgradeQuestions

FEW = 8


@dataclass
class Conversation:
    changes: CheckChanges = field(default_factory=CheckChanges)
    questions: UpgradeQuestions = field(default_factory=lambda: UpgradeQuestions("main"))
    settled: set[str] = field(default_factory=set)
    bytes: list[int] = field(default_factory=list)
    is_lossy: bool = False

    def look(self, *checks: PausableCheck) -> UpgradeObservation:
        while True:
            asked = self.questions.question((BEGAN,), self.settled)
            if self.is_lossy:
                self.changes.answer(asked, under_way(*checks))
            answer = self.changes.answer(asked, under_way(*checks))
            self.questions.take(asked, answer)
            self.bytes += [payload_bytes(asked), payload_bytes(answer)]
            if not answer.has_more and not self.questions.has_report_due((BEGAN,), self.settled):
                return self.questions.observed(answer)


def by_name(*checks: PausableCheck) -> list[PausableCheck]:
    return sorted(checks, key=lambda one: one.uid)


@given(st.data())
def test_workflow_sees_what_the_detector_sees_whatever_happens_between_its_questions(
    data: st.DataObject,
) -> None:
    one, there = Conversation(), dict[str, PausableCheck]()
    for version in range(data.draw(st.integers(1, 6))):
        for name in data.draw(st.sets(st.sampled_from("abcdef"))):
            there[name] = check(data.draw(st.sampled_from(["", "P", "PM"])), name=name, version=version)
        for name in data.draw(st.sets(st.sampled_from("abcdef"))):
            there.pop(name, None)
        match data.draw(st.sampled_from(["same", "another leader", "another run", "answers are lost"])):
            case "another leader":
                one.changes.begin_anew()
            case "another run":
                one.questions = UpgradeQuestions("main")
            case "answers are lost":
                one.is_lossy = True
        one.settled = {f"uid-{name}" for name in data.draw(st.sets(st.sampled_from("abcdef")))}
        seen = one.look(*there.values())

        assert by_name(*seen.checks) == by_name(*there.values())
        assert one.changes.progress.handled == one.settled


def test_detector_that_begins_to_lead_holds_checks_that_no_pause_has_handled() -> None:
    one = Conversation(settled={"uid-a"})
    one.look(check("PM"))
    asked = one.questions.question((BEGAN,), one.settled)
    one.changes.begin_anew()
    answer = one.changes.answer(asked, under_way(check("PM")))

    assert answer.is_whole
    assert one.changes.progress.handled == frozenset()


def test_another_upgrade_is_reported_again() -> None:
    one = Conversation(settled={"uid-a"})
    one.look(check("PM"))
    asked = one.questions.question((NOW,), ())

    assert asked.is_anew
    one.changes.answer(asked, under_way(check("PM"), since=NOW))
    assert one.changes.progress.handled == frozenset()


def test_no_question_and_no_answer_about_the_longest_names_is_above_the_warning() -> None:
    longest, one = Longest(), Conversation()
    checks = longest.checks(5 * PAGE)
    one.look(*checks)
    one.settled = {made.uid for made in checks}
    one.look(*checks)
    one.settled = set()
    one.look(*checks)

    assert max(one.bytes) < BLOB_WARNING


def test_answer_with_the_longest_texts_is_below_the_limit() -> None:
    longest = Longest()
    seen = UpgradeObservation(
        phase=UpgradePhase.UNKNOWN,
        also_since=tuple(longest.time() for _ in range(MOST_TRANSITIONS)),
        sign=longest.words() * 9,
        why_unknown=longest.words() * 9,
        unread=longest.words() * 9,
        checks=tuple(longest.checks(2 * PAGE)),
    )
    asked = ObserveUpgradeInput(cluster="main", takes_pages=True)
    assert payload_bytes(CheckChanges().answer(asked, seen)) < BLOB_LIMIT


def test_writes_of_one_pass_and_their_answers_are_below_the_limit() -> None:
    longest = Longest()
    done = next_pass(under_way(*longest.checks(2 * MOST_PATCHES)), PauseMemory(), NOW)
    asked = WritePausesInput(cluster="main", patches=done.patches)
    why = longest.words() * 9
    answers = tuple(
        PauseAnswer(uid=patch.uid, outcome=WriteOutcome.FAILED, why=why) for patch in done.patches
    )

    assert len(done.patches) == MOST_PATCHES
    assert payload_bytes(asked) < BLOB_WARNING
    assert payload_bytes(WritePausesResult(answers=answers)) < BLOB_LIMIT


def test_checks_above_the_bound_are_counted_and_marked_ones_are_reported_first() -> None:
    one = Conversation(CheckChanges(FEW))
    plain = [check(name=f"a{number}") for number in range(FEW + 3)]
    marked = [check("PM", name=f"z{number}") for number in range(2)]
    seen = one.look(*plain, *marked)
    again = one.look(*plain[3:], *marked)

    assert (len(seen.checks), seen.left_out) == (FEW, 5)
    assert set(marked) <= set(seen.checks)
    assert (len(again.checks), again.left_out) == (FEW, 2)


@pytest.mark.rule("rule 46")
def test_hold_of_a_check_above_the_bound_says_so_until_there_is_room() -> None:
    one = Conversation(CheckChanges(1))
    one.settled = {"uid-a"}
    one.look(check("PM", name="a"), check(name="b"))
    upgrade = Upgrade(phase=UpgradePhase.UNDER_WAY, since=BEGAN, sign="the version")
    stage = one.changes.progress.stage_of("uid-b", frozenset({BEGAN}))
    hold = upgrade_hold(upgrade, stage)

    assert one.changes.progress.stage_of("uid-a", frozenset({BEGAN})) is PauseStage.HANDLED
    assert hold is not None
    assert hold.message.endswith("; the check is above the bound of 5000 checks of an upgrade pause")
    one.look(check(name="b"))
    assert one.changes.progress.stage_of("uid-b", frozenset({BEGAN})) is PauseStage.AWAITED


@pytest.mark.rule("rule 36")
def test_nothing_is_changed_where_more_checks_carry_a_mark_than_the_bound() -> None:
    one = Conversation(CheckChanges(FEW))
    marked = [check("PM", name=f"c{number}") for number in range(FEW + 2)]
    seen = one.look(*marked, check(name="plain"))
    done = passed(seen)

    assert len(seen.checks) == FEW
    assert done.patches == ()
    assert "10 carry the mark of an upgrade pause, which takes at most 8" in done.why
    assert passed(one.look(*marked[2:])).patches == ()
    assert passed(one.look(*marked[2:])).why.startswith("the cluster is being upgraded")


@pytest.mark.rule("rule 36")
def test_worker_holds_where_a_detector_of_another_bound_tells_more_checks() -> None:
    seen = under_way(check()).model_copy(update={"checks": tuple(Longest().checks(MOST_CHECKS + 1))})
    done = passed(seen)

    assert done.patches == ()
    assert "5001 checks were reported, and an upgrade pause takes at most 5000" in done.why


@pytest.mark.rule("rule 36", "rule 46")
def test_worker_that_takes_a_page_for_all_checks_changes_nothing_and_every_check_is_held() -> None:
    """As an older worker asks: without `takes_pages`, and it reads neither `has_more` nor `session`."""
    one = Conversation(settled={"uid-a"})
    one.look(check("PM", name="a"))
    older = ObserveUpgradeInput.model_validate(
        {"cluster": "main", "transitions": [BEGAN], "handled": ["uid-a"]}
    )
    seen = one.changes.answer(older, under_way(*(check(name=f"c{number}") for number in range(2 * PAGE))))

    assert passed(seen).patches == ()
    assert TAKES_NO_PAGES in passed(seen).why
    assert one.changes.progress.handled == frozenset()


def test_session_ends_when_more_checks_are_gone_than_it_remembers() -> None:
    one = Conversation()
    for generation in range(30):
        checks = [check(name=f"{generation}-{number}") for number in range(PAGE)]
        assert by_name(*one.look(*checks).checks) == by_name(*checks)
    assert len(one.changes._revisions) < 30 * PAGE  # noqa: SLF001  nothing else shows how much it keeps
