"""The alerts of deploy/components, as Prometheus itself reads and evaluates them (promtool)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.alert_cases import CASES, AlertCase
from tests.support.alert_rules import COMPONENTS, rules
from tests.support.promtool import promtool


@pytest.fixture(scope="module")
def rule_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rules without the object around them; JSON is YAML."""
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(json.dumps({"groups": [{"name": "paramedic", "rules": rules()}]}))
    return file


def expected(rule: dict[str, Any], case: AlertCase) -> dict[str, Any]:
    """The alert with its annotations as promtool renders them."""
    values = {f"$labels.{name}": value for name, value in case.labels.items()} | {"$value": case.value}

    def rendered(text: str) -> str:
        return re.sub(r"\{\{ (\S+).*?\}\}", lambda found: values.get(found[1], ""), text)

    return {
        "exp_labels": rule["labels"] | case.labels,
        "exp_annotations": {name: rendered(text) for name, text in rule["annotations"].items()},
    }


def unit_test(rule: dict[str, Any], series: dict[str, str], at: str, alerts: list[Any]) -> dict[str, Any]:
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": at, "alertname": rule["alert"], "exp_alerts": alerts}],
    }


async def passes(rule_file: Path, tests: list[dict[str, Any]]) -> str:
    """Return the complaints of promtool about these unit tests; "" if all of them pass."""
    file = rule_file.with_name("tests.yaml")
    file.write_text(json.dumps({"rule_files": [rule_file.name], "tests": tests}))
    status, out = await promtool("test", "rules", str(file))
    return "" if status == 0 else out


async def test_prometheus_accepts_every_rule(rule_file: Path) -> None:
    status, out = await promtool("check", "rules", "--lint=all", "--lint-fatal", str(rule_file))
    assert status == 0, out
    assert f"{len(rules())} rules found" in out


def test_each_alert_has_its_case() -> None:
    assert [rule["alert"] for rule in rules()] == [*CASES], f"add a case for each alert of {COMPONENTS.name}"


async def test_alert_fires_where_it_should_with_its_words(rule_file: Path) -> None:
    tests = [
        unit_test(rule, case.fires, case.at, [expected(rule, case)])
        for rule, case in zip(rules(), CASES.values(), strict=True)
    ]
    assert await passes(rule_file, tests) == ""


async def test_alert_is_quiet_where_nothing_is_wrong(rule_file: Path) -> None:
    tests = [
        unit_test(rule, case.quiet, case.at, []) for rule, case in zip(rules(), CASES.values(), strict=True)
    ]
    assert await passes(rule_file, tests) == ""


async def test_missing_alert_and_unexpected_alert_fail_these_tests(rule_file: Path) -> None:
    rule, case = rules()[1], CASES["ParamedicNoLeader"]
    swapped = [
        unit_test(rule, case.quiet, case.at, [expected(rule, case)]),
        unit_test(rule, case.fires, case.at, []),
    ]
    said = await passes(rule_file, swapped)
    assert said.count("alertname: ParamedicNoLeader") == len(swapped)
