"""The command line, through the real handlers: what it sends, shows and ends with."""

import gzip
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from rich.console import Console
from typer.testing import CliRunner, Result

from infra.cli import server, show
from infra.cli.app import app
from infra.cli.server import Server
from infra.local.engine import DUMMY_CREDENTIALS
from infra.local.events import HttpRequest
from infra.local.gateway import Gateway
from infra.local.template import Template
from tests.support.writing import link, ndjson, note

Run = Callable[..., Result]
Answer = Callable[[httpx.Request], httpx.Response]
ADDRESS = "http://127.0.0.1:3000"


def over(answer: Answer, patch: pytest.MonkeyPatch, *, waited: list[float] | None = None) -> None:
    """Every command's requests are answered by `answer`."""

    def at(url: str, auth: httpx.Auth) -> Server:
        client = httpx.Client(base_url=url, auth=auth, transport=httpx.MockTransport(answer))
        return Server(client, (waited if waited is not None else []).append)

    patch.setattr(Server, "at", staticmethod(at))


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URL", "TOKEN", "AS", "TENANT", "ROLES", "AGENTS"):
        monkeypatch.delenv(f"HOPSCOPE_{name}", raising=False)


@pytest.fixture
def cli(engine: str, template: Template, tenant: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in the test's tenant; the server is the gateway, in this process."""
    assert engine
    gateway = Gateway(template.routes())
    outside = sys.stdout

    def answer(request: httpx.Request) -> httpx.Response:
        path, _, query = request.url.raw_path.decode().partition("?")
        headers = tuple((name, value) for name, value in request.headers.items())
        with redirect_stdout(outside):  # what the handlers log is no part of a command's answer
            found = gateway.handle(
                HttpRequest(method=request.method, path=path, query=query, headers=headers, body=request.content)
            )
        return httpx.Response(found.status, headers=list(found.headers), content=found.body)

    over(answer, monkeypatch)

    def run(*words: str, given: bytes | None = None) -> Result:
        return CliRunner().invoke(app, [*words, "--tenant", tenant], input=given)

    return run


@pytest.fixture
def loaded(cli: Run, tmp_path: Path) -> Run:
    """A small graph, imported from a gzipped file."""
    file = tmp_path / "graph.jsonl.gz"
    lines = (
        link("a", "b", relationship="DECIDES"),
        {"kind": "membership", "principal_id": "ana", "project_id": "p"},
        note("a", content="Short.", key="k", value=1, project_id="p", scope="project"),
        note("b", name="B \x1b[31mred\u202e", content="A line of text.\n" * 300),
        {"kind": "entity", "agent_id": "x", "name": "Ada Lovelace", "aliases": ["Ada"], "mentions": ["a"]},
        {"kind": "relation", "agent_id": "x", "subject": "Ada", "predicate": "wrote", "object": "Notes"},
    )
    file.write_bytes(gzip.compress(ndjson(*lines)))
    done = cli("import", str(file))
    assert (done.exit_code, done.stdout) == (0, "6 applied, 0 unchanged, 0 rejected.\n"), done.output
    return cli


def test_reading(loaded: Run) -> None:
    expanded = loaded("expand", "a", "ghost", "--limit", "1")
    assert expanded.exit_code == 0
    assert re.search(r"1\.00 +1 +→ DECIDES +b +note +B \ufffd\[31mred\ufffd", expanded.stdout)
    assert "Not found, or not yours to read: ghost." in expanded.stdout
    told = json.loads(loaded("expand", "b", "--type", "note", "--relationship", "decides", "--json").stdout)
    assert [(found["id"], found["direction"]) for found in told["neighbors"]] == [("a", "incoming")]
    assert json.loads(loaded("expand", "b", "--outgoing", "--type", "note", "--json").stdout)["neighbors"] == []
    sliced = loaded("slice", "b", "--window", "64").stdout
    assert sliced.count("A line of text.") == 300
    assert sliced.endswith("\nThat is all of it.\n")
    assert "It goes on: hopscope slice psg_" in loaded("slice", "b", "--window", "1").stdout
    traversed = loaded("traverse", " ADA ", "--agent", "x").stdout
    assert re.search(r"0 +Ada Lovelace +Ada +a\b", traversed)
    assert "Ada Lovelace — wrote → Notes" in traversed


def test_a_remembered_line(loaded: Run) -> None:
    (line,) = json.loads(loaded("lines", "a", "--json").stdout)["lines"]
    assert loaded("record", "a", "--project", "p", "--digest", line["expansion"]["digest"]).stdout.startswith(
        "a: current\n"
    )
    assert loaded("record", "a").stdout.startswith("a: current\n")
    assert "(revision_changed)" in loaded("record", "a", "--project", "p", "--digest", "other").stdout
    assert loaded("record", "ghost").stdout.startswith("ghost: unavailable\n")


def test_a_record_through_a_grant_needs_no_digest(loaded: Run) -> None:
    grant = json.loads(loaded("grant", "issue", "ben", "--project", "p", "--reason", "r", "--json").stdout)["id"]
    for view in ([], ["--project", "p"]):
        shown = loaded("record", "a", "--grant", grant, "--as", "ben", *view).stdout
        assert shown.startswith("a: current\n")
        assert "revision_changed" not in shown
    assert loaded("record", "a", "--as", "ben").stdout.startswith("a: unavailable\n")


def test_nothing_to_start_from_and_numbers_out_of_range(loaded: Run) -> None:
    shown = loaded("expand", "ghost", "spook", "--depth", "99").stdout.splitlines()
    assert shown == [
        "There is nothing to start from.",
        "Not found, or not yours to read: ghost, spook.",
        "--depth 99 is out of range; 3 was used.",
    ]
    assert "--content-max-chars 99999 is out of range; 50000 was used.\n" in (
        loaded("expand", "a", "--depth", "3", "--content-max-chars", "99999").stdout
    )
    assert loaded("traverse", "Ada", "--agent", "x", "--hops", "9").stdout.endswith(
        "--hops 9 is out of range; 5 was used.\n"
    )
    assert loaded("record", "a", "--expansions", "51").stdout.endswith(
        "--expansions 51 is out of range; 50 was used.\n"
    )
    assert "out of range" not in loaded("expand", "a", "--depth", "99", "--json").stdout


def test_grants_and_their_audit(loaded: Run) -> None:
    soon = json.loads(loaded("grant", "issue", "ben", "--project", "p", "--reason", "r", "--json").stdout)
    assert (soon["grantee"], soon["projects"], soon["surfaces"]) == ("ben", ["p"], ["http", "mcp"])
    assert soon["id"] in loaded("grant", "list", "--grantee", "ben").stdout
    assert loaded("grant", "recheck", soon["id"], "--as", "ben").stdout == "It would be accepted.\n"
    used = loaded("record", "a", "--project", "p", "--digest", "x", "--grant", soon["id"], "--as", "ben", "--json")
    assert json.loads(used.stdout)["record"]["id"] == "a"
    assert "grant_" in loaded("grant", "revoke", soon["id"]).stdout
    assert "grant_revoked" in loaded("grant", "recheck", soon["id"], "--as", "ben").stdout
    assert json.loads(loaded("grant", "show", soon["id"], "--json").stdout)["revoked_at"] is not None
    (found,) = json.loads(loaded("audit", "--grant", soon["id"], "--json").stdout)["aggregates"]
    assert (found["outcome"], found["count"]) == ("used", 1)
    assert re.search(rf"{soon['id']} +http +used +1 ", loaded("audit").stdout)


def test_an_export_imports_as_it_was(loaded: Run, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl.gz"
    assert loaded("export", str(file)).stdout.endswith(f"lines in {file}.\n")
    text = gzip.decompress(file.read_bytes())
    assert {json.loads(line)["kind"] for line in text.splitlines()} == {
        *("membership", "memory", "entity", "edge", "relation")
    }
    again = loaded("import", "-", "--json", given=text)
    assert json.loads(again.stdout) == {
        "applied": 0,
        "unchanged": len(text.splitlines()),
        "rejected": 0,
        "errors": [],
    }
    assert loaded("export").stdout_bytes == text


def test_rejected_lines_are_named_and_the_rest_applies(cli: Run) -> None:
    done = cli("import", "-", given=b"{\n" + ndjson(link("a", "ghost"), note("a")))
    assert done.exit_code == 1
    first, second, last = done.stdout.splitlines()
    assert first.startswith("line 1: not JSON")
    assert second == "line 2: both ends must be there by the end of the import"
    assert last == "1 applied, 0 unchanged, 2 rejected."


def test_refusals_in_words(cli: Run) -> None:
    absent = cli("slice", "ghost")
    assert (absent.exit_code, absent.stdout) == (1, "")
    assert absent.stderr.startswith("404 Not found: ")
    forbidden = cli("export", "--roles", "reader")
    assert forbidden.stderr.startswith("403 Role missing: This operation needs the role admin.\nLocally, add the role")
    blank = cli("traverse", " ", "--agent", "x")
    assert re.match(r"400 Malformed request: .*\n  entity ", blank.stderr)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import", "/no/such/file"], "/no/such/file: No such file or directory\n"),
        (["expand", "a", "--url", "https://api.example"], "https://api.example wants a token: set HOPSCOPE_TOKEN"),
        (["expand", "a", "--url", "nonsense", "--token", "t"], "nonsense/ is no address: "),
    ],
)
def test_wrong_usage_is_a_2(words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["grant", "issue", "ben", "--project", "p", "--reason", "r", "--expires", "soon"], "'soon' is neither"),
        (["grant", "issue", "ben", "--project", "p", "--reason", "r", "--expires", "999999999d"], "the year 9999"),
        (["audit", "--from", "yesterday"], "'yesterday' is no day"),
        (["audit", "--to", "2026-02-30"], "'2026-02-30' is no day"),
        (["audit", "--to", "20260102"], "'20260102' is no day"),
        (["record", "a", "--derived-at", "2026-01-02"], "'2026-01-02' is no instant"),
    ],
)
def test_a_bad_value_is_never_sent(words: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(400)

    over(answer, monkeypatch)
    done = CliRunner().invoke(app, words, terminal_width=200)
    assert (done.exit_code, done.stdout, asked) == (2, "", [])
    assert said in done.stderr


def test_an_instant_may_be_given_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content)["expires_at"])
        return httpx.Response(400)

    over(answer, monkeypatch)
    words = ["grant", "issue", "ben", "--project", "p", "--reason", "r"]
    for more in (["--expires", "2027-01-02T03:04:05+01:00"], ["--expires", "8h"], []):
        assert CliRunner().invoke(app, [*words, *more]).exit_code == 1
    assert sent[0] == "2027-01-02T03:04:05+01:00"
    assert [datetime.fromisoformat(at) - datetime.now(UTC) for at in sent[1:]] == [
        pytest.approx(timedelta(hours=hours), abs=timedelta(minutes=1)) for hours in (8, 1)
    ]


def test_an_import_that_is_interrupted_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupt(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    over(interrupt, monkeypatch)
    file = tmp_path / "one.jsonl"
    file.write_bytes(ndjson(note("a")))
    done = CliRunner().invoke(app, ["import", str(file)])
    assert (done.exit_code, done.stderr) == (130, "Interrupted; what was applied stays. Run it again.\n")


def test_ids_are_whole_in_a_narrow_terminal() -> None:
    id_ = "grant_" + "o" * 26
    found = {
        **dict.fromkeys(("expires_at", "revoked_at"), "2026-01-01T00:00:00.000Z"),
        "id": id_,
        "grantee": "ben",
        "projects": ["atlas"],
        "surfaces": ["http", "mcp"],
        "reason": "on call",
    }
    out = StringIO()
    show.grants(Console(file=out, width=80), {"grants": [found]})
    assert re.search(rf"^ ?{id_} ", out.getvalue(), re.MULTILINE)
    assert "\u2026" not in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= 80


def test_a_file_that_breaks_off(tmp_path: Path) -> None:
    file = tmp_path / "broken.gz"
    file.write_bytes(gzip.compress(b"x" * 1_000)[:15])
    done = CliRunner().invoke(app, ["import", str(file)])
    assert (done.exit_code, "ended before the end" in done.stderr) == (2, True)


def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([(503, "1"), (429, "4"), (200, "")])
    waited: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        status, after = next(answers)
        return httpx.Response(status, headers={"Retry-After": after}, json={"aggregates": []})

    over(answer, monkeypatch, waited=waited)
    assert CliRunner().invoke(app, ["audit"]).stdout == "Nobody presented a grant.\n"
    assert waited == [1.0, 4.0]


def test_a_server_that_stays_busy_or_silent_is_a_3(monkeypatch: pytest.MonkeyPatch) -> None:
    over(lambda _: httpx.Response(503, json={"title": "Unavailable", "detail": "Try again later."}), monkeypatch)
    done = CliRunner().invoke(app, ["audit"])
    assert (done.exit_code, done.stderr) == (3, "503 Unavailable: Try again later.\n")

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    over(refuse, monkeypatch)
    done = CliRunner().invoke(app, ["audit"])
    assert (done.exit_code, done.stderr.splitlines()[0]) == (3, f"{ADDRESS} can't be reached: refused.")


def test_refusals_of_a_gateway_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    over(lambda _: httpx.Response(401, json={"message": "Unauthorized"}), monkeypatch)
    assert CliRunner().invoke(app, ["audit"]).stderr.startswith("401 Unauthorized\nDeployed: set HOPSCOPE_TOKEN")
    over(lambda _: httpx.Response(502, text="<html>"), monkeypatch)
    assert CliRunner().invoke(app, ["audit"]).stderr == "502 Bad Gateway\n"
    over(lambda _: httpx.Response(200, text="<html>"), monkeypatch)
    assert "is it a Hopscope server?" in CliRunner().invoke(app, ["audit"]).stderr


def test_all_pages_of_a_list_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mapping[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(dict(request.url.params))
        return httpx.Response(200, json={"grants": []} if "cursor" in asked[-1] else {"grants": [], "cursor": "c"})

    over(answer, monkeypatch)
    assert CliRunner().invoke(app, ["grant", "list", "--grantee", "ben"]).stdout == "No grants.\n"
    assert asked == [{"grantee": "ben"}, {"grantee": "ben", "cursor": "c"}]


def test_a_token_goes_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(f"{request.url.host} {request.headers['Authorization']}")
        return httpx.Response(200, json={"aggregates": []})

    over(answer, monkeypatch)
    monkeypatch.setenv("HOPSCOPE_URL", "https://api.example")
    monkeypatch.setenv("HOPSCOPE_TOKEN", "ey.j.w")
    assert CliRunner().invoke(app, ["audit"]).exit_code == 0
    assert seen == ["api.example Bearer ey.j.w"]


def test_a_signature_covers_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"aggregates": []})

    over(answer, monkeypatch)
    for name, value in {**DUMMY_CREDENTIALS, "HOPSCOPE_TOKEN": "unused"}.items():
        monkeypatch.setenv(name, value)
    words = ["audit", "--from", "2026-01-01", "--iam", "--url", "https://api.example"]
    assert CliRunner().invoke(app, words).exit_code == 0
    sent = AWSRequest(
        method="GET", url="https://api.example/api/audit?from=2026-01-01", headers={"host": "api.example"}
    )
    sent.context["timestamp"] = seen[0].headers["X-Amz-Date"]
    auth = SigV4Auth(Credentials("local", "local"), "execute-api", "us-east-1")
    sent.headers["X-Amz-Date"] = seen[0].headers["X-Amz-Date"]
    signature = auth.signature(auth.string_to_sign(sent, auth.canonical_request(sent)), sent)
    assert seen[0].headers["Authorization"] == (
        f"AWS4-HMAC-SHA256 Credential=local/{auth.scope(sent).partition('/')[2]}, "
        f"SignedHeaders=host;x-amz-date, Signature={signature}"
    )


def test_an_export_that_breaks_off_leaves_the_file_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    file.write_text("before")

    def answer(request: httpx.Request) -> httpx.Response:
        if "cursor" in request.url.params:
            raise httpx.ReadError("cut", request=request)
        return httpx.Response(200, headers={"X-Next-Cursor": "c"}, text="{}\n")

    over(answer, monkeypatch)
    assert CliRunner().invoke(app, ["export", str(file)]).exit_code == 3
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("kept.jsonl", "before")]


def commands() -> Iterator[list[str]]:
    group = typer.main.get_group(app)
    for name, found in group.commands.items():
        inner = getattr(found, "commands", None)
        yield from ([name, below] for below in inner) if inner else [[name]]


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_has_help_with_an_example_that_parses(words: list[str]) -> None:
    shown = CliRunner().invoke(app, [*words, "--help"], terminal_width=200)
    assert shown.exit_code == 0
    assert f"Example: hopscope {' '.join(words)} " in shown.stdout + " "


def test_help_tells_defaults() -> None:
    told = {
        name: re.findall(
            r"(--\w+) .*\[default: (\d+)\]", CliRunner(env={"COLUMNS": "200"}).invoke(app, [name, "--help"]).stdout
        )
        for name in ("expand", "slice", "traverse", "lines", "record")
    }
    assert told == {
        "expand": [("--depth", "1"), ("--limit", "8")],
        "slice": [("--window", "3")],
        "traverse": [("--hops", "1"), ("--limit", "20")],
        "lines": [("--limit", "10")],
        "record": [("--expansions", "5")],
    }


def test_waits_are_real_but_bounded() -> None:
    assert Server(httpx.Client()).wait is time.sleep
    answer = httpx.Response(503, headers={"Retry-After": "86400"})
    assert server._seconds(answer, 1) == 20.0
