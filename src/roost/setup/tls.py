"""The server's certificate: one of its own making, or its owner's.

Of its own making means a small certificate authority in `$ROOST_HOME/tls`, which vouches for the domain, everything one level
below it and this machine's loopback, and is unable to vouch for anything else: whoever trusts it trusts it with that alone.

    ca.pem       what clients must trust            ca.key      signs; for root's eyes only
    cert.pem     what the server shows              cert.key    for root's eyes only
    bundle.pem   ca.pem and all that this machine trusts, for clients that take one file instead of theirs
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from roost.domain.errors import Invalid

CA_LASTS = timedelta(days=3650)
CERTIFICATE_LASTS = timedelta(days=397)  # the longest that browsers put up with
RENEW_BEFORE = timedelta(days=30)
_CLOCKS_DIFFER = timedelta(days=1)
_LOOPBACK = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))
_ANY = (IPv4Address("0.0.0.0"), IPv6Address("::"))


@dataclass(frozen=True, slots=True)
class Certificate:
    """Files for the server, and what its clients need. `ca` is None when the world trusts the certificate without it."""

    chain: Path
    key: Path
    ca: Path | None = None


def own_certificate(chain: Path | None, key: Path | None) -> Certificate:
    """The owner's. Raises Invalid when there is only half of it, or it cannot be used."""
    if chain is None or key is None:
        missing = "tls_cert" if chain is None else "tls_key"
        raise Invalid("tls_incomplete", f"A certificate and its key go together: {missing} is not set. Set it too.")
    certificate = Certificate(chain, key)
    make_context(certificate)
    return certificate


def ensure_certificate(folder: Path, domain: str, host: str, now: datetime) -> Certificate:
    """A certificate for the domain that is good for a while, made anew only if there is none. Raises Invalid."""
    if "." not in domain:
        raise Invalid(
            "domain_too_short",
            f"No client accepts a certificate for *.{domain}: a wildcard needs two names behind it."
            f" Set the domain to one below, such as roost.{domain}.",
            domain=domain,
        )
    folder.mkdir(parents=True, exist_ok=True)
    names = _names(domain, host)
    authority = _read(folder, "ca")
    if authority is None or not _lasts(authority.certificate, now) or not _may_vouch(authority.certificate, names):
        authority = _make_authority(domain, names, now)
        _write(folder, "ca", authority)
    shown = _read(folder, "cert")
    if shown is None or not _lasts(shown.certificate, now) or not _vouched(shown.certificate, authority, names):
        shown = _make_certificate(domain, names, authority, now)
        _write(folder, "cert", shown)
    _put(folder / "bundle.pem", b"".join([_pem(authority.certificate), *_trusted_here()]), 0o644)
    return Certificate(folder / "cert.pem", folder / "cert.key", folder / "ca.pem")


def make_context(certificate: Certificate) -> ssl.SSLContext:
    """What the server listens with. Raises Invalid when the files cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    load(context, certificate)
    return context


def load(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Shows the certificate as its files are now to whoever connects from now on. Raises Invalid, and leaves what was."""
    try:
        context.load_cert_chain(certificate.chain, certificate.key)
    except (OSError, ssl.SSLError) as error:
        raise Invalid(
            "tls_unusable",
            f"The certificate {certificate.chain} with the key {certificate.key} cannot be used: {error.strerror or error}."
            " Both must be PEM files, and belong together.",
            certificate=str(certificate.chain),
        ) from error


@dataclass(frozen=True, slots=True)
class _Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


_Names = tuple[x509.DNSName | x509.IPAddress, ...]


def _names(domain: str, host: str) -> _Names:
    """All that the server is called by."""
    addresses: list[IPv4Address | IPv6Address] = [IPv4Address("127.0.0.1"), IPv6Address("::1")]
    try:
        address = ip_address(host)
    except ValueError:
        pass
    else:
        if address not in addresses and address not in _ANY:
            addresses.append(address)
    texts = (domain, f"*.{domain}", "localhost")
    return (*(x509.DNSName(text) for text in texts), *(x509.IPAddress(address) for address in addresses))


def _make_authority(domain: str, names: _Names, now: datetime) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Roost at {domain}"[:64])])
    certificate = (
        _builder(name, name, key, now, CA_LASTS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints(_realm(names), None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _Pair(certificate, key)


def _make_certificate(domain: str, names: _Names, authority: _Pair, now: datetime) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, domain[:64])])
    certificate = (
        _builder(name, authority.certificate.subject, key, now, CERTIFICATE_LASTS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return _Pair(certificate, key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, lasts: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + lasts)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _realm(names: _Names) -> list[x509.GeneralName]:
    """The least that an authority must be allowed to vouch for these names."""
    realm: list[x509.GeneralName] = [x509.IPAddress(network) for network in _LOOPBACK]
    for name in names:
        if isinstance(name, x509.DNSName):
            if not name.value.startswith("*."):
                realm.append(name)
        elif not any(name.value in network for network in _LOOPBACK):
            assert isinstance(name.value, IPv4Address | IPv6Address)
            realm.append(x509.IPAddress(_alone(name.value)))
    return realm


def _alone(address: IPv4Address | IPv6Address) -> IPv4Network | IPv6Network:
    return IPv4Network(address) if isinstance(address, IPv4Address) else IPv6Network(address)


def _may_vouch(certificate: x509.Certificate, names: _Names) -> bool:
    try:
        permitted = certificate.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees
    except x509.ExtensionNotFound:
        return False
    return set(permitted or ()) == set(_realm(names))


def _vouched(certificate: x509.Certificate, authority: _Pair, names: _Names) -> bool:
    try:
        certificate.verify_directly_issued_by(authority.certificate)
        shown = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return set(shown) == set(names)


def _lasts(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - RENEW_BEFORE


def _read(folder: Path, name: str) -> _Pair | None:
    """None when there is none, or it is broken: then it is made anew."""
    try:
        certificate = x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes())
        key = serialization.load_pem_private_key((folder / f"{name}.key").read_bytes(), password=None)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        return None
    return _Pair(certificate, key)


def _write(folder: Path, name: str, pair: _Pair) -> None:
    key = pair.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    _put(folder / f"{name}.key", key, 0o600)
    _put(folder / f"{name}.pem", _pem(pair.certificate), 0o644)


def _put(path: Path, content: bytes, mode: int) -> None:
    """Whole or not at all, and never readable by more than `mode` says."""
    unfinished = path.with_name(path.name + ".partial")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    unfinished.replace(path)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _trusted_here() -> Iterable[bytes]:
    """The machine's own, and what its owner told Node to trust beside."""
    context = ssl.create_default_context()
    if beside := os.environ.get("NODE_EXTRA_CA_CERTS"):
        with suppress(OSError):  # ssl.SSLError is one: Node itself only warns of a file that is none
            context.load_verify_locations(beside)
    return (ssl.DER_cert_to_PEM_cert(each).encode() for each in context.get_ca_certs(binary_form=True))
