import ssl
from pathlib import Path

from devcluster.credentials import Credentials


def files_of(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.rglob("*.*")}


def test_certificate_is_whole_before_its_server_starts_and_is_trusted(tmp_path: Path) -> None:
    credentials = Credentials(tmp_path)
    credentials.create()

    assert ssl.create_default_context(cafile=credentials.certificate).get_ca_certs()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(credentials.certificate, credentials.certificates / "apiserver.key")


def test_credentials_are_kept_over_restarts(tmp_path: Path) -> None:
    Credentials(tmp_path).create()
    before = files_of(tmp_path)
    Credentials(tmp_path).create()

    assert files_of(tmp_path) == before
    assert before.keys() == {"tokens.csv", "service-accounts.key", "apiserver.crt", "apiserver.key"}


def test_certificate_without_its_key_gets_both_anew(tmp_path: Path) -> None:
    credentials = Credentials(tmp_path)
    credentials.create()
    (credentials.certificates / "apiserver.key").unlink()
    credentials.create()

    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(credentials.certificate, credentials.certificates / "apiserver.key")
