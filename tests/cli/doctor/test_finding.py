"""Findings of `paramedic doctor`, and the cluster that a user means."""

import pytest
from rich.console import Console

from cli.doctor.command import finding_table
from cli.doctor.examination import QUESTIONS, cannot_look
from cli.doctor.finding import Examined, Finding, FindingSeverity, in_mid_sentence
from cli.doctor.temporal import NAMESPACE_RULES, QUEUE_RULES, WORKFLOW_RULES
from devcluster.manifests import ROOT
from kube.errors import Forbidden, KubernetesError, Unreachable
from objects.clusters import configured_name, identities

PROBLEM, WARNING, NOTE = FindingSeverity
BAD = Finding(severity=PROBLEM, reason="NoWorker", what="no worker polls q", advice="start one")
ODD = Finding(severity=WARNING, reason="Stopped", what="stopped", advice="lift it")
TOLD = Finding(
    severity=NOTE, reason="ReferenceMayRun", what="another leads by this Lease", advice="make sure"
)


@pytest.mark.parametrize(
    ("findings", "words"),
    [
        ([], "nothing is wrong"),
        ([BAD], "1 problem"),
        ([ODD, ODD], "2 warnings"),
        ([BAD, BAD, ODD], "2 problems, 1 warning"),
        ([BAD, TOLD], "1 problem, 1 note"),
        ([TOLD, TOLD], "nothing is wrong, 2 notes"),
    ],
)
def test_findings_are_counted(findings: list[Finding], words: str) -> None:
    assert (
        Examined(cluster="prod-1a2b3c4d", findings=tuple(findings)).summary
        == f"cluster prod-1a2b3c4d: {words}"
    )


def test_cluster_that_does_not_answer_has_no_name() -> None:
    assert Examined(cluster=None, findings=(BAD,)).summary == "1 problem"


@pytest.mark.parametrize(
    ("error", "is_one_of_us", "severity"),
    [
        (Forbidden("The list was refused."), False, WARNING),
        (Forbidden("The list was refused."), True, NOTE),
        (Unreachable("The list was refused."), True, WARNING),
    ],
)
def test_request_without_an_answer_names_each_reason_once(
    error: KubernetesError, severity: FindingSeverity, *, is_one_of_us: bool
) -> None:
    found = cannot_look(error, ("RightMissing", "NoDetector", "RightMissing"), is_one_of_us=is_one_of_us)
    assert found.severity is severity
    assert found.what == "cannot look for RightMissing, NoDetector: the list was refused"


def test_finding_is_one_line_with_what_to_do() -> None:
    assert str(BAD) == "problem: no worker polls q: start one"


@pytest.mark.parametrize(("findings", "is_wrong"), [((), False), ((TOLD,), False), ((ODD, TOLD), True)])
def test_note_alone_means_that_nothing_is_wrong(findings: tuple[Finding, ...], is_wrong: bool) -> None:  # noqa: FBT001
    assert Examined(cluster=None, findings=findings).is_wrong is is_wrong


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("The kubeconfig a cannot be used.", "the kubeconfig a cannot be used"),
        ("GET /api: 403", "GET /api: 403"),
    ],
)
def test_message_in_the_middle_of_a_sentence_begins_with_a_small_article(message: str, words: str) -> None:
    assert in_mid_sentence(message) == words


def test_finding_on_a_terminal_is_wrapped_and_its_advice_has_a_line_of_its_own() -> None:
    console = Console(width=40)
    with console.capture() as captured:
        console.print(finding_table(Examined(cluster=None, findings=(TOLD,))))
    assert [line.rstrip() for line in captured.get().splitlines()] == [
        "note    another leads by this Lease",
        "advice  make sure",
    ]


def test_page_has_a_row_for_each_question() -> None:
    page = (ROOT / "docs" / "cli-doctor.md").read_text()
    of_temporal = {question.reason for question in (*NAMESPACE_RULES, *QUEUE_RULES, *WORKFLOW_RULES)}
    of_cluster = {question.reason for question in QUESTIONS} - {"CheckFails"}
    assert {reason for reason in of_cluster | of_temporal if f"`{reason}`" not in page} == set()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("dev", ("dev-d4b7e900",)),
        ("dev-d4b7e900", ("dev-d4b7e900", "dev-d4b7e900-d4b7e900")),
        ("dev-1a2b3c4d", ("dev-1a2b3c4d-d4b7e900",)),
        ("d4b7e900", ("d4b7e900-d4b7e900",)),
        ("a-b", ("a-b-d4b7e900",)),
    ],
)
def test_name_that_ends_as_an_identity_is_one_already(given: str, expected: tuple[str, ...]) -> None:
    assert identities(given, f"{given}-d4b7e900") == expected


def test_name_of_an_identity_is_what_its_processes_are_configured_with() -> None:
    assert configured_name("a-b-d4b7e900") == "a-b"
