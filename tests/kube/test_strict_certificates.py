"""Certificates that client-go accepts are accepted: Python 3.13 refuses authorities of real clusters."""

import ssl
from typing import Any

import pytest
from kubernetes.aio.client import ApiClient

from kube.configuration import without_retries
from kube.workload_kubeconfig import WorkloadKubeconfig, tls_context


@pytest.fixture(autouse=True)
def python_3_13(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make contexts as that one makes them, on whatever this is."""
    make = ssl.create_default_context

    def strict(*given: Any, **named: Any) -> ssl.SSLContext:
        context = make(*given, **named)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)


def _is_like_client_go(context: ssl.SSLContext) -> bool:
    is_checked = context.check_hostname and context.verify_mode is ssl.CERT_REQUIRED
    return is_checked and not context.verify_flags & ssl.VERIFY_X509_STRICT


async def test_authority_of_the_management_cluster_needs_no_more_than_client_go_asks_for() -> None:
    async with ApiClient(without_retries()) as client:
        assert _is_like_client_go(client.rest_client.ssl_context)


def test_authority_of_a_workload_cluster_needs_no_more_either() -> None:
    assert _is_like_client_go(tls_context(WorkloadKubeconfig(server="https://a"), "there"))
