"""Access control, as ASGI middleware around the whole application.

- The Host header must name this server, as a defence against DNS rebinding. Its port may be that of
  a tunnel.
- A request that changes something must come from our own page. Its `Origin`, if present, must be
  ours, and it must have the header ``X-Homeward``, which a page of another origin can't send. A
  page of another site can't read responses either, and may not even start computations.
- A request to the interface needs the token of the server, also on loopback, since other users of
  the machine can reach it. A program sends the token. The page is opened once with the token in its
  address, and gets a key in exchange: a keyed hash of the host and port that the browser sees. The
  key is not in a cookie, since browsers send cookies to servers on all ports of a host. The page
  stores the key where only pages of its own host and port can read it. It sends the key as a
  header, or as the parameter ``key`` in addresses of images, downloads and streams. The files of
  the page are not secret.

Every response has a content security policy: nothing from other origins, no inline scripts. A
request that the server interrupts because it stops gets a response too.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import socket
from urllib.parse import parse_qs

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from homeward.web.refusals import Refusal
from homeward.web.transport import refusal_response

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
NO_TOKEN = (
    "open the page at the address that the server printed, which has the token; programs send it "
    "as Authorization: Bearer TOKEN"
)
STOPPING = "the server is stopping; send the request again once it runs"
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

    The server listens on `host`. If there is a `token`, every request of the interface needs it.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None = None) -> None:
        self.app, self.token = app, token
        self.hosts = {*LOOPBACK, host.lower(), f"[{host.lower()}]"}
        self.open = not is_loopback(host)
        if self.open:
            self.hosts.add(socket.gethostname().lower())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on to the application; add headers to the response."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        began = False

        async def guarded(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        refused, path = self.refusal(scope), str(scope["path"])
        opens_page = path == "/" and scope["method"] in READS
        is_page_file = path == "/" or path.startswith("/static/")
        if refused is not None:  # close the connection instead of reading the rest of the body
            response: Response = refusal_response(*refused, Connection="close")
        elif self.token is not None and opens_page and (given := _in_query(scope, "token")):
            if self.is_token(given):
                headers = {"Location": f"/?key={self.key(scope)}", "Cache-Control": "no-store"}
                response = Response(None, 303, headers)
            else:
                response = refusal_response(Refusal.NO_TOKEN, NO_TOKEN)
        elif self.token is None or is_page_file or self.is_authorised(scope):
            try:
                await self.app(scope, receive, guarded)
            except asyncio.CancelledError:  # the server stops and waits no longer
                if began:
                    raise
                response = refusal_response(Refusal.RESTARTING, STOPPING, Connection="close")
            else:
                return
        else:
            headers = {"WWW-Authenticate": "Bearer"}
            response = refusal_response(Refusal.NO_TOKEN, NO_TOKEN, **headers)
        await response(scope, receive, guarded)

    def refusal(self, scope: Scope) -> tuple[Refusal, str] | None:
        """Return the code and sentence of a refusal that does not depend on the token, or None."""
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
        if not re.fullmatch(r"[0-9]{1,5}", port):
            return False
        if name in self.hosts:
            return True
        if not self.open:
            return False
        try:  # DNS rebinding needs a name, so any IP address is safe
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def is_token(self, given: str) -> bool:
        """Return whether a text is the token; the comparison takes constant time."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def key(self, scope: Scope) -> str:
        """Return the key of the page at the host and port that its browser sees."""
        host = _headers(scope, b"host")[0].lower()
        return hmac.digest((self.token or "").encode(), f"page {host}".encode(), "sha256").hex()

    def is_authorised(self, scope: Scope) -> bool:
        """Return whether a request has the token or the key of the page."""
        given = [_in_query(scope, "key")] if scope["method"] in READS else []
        for value in _headers(scope, b"authorization"):
            kind, _, shown = value.partition(" ")
            if kind.lower() == "bearer":
                given.append(shown.strip())
                if self.is_token(given[-1]):
                    return True
        key = self.key(scope).encode()
        return True in [hmac.compare_digest(each.encode(), key) for each in given]


def _in_query(scope: Scope, name: str) -> str:
    """Return the first value of a query parameter; "" if it is missing."""
    given = parse_qs(scope["query_string"].decode("latin-1"))
    return str(given.get(name, [""])[0])


def _headers(scope: Scope, name: bytes) -> list[str]:
    """Return the values of all headers of a name."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
