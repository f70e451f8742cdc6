"""How long a newcomer waits before anything happens: `import sklar` and `sklar --help`, in fresh interpreters.

    python benchmarks/bench_start.py

Best of several, in milliseconds, beside that of an interpreter that imports numpy: times depend on the machine.
"""

import subprocess
import sys
import time

CASES = {
    "nothing": "pass",
    "import numpy": "import numpy",
    "import sklar": "import sklar",
    "sklar --help": "from sklar.cli import main; main(['--help'], standalone_mode=False)",
}


def best_of(code: str, repeats: int = 7) -> float:
    """The quickest of several runs: a busy machine slows some, not all."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def main() -> None:
    """Print one line a case."""
    for name, code in CASES.items():
        print(f"{name:<14} {best_of(code):6.0f} ms")


if __name__ == "__main__":
    main()
