"""The sentence of `paramedic explain` about a target that no check is known to select."""

from cli.inspection.explanation import nothing_selects


def test_nothing_is_done_for_a_target_that_no_check_selects() -> None:
    assert nothing_selects("node-4", ()) == "no check selects 'node-4', so nothing is done if it fails"


def test_check_that_cannot_be_read_makes_it_unknown_whether_the_target_is_selected() -> None:
    words = (
        "no check that can be read selects 'node-4'; whether NodeHealthCheck/workers selects it is unknown"
    )
    assert nothing_selects("node-4", ["NodeHealthCheck/workers"]) == words
