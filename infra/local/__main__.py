"""`python -m infra.local`: serve on this machine (see the Makefile's `run`)."""

import os

from infra.local.serve import Options, serve

serve(Options.from_environment(os.environ))
