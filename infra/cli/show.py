"""Answers for people. What is shown was written by others: control characters never reach the terminal."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

_ID = {"id", "grant_id"}
_IDS = {"mentioned by"}
_OPTIONS = {"max_hops": "hops", "maxExpansions": "expansions"}
"""Options that have another name than the field that they set."""
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(value: object) -> Text:
    """A value as text that a terminal only shows."""
    return Text(_UNSHOWN.sub("\ufffd", "" if value is None else str(value)))


def table(console: Console, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Rows in columns. Nothing is left out, and ids stay whole, to be copied, however narrow the terminal is."""
    cells = [[plain(cell) for cell in row] for row in rows]
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for at, name in enumerate(columns):
        words = [part for row in cells for part in (row[at].plain.split() if name in _IDS else [row[at].plain])]
        whole = max(map(cell_len, words), default=0) if name in _ID | _IDS else None
        shown.add_column(name, overflow="fold", min_width=whole, no_wrap=name in _ID)
    for row in cells:
        shown.add_row(*row)
    if cells:
        console.print(shown, crop=False)


def expanded(console: Console, answer: Mapping[str, Any]) -> None:
    arrows = {"outgoing": "→", "incoming": "←"}
    table(
        console,
        ("score", "hops", "by", "id", "type", "name"),
        (
            (
                f"{found['score']:.2f}",
                found["distance"],
                f"{arrows[found['direction']]} {found['relationship']}",
                found["id"],
                found["type"],
                found["name"],
            )
            for found in answer["neighbors"]
        ),
    )
    if answer["origins"]:
        _say(console, f"{answer['total']} found around {_list(answer['origins'])}.")
    else:
        _say(console, "There is nothing to start from.")
    if answer["truncated"]:
        bounds = answer["filters"].get("bounded_by")
        _say(console, f"There is more: {'the walk was bounded by ' + _list(bounds) if bounds else 'raise --limit'}.")
    if answer["unresolved"]:
        _say(console, f"Not found, or not yours to read: {_list(answer['unresolved'])}.")


def adjusted(console: Console, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Numbers that the server brought into range."""
    investigated = answer.get("investigation") or {}
    used = {**answer.get("filters", {}), **investigated.get("budget", {}), **answer}
    for name, number in asked.items():
        if isinstance(number, int) and used.get(name, number) != number:
            option = _OPTIONS.get(name, name.replace("_", "-"))
            _say(console, f"--{option} {number} is out of range; {used[name]} was used.")


def sliced(console: Console, answer: Mapping[str, Any]) -> None:
    _say(console, f"{answer['parent_name']} ({answer['parent_id']}, {answer['parent_type']})\n")
    for passage in answer["passages"]:
        if answer["sliced"]:
            at = f"— {passage['passage_index'] + 1} of {passage['passage_total']}"
            _say(console, f"{at}, {passage['id']}{': ' if passage['breadcrumb'] else ''}{passage['breadcrumb']}")
        console.print(plain(passage["content"]), soft_wrap=True)
        if passage["truncated"]:
            _say(console, "(cut by --content-max-chars)")
    if answer["covers_parent"]:
        _say(console, "\nThat is all of it.")
    elif answer["sliced"] and answer["window_start"] + answer["total"] < answer["passage_total"]:
        _say(console, f"\nIt goes on: hopscope slice {answer['passages'][-1]['id']} --window {2 * answer['window']}")


def traversed(console: Console, answer: Mapping[str, Any]) -> None:
    names = {entity["id"]: entity["name"] for entity in answer["entities"]}
    table(
        console,
        ("hops", "name", "aliases", "mentioned by"),
        (
            (
                entity["hops"],
                entity["name"],
                _list(entity.get("aliases", ())),
                _list(entity.get("mentions", ())) + _more(entity.get("mentions_omitted")),
            )
            for entity in answer["entities"]
        ),
    )
    for relation in answer["relations"]:
        anchor = f"  (in {relation['anchor_ref']})" if "anchor_ref" in relation else ""
        _say(console, f"{names[relation['subject']]} — {relation['predicate']} → {names[relation['object']]}{anchor}")
    if answer.get("reason"):
        _say(console, f"Nothing answers to {answer['entity']!r} for this agent.")
    if "bounds" in answer:
        _say(console, f"There is more, left out by: {_list(answer['bounds']['omitted'])}.")
    if "operating_context_warning" in answer:
        _say(console, answer["operating_context_warning"])


def lines(console: Console, answer: Mapping[str, Any]) -> None:
    for line in answer["lines"]:
        _say(console, line["line"])
        console.print(f"  {line['recordId']} @ {line['expansion']['digest']}", style="dim", soft_wrap=True)
    if answer["unresolved"]:
        _say(console, f"Not found, or not yours to read: {_list(answer['unresolved'])}.")


def record(console: Console, answer: Mapping[str, Any]) -> None:
    _say(console, f"{answer['recordId']}: {answer['status']}")
    found = answer["record"]
    if found is not None:
        told = {name: value for name, value in found.items() if name != "content" and value not in (None, {}, [], "")}
        table(console, ("field", "value"), ((name, _value(value)) for name, value in told.items()))
        console.print(plain(found.get("content")), soft_wrap=True)
    for pair in (answer["investigation"] or {}).get("pairs", ()):
        basis = f" by {_list(pair['basis'])}" if pair["basis"] else ""
        _say(console, f"against {pair['recordId']} ({pair['relation']}): {pair['state']}{basis}")
    limitation = answer["completeness"].get("limitation")
    if limitation:
        _say(console, f"Not complete: {limitation['detail']} ({limitation['code']})")


def grants(console: Console, answer: Mapping[str, Any]) -> None:
    table(
        console,
        ("id", "grantee", "projects", "surfaces", "expires", "revoked", "reason"),
        (
            (
                found["id"],
                found["grantee"],
                _list(found["projects"]),
                _list(found["surfaces"]),
                found["expires_at"],
                found["revoked_at"],
                found["reason"],
            )
            for found in answer["grants"]
        ),
    )
    if not answer["grants"]:
        _say(console, "No grants.")


def grant(console: Console, answer: Mapping[str, Any]) -> None:
    told = {**answer, "projects": _list(answer["projects"]), "surfaces": _list(answer["surfaces"])}
    table(console, ("field", "value"), told.items())


def recheck(console: Console, answer: Mapping[str, Any]) -> None:
    _say(console, "It would be accepted." if answer["valid"] else f"It would be refused: {answer['reason']}.")


def audit(console: Console, answer: Mapping[str, Any]) -> None:
    columns = ("day", "grant_id", "surface", "outcome", "count", "records_returned_total", "last_at")
    table(console, columns, ([found[name] for name in columns] for found in answer["aggregates"]))
    if not answer["aggregates"]:
        _say(console, "Nobody presented a grant.")


def imported(console: Console, answer: Mapping[str, Any]) -> None:
    for error in answer["errors"]:
        _say(console, f"line {error['line']}: {error['reason']}")
    counts = [f"{answer[name]} {name}" for name in ("applied", "unchanged", "rejected")]
    _say(console, _list(counts) + ".")


def _say(console: Console, text: str) -> None:
    console.print(plain(text), soft_wrap=True)


def _list(items: Iterable[object]) -> str:
    return ", ".join(str(item) for item in items)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _more(count: int | None) -> str:
    return f" and {count} more" if count else ""
