"""The doors that people's pages go through: fleet, live, questions, undelete, rollback, files of snapshots, node, templates."""

from __future__ import annotations

import base64

import httpx
import pytest

from roost.api.http import MAX_BODY_BYTES
from roost.domain.access import FULL, Principal
from roost.domain.ids import TeamId

from .house import House

pytestmark = pytest.mark.anyio

JPEG = b"\xff\xd8\xff\xe0" + bytes(900_000)


async def make(http: httpx.AsyncClient, **body: object) -> dict[str, str]:
    return (await http.post("/v1/sandboxes", json=body)).json()


async def test_the_fleet_in_one_call(http: httpx.AsyncClient) -> None:
    awake, asleep = await make(http, name="awake"), await make(http)
    await http.post(f"/v1/sandboxes/{asleep['id']}/pause")
    await http.post("/v1/sandboxes/awake/questions", json={"text": "?"})
    fleet = (await http.get("/v1/fleet")).json()
    members = {member["sandbox"]["id"]: member for member in fleet["sandboxes"]}
    assert members.keys() == {awake["id"], asleep["id"]}
    assert members[awake["id"]]["activity"]["awake"] is True
    assert members[asleep["id"]]["activity"]["awake"] is False
    assert (members[awake["id"]]["cpu"], members[awake["id"]]["memory"]) == ([], [])
    assert fleet["open_questions"] == 1
    newest = (await http.get("/v1/events", params={"newest_first": True, "limit": 1})).json()["events"][0]
    assert fleet["cursor"] >= newest["sequence"], "whoever follows from there misses no event, and no record"


async def test_a_question_is_asked_with_a_picture_larger_than_other_bodies_may_be(http: httpx.AsyncClient) -> None:
    await make(http, name="agent")
    picture = base64.b64encode(JPEG).decode()
    assert len(picture) > MAX_BODY_BYTES
    body = {"kind": "approval", "text": "Pay 40 €?", "screenshot": picture, "ttl_s": 60}
    answer = await http.post("/v1/sandboxes/agent/questions", json=body)
    assert answer.status_code == 201, answer.text
    asked = answer.json()
    assert (asked["state"], asked["choices"], asked["has_screenshot"]) == ("open", ["approve", "deny"], True)
    assert "screenshot" not in (await http.get("/v1/questions")).json()["questions"][0]
    shown = (await http.get(f"/v1/questions/{asked['id']}")).json()
    assert shown["screenshot"] == f"data:image/jpeg;base64,{picture}"
    assert (await http.post("/v1/sandboxes/agent/pause", content=bytes(MAX_BODY_BYTES + 1))).status_code == 413
    assert (await http.post("/v1/sandboxes/agent/questions", content=bytes(1_600_000))).status_code == 413


async def test_an_answer_names_its_key_and_comes_once(http: httpx.AsyncClient) -> None:
    await make(http, name="agent")
    asked = (await http.post("/v1/sandboxes/agent/questions", json={"text": "?", "choices": ["a", "b"]})).json()
    url = f"/v1/questions/{asked['id']}"
    assert (await http.post(f"{url}/answer", json={"choice": "c"})).status_code == 400
    answered = (await http.post(f"{url}/answer", json={"choice": "a"})).json()
    assert answered["answer"] | {"at": None} == {"choice": "a", "text": None, "by": "first", "at": None}
    again = await http.post(f"{url}/answer", json={"choice": "b"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "question_closed")
    assert (await http.delete(url)).status_code == 204
    assert (await http.get(url, params={"wait_s": 30})).json()["state"] == "answered", "what is closed is not waited for"
    assert (await http.get("/v1/questions", params={"state": "open"})).json()["questions"] == []
    assert (await http.get("/v1/questions/q" + "0" * 20)).status_code == 404


async def test_a_killed_one_says_until_when_and_comes_back(http: httpx.AsyncClient) -> None:
    made = await make(http, name="web")
    assert (await http.post(f"/v1/sandboxes/{made['id']}/undelete")).json()["error"]["code"] == "not_dead"
    await http.delete("/v1/sandboxes/web")
    dead = (await http.get(f"/v1/sandboxes/{made['id']}")).json()
    assert dead["state"] == "dead" and dead["undelete_until"] == "2023-11-15T22:13:20.000Z"
    back = await http.post(f"/v1/sandboxes/{made['id']}/undelete")
    assert back.status_code == 201 and back.json()["name"] == "web" and back.json()["undelete_until"] is None
    await http.delete("/v1/sandboxes/web", params={"keep": "false"})
    gone = await http.post(f"/v1/sandboxes/{back.json()['id']}/undelete")
    assert (gone.status_code, gone.json()["error"]["code"]) == (410, "nothing_kept")


async def test_e2bs_kill_keeps_too(http: httpx.AsyncClient) -> None:
    made = await make(http)
    assert (await http.delete(f"/sandboxes/{made['id']}")).status_code == 204
    assert (await http.post(f"/v1/sandboxes/{made['id']}/undelete")).status_code == 201


async def test_back_to_a_snapshot(http: httpx.AsyncClient) -> None:
    await make(http, name="agent")
    await http.post("/v1/sandboxes/agent/snapshots", json={"name": "good"})
    answer = await http.post("/v1/sandboxes/agent/rollback", json={"snapshot": "good"})
    assert answer.status_code == 200 and answer.json()["state"] == "running"
    await make(http, name="other")
    foreign = await http.post("/v1/sandboxes/other/rollback", json={"snapshot": "good"})
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (400, "not_its_snapshot")


async def test_files_of_a_snapshot_are_downloads_and_never_pages(http: httpx.AsyncClient, house: House) -> None:
    made = await make(http)
    house.node.guests[made["id"]].disk = "<script>alert(1)</script>"  # pyright: ignore[reportArgumentType]
    snapshot = (await http.post(f"/v1/sandboxes/{made['id']}/snapshots", json={})).json()["id"]
    listed = (await http.get(f"/v1/snapshots/{snapshot}/files")).json()
    assert listed["entries"] == [{"name": "disk", "type": "file", "size": 25, "mtime": "2023-11-14T22:13:20.000Z"}]
    answer = await http.get(f"/v1/snapshots/{snapshot}/file", params={"path": "/disk"})
    assert answer.text == "<script>alert(1)</script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''disk"
    assert answer.headers["x-content-type-options"] == "nosniff" and "sandbox" in answer.headers["content-security-policy"]
    assert (await http.get(f"/v1/snapshots/{snapshot}/file", params={"path": "/none"})).status_code == 404
    assert (await http.get("/v1/snapshots/s" + "0" * 20 + "/files")).status_code == 404


async def test_other_teams_see_none_of_it(http: httpx.AsyncClient, house: House) -> None:
    made = await make(http, name="agent")
    snapshot = (await http.post("/v1/sandboxes/agent/snapshots", json={})).json()["id"]
    asked = (await http.post("/v1/sandboxes/agent/questions", json={"text": "?"})).json()["id"]
    _, secret = await house.services.keys.create(Principal(TeamId("strangers"), FULL, None), "eve")
    headers = {"Authorization": f"Bearer {secret}"}
    assert (await http.get("/v1/fleet", headers=headers)).json()["sandboxes"] == []
    for method, path in (
        ("GET", f"/v1/snapshots/{snapshot}/files"),
        ("GET", f"/v1/snapshots/{snapshot}/file"),
        ("GET", f"/v1/questions/{asked}"),
        ("DELETE", f"/v1/questions/{asked}"),
        ("POST", f"/v1/sandboxes/{made['id']}/undelete"),
    ):
        assert (await http.request(method, path, headers=headers)).status_code == 404, path


async def test_the_node_tells_its_load_pools_slots_and_checks(http: httpx.AsyncClient, house: House) -> None:
    (template,) = (await http.get("/v1/templates")).json()["templates"]
    house.node.warm = {template["snapshot"]: 2}
    await make(http)
    await house.services.nodes.look()  # as the keeper does every few seconds
    node = (await http.get("/v1/node")).json()
    assert node["warm"] == {"base": 2}
    assert node["disk_used_bytes"] == node["disk_total_bytes"] - node["disk_free_bytes"]
    assert [check["name"] for check in node["checks"]] == ["disk", "memory", "load", "network", "processes"]
    assert node["sandboxes"] == {"running": 1, "dozing": 0} and node["slots"].keys() == {"held", "spare", "most"}
    (template,) = (await http.get("/v1/templates")).json()["templates"]
    assert (template["sandboxes"], template["packages"]) == (1, [])


async def test_templates_that_are_not_there_yet_are_told_with_their_step_or_why_not(
    http: httpx.AsyncClient, house: House
) -> None:
    house.services.templates.expect("base", "web")
    told = (await http.get("/v1/templates")).json()
    assert [template["name"] for template in told["templates"]] == ["base"]
    [build] = told["being_made"]
    assert (build["name"], build["step"], build["failure"], build["again_at"]) == ("web", "waiting for its turn", None, None)
