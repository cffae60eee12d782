"""The kubeconfig of a workload cluster is refused wherever it would have us run, read or trust anything."""

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kube.errors import NotConfigured
from kube.workload_kubeconfig import WorkloadKubeconfig, parse_workload_kubeconfig, tls_context
from objects.yaml_document import LONGEST, MOST_PARTS
from tests.support.api.kubeconfigs import SECRET, TOKEN, Pair, encoded, kubeconfig

SECRETS = [TOKEN, "hunter2", b64encode(b"hunter2").decode().rstrip("=")]
"""What is in the kubeconfigs here, and in no message."""

Change = Callable[[dict[str, Any]], object]


def cluster(**fields: object) -> Change:
    return lambda it: it["clusters"][0]["cluster"].update(fields)


def user(**fields: object) -> Change:
    return lambda it: it["users"][0]["user"].update(fields)


def dashed(change: Callable[..., Change], **fields: object) -> Change:
    """Field names as they are in YAML."""
    return change(**{name.replace("_", "-"): value for name, value in fields.items()})


def only(**fields: object) -> Change:
    return lambda it: it["users"][0].update(
        user={name.replace("_", "-"): one for name, one in fields.items()}
    )


def top(**fields: object) -> Change:
    return lambda it: it.update({name.replace("_", "-"): value for name, value in fields.items()})


def context(**fields: object) -> Change:
    return lambda it: it["contexts"][0]["context"].update(fields)


NO_HTTPS = "its cluster has no server that begins with https://"
NO_CERTIFICATE = "the certificate-authority-data of its cluster is no base64 of PEM"
RUN = "and no program is run for credentials"
FILE = "and files are never read"
AS = "and impersonation is not allowed"
PASSWORD = "and only a token and a client certificate are understood"
REFUSED: list[tuple[Change, str]] = [
    (user(exec={"command": "hunter2"}), f"its user has exec, {RUN}"),
    (dashed(user, auth_provider={"name": "hunter2"}), f"its user has auth-provider, {RUN}"),
    (user(tokenFile="/hunter2"), f"its user has tokenFile, {FILE}"),
    (dashed(user, client_certificate="/hunter2"), f"its user has client-certificate, {FILE}"),
    (dashed(user, client_key="/hunter2"), f"its user has client-key, {FILE}"),
    (user(username="hunter2"), f"its user has username, {PASSWORD}"),
    (user(password="hunter2"), f"its user has password, {PASSWORD}"),
    (user(**{"as": "hunter2"}), f"its user has as, {AS}"),
    (dashed(user, as_uid="hunter2"), f"its user has as-uid, {AS}"),
    (dashed(user, as_groups=["hunter2"]), f"its user has as-groups, {AS}"),
    (dashed(user, as_user_extra={"a": ["hunter2"]}), f"its user has as-user-extra, {AS}"),
    (user(hunter2=1), "its user has a field that is not known here"),
    (dashed(cluster, certificate_authority="/hunter2"), f"its cluster has certificate-authority, {FILE}"),
    (
        dashed(cluster, insecure_skip_tls_verify=True),
        "its cluster has insecure-skip-tls-verify, and the certificate of an API server is always verified",
    ),
    (
        dashed(cluster, proxy_url="http://hunter2@proxy"),
        "its cluster has proxy-url, and an API server is reached by the proxy of this process, or by none",
    ),
    (cluster(hunter2=1), "its cluster has a field that is not known here"),
    (cluster(server=None), NO_HTTPS),
    (cluster(server="http://east.example"), NO_HTTPS),
    (cluster(server="east.example:6443"), NO_HTTPS),
    (cluster(server="https://"), NO_HTTPS),
    (cluster(server="https://:6443"), NO_HTTPS),
    (cluster(server="https://[kube-apiserver]:6443"), "the server of its cluster is no URL"),
    (cluster(server="https://hunter2@east"), "the server of its cluster has a user name or a password in it"),
    (
        cluster(server="http://a:hunter2@east"),
        "the server of its cluster has a user name or a password in it",
    ),
    (cluster(server="https://east?token=hunter2"), "the server of its cluster has a query or a fragment"),
    (cluster(server="https://east#hunter2"), "the server of its cluster has a query or a fragment"),
    (cluster(server="https://east:hunter2"), "the server of its cluster is no URL"),
    (cluster(server="https://[hunter2"), "the server of its cluster is no URL"),
    (
        cluster(server="https://east/\nhunter2"),
        "the server of its cluster has characters that it cannot have",
    ),
    (cluster(server=["hunter2"]), "the server of its cluster is not text"),
    (
        dashed(cluster, tls_server_name="a hunter2"),
        "the tls-server-name of its cluster has characters that it cannot have",
    ),
    (dashed(cluster, certificate_authority_data="hunter2"), NO_CERTIFICATE),
    (dashed(cluster, certificate_authority_data=encoded("hunter2")), NO_CERTIFICATE),
    (dashed(cluster, certificate_authority_data=encoded("\xff")), NO_CERTIFICATE),
    (user(token="a\r\nhunter2: b"), "the token of its user has characters that it cannot have"),
    (user(token=20), "the token of its user is not text"),
    (only(), "its user has neither a token nor client-certificate-data"),
    (only(token=" "), "its user has neither a token nor client-certificate-data"),
    (
        only(client_certificate_data=encoded("-----BEGIN CERTIFICATE-----")),
        "its user has client-certificate-data, but no client-key-data",
    ),
    (
        only(client_key_data=encoded("-----BEGIN EC PRIVATE KEY-----hunter2")),
        "its user has client-key-data, but no client-certificate-data",
    ),
    (only(client_key_data=encoded("hunter2")), "the client-key-data of its user is no base64 of PEM"),
    (
        only(client_key_data=encoded("-----BEGIN ENCRYPTED PRIVATE KEY-----hunter2")),
        "the client-key-data of its user is encrypted",
    ),
    (top(current_context=""), "it has no current-context"),
    (top(current_context=["hunter2"]), "the current-context of it is not text"),
    (top(current_context="hunter2"), "its current-context names a context that it does not have"),
    (top(contexts={"hunter2": 1}), "its current-context names a context that it does not have"),
    (context(cluster=None), "its current context names no cluster"),
    (context(user=None), "its current context names no user"),
    (context(cluster="hunter2"), "its current context names a cluster that it does not have"),
    (top(users=None), "its current context names a user that it does not have"),
    (
        lambda it: it["users"].append(it["users"][0]),
        "its current context names a user that it has more than once",
    ),
    (
        lambda it: it["users"][0].update(user="token:hunter2"),
        "the user that its current context names is no mapping",
    ),
]
DOCUMENTS = [
    pytest.param(b"", "it is empty", id="empty"),
    pytest.param(b"\xffhunter2", "it is not UTF-8 text", id="no text"),
    pytest.param(b"hunter2", "it is YAML, but not a mapping", id="a word"),
    pytest.param(b"a: b\ntoken: [hunter2\n", "line 3 is not valid YAML", id="no YAML"),
    pytest.param(b"token: hunter2\x00", "it is not valid YAML", id="control characters"),
    pytest.param(b"a: !!python/object:hunter2 {}", "it has a tag", id="an object of Python"),
    pytest.param(b"token: !hunter2 a", "it has a tag", id="a tag that is a credential"),
    pytest.param(b"a: b\nhunter2: 1\nhunter2: 2\n", "a key stands twice in one mapping", id="twice"),
    pytest.param(b"a: &hunter2 b\nc: *hunter2\n", "it has an alias", id="an alias"),
    pytest.param(b"a: " + b"[" * 4000, "it is nested too deeply", id="too deep"),
    pytest.param(b"[" + b"h," * MOST_PARTS + b"]", "it has too many parts", id="too many"),
    pytest.param(b"#" * (LONGEST + 1), "it is longer than 32 KiB", id="too long"),
]


def refusal(text: bytes | str) -> str:
    """Why it cannot be used; nothing that hangs on the error quotes it either."""
    with pytest.raises(NotConfigured) as refused:
        parse_workload_kubeconfig(text, SECRET)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None, "the errors of parsers quote what they could not read"
    message = refused.value.message
    assert not any(secret in message for secret in SECRETS)
    start, end = f"The kubeconfig in {SECRET} cannot be used: ", "."
    assert message.startswith(start)
    return message.removeprefix(start).removesuffix(end)


@pytest.mark.rule("rule 33/refused")
@pytest.mark.parametrize(("change", "why"), REFUSED, ids=[f"{why} {n}" for n, (_, why) in enumerate(REFUSED)])
def test_kubeconfig_that_cannot_be_used_or_must_not_be_is_refused(change: Change, why: str) -> None:
    document = kubeconfig()
    change(document)
    assert refusal(json.dumps(document)) == why


@pytest.mark.rule("rule 33/refused", "rule 33/credentials")
@pytest.mark.parametrize(("text", "why"), DOCUMENTS)
def test_text_that_is_no_kubeconfig_is_refused_without_a_quotation(text: bytes, why: str) -> None:
    assert refusal(text) == why


def test_refusal_names_the_secret_and_the_key() -> None:
    with pytest.raises(NotConfigured) as refused:
        parse_workload_kubeconfig(b"", SECRET)
    assert refused.value.message == (
        "The kubeconfig in the key value of the Secret fleet/east-kubeconfig cannot be used: it is empty."
    )


def test_current_context_decides_and_others_are_not_looked_at() -> None:
    document = kubeconfig()
    document["contexts"].append({"name": "other", "context": {"cluster": "other", "user": "other"}})
    document["clusters"].insert(0, {"name": "other", "cluster": {"server": "http://other"}})
    document["users"].insert(0, {"name": "other", "user": {"exec": {"command": "hunter2"}}})
    found = parse_workload_kubeconfig(json.dumps(document), SECRET)
    assert found == WorkloadKubeconfig(server="https://east.example:6443", token=TOKEN)


def test_fields_that_change_nothing_or_say_nothing_are_passed_over() -> None:
    document = kubeconfig("https://rancher.example/k8s/clusters/east/")
    for change in (
        dashed(cluster, disable_compression=True, insecure_skip_tls_verify=False, proxy_url=""),
        dashed(cluster, tls_server_name="kubernetes.default", extensions=[{"name": "a"}]),
        dashed(user, as_groups=[], exec=None, token=f"{TOKEN}\n"),
        context(namespace="default"),
    ):
        change(document)
    found = parse_workload_kubeconfig(json.dumps(document).encode(), SECRET)
    assert found == WorkloadKubeconfig(
        server="https://rancher.example/k8s/clusters/east", tls_server_name="kubernetes.default", token=TOKEN
    )


SERVERS = [
    ("https://kube-apiserver:6443", "https://kube-apiserver.fleet.svc:6443", "kube-apiserver"),
    ("https://kube-apiserver", "https://kube-apiserver.fleet.svc", "kube-apiserver"),
    ("https://KAS-1:443/k8s/c-1/", "https://kas-1.fleet.svc:443/k8s/c-1", "kas-1"),
    ("https://kube-apiserver.hcp", "https://kube-apiserver.hcp", None),
    ("https://kube-apiserver.:6443", "https://kube-apiserver.:6443", None),
    ("https://kube-apiserver:/", "https://kube-apiserver.fleet.svc", "kube-apiserver"),
    ("https://localhost:6443", "https://localhost:6443", None),
    ("https://LOCALHOST", "https://LOCALHOST", None),
    ("https://127.0.0.1:6443", "https://127.0.0.1:6443", None),
    ("https://[::1]:6443", "https://[::1]:6443", None),
    ("https://2130706433:6443", "https://2130706433:6443", None),
    ("https://0x7f000001", "https://0x7f000001", None),
    ("https://a_b:6443", "https://a_b:6443", None),
]
"""The server as written, the one that is called, and the name that its certificate must have."""


@pytest.mark.rule("rule 33/service")
@pytest.mark.parametrize(("written", "called", "name"), SERVERS)
def test_server_without_a_dot_is_a_service_of_the_namespace_of_the_secret(
    written: str, called: str, name: str | None
) -> None:
    document = kubeconfig(written)
    found = parse_workload_kubeconfig(json.dumps(document), SECRET)
    assert (found.server, found.tls_server_name) == (called, name)
    dashed(cluster, tls_server_name="of-the-kubeconfig")(document)
    found = parse_workload_kubeconfig(json.dumps(document), SECRET)
    assert (found.server, found.tls_server_name) == (called, "of-the-kubeconfig")


def test_certificates_are_decoded_and_none_of_the_credentials_is_shown(tmp_path: Path) -> None:
    pair = Pair.make(tmp_path, "east-admin")
    document = kubeconfig(token=TOKEN, **pair.user)
    dashed(cluster, certificate_authority_data=encoded(pair.certificate))(document)
    found = parse_workload_kubeconfig(json.dumps(document), SECRET)
    assert (found.certificate_authority, found.client_certificate) == (pair.certificate, pair.certificate)
    assert (found.client_key, found.token) == (pair.key, TOKEN)
    assert repr(found) == "WorkloadKubeconfig(server='https://east.example:6443', tls_server_name=None)"


def test_token_is_no_part_of_the_endpoint_and_all_else_is() -> None:
    one = WorkloadKubeconfig(
        server="https://a",
        certificate_authority="b",
        tls_server_name="c",
        client_certificate="d",
        client_key="e",
        token="f",
    )
    assert replace(one, token="g").endpoint == one.endpoint
    others = [
        replace(one, server="https://b"),
        replace(one, certificate_authority=None),
        replace(one, tls_server_name=None),
        replace(one, client_certificate=None),
        replace(one, client_key=None),
    ]
    assert len({one.endpoint, *(other.endpoint for other in others)}) == 1 + len(others)


def tls_refusal(refused: WorkloadKubeconfig) -> str:
    with pytest.raises(NotConfigured) as caught:
        tls_context(refused, "there")
    return caught.value.message


def test_certificates_that_openssl_cannot_use_are_refused(tmp_path: Path) -> None:
    one, other = Pair.make(tmp_path / "one", "one"), Pair.make(tmp_path / "other", "other")
    broken = one.certificate.replace("A", "", 1)
    assert tls_refusal(WorkloadKubeconfig(server="https://a", certificate_authority=broken)) == (
        "The kubeconfig in there cannot be used: "
        "the certificate-authority-data of its cluster is no certificate."
    )
    assert tls_refusal(
        WorkloadKubeconfig(server="https://a", client_certificate=one.certificate, client_key=other.key)
    ) == (
        "The kubeconfig in there cannot be used: "
        "the client-certificate-data and client-key-data of its user are no certificate and its key."
    )


@pytest.mark.rule("rule 33/credentials")
def test_key_never_touches_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair.make(tmp_path, "east-admin")

    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("tempfile.NamedTemporaryFile", never)
    tls_context(
        WorkloadKubeconfig(server="https://a", client_certificate=pair.certificate, client_key=pair.key),
        "there",
    )


def test_where_the_system_has_no_files_in_memory_the_key_is_gone_from_the_disk_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair.make(tmp_path / "pair", "east-admin")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.delattr("os.memfd_create")
    tls_context(
        WorkloadKubeconfig(server="https://a", client_certificate=pair.certificate, client_key=pair.key),
        "there",
    )
    assert not list((tmp_path / "temporary").iterdir())
