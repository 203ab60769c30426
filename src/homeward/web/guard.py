"""Access control, as ASGI middleware around the whole application.

- The Host header must name this server, as a defence against DNS rebinding.
- A request that changes something must come from our own page. Its `Origin`, if present, must be
  ours, and it must have the header ``X-Homeward``, which a page of another origin can't send. A
  page of another site may not start computations either, although it could not read the answer.
- If the server is not on loopback, a token is required: first in the address of the page, then in a
  cookie.

Every response has a content security policy: nothing from other origins, no inline scripts.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.responses import Response

from homeward.web.refusals import Refusal
from homeward.web.transport import refusal_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    """Return whether only this machine can reach a server that listens on `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Middleware that passes only permitted requests to `app`.

    The server listens on `host` and `port`. If there is a `token`, every request needs it.
    """

    def __init__(self, app: ASGIApp, host: str, port: int, token: str | None = None) -> None:
        self.app, self.port, self.token = app, port, token
        self.hosts = {*LOOPBACK, host.lower(), f"[{host.lower()}]"}
        self.open = not is_loopback(host)
        if self.open:
            self.hosts.add(socket.gethostname().lower())
        self.cookie = f"homeward-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on and add the headers to its response."""
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
        if refused is not None:  # close the connection instead of reading the rest of the body
            response: Response = refusal_response(*refused, Connection="close")
        elif self.is_token(_token_in_address(scope)):
            cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            headers = {"Location": "/", "Set-Cookie": cookie, "Cache-Control": "no-store"}
            response = Response(None, 303, headers)
        elif self.token is None or self.shows_token(scope):
            await self.app(scope, receive, guarded)
            return
        else:
            sentence = "open the page at the address that the server printed, which has the token"
            headers = {"WWW-Authenticate": "Bearer"}
            response = refusal_response(Refusal.NO_TOKEN, sentence, **headers)
        await response(scope, receive, guarded)

    def refusal(self, scope: Scope) -> tuple[Refusal, str] | None:
        """Return code and message if a request is refused whatever its token; otherwise None."""
        hosts = _headers(scope, b"host")
        if len(hosts) != 1 or not self.is_ours(hosts[0]):
            return Refusal.FORBIDDEN, "the Host header does not name this server"
        method, site = scope["method"], _headers(scope, b"sec-fetch-site")
        foreign = bool(site) and site[0] not in ("same-origin", "none")
        if method in READS:  # another site may link to the page but not call the interface
            if foreign and scope["path"].startswith("/api"):
                return Refusal.FORBIDDEN, "only the server's own page may send this request"
            return None
        if method not in CHANGES:
            return Refusal.NOT_ALLOWED, f"{method[:20]} is not allowed"
        origins = _headers(scope, b"origin")
        if foreign or any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return Refusal.FORBIDDEN, "only the server's own page may make changes"
        if _headers(scope, b"x-homeward") != ["1"]:
            return Refusal.FORBIDDEN, "a change needs the header X-Homeward: 1"
        return None

    def is_ours(self, host: str) -> bool:
        """Return whether a Host header names this server."""
        name, colon, port = host.lower().rpartition(":")
        if not colon or port.endswith("]"):
            name, port = host.lower(), "80"
        if port != str(self.port):
            return False
        if name in self.hosts:
            return True
        if not self.open:
            return False
        try:  # an IP address is safe from rebinding
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def is_token(self, given: str) -> bool:
        """Return whether a text is the token; the comparison takes constant time."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def shows_token(self, scope: Scope) -> bool:
        """Return whether a request has the token in a header or a cookie."""
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


def _token_in_address(scope: Scope) -> str:
    asked = scope["path"] == "/" and scope["method"] in READS
    given = parse_qs(scope["query_string"].decode("latin-1")) if asked else {}
    return str(given.get("token", [""])[0])


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
