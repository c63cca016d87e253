"""Mutants of the rules that decide what a reader sees: `python -m tests.mutation [module…]` tells which ones live.

`--shard 1/2` takes every second one, from the first: shards run side by side.

Each mutant is one changed operator or constant in one function. It is put in place of the function's code in a forked
process and the module's own tests are run there: no file is written. What may live is listed in docs/mutation.md.
"""

import argparse
import ast
import importlib
import os
import select
import signal
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

TARGETS: dict[str, tuple[str, ...]] = {
    "shared.domain.authority": ("tests/domain/test_authority.py",),
    "shared.domain.grants": ("tests/domain/test_grants.py",),
    "shared.domain.completeness": ("tests/domain/test_completeness.py",),
    "shared.engine.slice": ("tests/engine/test_slice.py",),
    "shared.engine.walk": (
        "tests/engine/test_walk.py",
        "tests/engine/test_expand.py",
        "tests/engine/test_walk_properties.py",
    ),
    "shared.engine.grants": ("tests/engine/test_presenting.py", "tests/engine/test_grants.py"),
    "shared.engine.records": ("tests/engine/test_records.py", "tests/engine/test_purge.py"),
}
"""Modules, and the tests that alone must kill their mutants."""

PARTS: dict[str, tuple[str, ...]] = {
    "shared.engine.grants": ("recheck", "present", "settle"),
    "shared.engine.records": ("_status",),
}
"""Of these modules the named functions alone are changed."""

PATIENCE = 4
"""A mutant whose tests take so many times as long as without it loops, and is as good as dead."""

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.Lt), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: where it is, what it says now, and the module with it."""

    line: int
    before: str
    after: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.line}: {self.before} → {self.after}"


def mutants(source: str, parts: tuple[str, ...] = ()) -> Iterator[Mutant]:
    """Every mutant of a module's functions, or of those named."""
    tree = ast.parse(source)
    named = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in parts]
    within = {id(node) for function in named for node in ast.walk(function)}
    for number, node in enumerate(ast.walk(tree)):
        if parts and id(node) not in within:
            continue
        for place in range(len(list(_changes(deepcopy(node))))):
            changed = deepcopy(tree)
            twin = list(ast.walk(changed))[number]
            before = _said(node)
            _apply(twin, place)
            yield Mutant(getattr(node, "lineno", 0), before, _said(twin), ast.fix_missing_locations(changed))


def _said(node: ast.AST) -> str:
    """The changed part, on one line."""
    return ast.unparse(node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else node)


def _apply(node: ast.AST, place: int) -> None:
    for number, change in enumerate(_changes(node)):
        if number == place:
            for name, value in change.items():
                setattr(node, name, value)
            return


def _changes(node: ast.AST) -> Iterator[dict[str, Any]]:
    match node:
        case ast.Compare(ops=[op]):
            yield from ({"ops": [other()]} for other in _COMPARED.get(type(op), ()))
        case ast.BoolOp():
            yield {"op": ast.Or() if isinstance(node.op, ast.And) else ast.And()}
            for gone in node.values:
                kept = [value for value in node.values if value is not gone]
                yield {"values": kept if len(kept) > 1 else kept * 2}
        case ast.BinOp() if type(node.op) in _COMPUTED:
            yield {"op": _COMPUTED[type(node.op)]()}
        case ast.UnaryOp(op=ast.Not()):
            yield {"op": ast.UAdd(), "operand": ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])}
        case ast.Constant(value=bool() as value):
            yield {"value": not value}
        case ast.Constant(value=int() as value):
            yield {"value": value + 1}
        case ast.If() | ast.IfExp() | ast.While():
            yield {"test": ast.Constant(value=False)}
            if not isinstance(node, ast.While):
                yield {"test": ast.Constant(value=True)}


def functions(module: ModuleType) -> dict[tuple[str, int], FunctionType]:
    """The functions and methods of a module, by qualified name and line."""
    holders = [
        module,
        *(one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__),
    ]
    members = [member for holder in holders for member in vars(holder).values()]
    plain = [getattr(member, "fget", None) or getattr(member, "__func__", member) for member in members]
    found = [one for one in plain if isinstance(one, FunctionType) and one.__module__ == module.__name__]
    return {(one.__code__.co_qualname, one.__code__.co_firstlineno): one for one in found}


def codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)


def put_in_place(mutant: Mutant, module: ModuleType) -> bool:
    """Swap the code of what the mutant changes; False where it is in no function."""
    known = functions(module)
    swapped = False
    for code in codes(compile(mutant.tree, str(module.__file__), "exec")):
        function = known.get((code.co_qualname, code.co_firstlineno))
        if function is not None and len(code.co_freevars) == len(function.__code__.co_freevars):
            swapped = (
                swapped or code.co_code != function.__code__.co_code or code.co_consts != function.__code__.co_consts
            )
            function.__code__ = code
    return swapped


def passes(tests: tuple[str, ...]) -> bool:
    return (
        pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", *tests]) == pytest.ExitCode.OK
    )


def lives(mutant: Mutant, module: ModuleType, tests: tuple[str, ...], seconds: float) -> bool | None:
    """Whether the tests pass with the mutant; None where it changes no function."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        verdict = b"skip"
        if put_in_place(mutant, module):
            verdict = (
                b"live"
                if pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]) == 0
                else b"dead"
            )
        os.write(write, verdict)
        os._exit(0)
    ready, _, _ = select.select([read], [], [], seconds)
    if not ready:
        os.kill(child, signal.SIGKILL)
    verdict = os.read(read, 4) if ready else b"dead"
    os.waitpid(child, 0)
    os.close(read)
    return None if verdict == b"skip" else verdict == b"live"


def main(names: list[str], shard: int, shards: int) -> int:
    os.environ["HOPSCOPE_MUTATING"] = "yes"  # read in tests/support/examples.py
    survived = 0
    for name in names or TARGETS:
        module = importlib.import_module(name)
        tests = TARGETS[name]
        began = monotonic()
        if not passes(tests):
            sys.exit(f"the tests of {name} fail without a mutant")
        seconds = 5 + PATIENCE * (monotonic() - began)
        count, alive_before = 0, survived
        every = mutants(Path(str(module.__file__)).read_text(encoding="utf-8"), PARTS.get(name, ()))
        for mutant in islice(every, shard - 1, None, shards):
            alive = lives(mutant, module, tests, seconds)
            count += alive is not None
            if alive:
                survived += 1
                print(f"{name}:{mutant}", flush=True)  # noqa: T201 - a command line prints
        print(f"{name}: {count} mutants, {survived - alive_before} alive", flush=True)  # noqa: T201
    return survived


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("modules", nargs="*")
    arguments.add_argument("--shard", default="1/1")
    given = arguments.parse_args()
    main(given.modules, *map(int, given.shard.split("/")))
