"""All lines of the speed claims, each a ratio to its rival in the same run: what `sklar bench` runs.

python benchmarks/run.py                      # everything that this machine can do
python benchmarks/run.py --quick              # a minute: does each run?
python benchmarks/run.py --lines 1 2 3 --device cuda
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # also when it is not run as a script

# number -> module, and whether it takes --device; the others are about a CPU
LINES = {
    1: ("bench_step", True),
    2: ("bench_full_rank", True),
    3: ("bench_copula", True),
    4: ("bench_growth", False),
    5: ("bench_select", False),
    6: ("bench_tables", True),
    7: ("bench_fit", False),
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, nargs="+", choices=list(LINES), default=list(LINES), metavar="N")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that each runs")
    args = parser.parse_args(arguments)
    import torch

    from sklar.training.engine.runtime import resolve_device

    device = resolve_device(args.device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"{torch.get_num_threads()} CPU thread(s)"
    print(f"torch {torch.__version__}, {name}")
    for number in args.lines:
        module, on_device = LINES[number]
        words = [*(["--quick"] if args.quick else []), *(["--device", args.device] if on_device else [])]
        start = time.perf_counter()
        try:
            importlib.import_module(module).main(words)
        except ImportError as error:
            print(f"\n{number}. not run: {error}")
        print(f"\nline {number}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
