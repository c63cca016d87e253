"""Started from a snapshot: the client is made before it, and after the restore no socket of it is used again."""

import os
import subprocess
import sys
from pathlib import Path

from infra.local.template import TEMPLATE

_RUNTIME = """
before, after = [], []
register_before_snapshot = before.append
register_after_restore = after.append
"""
_START = """
import random
import snapshot_restore_py as hooks
from shared import runtime

assert runtime.connected.cache_info().currsize == 0
for hook in hooks.before:
    hook()
assert runtime.connected.cache_info().currsize == 1
closed = []
runtime.connected().table._client.close = lambda: closed.append(True)
state = random.getstate()
for hook in hooks.after:
    hook()
assert closed == [True]
assert random.getstate() != state
assert runtime.connected.cache_info().currsize == 1
"""


def started(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TABLE_NAME": "t", "AWS_REGION": "us-east-1"}
    environment["PYTHONPATH"] = os.pathsep.join((str(folder), str(TEMPLATE.parent)))
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)


def test_hooks_are_registered_where_the_runtime_has_them(tmp_path: Path) -> None:
    (tmp_path / "snapshot_restore_py.py").write_text(_RUNTIME, encoding="utf-8")
    ended = started(tmp_path, _START)
    assert ended.returncode == 0, ended.stderr


def test_where_it_has_none_a_function_starts_as_ever(tmp_path: Path) -> None:
    ended = started(tmp_path, "from shared import runtime; assert runtime.connected.cache_info().currsize == 0")
    assert ended.returncode == 0, ended.stderr
