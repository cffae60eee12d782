"""`paramedic policy check` reads a policy as the detector does."""

import asyncio
from pathlib import Path

import pytest

from tests.support.cluster.command import PARAMEDIC, Command

POLICY = """\
backOffLimit: 10m
outageGuard: {}
maintenanceWindows:
- {name: nights, schedule: "0 22 * * *", duration: 6h, remediation: Allowed}
notifications:
- {name: oncall, urlFile: url}
- {name: chat, urlFile: chat, events: [Held]}
"""
IN_FORCE = """\
stalenessLimit: 30s (default)
backOffLimit: 10m
outageGuard: {"minimumNodes": 3, "percentage": 60, "window": "5m", "holdLimit": "1h", "labels": {}}
shadow: false (default)
heldNodes: {"cordoned": false, "tainted": [], "atMost": "1h", "signs": [], "without": []} (default)
limits: {"maxInFlightByLabel": {}} (default)
quorumLabels: [] (default)
ordersByAnnotation: true (default)
forcedOrders: false (default)
maxOrdersInFlight: 1 (default)
maintenanceWindows:
- {"name": "nights", "schedule": "0 22 * * *", "duration": "6h", "remediation": "Allowed"}
notifications:
- {"name": "oncall", "urlFile": "url"}
- {"name": "chat", "urlFile": "chat", "events": ["Held"]}
"""


def manifest(text: str, name: str = "paramedic-policy", key: str = "policy.yaml") -> str:
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    head = f"---\n# Source: x\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"
    return f"{head}data:\n  {key}: |\n{indented}"


@pytest.mark.parametrize("text", [POLICY, manifest(POLICY)], ids=["policy", "ConfigMap"])
async def test_policy_and_its_config_map_are_said_to_be_in_force_with_every_default(
    text: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy"
    file.write_text(text)
    ran = await Command({})("policy", "check", str(file))
    assert (ran.code, ran.out, ran.err) == (0, IN_FORCE, "")


@pytest.mark.parametrize("text", ["", "# nothing yet", "{}"])
async def test_policy_that_names_no_field_is_taken_with_a_note(text: str, tmp_path: Path) -> None:
    file = tmp_path / "policy"
    file.write_text(text)
    ran = await Command({})("policy", "check", str(file))
    assert ran.code == 0
    assert ran.out.count("(default)") == 12
    assert ran.err == (
        f"{file}: names no field; blank text, unlike {{}}, holds every check if "
        "PARAMEDIC_MISSING_POLICY=hold is set\n"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("backoffLimit: 1m", "backoffLimit: there is no such field; did you mean backOffLimit?"),
        (
            "backOffLimit: soon",
            "backOffLimit: must be a duration such as 300s, 5m or 1h30m (found",
        ),
        (
            manifest("shadow: perhaps"),
            "policy.yaml: shadow: must be true or false (found 'perhaps')",
        ),
        (manifest("{}", name="policy"), "metadata.name: must be paramedic-policy (found 'policy')"),
        (manifest("{}", key="policy.yml"), "data.policy.yml: there is no such key, there is policy.yaml"),
        ("kind: ConfigMap", "metadata: is missing"),
        ("kind: ConfigMap\nmetadata:", "metadata: must be a mapping (found null)"),
        (
            manifest("{}").replace("policy.yaml: |\n    {}", "policy.yaml: true"),
            "data.policy.yaml: must be text (found true)",
        ),
        ("a: [", "line 2 is not valid YAML"),
        (manifest("a: ["), "policy.yaml: line 2 is not valid YAML"),
        ("# " + "x" * 300_000, "it is longer than "),
    ],
)
async def test_refused_policy_is_named_by_its_file_and_a_key_only_of_a_config_map(
    text: str, why: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy"
    file.write_text(text)
    ran = await Command({})("policy", "check", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"paramedic: {file}: {why}")
    assert ran.err.count("\n") == 1


async def test_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    ran = await Command({})("policy", "check", str(tmp_path))
    assert (ran.code, ran.err) == (2, f"paramedic: {tmp_path}: cannot be read: Is a directory\n")


async def test_policy_is_read_from_standard_input() -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        PARAMEDIC, "policy", "check", "-", stdin=pipe, stdout=pipe, stderr=pipe
    )
    out, err = await process.communicate(manifest(POLICY).encode())
    assert (process.returncode, out.decode(), err) == (0, IN_FORCE, b"")
