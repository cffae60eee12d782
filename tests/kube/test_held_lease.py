from datetime import timedelta

import pytest

from kube.client import Client
from kube.errors import Conflict, KindUnknown, LeaseTaken, NotFound
from kube.held_lease import HeldLeases
from kube.lease import TARGET_UID, LeaseHolder
from kube.transport import Transport
from objects.metadata import OwnerReference
from tests.support.api.api_server import NOT_SERVED, Answer, ApiServer, refused, said
from tests.support.values.leases import NOW, lease_object

ALL = "/apis/coordination.k8s.io/v1/namespaces/leases/leases"
ONE = f"{ALL}/node-a"
LABELS = {"of": "us"}
TEN_MINUTES = timedelta(minutes=10)
ME, OF_NODE = LeaseHolder("me"), LeaseHolder("me", "node-uid")
NODE = OwnerReference(api_version="v1", kind="Node", name="A", uid="uid-of-node")

CREATED = said(lease_object("me"), 201)
EXISTS = refused(409, "AlreadyExists", "node-a")
CHANGED = refused(409, "Conflict", "node-a")
GONE = refused(404, "NotFound", "node-a")
NO_NAMESPACE = refused(404, "NotFound", "leases")


def held_for(uid: str, renewed: timedelta = timedelta()) -> Answer:
    """The answer that this check holds the Lease for the target of that uid."""
    lease = lease_object("me", renewed=renewed, version=7)
    lease["metadata"]["annotations"] = {TARGET_UID: uid}
    return said(lease)


@pytest.fixture
def leases(transport: Transport) -> HeldLeases:
    return HeldLeases(Client(transport, labels=LABELS), "leases")


def _asked(server: ApiServer) -> list[str]:
    return [f"{asked.method} {asked.path.removeprefix(ALL)}" for asked in server.asked]


@pytest.mark.rule("NHC 1.8/duration", "NHC 1.8/name", "NHC 1.8/owner", "NHC 2.5/obtain/missing")
async def test_free_lease_costs_one_request(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, CREATED)

    held = await leases.obtain("node-a", ME, TEN_MINUTES, NOW, NODE)

    assert held.acquired == NOW
    body = server.asked[0].body
    assert body["metadata"]["name"] == "node-a"
    assert body["metadata"]["ownerReferences"][0] == {
        "apiVersion": "v1",
        "kind": "Node",
        "name": "A",
        "uid": "uid-of-node",
    }
    assert body["spec"]["leaseDurationSeconds"] == 660
    assert _asked(server) == ["POST "]


@pytest.mark.rule("NHC 2.5/obtain/foreign")
async def test_lease_of_another_is_left_to_it(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, EXISTS)
    server.answer("GET", ONE, said(lease_object("another")))

    with pytest.raises(LeaseTaken) as caught:
        await leases.obtain("node-a", ME, TEN_MINUTES, NOW)
    assert caught.value.holder == "another"
    assert _asked(server) == ["POST ", "GET /node-a"]


@pytest.mark.rule("NHC 2.5/obtain/ours")
async def test_lease_that_is_ours_is_kept(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, EXISTS)
    server.answer("GET", ONE, said(lease_object("me")))

    assert (await leases.obtain("node-a", ME, TEN_MINUTES, NOW)).acquired == NOW
    assert _asked(server) == ["POST ", "GET /node-a"]


@pytest.mark.rule("NHC 2.5/obtain/ours")
async def test_lease_that_is_ours_and_would_end_early_is_renewed(
    server: ApiServer, leases: HeldLeases
) -> None:
    server.answer("POST", ALL, EXISTS)
    server.answer("GET", ONE, said(lease_object("me", renewed=timedelta(minutes=5), version=7)))
    server.answer("PATCH", ONE, said(lease_object("me")))

    await leases.obtain("node-a", ME, TEN_MINUTES, NOW)

    assert server.asked[-1].body["metadata"] == {"resourceVersion": "7", "labels": LABELS}
    assert server.asked[-1].body["spec"]["leaseDurationSeconds"] == 660


@pytest.mark.rule("NHC 2.5/obtain/expired")
async def test_lease_that_ended_is_taken_over(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, EXISTS)
    server.answer("GET", ONE, said(lease_object("another", renewed=timedelta(minutes=12), version=7)))
    server.answer("PATCH", ONE, said(lease_object("me")))

    await leases.obtain("node-a", ME, TEN_MINUTES, NOW)

    patch = server.asked[-1].body
    assert patch["metadata"] == {"resourceVersion": "7", "labels": LABELS}
    assert (patch["spec"]["holderIdentity"], patch["spec"]["leaseTransitions"]) == ("me", 5)


@pytest.mark.rule("NHC 2.5/obtain/foreign")
async def test_takeover_that_another_was_faster_with_is_its(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, EXISTS)
    server.answer(
        "GET", ONE, said(lease_object("dead", renewed=timedelta(minutes=12))), said(lease_object("faster"))
    )
    server.answer("PATCH", ONE, CHANGED)

    with pytest.raises(LeaseTaken) as caught:
        await leases.obtain("node-a", ME, TEN_MINUTES, NOW)
    assert caught.value.holder == "faster"


async def test_lease_that_went_between_two_looks_is_created(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, EXISTS, CREATED)
    server.answer("GET", ONE, GONE)

    await leases.obtain("node-a", ME, TEN_MINUTES, NOW)

    assert _asked(server) == ["POST ", "GET /node-a", "POST "]


async def test_lease_that_keeps_changing_is_given_up(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, EXISTS)
    server.answer("GET", ONE, said(lease_object("dead", renewed=timedelta(minutes=12))))
    server.answer("PATCH", ONE, CHANGED)

    with pytest.raises(Conflict):
        await leases.obtain("node-a", ME, TEN_MINUTES, NOW)
    assert _asked(server).count("PATCH /node-a") == 3


@pytest.mark.rule("NHC 1.8/namespace", "NHC 2.1/2")
async def test_missing_namespace_is_named_and_not_made(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, NO_NAMESPACE)

    with pytest.raises(NotFound, match="leases"):
        await leases.obtain("node-a", ME, TEN_MINUTES, NOW)
    assert set(_asked(server)) == {"POST "}


async def test_api_without_leases_is_asked_once(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, NOT_SERVED)

    with pytest.raises(KindUnknown):
        await leases.obtain("node-a", ME, TEN_MINUTES, NOW)
    assert _asked(server) == ["POST "]


@pytest.mark.rule("NHC 2.5/manage/renew")
async def test_renewal_of_a_lease_that_lasts_writes_nothing(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("GET", ONE, said(lease_object("me")))

    held = await leases.renew("node-a", ME, TEN_MINUTES, NOW)

    assert held is not None
    assert _asked(server) == ["GET /node-a"]


async def test_renewal_that_meets_a_change_looks_again(server: ApiServer, leases: HeldLeases) -> None:
    old = timedelta(minutes=5)
    server.answer("GET", ONE, said(lease_object("me", renewed=old, version=1)))
    server.answer("PATCH", ONE, CHANGED, said(lease_object("me")))

    assert await leases.renew("node-a", ME, TEN_MINUTES, NOW) is not None
    assert server.asked[-1].body["spec"]["leaseDurationSeconds"] == 660


@pytest.mark.rule("NHC 2.5/manage/not ours", "rule 11")
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(GONE, id="gone"),
        pytest.param(said(lease_object("another")), id="of another"),
        pytest.param(held_for("the next", renewed=timedelta(minutes=9)), id="of the next target of the name"),
    ],
)
async def test_lease_that_is_not_ours_is_neither_renewed_nor_released(
    server: ApiServer, leases: HeldLeases, answer: Answer
) -> None:
    server.answer("GET", ONE, answer)

    assert await leases.renew("node-a", OF_NODE, TEN_MINUTES, NOW) is None
    await leases.release("node-a", OF_NODE)
    assert _asked(server) == ["GET /node-a"] * 2


@pytest.mark.rule("NHC 2.5/release", "rule 2/preconditions")
async def test_release_deletes_exactly_what_was_read(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("GET", ONE, said(lease_object("me", version=7)))
    server.answer("DELETE", ONE, said({}))

    await leases.release("node-a", OF_NODE)

    assert server.asked[-1].body["preconditions"] == {"uid": "uid-of-lease", "resourceVersion": "7"}


async def test_release_of_a_lease_of_another_node_of_the_name_does_nothing(
    server: ApiServer, leases: HeldLeases
) -> None:
    lease = lease_object("me")
    lease["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Node", "name": "A", "uid": "the-next-node"}
    ]
    server.answer("GET", ONE, said(lease))

    await leases.release("node-a", OF_NODE)

    assert _asked(server) == ["GET /node-a"]


async def test_release_that_another_was_faster_with_leaves_its_lease(
    server: ApiServer, leases: HeldLeases
) -> None:
    server.answer("GET", ONE, said(lease_object("me")), said(lease_object("another")))
    server.answer("DELETE", ONE, CHANGED)

    await leases.release("node-a", OF_NODE)

    assert _asked(server) == ["GET /node-a", "DELETE /node-a", "GET /node-a"]


@pytest.mark.rule("rule 2/preconditions")
@pytest.mark.parametrize(
    ("answers", "released", "asked"),
    [
        pytest.param([said({})], True, ["DELETE"], id="unchanged"),
        pytest.param([CHANGED, said({})], True, ["DELETE", "GET", "DELETE"], id="renewed by another worker"),
        pytest.param([GONE], False, ["DELETE", "GET"], id="gone"),
    ],
)
async def test_lease_that_we_wrote_is_read_before_its_release_only_if_it_is_another_now(
    server: ApiServer, leases: HeldLeases, answers: list[Answer], *, released: bool, asked: list[str]
) -> None:
    server.answer("POST", ALL, CREATED)
    server.answer("DELETE", ONE, *answers)
    server.answer("GET", ONE, said(lease_object("me", version=8)) if released else GONE)
    await leases.obtain("node-a", ME, TEN_MINUTES, NOW)
    server.asked.clear()

    assert await leases.release("node-a", ME) is released

    assert _asked(server) == [f"{method} /node-a" for method in asked]
    written = lease_object("me")["metadata"]["resourceVersion"]
    assert server.asked[0].body["preconditions"] == {"uid": "uid-of-lease", "resourceVersion": written}


async def test_lease_that_another_holder_wrote_here_is_read(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, said(lease_object("another"), 201))
    server.answer("GET", ONE, said(lease_object("me")))
    server.answer("DELETE", ONE, said({}))
    await leases.obtain("node-a", LeaseHolder("another"), TEN_MINUTES, NOW)

    assert await leases.release("node-a", ME)

    assert _asked(server) == ["POST ", "GET /node-a", "DELETE /node-a"]


@pytest.mark.rule("rule 11", "rule 13")
async def test_lease_says_for_which_target_it_is_held(server: ApiServer, leases: HeldLeases) -> None:
    server.answer("POST", ALL, CREATED)

    await leases.obtain("node-a", OF_NODE, TEN_MINUTES, NOW)

    assert server.asked[0].body["metadata"]["annotations"] == {TARGET_UID: "node-uid"}
    assert server.asked[0].body["spec"]["holderIdentity"] == "me"


@pytest.mark.rule("rule 11", "rule 13")
async def test_lease_that_is_held_for_an_earlier_target_of_the_name_is_not_taken(
    server: ApiServer, leases: HeldLeases
) -> None:
    server.answer("POST", ALL, EXISTS)
    server.answer("GET", ONE, held_for("earlier"))

    with pytest.raises(LeaseTaken, match=r"me \(for an earlier target of this name\)"):
        await leases.obtain("node-a", OF_NODE, TEN_MINUTES, NOW)
    assert _asked(server) == ["POST ", "GET /node-a"]


@pytest.mark.rule("rule 11", "NHC 2.5/obtain/expired")
async def test_lease_of_an_earlier_target_blocks_no_longer_than_its_duration(
    server: ApiServer, leases: HeldLeases
) -> None:
    server.answer("POST", ALL, EXISTS)
    server.answer("GET", ONE, held_for("earlier", renewed=timedelta(minutes=12)))
    server.answer("PATCH", ONE, said(lease_object("me")))

    await leases.obtain("node-a", OF_NODE, TEN_MINUTES, NOW)

    patch = server.asked[-1].body
    assert patch["metadata"] == {
        "resourceVersion": "7",
        "labels": LABELS,
        "annotations": {TARGET_UID: "node-uid"},
    }
    assert patch["spec"]["leaseTransitions"] == 5


@pytest.mark.rule("rule 39")
async def test_lease_that_names_no_target_is_judged_by_its_holder_and_names_ours_once_it_is_taken(
    server: ApiServer, leases: HeldLeases
) -> None:
    server.answer("POST", ALL, EXISTS)
    server.answer("GET", ONE, said(lease_object("me", renewed=timedelta(minutes=5), version=7)))
    server.answer("PATCH", ONE, said(lease_object("me")))
    server.answer("DELETE", ONE, said({}))

    await leases.obtain("node-a", OF_NODE, TEN_MINUTES, NOW)
    assert server.asked[-1].body["metadata"]["annotations"] == {TARGET_UID: "node-uid"}
    assert await leases.renew("node-a", OF_NODE, TEN_MINUTES, NOW) is not None
    await leases.release("node-a", OF_NODE)
    assert _asked(server)[-1] == "DELETE /node-a"
