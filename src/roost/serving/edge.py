"""The role of the edge: `python -m roost.serving.edge`. Not started by hand: see `role`.

It takes the server's connections, speaks TLS on them, and carries what passes until told to stop. When control ends,
sandboxes are reached as before.
"""

from __future__ import annotations

import signal
import ssl
from datetime import UTC, datetime

import anyio
import anyio.to_thread
import structlog

from roost.domain.errors import RoostError
from roost.serving.role import Duty, run_role
from roost.settings import Settings
from roost.setup.tls import Certificate, ensure_certificate, load, make_context, own_certificate
from roost.wiring.edge import open_edge

SOCKET = "clients"  # what the server listens on

_CERTIFICATE_S = 12 * 3600  # between two looks at the certificate

log = structlog.get_logger("roost.serving.edge")  # also when it is run as the main module


async def serve_edge(duty: Duty) -> None:
    """Until SIGTERM; a second one cuts what is open."""
    settings = duty.settings
    certificate = _certificate(settings) if settings.speaks_tls else None
    tls = make_context(certificate) if certificate is not None else None
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async with open_edge(settings) as edge, anyio.create_task_group() as tasks:
            if tls is not None:
                tasks.start_soon(_keep_certificate, settings, tls)
            serving = anyio.CancelScope()

            async def serve() -> None:
                with serving:
                    await edge.serve(duty.sockets[SOCKET], tls)
                tasks.cancel_scope.cancel()

            tasks.start_soon(serve)
            _tell_ready(duty, certificate)
            async for _ in signals:
                if serving.cancel_called:
                    break
                serving.cancel()
            tasks.cancel_scope.cancel()


def _certificate(settings: Settings) -> Certificate:
    if settings.tls_cert is not None or settings.tls_key is not None:
        return own_certificate(settings.tls_cert, settings.tls_key)
    return ensure_certificate(settings.tls_dir, settings.domain, settings.host, datetime.now(UTC))


async def _keep_certificate(settings: Settings, tls: ssl.SSLContext) -> None:
    """Servers run for longer than certificates last. Roost's own is renewed in time, the owner's read again."""
    while True:
        await anyio.sleep(_CERTIFICATE_S)
        try:
            certificate = await anyio.to_thread.run_sync(_certificate, settings)
            load(tls, certificate)
        except (RoostError, OSError) as error:
            log.warning("the certificate stays as it was", error=str(error))


def _tell_ready(duty: Duty, certificate: Certificate | None) -> None:
    settings, port = duty.settings, duty.assignment.port
    if settings.is_exposed:
        log.warning("listening for others than this machine, without TLS", host=settings.host, port=port)
    ca = certificate.ca if certificate is not None else None
    duty.tell_ready(url=_url(settings, port, certificate), ca=str(ca) if ca else None)


def _url(settings: Settings, port: int, certificate: Certificate | None) -> str:
    """An address that needs no name server; but an owner's certificate is for names only."""
    if certificate is not None and certificate.ca is None:
        return f"https://api.{settings.domain}:{port}"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http{'s' if certificate else ''}://{'127.0.0.1' if host in ('0.0.0.0', '[::]') else host}:{port}"


if __name__ == "__main__":
    run_role(serve_edge)
