"""The authority that vouches for a host towards a guest when the gate stands between them.

It is made once, when the first sandbox gets a rule, and kept in the home. It can vouch for any name, so only guests
that have rules are told to trust it, and its key never leaves the node.
"""

from __future__ import annotations

import os
import ssl
import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LASTS = timedelta(days=3650)
CERTIFICATE_LASTS = timedelta(days=90)
RENEW_BEFORE = timedelta(days=30)
MOST_KEPT = 256
_CLOCKS_DIFFER = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


class Authority:
    """All of it blocks for some milliseconds, and may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._own: _Pair | None = None
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())  # one for all: it lives as long as this process
        self._contexts: OrderedDict[str, tuple[datetime, ssl.SSLContext]] = OrderedDict()

    def certificate(self) -> str:
        """What guests must trust, as PEM."""
        with self._lock:
            return self._pair().certificate.public_bytes(serialization.Encoding.PEM).decode()

    def context(self, name: str) -> ssl.SSLContext:
        """For showing a guest that one is the host of that name."""
        with self._lock:
            until, context = self._contexts.get(name, (datetime.min.replace(tzinfo=UTC), None))
            now = datetime.now(UTC)
            if context is None or now > until:
                until, context = now + CERTIFICATE_LASTS - RENEW_BEFORE, self._make_context(name, now)
                self._contexts[name] = until, context
                while len(self._contexts) > MOST_KEPT:
                    self._contexts.popitem(last=False)
            return context

    def _make_context(self, name: str, now: datetime) -> ssl.SSLContext:
        authority = self._pair()
        certificate = (
            _builder(_called(name), authority.certificate.subject, self._leaf_key, (now, CERTIFICATE_LASTS))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
            .sign(authority.key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        _load(context, _pem(self._leaf_key) + certificate.public_bytes(serialization.Encoding.PEM))
        return context

    def _pair(self) -> _Pair:
        """The one in the home; made anew if there is none that lasts."""
        if self._own is None:
            self._own = _read(self._folder) or _make(self._folder)
        return self._own


def _make(folder: Path) -> _Pair:
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = _called("Roost egress rules")
    certificate = (
        _builder(name, name, key, (now, AUTHORITY_LASTS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    content = _pem(key) + certificate.public_bytes(serialization.Encoding.PEM)
    unfinished = folder / "authority.partial"
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / "authority.pem")
    return _Pair(certificate, key)


def _read(folder: Path) -> _Pair | None:
    """None when there is none, it is broken, or will not last: then another is made."""
    try:
        content = (folder / "authority.pem").read_bytes()
        key = serialization.load_pem_private_key(content, password=None)
        certificate = x509.load_pem_x509_certificate(content)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    lasts = datetime.now(UTC) < certificate.not_valid_after_utc - RENEW_BEFORE
    return _Pair(certificate, key) if lasts and isinstance(key, ec.EllipticCurvePrivateKey) else None


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """OpenSSL takes keys from files only: this one is in memory, and nobody else's."""
    descriptor = os.memfd_create("roost-certificate", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, lasting: tuple[datetime, timedelta]
) -> x509.CertificateBuilder:
    begins, lasts = lasting
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins - _CLOCKS_DIFFER)
        .not_valid_after(begins + lasts)
    )


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


_SIGNS = x509.KeyUsage(
    digital_signature=False,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)
