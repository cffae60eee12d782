"""The details of an incident in the order of each reader: no part is lost, and none is searched for."""

from datetime import UTC, datetime

from health.model.details import HELD_BY_PERSON, Details, HoldWords, beside

SINCE = datetime(2026, 3, 1, 12, tzinfo=UTC)
WHOLE = Details(
    subject="Node/node-1",
    reason="it is old",
    requests="Reboot/a exists",
    shadow="in shadow",
    order="starts over by order",
    holds=(HoldWords(short=HELD_BY_PERSON, full="power; work", since=SINCE),),
    more=("not now",),
    ask_again_seconds=1800,
    notes=("cannot delete b",),
)


def test_each_reader_gets_all_parts_in_its_order() -> None:
    begin = (
        "it is old; Reboot/a exists; in shadow; starts over by order; held by a person: power; work; not now"
    )
    assert str(WHOLE) == f"Node/node-1: {begin} (asks again in 30m); cannot delete b"
    assert WHOLE.lasting == f"Node/node-1: {begin}; cannot delete b"
    assert WHOLE.brief == (
        "held by a person: power; work; in shadow; starts over by order; not now; cannot delete b; "
        "Reboot/a exists; it is old"
    )


def test_differing_parts_begin_with_a_hold_and_leave_out_what_is_common() -> None:
    assert WHOLE.differing == "held by a person: power; work; not now; in shadow; starts over by order"


def test_temporal_ui_gets_the_other_parts_as_lines() -> None:
    assert WHOLE.more_lines == (
        ("Requests", "Reboot/a exists"),
        ("Why not yet", "held by a person: power; work; not now"),
        ("Held since", "2026-03-01T12:00:00Z"),
        ("Shadow", "in shadow"),
        ("Order", "starts over by order"),
        ("Failed so far", "cannot delete b"),
    )


def test_empty_part_is_left_out() -> None:
    for nothing in (Details(), Details(more=("",))):
        assert str(nothing) == nothing.lasting == nothing.differing == nothing.brief == ""
    held = HoldWords(short=HELD_BY_PERSON)
    assert str(Details(reason="it is old", holds=(held,))) == "it is old; held by a person"


def test_name_of_the_subject_is_not_repeated_beside_it() -> None:
    assert str(Details(subject="Node/node-1", reason="old").beside_subject) == "old"


def test_name_of_the_subject_is_taken_out_of_its_reason() -> None:
    assert beside("Node/node-1", str(WHOLE)) == str(WHOLE.beside_subject)
    assert beside("Node/node-1", "Node/node-1 is gone") == "Node/node-1 is gone"


def test_reason_that_names_its_subject_itself_is_reported_as_it_is() -> None:
    assert str(Details(reason="Node/node-1 is gone")) == "Node/node-1 is gone"


def test_details_come_through_the_wire_as_they_were() -> None:
    assert Details.model_validate_json(WHOLE.model_dump_json()) == WHOLE
