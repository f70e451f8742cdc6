import os
import signal
import subprocess
import sys

import pytest

from sklar.locking import lock

HOLD = """
import sys
from sklar.locking import lock
with open(sys.argv[1], "ab") as file:
    lock(file, "held")
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_refused_until_the_holder_is_killed(tmp_path):
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ
    )
    assert holder.stdout.readline() == b"locked\n"
    with path.open("ab") as file:
        with pytest.raises(OSError, match="somebody else writes"):
            lock(file, "somebody else writes")
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
        lock(file, "somebody else writes")
