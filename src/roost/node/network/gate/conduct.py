"""One connection of a guest, from its first bytes to its end: look at it, decide, pass it on or reset it."""

from __future__ import annotations

import ssl

import anyio
import h11
import structlog
from anyio import to_thread
from anyio.abc import ByteStream
from anyio.streams.tls import TLSStream

from roost.domain.egress import Egress, EgressVerdict, Passage, passage, verdict
from roost.node.network.gate.authority import Authority
from roost.node.network.gate.dial import Destination, Dialer, HostUnreachable
from roost.node.network.gate.messages import requested_host
from roost.node.network.gate.opening import LARGEST_OPENING_BYTES, Opening, Protocol, read_opening
from roost.node.network.gate.requests import NotAllowed, Requests, guest_side
from roost.node.network.gate.wire import Primed, Wire, splice

SPEAKS_WITHIN_S = 10.0  # a guest whose connection depends on what it says
HANDSHAKE_WITHIN_S = 20.0
WEB_PORTS = frozenset((80, 443))

log = structlog.get_logger(__name__)


class Conductor:
    """Of one slot, with one policy."""

    def __init__(self, *, egress: Egress, dialer: Dialer, authority: Authority, slot: int) -> None:
        self._egress = egress
        self._dialer = dialer
        self._authority = authority
        self._slot = slot

    async def conduct(self, guest: Wire, meant: Destination) -> None:
        """Passes the connection on until it ends. One that may not be is reset."""
        try:
            if not await self._pass(guest, meant):
                guest.reset()
        except HostUnreachable as error:
            log.debug("a connection could not be passed on", slot=self._slot, reason=str(error))
            guest.reset()
        except NotAllowed:
            guest.reset()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, ssl.SSLError, TimeoutError):
            guest.reset()  # one of the two is gone

    async def _pass(self, guest: Wire, meant: Destination) -> bool:
        """Whether it was let through."""
        opening, said = Opening(Protocol.OTHER), b""
        if self._depends_on_name(meant):
            opening, said = await self._listen(guest)
        if opening.kind is Protocol.HTTP:
            return await self._pass_http(Primed(guest, said), meant)
        way = passage(self._egress, opening.name, meant.address, secure=True)
        if way is None:
            return False
        if way.headers:
            await self._intercept(Primed(guest, said), way, meant)
            return True
        await self._join(Primed(guest, said), way, meant)
        return True

    def _depends_on_name(self, meant: Destination) -> bool:
        """Whether the guest has to speak first. One that may connect anyway need not, but where rules may apply."""
        if verdict(self._egress, meant.address) is EgressVerdict.OPEN:
            return self._egress.adds_headers and meant.port in WEB_PORTS
        return True

    async def _listen(self, guest: Wire) -> tuple[Opening, bytes]:
        """What it says first, as far as needed."""
        said = b""
        with anyio.move_on_after(SPEAKS_WITHIN_S):
            while len(said) < LARGEST_OPENING_BYTES:
                try:
                    said += await guest.receive()
                except anyio.EndOfStream:
                    break
                if opening := read_opening(said):
                    return opening, said
        return Opening(Protocol.OTHER), said

    async def _join(self, guest: ByteStream, way: Passage, meant: Destination) -> None:
        host = await self._dialer.dial(way, meant)
        try:
            await splice(guest, host)
        finally:
            await anyio.aclose_forcefully(host)

    async def _pass_http(self, guest: ByteStream, meant: Destination) -> bool:
        recorder = _Recorder(guest)
        side = guest_side(recorder)
        try:
            request = await side.next()
        except h11.RemoteProtocolError:
            request = None
        name = requested_host(request) if isinstance(request, h11.Request) else None
        way = passage(self._egress, name, meant.address, secure=False)
        if way is None:
            return False
        if way.name is None or not isinstance(request, h11.Request):
            await self._join(Primed(guest, recorder.heard), way, meant)
            return True
        recorder.stop()
        requests = Requests(
            side,
            allow=lambda name: passage(self._egress, name, meant.address, secure=False),
            dial=lambda way: self._dialer.dial(way, meant),
        )
        await requests.serve(request)
        return True

    async def _intercept(self, guest: ByteStream, way: Passage, meant: Destination) -> None:
        """Speaks TLS with both: to the guest as the host, with a certificate that it trusts, to the host as a client."""
        name = way.name
        assert name is not None, "rules are for names"
        context = await to_thread.run_sync(self._authority.context, name)
        with anyio.fail_after(HANDSHAKE_WITHIN_S):
            secured = await TLSStream.wrap(guest, server_side=True, ssl_context=context, standard_compatible=False)

        async def dial(way: Passage) -> ByteStream:
            stream = await self._dialer.dial(way, meant)
            try:
                return await self._dialer.secure(stream, name)
            except BaseException:
                await anyio.aclose_forcefully(stream)
                raise

        requests = Requests(guest_side(secured), allow=lambda wanted: way if wanted == name else None, dial=dial)
        await requests.serve()
        await secured.aclose()


class _Recorder(ByteStream):
    """Remembers what was heard, for as long as it may have to be said again."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._is_recording = True
        self.heard = b""

    def stop(self) -> None:
        self._is_recording, self.heard = False, b""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        data = await self._stream.receive(max_bytes)
        if self._is_recording:
            self.heard += data
        return data

    async def send(self, item: bytes) -> None:
        await self._stream.send(item)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()
