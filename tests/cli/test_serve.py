from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import InvalidInputError, MissingExtraError
from homeward.web import serving

if TYPE_CHECKING:
    from pathlib import Path

Call = dict[str, Any]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Call:
    """Serve nothing; give what was to be served."""
    found: Call = {}

    def serve(
        root: Path, listener: Any, host: str, token: str | None, jobs: int, started: Any
    ) -> None:
        found.update(root=root, host=host, token=token, jobs=jobs, port=listener.getsockname()[1])
        started()

    monkeypatch.setattr(serving, "serve", serve)
    monkeypatch.setattr(serving, "make_demo", lambda root, begins: begins())
    return found


def invoke(*words: str) -> Any:
    return CliRunner().invoke(app, ["serve", *words, "--no-open"])


def test_it_prints_the_address(called: Call, tmp_path: Path) -> None:
    result = invoke(str(tmp_path / "runs"), "--port", "0", "--workers", "3")
    assert result.exit_code == 0
    assert f"at http://127.0.0.1:{called['port']}/?token={called['token']}\n" in result.output
    assert "creating two examples" in result.output
    assert (called["jobs"], called["root"]) == (3, tmp_path / "runs")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_is_made_up_and_kept_also_on_this_machine(
    called: Call, tmp_path: Path, host: str
) -> None:
    result = invoke(str(tmp_path), "--port", "0", "--host", host)
    token = called["token"]
    assert len(token) > 30
    assert f"/?token={token}" in result.output
    kept = tmp_path / ".serve.token"
    assert (kept.read_text(), kept.stat().st_mode & 0o777) == (token, 0o600)
    invoke(str(tmp_path), "--port", "0", "--host", host)
    assert called["token"] == token
    kept.chmod(0o644)
    invoke(str(tmp_path), "--port", "0", "--host", host)
    assert called["token"] != token


@pytest.mark.parametrize("host", ["::", "192.0.2.1"])
def test_any_host_that_is_not_loopback_asks_for_a_token(
    called: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    bound = serving.bind("127.0.0.1", 0)
    monkeypatch.setattr(serving, "bind", lambda host, port: bound)
    result = invoke(str(tmp_path), "--port", "0", "--host", host)
    assert len(called["token"]) > 30
    assert f"token={called['token']}" in result.output


def test_a_token_is_printed_as_an_address_takes_it(called: Call, tmp_path: Path) -> None:
    result = invoke(str(tmp_path), "--port", "0", "--token", "a+b&c#d%41")
    assert called["token"] == "a+b&c#d%41"
    assert "/?token=a%2Bb%26c%23d%2541\n" in result.output


def test_a_token_can_be_given(called: Call, tmp_path: Path) -> None:
    invoke(str(tmp_path), "--port", "0", "--token", "eight-or-more")
    assert called["token"] == "eight-or-more"


@pytest.mark.parametrize(
    "token", ["", "short", "with spaces in it", "semi;colon;s", "ünïcödë-tökën"]
)
def test_a_bad_token_is_refused(called: Call, tmp_path: Path, token: str) -> None:
    result = invoke(str(tmp_path), "--port", "0", "--token", token)
    assert isinstance(result.exception, InvalidInputError)
    assert "a token needs" in str(result.exception)
    assert called == {}


def test_a_taken_port_is_said(called: Call, tmp_path: Path) -> None:
    with serving.bind("127.0.0.1", 0) as other:
        taken = other.getsockname()[1]
        result = invoke(str(tmp_path), "--port", str(taken))
    assert f"Port {taken} is in use, so this is port {called['port']}." in result.output


@pytest.mark.parametrize("host", ["\udcff", "a\0b"])
def test_a_host_that_is_no_name_is_refused(called: Call, tmp_path: Path, host: str) -> None:
    said = invoke(str(tmp_path), "--host", host)
    assert isinstance(said.exception, InvalidInputError)
    assert str(said.exception) == f"can't listen on {host!r}: it is no name of a host"
    assert not called


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = invoke(str(tmp_path))
    assert isinstance(result.exception, MissingExtraError)
    assert "pip install 'homeward[web]'" in str(result.exception)


def test_ctrl_c_ends_with_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(serving, "serve", stop)
    monkeypatch.setattr(serving, "make_demo", lambda root, begins: False)
    assert invoke(str(tmp_path), "--port", "0").exit_code == 130
