"""The store's child process: MiniStack's DynamoDB on the loopback interface.

Run as `python -m infra.local.store_process` by `engine.py` alone, which sets its environment. It ends, saving its
state, when standard input closes: the death of the parent, however it comes, is the signal.
"""

import os
import signal
import sys
import threading
import time

_SECONDS_TO_SAVE = 20.0


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_SAVE)
    os._exit(1)


def main() -> None:
    if os.environ.get("BIND_HOST") != "127.0.0.1":
        sys.exit("the store is for the loopback interface only")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from ministack.app import main as serve  # it reads the environment when imported

    sys.argv = sys.argv[:1]
    serve()


if __name__ == "__main__":
    main()
