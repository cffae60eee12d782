"""A kind is read in the version that we like best, also where that one is served later, or ceases to be."""

from kube.record import Key
from kube.transport import Transport
from objects.group_kind import ServedKind
from tests.kube.objects import PATH, listed, widget
from tests.kube.watched import reflecting
from tests.support.api.api_server import CORE, NOT_SERVED, ApiServer, LiveWatch, lines, said
from tests.support.api.eventually import eventually

BOTH = ServedKind(
    group="example.com", kind="Widget", plural="widgets", versions=("v2", "v1"), is_namespaced=False
)
OLD, NEW = "/apis/example.com/v1", "/apis/example.com/v2"
NEW_PATH = f"{NEW}/widgets"
SERVED = said({"resources": [{"name": "widgets", "kind": "Widget", "namespaced": False}]})
IN_OLD, IN_NEW = said(listed(1, widget("a", 1))), said(listed(1, widget("a", 1, size=2)))
SILENT = lines(then="silent")


async def test_version_that_is_liked_better_is_read_once_it_is_served(
    server: ApiServer, transport: Transport
) -> None:
    watch = LiveWatch()
    server.answer("GET", OLD, SERVED)
    server.answer("GET", NEW, NOT_SERVED, NOT_SERVED, SERVED)
    server.answer("GET", PATH, IN_OLD)
    server.watch(PATH, lines(), watch)
    server.answer("GET", NEW_PATH, IN_NEW)
    server.watch(NEW_PATH, SILENT)

    async with reflecting(transport, resource=BOTH) as (reflector, told):
        await eventually(lambda: len(server.watches()) == 2)
        assert reflector.store[Key("", "a")].spec.size == 1
        watch.end()
        await eventually(lambda: len(server.watches()) == 3)

        assert reflector.store[Key("", "a")].spec.size == 2
        assert told.brief() == [("ADDED", "a"), ("MODIFIED", "a")]
    assert [asked.path for asked in server.lists()] == [PATH, NEW_PATH]


async def test_one_that_is_read_in_the_version_liked_best_is_looked_for_nowhere_else(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", NEW, SERVED)
    server.answer("GET", NEW_PATH, IN_NEW)
    server.watch(NEW_PATH, lines(), lines(), SILENT)

    async with reflecting(transport, resource=BOTH):
        await eventually(lambda: len(server.watches()) == 3)

    assert sum(asked.path == NEW for asked in server.asked) == 1


async def test_version_that_ceases_to_be_served_is_left_for_the_other_and_nothing_goes_meanwhile(
    server: ApiServer, transport: Transport
) -> None:
    server.answer("GET", "/api/v1", CORE)
    server.answer("GET", NEW, SERVED, NOT_SERVED)
    server.answer("GET", OLD, SERVED)
    server.answer("GET", NEW_PATH, IN_NEW, NOT_SERVED)
    server.watch(NEW_PATH, NOT_SERVED)
    server.answer("GET", PATH, IN_OLD)
    server.watch(PATH, SILENT)

    async with reflecting(transport, resource=BOTH) as (reflector, told):
        await eventually(lambda: server.watches() and server.watches()[-1].path == PATH)

        assert reflector.store[Key("", "a")].spec.size == 1
        assert told.brief() == [("ADDED", "a"), ("MODIFIED", "a")]
