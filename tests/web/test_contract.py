from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from homeward.web import contract
from homeward.web.openapi import API, OPERATIONS, document
from homeward.web.refusals import Refusal

if TYPE_CHECKING:
    from tests.web.site import Site

ANSWERS: dict[str, type[contract.Answer]] = {
    "about": contract.About,
    "runs": contract.RunList,
    "runs/grid-safe": contract.Details,
    "runs/rover": contract.Details,
    "runs/meadow": contract.Details,
    "runs/grid-safe/timeline": contract.Timeline,
    "runs/rover/glance": contract.Glance,
    "runs/rover/files": contract.Files,
    "runs/grid-safe/certificate": contract.Certificate,
    "runs/grid-safe/steps/3/why": contract.Why,
    "runs/rover/steps/2/why": contract.Why,
    "runs/rover/steps/3/way?cell=7": contract.Way,
    "runs/rover/steps/3/ghosts?cell=7": contract.Ghosts,
    "examples": contract.Examples,
    "runs/absent": contract.Refused,
}


@pytest.mark.parametrize("path", ANSWERS)
def test_an_answer_is_what_its_model_says(site: Site, path: str) -> None:
    answer = site.get(f"{API}/{path}")
    found = ANSWERS[path].model_validate_json(answer.content)
    told = json.loads(found.model_dump_json(by_alias=True, exclude_unset=True))
    assert told == answer.json()


def test_the_document_has_every_route_and_model(site: Site) -> None:
    found = site.get(f"{API}/openapi.json").json()
    for address in ("/api", "/api/docs", API, f"{API}/", f"{API}/docs"):
        assert site.get(address).headers["location"] == f"{API}/openapi.json"
    assert found == document()
    listed = {(method, path) for path, all_ in found["paths"].items() for method in all_}
    assert listed == {(each.method.lower(), each.path) for each in OPERATIONS}
    schemas = found["components"]["schemas"]
    assert set(schemas["Refusal"]["enum"]) == set(Refusal)
    assert not list(dangling(found, schemas))


def dangling(value: Any, schemas: dict[str, Any]) -> Any:
    """Yield the references that lead nowhere."""
    if isinstance(value, dict):
        name = str(value.get("$ref", "")).rpartition("/")[2]
        if name and name not in schemas:
            yield name
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from dangling(each, schemas)


@pytest.mark.parametrize("path", ["about", "runs/grid-safe?x=1", "runs/a%20b"])
def test_an_address_without_a_version_leads_to_the_one_with_it(site: Site, path: str) -> None:
    answer = site.get(f"/api/{path}")
    assert (answer.status_code, answer.headers["location"]) == (308, f"{API}/{path}")
    assert site.get(f"{API}/nothing").status_code == 404
    assert (
        site.client.request("PUT", f"{API}/about", headers={"X-Homeward": "1"}).status_code == 405
    )


def test_who_should_ask_again_is_told_when(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*given: Any, **named: Any) -> Any:
        raise Refusal.ASK_AGAIN("another request interrupted this one; ask again")

    monkeypatch.setattr(site.server.pool, "ask", interrupted)
    answer = site.get(f"{API}/runs/grid-safe/steps/1/why")
    assert (answer.status_code, answer.json()["code"]) == (503, "ask_again")
    assert answer.headers["retry-after"] == "0"
