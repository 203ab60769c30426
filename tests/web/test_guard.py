from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from homeward.web.guard import HEADERS, Guard, is_loopback

PORT = 8765
US = f"127.0.0.1:{PORT}"


async def answering(scope: Any, receive: Any, send: Any) -> None:
    """Answer every request with 200."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-app", b"1")]})
    await send({"type": "http.response.body", "body": b"in"})


def ask(
    guard: Guard,
    method: str = "GET",
    path: str = "/api/v1/runs",
    host: str | None = US,
    query: str = "",
    **headers: str,
) -> tuple[int, dict[str, str], bytes]:
    given = [] if host is None else [(b"host", host.encode())]
    given += [(k.replace("_", "-").encode(), v.encode("latin-1")) for k, v in headers.items()]
    scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "headers": given}
    scope["query_string"] = query.encode()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nobody reads here")

    asyncio.run(guard(scope, receive, send))
    told = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
    return sent[0]["status"], told, sent[1]["body"]


def local(token: str | None = None) -> Guard:
    return Guard(answering, "127.0.0.1", token)


@pytest.mark.parametrize(
    "host",
    [
        *(US, f"localhost:{PORT}", f"[::1]:{PORT}", f"LocalHost:{PORT}"),
        *("localhost:9999", "127.0.0.1:9999", f"[::1]:{PORT + 1}", "127.0.0.1", "[::1]"),  # tunnels
    ],
)
def test_our_own_names_are_let_in(host: str) -> None:
    assert ask(local(), host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", f"evil.example:{PORT}", f"127.0.0.2:{PORT}", "127.0.0.1:x", "127.0.0.1:"),
        *(f"192.168.0.7:{PORT}", f"localhost.evil.example:{PORT}", f"127.0.0.1.evil.org:{PORT}"),
        *("", f":{PORT}", f"127.0.0.1:{PORT}@evil.example:{PORT}"),
        None,
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_host_is_refused(host: str | None, method: str) -> None:
    status, _, body = ask(local(), method, host=host, x_homeward="1")
    assert status == 403
    assert json.loads(body)["error"] == "the Host header does not name this server"


def test_two_hosts_are_none() -> None:
    guard = local()
    scope = {"method": "GET", "headers": [(b"host", US.encode())] * 2}
    assert guard.refusal(scope) is not None


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{US}"},
        {"origin": f"http://127.0.0.1:{PORT + 1}"},
        {"origin": f"http://localhost:{PORT}"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_a_change_from_elsewhere_is_refused(method: str, headers: dict[str, str]) -> None:
    assert ask(local(), method, x_homeward="1", **headers)[0] == 403


@pytest.mark.parametrize("headers", [{}, {"x_homeward": "0"}, {"origin": f"http://{US}"}])
def test_a_change_without_the_header_is_refused(headers: dict[str, str]) -> None:
    status, _, body = ask(local(), "POST", **headers)
    assert status == 403
    assert "X-Homeward" in json.loads(body)["error"]


@pytest.mark.parametrize(
    "headers", [{}, {"origin": f"http://{US}", "sec_fetch_site": "same-origin"}]
)
def test_a_change_from_our_page_or_a_program_is_let_in(headers: dict[str, str]) -> None:
    assert ask(local(), "POST", x_homeward="1", **headers)[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_is_worked_out_is_not_for_another_sites_page(site: str) -> None:
    assert ask(local(), path="/api/v1/terrain/preview", sec_fetch_site=site)[0] == 403
    assert ask(local(), path="/", sec_fetch_site=site)[0] == 200


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PATCH", "CONNECT"])
def test_other_methods_are_refused(method: str) -> None:
    assert ask(local(), method, x_homeward="1")[0] == 405


@pytest.mark.parametrize("host", [US, "evil.example"])
def test_every_answer_says_what_the_page_may_do(host: str) -> None:
    _, headers, _ = ask(local(), host=host)
    for name, value in HEADERS:
        assert headers[name.decode()] == value.decode()
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_without_the_token_the_interface_answers_nothing() -> None:
    guard = local("correct horse")
    for wrong in ("wrong", "", "correct hors", "correct horse!"):
        assert ask(guard, authorization=f"Bearer {wrong}")[0] == 401
        assert ask(guard, query=f"key={wrong}")[0] == 401
    assert ask(guard)[0] == 401
    assert ask(guard, path="/", query="token=wrong")[0] == 401
    assert ask(guard, path="/api/v1/runs", query="token=correct+horse")[0] == 401
    assert ask(guard, authorization="Bearer tör")[0] == 401


def test_the_token_lets_in_and_the_files_of_the_page_need_none() -> None:
    guard = local("correct-horse")
    assert ask(guard, authorization="Bearer correct-horse")[0] == 200
    assert ask(guard, path="/")[0] == 200
    assert ask(guard, path="/static/page.js")[0] == 200


def key_of(guard: Guard, host: str) -> str:
    """Open the page with the token, as a browser that sees the server at `host`."""
    status, headers, _ = ask(guard, path="/", query="token=correct-horse", host=host)
    assert (status, headers["cache-control"]) == (303, "no-store")
    return headers["location"].removeprefix("/?key=")


def test_the_page_gets_a_key_that_is_neither_the_token_nor_a_cookie() -> None:
    guard = local("correct-horse")
    key = key_of(guard, US)
    assert len(key) == 64
    assert "set-cookie" not in ask(guard, path="/", query="token=correct-horse")[1]
    assert ask(guard, authorization=f"Bearer {key}")[0] == 200
    assert ask(guard, query=f"key={key}")[0] == 200
    assert ask(guard, "POST", x_homeward="1", authorization=f"Bearer {key}")[0] == 200
    assert ask(guard, "POST", x_homeward="1", query=f"key={key}")[0] == 401


def test_nothing_that_a_browser_sends_to_another_port_opens_this_one() -> None:
    guard = local("correct-horse")
    key = key_of(guard, US)
    for cookie in ("correct-horse", key):
        assert ask(guard, cookie=f"homeward-{PORT}={cookie}")[0] == 401
    assert ask(guard, authorization=f"Bearer {key}", host=f"127.0.0.1:{PORT + 1}")[0] == 401
    assert ask(local("another-token"), authorization=f"Bearer {key}")[0] == 401


def test_a_tunnel_to_another_local_port_works() -> None:
    guard, tunnel = local("correct-horse"), "localhost:9999"
    shown = {"authorization": f"Bearer {key_of(guard, tunnel)}", "origin": f"http://{tunnel}"}
    assert ask(guard, "POST", host=tunnel, x_homeward="1", **shown)[0] == 200


def test_a_token_does_not_open_for_foreign_hosts_or_origins() -> None:
    guard = local("correct-horse")
    shown = {"authorization": "Bearer correct-horse"}
    assert ask(guard, host="evil.example", **shown)[0] == 403
    assert ask(guard, "POST", x_homeward="1", origin="http://evil.example", **shown)[0] == 403


def test_beyond_loopback_addresses_are_ours_and_other_names_are_not() -> None:
    guard = Guard(answering, "0.0.0.0")
    assert ask(guard, host=f"192.168.0.7:{PORT}")[0] == 200
    assert ask(guard, host=f"[fe80::1]:{PORT}")[0] == 200
    assert ask(guard, host=f"evil.example:{PORT}")[0] == 403


def test_a_name_to_listen_on_is_ours() -> None:
    guard = Guard(answering, "rover.example")
    assert ask(guard, host=f"Rover.example:{PORT}")[0] == 200


def test_a_socket_is_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(local()({"type": "websocket", "headers": []}, None, send))  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *(("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True)),
        *(("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("rover.example", False)),
    ],
)
def test_loopback_is_this_machine_alone(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
