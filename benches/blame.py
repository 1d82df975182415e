#!/usr/bin/env python3
"""What --blame and --interference cost: processor time and peak memory of whole runs, interleaved, medians.

    benches/blame.py [BASE]     BASE: another pf-simulate, to compare what is not asked for with

Needs a release build."""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

TARGET = pathlib.Path(__file__).parent.parent / "target" / "release"
NETWORK = ["--topology", "xgft[m=8:8:8,w=1:4:4]", "--capacity", "100", "--host-selector", "random"]
REPLAY = ["--model", "flow", "--sampling", "off", "--threads", "1", "--quiet", "-o", os.devnull]
RUNS = 9

TRACES = {
    "all-to-all": ["--pattern", "alltoall", "--ranks", "512", "--bytes", "16KiB"],
    "ring": ["--pattern", "allreduce", "--ranks", "256", "--bytes", "4MiB", "--repeat", "4"],
    "small": ["--pattern", "alltoall", "--ranks", "128", "--bytes", "16KiB", "--repeat", "4"],
    "small-ring": ["--pattern", "allreduce", "--ranks", "128", "--bytes", "4MiB", "--repeat", "8"],
}
CASES = {
    "all-to-all of 512 ranks": ["all-to-all"],
    "4 rings of 256 ranks": ["ring"],
    "two jobs of all-to-alls and one of rings": ["small", "small", "small-ring"],
}
OPTIONS = {"nothing": [], "--blame": ["--blame"], "--interference": ["--interference"]}


def run(program, arguments):
    """Processor seconds and peak memory in MB."""
    process = subprocess.Popen([program, *NETWORK, *REPLAY, *arguments])
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, arguments
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in TRACES.items():
            trace = subprocess.run([TARGET / "pf-collect", *arguments], check=True, capture_output=True).stdout
            command = [TARGET / "pf-segment", "--method", "none", "--keep-messages", "-o", f"{folder}/{name}.tar"]
            subprocess.run(command, input=trace, check=True)
        ways = {name: (TARGET / "pf-simulate", options) for name, options in OPTIONS.items()}
        if len(sys.argv) > 1:
            ways = {"base": (sys.argv[1], [])} | ways
        for case, traces in CASES.items():
            inputs = [f"{folder}/{trace}.tar" for trace in traces]
            found = {way: [] for way in ways}
            for _ in range(RUNS):
                for way, (program, options) in ways.items():
                    found[way].append(run(program, options + inputs))
            first = statistics.median(time for time, _ in found[next(iter(ways))])
            for way, runs in found.items():
                time = statistics.median(time for time, _ in runs)
                memory = max(memory for _, memory in runs)
                print(f"{case}: {way}: {time:.2f} s, ×{time / first:.3f}, {memory:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
