"""The check of a namespace for incidents, the user of orders, and the names of refused settings."""

import getpass
import socket

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from cli.shared.connection import identity_of, require_incidents
from cli.shared.errors import CommandError, UsageError, wrong_setting
from runtime.search_attributes import SearchAttributeConflict
from runtime.settings import Settings, SettingsError

HOST = socket.gethostname()


async def required(monkeypatch: pytest.MonkeyPatch, answer: Exception | tuple[str, ...]) -> None:
    """Require incidents of a namespace of which Temporal answers that."""

    async def missing(*_: object) -> tuple[str, ...]:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("runtime.search_attributes.missing", missing)
    await require_incidents(await Client.connect("a:1", namespace="n", lazy=True))


async def test_namespace_that_lacks_what_is_searched_by_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="the Temporal namespace n at a:1 lacks "):
        await required(monkeypatch, ("ParamedicTarget",))


async def test_namespace_that_lacks_what_an_upgrade_brought_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    await required(monkeypatch, ("ParamedicAttempt",))


async def test_role_that_may_not_ask_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    await required(monkeypatch, RPCError("no", RPCStatusCode.PERMISSION_DENIED, b""))
    with pytest.raises(RPCError):
        await required(monkeypatch, RPCError("away", RPCStatusCode.UNAVAILABLE, b""))


async def test_search_attribute_of_another_type_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="ParamedicCheck is no Keyword in n"):
        await required(monkeypatch, SearchAttributeConflict("ParamedicCheck is no Keyword in n"))


def test_order_is_from_a_person_also_where_no_variable_names_them() -> None:
    assert identity_of({"USER": "ada", "LOGNAME": "bob"}) == f"ada@{HOST}"
    assert identity_of({"LOGNAME": "b\x1b\udcff"}) == f"b ?@{HOST}"
    assert identity_of({}) == f"{getpass.getuser()}@{HOST}"


def test_order_of_a_user_without_a_name_is_from_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 1_000_670_000)
    assert identity_of({}) == f"uid-1000670000@{HOST}"


@pytest.mark.parametrize(
    ("given", "name"), [({"cluster": ""}, "--cluster"), ({"cluster": None}, "PARAMEDIC_CLUSTER")]
)
def test_setting_is_refused_by_the_name_that_a_person_used(given: dict[str, object], name: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_environment({"PARAMEDIC_CLUSTER": ""})
    assert str(wrong_setting(refused.value, "PARAMEDIC_", given)) == (
        f"{name}: must be 1 to 52 of a-z, 0-9 and -, with no - at either end (found '')"
    )
