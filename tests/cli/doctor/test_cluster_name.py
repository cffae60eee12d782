"""Which cluster a person means, where kube-system's uid begins with d4b7e900."""

import pytest

from objects.clusters import configured_name, identities


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
