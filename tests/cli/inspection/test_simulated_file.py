"""Files that `paramedic simulate` reads or refuses, with field and value."""

from pathlib import Path

import pytest

from cli.inspection.simulation import SimulatedPolicy, read_simulated, refusal, with_defaults
from cli.shared.errors import UsageError
from health.kinds.check_manifest import CheckManifest
from kube.client import Client
from kube.errors import Invalid
from kube.transport import Transport
from runtime.rights import SELF_REVIEWS
from tests.support.api.api_server import ApiServer, refused, said

CHECK = """
apiVersion: remediation.medik8s.io/v1alpha1
kind: NodeHealthCheck
metadata: {name: workers, annotations: {paramedic.dev/shadow: "true"}}
spec: {minHealthy: 3}
"""


def read(tmp_path: Path, text: str) -> CheckManifest | SimulatedPolicy:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    return read_simulated(str(file))


def check_in(tmp_path: Path, text: str = CHECK) -> CheckManifest:
    found = read(tmp_path, text)
    assert isinstance(found, CheckManifest)
    return found


def test_a_check_of_machines_without_a_namespace_is_in_the_default_one(tmp_path: Path) -> None:
    text = "{apiVersion: machine.openshift.io/v1beta1, kind: MachineHealthCheck, metadata: {name: a}}"
    assert check_in(tmp_path, text).reference.namespace == "default"


@pytest.mark.parametrize(
    "text",
    [
        "{backOffLimit: 5m}",
        "{kind: ConfigMap, metadata: {name: paramedic-policy}, data: {policy.yaml: '{}'}}",
    ],
)
def test_a_policy_may_stand_alone_or_in_its_config_map(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text)
    assert isinstance(found, SimulatedPolicy)
    assert "kind" not in found.text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{kind: Pod}", "kind: must be a ConfigMap"),
        (
            "{kind: NodeHealthCheck, apiVersion: v1}",
            "kind: must be a ConfigMap with the policy, or NodeHealthCheck of remediation.medik8s.io",
        ),
        (CHECK.replace("name: workers", "name: 3"), "metadata.name: must be the name of a check (found 3)"),
        (CHECK.replace("{minHealthy: 3}", "[3]"), "spec: must be a mapping (found [3])"),
        ("{limits: {maxInFlight: 0}}", "limits.maxInFlight: must be at least 1 (found 0)"),
        ("{kind: ConfigMap, metadata: {name: other}}", "metadata.name: must be paramedic-policy"),
        (
            "{kind: ConfigMap, metadata: {name: paramedic-policy}, data: {policy.yaml: 'shadow: 3'}}",
            "policy.yaml: shadow: must be true or false (found 3)",
        ),
        ("kind: [", "line 2 is not valid YAML"),
    ],
)
def test_another_file_is_refused_with_its_name_field_and_value(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, text)
    assert str(refused.value).startswith(f"{tmp_path / 'file.yaml'}: {sentence}")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UsageError, match=r"/nowhere/a.yaml: cannot be read"):
        read_simulated("/nowhere/a.yaml")


COMPLETE = CHECK.replace(
    "minHealthy: 3",
    "minHealthy: 3, selector: {matchLabels: {a: b}}, "
    "remediationTemplate: {apiVersion: x/v1, kind: RebootTemplate, name: reboot, namespace: ns}",
)
ANSWERED = 'POST /apis/x was answered 422 Invalid: NodeHealthCheck.x "simulated-29f45" is invalid: {fields}.'


@pytest.mark.parametrize(
    ("text", "fields", "sentence"),
    [
        (
            COMPLETE.replace("minHealthy: 3", "minHealthy: -5"),
            "spec.minHealthy: Invalid value: -5",
            "spec.minHealthy: minHealthy must not be negative: -5",
        ),
        (
            COMPLETE,
            '[spec.a: Invalid value: "b": too long]',
            'the API server refuses NodeHealthCheck/workers: [spec.a: Invalid value: "b": too long]',
        ),
    ],
    ids=["Paramedic refuses it too", "only the API server refuses it"],
)
def test_refusal_of_the_api_server_names_the_fields_and_not_the_dry_run(
    tmp_path: Path, text: str, fields: str, sentence: str
) -> None:
    error = Invalid(ANSWERED.format(fields=fields), status=422)
    assert refusal(check_in(tmp_path, text), error) == sentence


@pytest.mark.parametrize(
    ("status", "may_create"),
    [(403, False), (403, True), (400, True), (422, True)],
    ids=["a missing right", "a plugin with 403", "a plugin with 400", "a plugin with 422"],
)
async def test_refusal_of_a_plugin_is_no_missing_right_to_create_checks(
    server: ApiServer,
    transport: Transport,
    tmp_path: Path,
    status: int,
    may_create: bool,  # noqa: FBT001  a column of the table
) -> None:
    simulated, client = check_in(tmp_path, COMPLETE), Client(transport, "test")
    path = "/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks"
    server.answer("POST", path, refused(status, "Forbidden"))
    server.answer("POST", SELF_REVIEWS.path(), said({"status": {"allowed": may_create}}, 201))
    if not may_create:
        assert await with_defaults(client, simulated, "a.yaml") == (simulated.body, False)
        return
    sentence = f"a.yaml: the API server refuses NodeHealthCheck/workers: .* {status} "
    with pytest.raises(UsageError, match=sentence):
        await with_defaults(client, simulated, "a.yaml")
