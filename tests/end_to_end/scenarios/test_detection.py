"""Which nodes are found, and when."""

from datetime import UTC, datetime, timedelta

import pytest

from health.model.node import EXCLUDE_LABEL
from health.model.remediation_request import TEMPLATE_NAME
from tests.end_to_end.escalation import created
from tests.end_to_end.world import World

pytestmark = pytest.mark.cluster

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


@pytest.mark.rule("rule 12", "NHC 2.1/14")
async def test_a_node_that_is_unhealthy_when_it_is_created_is_remediated(world: World) -> None:
    await world.add_check()
    (node,) = await world.add_nodes(1, ready="Unknown")

    await world.until_requested(node)
    await world.until_status(observedNodes=1, healthyNodes=0)


@pytest.mark.rule("NHC 2.1/9", "NHC 2.0/node conditions", "NHC 2.2/timer runs", "rule 1")
async def test_earliest_deadline_of_several_conditions_counts_and_each_has_its_own_clock(
    world: World,
) -> None:
    names = await world.add_named_nodes("early", "turned", "lacking", "eased")
    await world.add_check(
        unhealthyConditions=[
            {"type": "Ready", "status": "Unknown", "duration": "1h"},
            {"type": "Ready", "status": "False", "duration": "4s"},
            {"type": "DiskPressure", "status": "True", "duration": "3s"},
            {"type": "MemoryPressure", "status": "True", "duration": "10m"},
            {"type": "KernelDeadlock", "status": "True", "duration": "1s"},
        ]
    )
    await world.until_status(observedNodes=4, healthyNodes=4)
    now = datetime.now(UTC)
    # A condition that would expire long ago is not there, and one that is there says nothing bad.
    await world.set_conditions(names["lacking"], {"DiskPressure": ("False", now - HOUR)})
    await world.set_conditions(
        names["early"], {"Ready": ("Unknown", now - HOUR / 2), "DiskPressure": ("True", now)}
    )
    await world.set_conditions(names["eased"], {"Ready": ("Unknown", now), "MemoryPressure": ("True", now)})
    await world.set_conditions(names["turned"], {"Ready": ("Unknown", now - HOUR / 2)})
    await world.until_status(healthyNodes=1)
    await _until_waiting_for(world, names["eased"], "MemoryPressure is True")
    await world.set_conditions(names["eased"], {"Ready": ("Unknown", now)})
    await _until_waiting_for(world, names["eased"], "Ready is Unknown")
    await _until_waiting_for(world, names["turned"], "Ready is Unknown")
    assert world.requests.created(names["turned"]) == 0

    # The other status has a clock of its own: the time with the former one does not count.
    turned = datetime.now(UTC).replace(microsecond=0)
    await world.set_conditions(names["turned"], {"Ready": ("False", turned)})
    await world.until_requested(names["early"], names["turned"])
    assert created(await world.request(names["early"])) >= (now + 3 * SECOND).replace(microsecond=0)
    assert created(await world.request(names["turned"])) >= turned + 4 * SECOND
    await _until_detected(
        world,
        {
            names["early"]: 'condition type "DiskPressure", condition status "True"',
            names["turned"]: 'condition type "Ready", condition status "False"',
        },
    )
    assert not await world.has_incident(names["lacking"])
    assert [world.requests.created(names[name]) for name in ("eased", "lacking")] == [0, 0]


@pytest.mark.rule("NHC 2.0/node selector label", "NHC 2.1/8", "NHC 2.1/12", "NHC 2.7/check edited")
async def test_labels_bring_a_node_into_a_check_and_out_of_it(world: World) -> None:
    inside, outside = await world.add_nodes(2)
    await world.add_check(
        selector={
            "matchLabels": {"test": world.name},
            "matchExpressions": [{"key": "role", "operator": "In", "values": ["worker", "spare"]}],
        }
    )
    await world.set_label(inside, "role", "worker")
    await world.until_status(observedNodes=1, healthyNodes=1)
    await world.fail(inside, outside)
    await world.until_requested(inside)
    assert not await world.has_incident(outside)

    await world.set_label(outside, "role", "spare")
    await world.until_requested(outside)
    await world.until_status(observedNodes=2, healthyNodes=0)
    await world.set_label(inside, "role", "worker-of-old")
    assert await world.outcome(inside) == "Released"
    await world.until_clean(inside)
    await world.set_label(outside, "role", None)
    assert await world.outcome(outside) == "Released"
    await world.until_clean(outside)
    await world.until_status(phase="Enabled", observedNodes=0, healthyNodes=0, unhealthyNodes=None)

    # And back, still unhealthy: another incident.
    await world.set_label(outside, "role", "worker")
    await world.until_requested(outside)
    assert world.requests.created(outside) == 2


@pytest.mark.rule("rule 10/edit", "NHC 2.7/check edited", "NHC 2.0/check")
async def test_edited_durations_move_running_deadlines_which_count_from_the_same_condition_time(
    world: World,
) -> None:
    old, young = await world.add_nodes(2)
    await world.add_check(duration="1h")
    now = datetime.now(UTC).replace(microsecond=0)
    await world.set_ready(old, "Unknown", now - HOUR / 2)
    await world.set_ready(young, "Unknown", now)
    for node in (old, young):
        await world.until_phase(node, "Waiting")

    await world.edit_check(unhealthyConditions=_ready_unknown("10m"))
    await world.until_requested(old)
    assert world.requests.created(young) == 0
    seconds = int((datetime.now(UTC) - now) / SECOND) + 4
    await world.edit_check(unhealthyConditions=_ready_unknown(f"{seconds}s"))
    await world.until_requested(young)
    assert created(await world.request(young)) >= now + seconds * SECOND

    # A longer duration makes a remediated node wait again; its request stays.
    await world.edit_check(unhealthyConditions=_ready_unknown("2h"))
    await world.until_looked_at(old)
    assert [world.requests.existing(node) for node in (old, young)] == [1, 1]
    await world.recover(old, young)
    for node in (old, young):
        assert await world.outcome(node) == "Remediated"
    await world.until_clean(old, young)
    assert [world.requests.created(node) for node in (old, young)] == [1, 1]


@pytest.mark.rule("rule 10/edit", "NHC 2.7/template edited")
async def test_another_template_is_used_for_the_next_remediation_and_not_for_the_one_that_runs(
    world: World,
) -> None:
    running, later = await world.add_nodes(2)
    await world.add_check()
    await world.add_template("other")
    await world.fail(running)
    await world.until_requested(running)
    before = await world.request(running)

    await world.edit_check(remediationTemplate=world.template("other"))
    await world.until_looked_at(running)
    await world.fail(later)
    await world.until_requested(later)
    assert _template_of(await world.request(later)) == world.template("other")["name"]
    after = await world.request(running)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert _template_of(after) == world.template()["name"]

    await world.recover(running)
    assert await world.outcome(running) == "Remediated"
    await world.until_clean(running)
    await world.fail(running)
    await world.until_requested(running)
    assert _template_of(await world.request(running)) == world.template("other")["name"]


@pytest.mark.rule(
    "NHC 1.5/RemediationSkipped/excluded",
    "NHC 1.5/InvalidNodeLabel",
    "NHC 2.0/node exclude label",
    "NHC 1.7/exclude-from-remediation",
    "rule 15",
)
async def test_label_excludes_a_node_from_what_is_new_and_an_empty_one_does_not(world: World) -> None:
    excluded, empty, other, at_work = await world.add_nodes(4)
    await world.add_check()
    await world.set_label(excluded, EXCLUDE_LABEL, "true")
    await world.set_label(empty, EXCLUDE_LABEL, "")
    await world.set_label(other, EXCLUDE_LABEL, "yes")
    await world.fail(*world.nodes)
    await world.until_requested(empty, other, at_work)
    await world.until_phase(excluded, "Held")
    await world.until_status(observedNodes=4, healthyNodes=0)
    await _until_told_of_exclusion(world, empty=empty, excluded=(excluded,))
    assert world.requests.created(excluded) == 0
    assert await world.lease(excluded) is None

    # A label that comes during a remediation stops nothing, and the clean-up neither.
    await world.set_label(at_work, EXCLUDE_LABEL, "true")
    await _until_told_of_exclusion(world, empty=empty, excluded=(excluded, at_work))
    await world.recover(empty)
    assert await world.outcome(empty) == "Remediated"
    assert world.requests.existing(at_work) == 1
    await world.recover(at_work)
    assert await world.outcome(at_work) == "Remediated"
    await world.until_clean(at_work)

    await world.set_label(excluded, EXCLUDE_LABEL, None)
    await world.until_requested(excluded)
    await _until_told_of_exclusion(world, empty=empty, excluded=(excluded, at_work))


async def _until_told_of_exclusion(world: World, *, empty: str, excluded: tuple[str, ...]) -> None:
    """Return when the Events say of these nodes, each once, and of no others, what their label does."""
    ignored = (
        f"[remediation] Node {empty} has exclude-from-remediation label with empty value, label will be "
        "ignored. Set value to 'true' to exclude node from remediation"
    )
    skipped = "[remediation] Remediation skipped on node {}: node has Exclude from Remediation label"
    wanted = [
        ("Warning", "InvalidNodeLabel", ignored),
        *(("Warning", "RemediationSkipped", skipped.format(node)) for node in excluded),
    ]

    async def are_told() -> bool:
        return sorted(event for event in await world.events() if "xclude" in event[2]) == wanted

    await world.until(are_told, f"the Events about labels never were {wanted}")


async def _until_waiting_for(world: World, node: str, words: str) -> None:
    """Return when the incident of a node waits, and says these words."""

    async def is_waiting() -> bool:
        state = await world.state(node)
        return state.phase == "Waiting" and words in state.details

    await world.until_phase(node, "Waiting")
    await world.until(is_waiting, f"{node} never waited for: {words}")


async def _until_detected(world: World, conditions: dict[str, str]) -> None:
    """Return when the Events say of these nodes, and of no others, which condition expired."""
    wanted = {
        f'[remediation] Node matches unhealthy condition. Node "{node}", {condition}'
        for node, condition in conditions.items()
    }

    async def are_told() -> bool:
        told = [message for _, reason, message in await world.events() if reason == "DetectedUnhealthy"]
        return sorted(told) == sorted(wanted)

    await world.until(are_told, f"the Events never were {wanted}")


def _ready_unknown(duration: str) -> list[dict[str, str]]:
    return [{"type": "Ready", "status": "Unknown", "duration": duration}]


def _template_of(request: dict[str, dict[str, dict[str, str]]]) -> str:
    return request["metadata"]["annotations"][TEMPLATE_NAME]
