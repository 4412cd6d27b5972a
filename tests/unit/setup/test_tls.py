from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from roost.domain.errors import Invalid
from roost.setup.tls import CA_LASTS, CERTIFICATE_LASTS, Certificate, ensure_certificate, load, make_context, own_certificate

NOW = datetime.now(UTC)
DOMAIN = "sbx.localhost"


def ensure(folder: Path, domain: str = DOMAIN, host: str = "127.0.0.1", now: datetime = NOW) -> Certificate:
    return ensure_certificate(folder, domain, host, now)


def shake_hands(server: ssl.SSLContext, trust: Path, name: str) -> str:
    """Connects under that name and returns the certificate's serial number. Raises ssl.SSLError when it is not believed."""
    client = ssl.create_default_context(cafile=trust)
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            with server.wrap_socket(theirs, server_side=True) as secured:
                secured.recv(1)
        except OSError:
            theirs.close()

    thread = Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(ours, server_hostname=name) as secured:
            shown = secured.getpeercert()
            assert shown is not None
            return str(shown["serialNumber"])
    finally:
        ours.close()
        thread.join()


@pytest.mark.parametrize("name", [DOMAIN, f"api.{DOMAIN}", f"49983-i0123.{DOMAIN}", "localhost", "127.0.0.1", "::1"])
def test_clients_that_trust_the_authority_believe_every_name_of_the_server(tmp_path: Path, name: str) -> None:
    made = ensure(tmp_path)
    assert made.ca is not None
    assert shake_hands(make_context(made), made.ca, name)


def test_nobody_else_believes_it_and_it_is_for_no_other_name(tmp_path: Path) -> None:
    made, stranger = ensure(tmp_path / "a"), ensure(tmp_path / "b")
    assert made.ca is not None and stranger.ca is not None
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(make_context(made), stranger.ca, DOMAIN)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(make_context(made), made.ca, "example.com")


def test_the_authority_cannot_vouch_for_the_rest_of_the_world(tmp_path: Path) -> None:
    """Whoever trusts it does not trust it with their bank."""
    made = ensure(tmp_path)
    assert made.ca is not None
    authority = x509.load_pem_x509_certificate(made.ca.read_bytes())
    signer = serialization.load_pem_private_key((tmp_path / "ca.key").read_bytes(), None)
    key = serialization.load_pem_private_key(made.key.read_bytes(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey) and isinstance(key, ec.EllipticCurvePrivateKey)

    def forge(name: str) -> Certificate:
        builder = x509.CertificateBuilder(authority.subject, x509.Name([]), key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(NOW - timedelta(days=1)).not_valid_after(NOW + timedelta(days=1))
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
        (tmp_path / "forged.pem").write_bytes(builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        return Certificate(tmp_path / "forged.pem", made.key)

    assert shake_hands(make_context(forge(f"x.{DOMAIN}")), made.ca, f"x.{DOMAIN}")
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree"):
        shake_hands(make_context(forge("bank.example")), made.ca, "bank.example")


def test_keys_are_for_their_owner_alone_and_what_clients_need_is_for_all(tmp_path: Path) -> None:
    ensure(tmp_path)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"ca.key": 0o600, "cert.key": 0o600, "ca.pem": 0o644, "cert.pem": 0o644, "bundle.pem": 0o644}


def test_the_bundle_trusts_what_the_machine_trusts_too(tmp_path: Path) -> None:
    made = ensure(tmp_path)
    assert made.ca is not None
    trusted = ssl.create_default_context(cafile=tmp_path / "bundle.pem").get_ca_certs(binary_form=True)
    here = ssl.create_default_context().get_ca_certs(binary_form=True)
    ours = x509.load_pem_x509_certificate(made.ca.read_bytes()).public_bytes(serialization.Encoding.DER)
    assert set(trusted) == {*here, ours}


def test_the_bundle_has_what_node_was_told_to_trust_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients get the bundle in its place."""
    own = ensure(tmp_path / "own").ca
    assert own is not None
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(own))
    ensure(tmp_path / "ours")
    bundle = (tmp_path / "ours" / "bundle.pem").read_text()
    assert own.read_text().strip() in bundle
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(tmp_path / "nowhere"))
    ensure(tmp_path / "without")


def test_what_is_good_stays(tmp_path: Path) -> None:
    ensure(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ensure(tmp_path, now=NOW + timedelta(days=300))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_expires_is_renewed_and_the_authority_outlives_it(tmp_path: Path) -> None:
    ensure(tmp_path)
    ca, cert = (tmp_path / "ca.pem").read_bytes(), (tmp_path / "cert.pem").read_bytes()
    ensure(tmp_path, now=NOW + CERTIFICATE_LASTS - timedelta(days=10))
    assert (tmp_path / "cert.pem").read_bytes() != cert
    assert (tmp_path / "ca.pem").read_bytes() == ca
    ensure(tmp_path, now=NOW + CA_LASTS)
    assert (tmp_path / "ca.pem").read_bytes() != ca


@pytest.mark.parametrize("damage", ["domain", "host", "key gone", "key of another", "garbage"])
def test_what_no_longer_fits_is_made_anew(tmp_path: Path, damage: str) -> None:
    ensure(tmp_path)
    if damage == "key gone":
        (tmp_path / "cert.key").unlink()
    elif damage == "key of another":
        (tmp_path / "cert.key").write_bytes((tmp_path / "ca.key").read_bytes())
    elif damage == "garbage":
        (tmp_path / "ca.pem").write_bytes(b"garbage")
    domain = "other.localhost" if damage == "domain" else DOMAIN
    host = "192.0.2.7" if damage == "host" else "127.0.0.1"
    made = ensure(tmp_path, domain=domain, host=host)
    assert made.ca is not None
    for name in (f"api.{domain}", host):
        assert shake_hands(make_context(made), made.ca, name)


def test_a_renewed_certificate_is_shown_without_a_restart(tmp_path: Path) -> None:
    made = ensure(tmp_path, now=NOW - CERTIFICATE_LASTS + timedelta(days=10))
    assert made.ca is not None
    context = make_context(made)
    first = shake_hands(context, made.ca, DOMAIN)
    load(context, ensure(tmp_path))
    assert shake_hands(context, made.ca, DOMAIN) != first


def test_an_owners_certificate_is_taken_as_it_is_and_refused_when_useless(tmp_path: Path) -> None:
    made = ensure(tmp_path)
    assert own_certificate(made.chain, made.key).ca is None
    with pytest.raises(Invalid, match="tls_key is not set"):
        own_certificate(made.chain, None)
    with pytest.raises(Invalid, match="cannot be used"):
        own_certificate(made.chain, tmp_path / "ca.key")
    with pytest.raises(Invalid, match="cannot be used"):
        own_certificate(tmp_path / "nowhere.pem", made.key)


def test_a_wildcard_right_below_the_top_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"roost\.localhost"):
        ensure(tmp_path, domain="localhost")
