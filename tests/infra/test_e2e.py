"""The deployed stack, whole: minutes, and only where Python 3.13 is."""

import subprocess
import sys

import pytest

from infra.e2e.front import Issuer
from infra.local.template import TEMPLATE
from infra.packaging.bundle import NoRuntimeError, runtime_python


def test_an_issuer_publishes_the_key_that_it_signs_with() -> None:
    issuer = Issuer("http://127.0.0.1:1")
    discovered = issuer.document("/.well-known/openid-configuration")
    assert discovered == {"issuer": "http://127.0.0.1:1", "jwks_uri": "http://127.0.0.1:1/jwks"}
    keys = issuer.document("/jwks")
    assert keys
    (key,) = keys["keys"]
    assert (key["kty"], key["alg"], key["kid"]) == ("RSA", "RS256", "k1")
    assert issuer.token({"sub": "ana"}).count(".") == 2
    assert issuer.document("/api/search/expand") is None


@pytest.mark.long
def test_the_stack_serves_every_verb_off_cloud() -> None:
    try:
        runtime_python()
    except NoRuntimeError as absent:
        pytest.skip(str(absent))
    ended = subprocess.run(
        [sys.executable, "-m", "infra.e2e"], cwd=TEMPLATE.parent, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
