"""Who is let in: pure ASGI, before anything else sees a request.

- The host that is asked for must be ours, so that no other name can be made to lead here (DNS
  rebinding).
- Whatever changes something must come from our own page: an `Origin` that is ours, or none, and the
  header ``X-Homeward``, which no page of another origin can send. Nor may another site's page have
  something worked out, although it could not read the answer.
- Beyond loopback a token is asked for, once on the page's address and then by a cookie.

Every answer says what the page may do: nothing from elsewhere, no script but its own.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from homeward.web.refusals import STATUS, Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

READS, CHANGES = ("GET", "HEAD"), ("POST", "PUT", "DELETE")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; worker-src 'self'; font-src 'self'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    """Tell whether a host to listen on is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Lets in what may come in.

    Parameters
    ----------
    app
        What answers.
    host, port
        What the server listens on.
    token
        What has to be shown; None asks for none.
    """

    def __init__(self, app: App, host: str, port: int, token: str | None = None) -> None:
        self.app, self.port, self.token = app, port, token
        names = {*LOOPBACK, host.lower(), f"[{host.lower()}]"}
        self.open = not is_loopback(host)
        if self.open:
            names.add(socket.gethostname().lower())
        self.hosts = names
        self.cookie = f"homeward-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on and add the headers to its answer."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        refused = self.refusal(scope)
        if refused is not None:
            # What is still being sent is not waited for.
            await _refuse(guarded, *refused, [(b"connection", b"close")])
            return
        if self.token is not None:
            if scope["path"] == "/" and scope["method"] in READS:
                given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
                if given and self.is_token(given[0]):
                    cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                    place = [(b"location", b"/"), (b"set-cookie", cookie.encode())]
                    await _answer(guarded, 303, b"", place)
                    return
            if not self.shows_token(scope):
                said = "open the page by the address that the server printed, with its token"
                await _refuse(guarded, Refusal.NO_TOKEN, said, [(b"www-authenticate", b"Bearer")])
                return
        await self.app(scope, receive, guarded)

    def refusal(self, scope: Scope) -> tuple[Refusal, str] | None:
        """Say why a request is not let in, whatever it shows; None if it is."""
        hosts = _headers(scope, b"host")
        if len(hosts) != 1 or not self.is_ours(hosts[0]):
            return Refusal.FORBIDDEN, "this server does not go by that name"
        method, site = scope["method"], _headers(scope, b"sec-fetch-site")
        foreign = bool(site) and site[0] not in ("same-origin", "none")
        if method in READS:  # a link to the page may stand anywhere; what it asks for may not
            if foreign and scope["path"].startswith("/api"):
                return Refusal.FORBIDDEN, "only the server's own page may ask for that"
            return None
        if method not in CHANGES:
            return Refusal.NOT_ALLOWED, f"{method[:20]} is not answered here"
        origins = _headers(scope, b"origin")
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return Refusal.FORBIDDEN, "only the server's own page may change something"
        if foreign:
            return Refusal.FORBIDDEN, "only the server's own page may change something"
        if _headers(scope, b"x-homeward") != ["1"]:
            return Refusal.FORBIDDEN, "a change needs the header X-Homeward: 1"
        return None

    def is_ours(self, host: str) -> bool:
        """Tell whether a Host header names this server."""
        name, colon, port = host.lower().rpartition(":")
        if not colon or port.endswith("]"):
            name, port = host.lower(), "80"
        if port != str(self.port):
            return False
        if name in self.hosts:
            return True
        if not self.open:
            return False
        try:  # an address is no name, so nobody can make it lead elsewhere
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def is_token(self, given: str) -> bool:
        """Tell whether this is the token, in a time that does not depend on it."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def shows_token(self, scope: Scope) -> bool:
        """Tell whether a request has the token, in its header or its cookie."""
        for value in _headers(scope, b"authorization"):
            kind, _, given = value.partition(" ")
            if kind.lower() == "bearer" and self.is_token(given.strip()):
                return True
        for value in _headers(scope, b"cookie"):
            for part in value.split(";"):
                name, _, given = part.strip().partition("=")
                if name == self.cookie and self.is_token(given):
                    return True
        return False


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


async def _refuse(
    send: Send, code: Refusal, sentence: str, more: list[tuple[bytes, bytes]]
) -> None:
    """Send a refusal."""
    body = json.dumps({"error": sentence, "code": code}).encode()
    await _answer(send, STATUS[code], body, more)


async def _answer(send: Send, status: int, body: bytes, more: list[tuple[bytes, bytes]]) -> None:
    """Send a short answer."""
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
