"""The policy as people write it, and which one is in force while they edit it."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.model.notification import NotificationEvent
from health.model.observation import HoldReason
from health.policy.held_nodes import HeldNodes
from health.policy.outage_guard import OutageGuard
from health.policy.policy import DEFAULTS, InvalidPolicyError, Policy, Receiver, StoredPolicy
from health.policy.policy_in_force import MISSING_POLICY, UNREAD, PolicyInForce
from objects.event import Severity
from tests.support.values.builders import limits

SETTINGS = Policy(staleness_limit=timedelta(seconds=45), back_off_limit=timedelta(minutes=5))


def settings(**fields: Any) -> Policy:
    """These settings with other values in some fields."""
    return SETTINGS.model_copy(update=fields)


FIELDS = (
    "backOffLimit, forcedOrders, heldNodes, limits, maintenanceWindows, maxOrdersInFlight, notifications, "
    "ordersByAnnotation, outageGuard, quorumLabels, shadow, stalenessLimit"
)
CORDONED = HeldNodes.model_validate({"cordoned": True})
ONCALL = Receiver(
    name="oncall",
    urlFile="oncall.url",
    events=(NotificationEvent.HELD,),
    heldFor="1h",
)
NIGHT = "{name: a, schedule: 0 22 * * *, duration: 1h, remediation: Allowed}"
CHAT = "{name: a, urlFile: a}"
GOOD, BAD = "backOffLimit: 10m", "backOffLimit: 10"


def stored(text: str | None, version: str = "1", **more: str) -> StoredPolicy:
    metadata = {
        "name": "paramedic-policy",
        "namespace": "ours",
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    data = more | ({} if text is None else {"policy.yaml": text})
    return StoredPolicy.model_validate({"metadata": metadata | {"resourceVersion": version}, "data": data})


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("", SETTINGS),
        ("# nothing yet", SETTINGS),
        ("{}", SETTINGS),
        ("backOffLimit: 10m", settings(back_off_limit=timedelta(minutes=10))),
        ("backOffLimit: 0", settings(back_off_limit=timedelta())),
        ('backOffLimit: "0"', settings(back_off_limit=timedelta())),
        ("shadow: true", settings(shadow=True)),
        ("ordersByAnnotation: false", settings(orders_by_annotation=False)),
        ("forcedOrders: true", settings(forced_orders=True)),
        ("maxOrdersInFlight: 5", settings(max_orders_in_flight=5)),
        (
            "notifications: [{name: oncall, urlFile: oncall.url, events: [Held], heldFor: 1h}]",
            settings(notifications=(ONCALL,)),
        ),
        ("heldNodes: {cordoned: true}", settings(held_nodes=CORDONED)),
        (
            "quorumLabels: [example.com/ceph-mon, example.com/role=consul]",
            settings(quorum_labels=("example.com/ceph-mon", "example.com/role=consul")),
        ),
        ("limits: {maxInFlight: 3}", settings(limits=limits(maxInFlight=3))),
        (
            "limits: {maxInFlightByLabel: {topology.kubernetes.io/zone: 1}}",
            settings(limits=limits(maxInFlightByLabel={"topology.kubernetes.io/zone": 1})),
        ),
        ("stalenessLimit: 1m", settings(staleness_limit=timedelta(minutes=1))),
        ("outageGuard: {}", settings(outage_guard=OutageGuard())),
        (
            "outageGuard: {labels: {example.com/site: 2}}",
            settings(outage_guard=OutageGuard(labels={"example.com/site": 2})),
        ),
        (
            "outageGuard: {minimumNodes: 5, percentage: 80, window: 2m, holdLimit: 0}",
            settings(
                outage_guard=OutageGuard(
                    minimumNodes=5, percentage=80, window=timedelta(minutes=2), holdLimit=timedelta()
                ),
            ),
        ),
    ],
)
def test_policy_is_what_is_named_and_else_what_the_settings_say(text: str, policy: Policy) -> None:
    assert stored(text).over(SETTINGS) == policy


@pytest.mark.rule("rule 8")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "backoffLimit: 10m",
            "backoffLimit: there is no such field; did you mean backOffLimit?",
        ),
        (
            "back_off_limit: 10m",
            "back_off_limit: there is no such field; did you mean backOffLimit?",
        ),
        (
            "outageGuard:",
            "outageGuard: must be a mapping: {} turns it on with its defaults, without the field it is off",
        ),
        (
            "outageGuard: {percent: 50}",
            "outageGuard.percent: there is no such field; did you mean percentage?",
        ),
        (
            "outageGuard: {percentage: 101}",
            "outageGuard.percentage: must be at most 100 (found 101)",
        ),
        (
            "outageGuard: {minimum_nodes: 5}",
            "outageGuard.minimum_nodes: there is no such field; did you mean minimumNodes?",
        ),
        ("outageGuard: {labels: {site: 1}}", "outageGuard.labels.site: must be at least 2 (found 1)"),
        ("outageGuard: {labels: {'a b': 2}}", "outageGuard.labels: 'a b' is not a label name"),
        ("outageGuard: {labels: [site]}", "outageGuard.labels: must be a mapping"),
        (
            f"outageGuard: {{labels: {{{', '.join(f'l{number}: 2' for number in range(21))}}}}}",
            "outageGuard.labels: must have at most 20",
        ),
        ("outageGuard: {minimumNodes: true}", "outageGuard.minimumNodes: must be an integer"),
        ("outageGuard: {window: 2h}", "outageGuard.window: must be from 10s to 1h (found '2h')"),
        ("backOffLimit: false", "backOffLimit: must be a duration such as 300s, 5m or 1h30m"),
        ("backOffLimit: 10", "backOffLimit: must be a duration such as 300s, 5m or 1h30m (found 10)"),
        ("backOffLimit:", "backOffLimit: must be a duration such as 300s, 5m or 1h30m"),
        ("backOffLimit: 999999h", "backOffLimit: must be from 0s to 8784h"),
        ("shadow: on shore", "shadow: must be true or false (found 'on shore')"),
        (
            "limits: {maxInflight: 1}",
            "limits.maxInflight: there is no such field; did you mean maxInFlight or maxInFlightByLabel?",
        ),
        (
            "heldNodes: {zone: a}",
            "heldNodes.zone: there is no such field; there are atMost, cordoned, signs, tainted, without",
        ),
        ("limits: {maxInFlight: 0}", "limits.maxInFlight: must be at least 1"),
        ("limits: {maxInFlight: '3'}", "limits.maxInFlight: must be an integer"),
        ("limits: {maxStartsPerHour: true}", "limits.maxStartsPerHour: must be an integer"),
        (
            'heldNodes: {tainted: ["example.com/maintenance:NoSchedule"]}',
            "heldNodes.tainted[0]: 'example.com/maintenance:NoSchedule' is not the key of a taint",
        ),
        (
            "quorumLabels: ['example.com/role: etcd']",
            "quorumLabels[0]: 'example.com/role: etcd' is neither a label name nor a label name with =value",
        ),
        ("quorumLabels: [a=b=c]", "quorumLabels[0]: 'a=b=c' is neither a label name nor a label name with "),
        ("quorumLabels: ['']", "quorumLabels[0]: '' is neither a label name nor a label name with =value"),
        ("quorumLabels: etcd", "quorumLabels: must be a list (found 'etcd')"),
        (f"quorumLabels: [{','.join('a' * 51)}]", "quorumLabels: must have at most 50 items"),
        ("heldNodes: {tainted: [a=b]}", "heldNodes.tainted[0]: 'a=b' is not the key of a taint"),
        ("heldNodes: {tainted: ['']}", "heldNodes.tainted[0]: '' is not the key of a taint"),
        ("notifications: {}", "notifications: must be a list (found {})"),
        ("notifications: [{urlFile: a}]", "notifications[0].name: is missing"),
        ("notifications: [{name: Oncall}]", "notifications[0].name: must be at most 63 lowercase letters, "),
        (
            f"notifications: [{CHAT.replace('}', ', form: slack}')}]",
            "notifications[0].form: there is no such field",
        ),
        (
            f"notifications: [{CHAT.replace('urlFile: a', 'url: a')}]",
            "notifications[0].urlFile: is missing",
        ),
        (
            f"notifications: [{CHAT.replace('}', ', events: [Fine]}')}]",
            "notifications[0].events[0]: must be 'ApprovalRequired', ",
        ),
        (
            f"notifications: [{CHAT.replace('}', ', events: []}')}]",
            "notifications[0].events: must have at least 1 item (found [])",
        ),
        (
            f"notifications: [{CHAT.replace('}', ', events: [Held, Gone, Held]}')}]",
            "notifications[0].events: must name each event once, and names Held 2 times",
        ),
        (
            f"notifications: [{CHAT.replace('}', ', heldFor: 1s}')}]",
            "notifications[0].heldFor: must be from 1m to 168h (found '1s')",
        ),
        (
            f"notifications: [{CHAT.replace('}', ', maxPerMinute: 0}')}]",
            "notifications[0].maxPerMinute: must be at least 1 (found 0)",
        ),
        (f"notifications: [{CHAT}, {CHAT}]", "notifications: two receivers have the name a"),
        (
            f"notifications: [{', '.join(CHAT.replace('name: a', f'name: a{n}') for n in range(11))}]",
            "notifications: must have at most 10 items",
        ),
        ("stalenessLimit: 9s", "stalenessLimit: must be from 10s to 10m (found '9s')"),
        ("stalenessLimit: 11m", "stalenessLimit: must be from 10s to 10m (found '11m')"),
        (
            "backOffLimit: 1m\nbackOffLimit: 2m",
            "backOffLimit: a key stands twice in one mapping",
        ),
        ("limits:", "limits: must be a mapping (found null)"),
        ("limits: 7", "limits: must be a mapping (found 7)"),
        ("limits: [maxInFlight]", 'limits: must be a mapping (found ["maxInFlight"])'),
        ("limits: {maxInFlight: {a: 1}}", 'limits.maxInFlight: must be an integer (found {"a": 1})'),
        ("limits: {maxInFlightByLabel: [a]}", 'limits.maxInFlightByLabel: must be a mapping (found ["a"])'),
        ('limits: {maxInFlightByLabel: {"": 1}}', "limits.maxInFlightByLabel: '' is not a label name"),
        ("heldNodes: {tainted: a}", "heldNodes.tainted: must be a list (found 'a')"),
        ("heldNodes: {signs: [a=b]}", "heldNodes.signs[0]: 'a=b' is not the key of a taint"),
        ("heldNodes: {without: [Kure]}", "heldNodes.without[0]: "),
        ("heldNodes: {atMost: 59s}", "heldNodes.atMost: must be from 1m to 168h (found '59s')"),
        ("heldNodes: {atMost: 0}", "heldNodes.atMost: must be from 1m to 168h (found 0)"),
        ("heldNodes: {tainted: [1]}", "heldNodes.tainted[0]: must be text (found 1)"),
        ("maintenanceWindows: {}", "maintenanceWindows: must be a list (found {})"),
        ("maintenanceWindows: [a]", "maintenanceWindows[0]: must be a mapping (found 'a')"),
        ("maintenanceWindows: [{}]", "maintenanceWindows[0].name: is missing"),
        (
            f"maintenanceWindows: [{NIGHT.replace('Allowed', 'Maybe')}]",
            "maintenanceWindows[0].remediation: must be 'Allowed' or 'Blocked' (found 'Maybe')",
        ),
        ("shadow:", "shadow: must be true or false (found null)"),
        ("backOffLimit: [1h]", 'backOffLimit: must be a duration such as 300s, 5m or 1h30m (found ["1h"])'),
        ("a: [", "line 2 is not valid YAML"),
        ("[]", "it is YAML, but not a mapping"),
        ("false", "it is YAML, but not a mapping"),
        ("a: &x 1\nb: *x", "b: it has an alias"),
        ('stalenessLimit: !!int ""', "stalenessLimit: it has a tag (found 'tag:yaml.org,2002:int')"),
        ("limits: {maxInFlight: !!int '3'}", "limits.maxInFlight: it has a tag"),
        ("maintenanceWindows:\n- name: !x a", "maintenanceWindows[0].name: it has a tag (found '!x')"),
        ("backOffLimit: 1:30", "backOffLimit: must be a duration such as 300s, 5m or 1h30m (found '1:30')"),
        ("limits: {maxInFlight: 010}", "limits.maxInFlight: must be an integer"),
        ("limits: {maxInFlight: 0x10}", "limits.maxInFlight: must be an integer"),
        (f"limits: {{maxInFlight: {'9' * 5000}}}", "limits.maxInFlight: must be an integer"),
        ("shadow: yes", "shadow: must be true or false (found 'yes')"),
        (f"shadow: {'1:' * 20_000}1", "it is longer than 32 KiB"),
        (f"shadow: {'1:' * 16_000}1", "shadow: must be true or false (found '1:1:"),
        ("shadow: true\n---\nshadow: false", "it has more than one document"),
        (
            f"maintenanceWindows: [{','.join([NIGHT] * 51)}]",
            "maintenanceWindows: must have at most 50 items",
        ),
        (f"maintenanceWindows: [{NIGHT}, {NIGHT}]", "maintenanceWindows: two windows have the name a"),
        ("{[a]: b}", "it has a key that is not plain text"),
        (f"{'a' * 1_000}: 1", f"{'a' * 255}…: there is no such field; there are {FIELDS}"),
    ],
)
def test_unknown_field_or_value_is_refused_by_field_and_value(text: str, problem: str) -> None:
    with pytest.raises(InvalidPolicyError) as refused:
        stored(text).over(SETTINGS)

    assert str(refused.value).startswith(f"policy.yaml: {problem}")


@pytest.mark.parametrize(
    "value", ["https://hooks.example.com/T0/B0/secret", "../x", "a/b", "..data", "a b", ""]
)
def test_address_in_place_of_a_file_is_refused_and_not_quoted(value: str) -> None:
    text = f'{{name: a, urlFile: "{value}"}}'
    with pytest.raises(InvalidPolicyError) as refused:
        stored(f"notifications: [{text}]").over(SETTINGS)
    assert str(refused.value) == (
        "policy.yaml: notifications[0].urlFile: must be the name of a file (a key of a Secret), "
        "and no path or address"
    )


@pytest.mark.parametrize(
    ("of", "problem"),
    [
        (stored(None), "data.policy.yaml: is missing"),
        (stored(None, policy="{}"), "data.policy: there is no such key, there is policy.yaml"),
        (stored("", other="x"), "data.other: there is no such key, there is policy.yaml"),
    ],
)
def test_other_keys_than_the_one_are_refused(of: StoredPolicy, problem: str) -> None:
    with pytest.raises(InvalidPolicyError) as refused:
        of.over(SETTINGS)

    assert str(refused.value) == problem


@given(st.text() | st.recursive(st.text() | st.integers() | st.floats(), st.lists).map(str))
def test_any_text_is_a_policy_or_is_refused(text: str) -> None:
    with suppress(InvalidPolicyError):
        Policy.parse(text).over(SETTINGS)


@pytest.mark.rule("rule 3")
def test_bad_edit_keeps_the_last_good_policy_and_says_so() -> None:
    good = UNREAD.after(stored(GOOD), SETTINGS)
    bad = good.after(stored(BAD, "2"), SETTINGS)

    assert (bad.policy, bad.hold) == (good.policy, None)
    assert bad.event.severity is Severity.WARNING
    assert bad.words.endswith("(found 10): until that is fixed, the last good policy stays in force.")
    mended = bad.after(stored(GOOD, "3"), SETTINGS)
    assert (mended.policy, mended.rejection) == (good.policy, None)
    assert mended.event.severity is Severity.NORMAL


@pytest.mark.rule("rule 3")
def test_bad_policy_at_the_start_holds_until_it_is_mended_or_deleted() -> None:
    bad = UNREAD.after(stored(BAD), SETTINGS)

    assert bad.hold is not None
    assert bad.hold.reason is HoldReason.POLICY_UNKNOWN
    assert "backOffLimit" in bad.hold.message
    assert bad.words.endswith("nothing new is remediated.")
    assert bad.after(stored(GOOD, "2"), SETTINGS).hold is None
    assert bad.after(None, SETTINGS) == PolicyInForce(policy=SETTINGS)


def test_bad_policy_that_comes_where_there_was_none_leaves_what_the_settings_say() -> None:
    bad = UNREAD.after(None, SETTINGS).after(stored(BAD), SETTINGS)

    assert (bad.policy, bad.hold) == (SETTINGS, None)


def test_deleted_policy_leaves_what_the_settings_say() -> None:
    assert UNREAD.after(stored(GOOD), SETTINGS).after(None, SETTINGS) == PolicyInForce(policy=SETTINGS)


@given(st.lists(st.sampled_from([None, GOOD, "{}", BAD, "x: y"])))
def test_policy_in_force_is_the_last_that_could_be_taken(edits: list[str | None]) -> None:
    in_force, last = UNREAD, None
    for version, text in enumerate(edits):
        of = None if text is None else stored(text, str(version))
        in_force = in_force.after(of, SETTINGS)
        if text is None:
            last = SETTINGS
        elif text in {GOOD, "{}"}:
            last = stored(text).over(SETTINGS)
        assert bool(in_force.rejection) == (text in {BAD, "x: y"})
    assert in_force.is_known == (last is not None)
    assert in_force.policy == (last or DEFAULTS)


def test_each_edit_is_another_event() -> None:
    good = UNREAD.after(stored(GOOD), SETTINGS)
    seeds = [good.event.seed, good.after(stored(BAD, "2"), SETTINGS).event.seed]
    seeds.append(good.after(stored(BAD, "3"), SETTINGS).event.seed)

    assert len(set(seeds)) == len(seeds)


REQUIRED = replace(UNREAD, is_required=True)


@pytest.mark.rule("rule 51")
@pytest.mark.parametrize(
    "missing",
    [
        None,
        stored(None, "2"),
        stored("", "2"),
        stored(" \n", "2"),
        stored("# rendered by a template\n", "2"),
        stored("---\n", "2"),
        stored("null\n", "2"),
        stored(None, "2", other="x"),
    ],
    ids=[
        "deleted",
        "without its key",
        "empty",
        "blank",
        "comments alone",
        "an empty document",
        "null",
        "with another key",
    ],
)
def test_required_policy_that_is_missing_holds_every_check_until_it_is_back(
    missing: StoredPolicy | None,
) -> None:
    good = REQUIRED.after(stored("shadow: true"), SETTINGS)
    assert good.hold is None
    gone = good.after(missing, SETTINGS)

    assert gone.hold == MISSING_POLICY
    assert gone.hold.reason is HoldReason.POLICY_UNKNOWN
    assert (gone.policy, gone.is_shadow) == (good.policy, True)
    assert (gone.event.reason, gone.event.severity) == ("PolicyMissing", Severity.WARNING)
    back = gone.after(stored(GOOD, "3"), SETTINGS)
    assert (back.hold, back.rejection, back.policy.shadow) == (None, None, False)
    assert back.after(missing, SETTINGS).hold == MISSING_POLICY


@pytest.mark.rule("rule 51")
def test_required_policy_that_is_missing_at_the_start_holds_and_nothing_is_written() -> None:
    missing = REQUIRED.after(None, SETTINGS)

    assert (missing.hold, missing.is_shadow) == (MISSING_POLICY, True)
    assert missing.after(stored(BAD), SETTINGS).hold is not None
    assert missing.after(stored("{}"), SETTINGS).hold is None


def test_bad_edit_after_a_deletion_is_reported_as_one_and_the_last_good_policy_stays() -> None:
    good = REQUIRED.after(stored(GOOD), SETTINGS)
    bad = good.after(None, SETTINGS).after(stored(BAD, "2"), SETTINGS)

    assert (bad.policy, bad.hold, bad.event.reason) == (good.policy, None, "PolicyRefused")
