#!/usr/bin/env python3
"""Selection × mapping × routing: the tables of docs/choices.md.

    benches/choices.py CLUSTER.graphml TRACE…

Each trace, say CG and MILC of PFSim, runs alone on the cluster and on a fat tree of 1 024 hosts, then a generated run of
three phases does, whose routes are chosen once or at each phase. Printed in Markdown: the highest load / capacity between
switches, 100 being linear selection, block mapping and D-mod-K.
"""
import csv
import io
import pathlib
import subprocess
import sys

SELECTORS = ["linear", "compact", "scattered", "random", "aware"]
MAPPERS = ["block", "cyclic", "random", "greedy", "bisection", "aware"]
ROUTERS = ["dmodk", "ecmp", "greedy"]
FAT_TREE = "fat-tree[k=16]"
PHASES = "halo2d*20,transpose*20,bisection*20"


def table(arguments, name="runs"):
    """A table of a sweep, as dictionaries."""
    simulate = subprocess.run(["pf-simulate", "--quiet", *arguments], stdout=subprocess.PIPE, check=True).stdout
    report = subprocess.run(["pf-report", "--quiet", "--table", name], input=simulate, stdout=subprocess.PIPE, check=True)
    return list(csv.DictReader(io.StringIO(report.stdout.decode())))


def axes(selectors, mappers, routers):
    options = {"--host-selector": selectors, "--process-mapper": mappers, "--router": routers}
    return [word for option, choices in options.items() for word in (option, ",".join(choices))]


def number(value, base):
    return f"{100 * value / base:.0f}"


def by_choice(title, runs):
    """Rows are selection and mapping, columns routers."""
    congestion = {
        (run["host_selector"], run["process_mapper"], run["router"]): float(run["max_congestion"]) for run in runs
    }
    base = congestion["linear", "block", "dmodk"]
    print(f"\n### {title}\n")
    print("| selection | mapping |", " | ".join(ROUTERS), "|")
    print("|---|---|" + "---|" * len(ROUTERS))
    for selector in SELECTORS:
        for mapper in MAPPERS:
            values = [number(congestion[selector, mapper, router], base) for router in ROUTERS]
            print(f"| {selector} | {mapper} |", " | ".join(values), "|")


def by_phase(cluster, trace):
    """What routes at each phase are worth: highest utilization of each phase."""
    print("\n### Routes once a job, or at each phase\n")
    print("| network | mapping | router | routes | " + " | ".join(f"phase {phase}" for phase in (1, 2, 3)) + " |")
    print("|---|---|---|---|---|---|---|")
    for network in (cluster, FAT_TREE):
        for reroute in ("job", "phase"):
            arguments = [trace, "--topology", network, "--reroute", reroute, *axes(["linear"], ["block"], ["dmodk", "greedy"])]
            runs = {run["run"]: run for run in table(arguments)}
            loads = {}
            for phase in table(arguments, "phases"):
                loads.setdefault(phase["run"], []).append(f"{100 * float(phase['max_utilization']):.1f} %")
            for run, values in loads.items():
                choices = [pathlib.Path(network).stem, runs[run]["process_mapper"], runs[run]["router"], reroute]
                print("|", " | ".join(choices + values), "|")


def main():
    cluster, *traces = sys.argv[1:]
    for trace in traces:
        name = pathlib.Path(trace).name.split(".")[0]
        for network in (cluster, FAT_TREE):
            runs = table([trace, "--topology", network, *axes(SELECTORS, MAPPERS, ROUTERS)])
            by_choice(f"{name} on {pathlib.Path(network).stem if network == cluster else network}", runs)
    program = ["pf-collect", "--quiet", "--pattern", PHASES, "--ranks", "128", "--gap", "1ms"]
    trace = subprocess.run(program, stdout=subprocess.PIPE, check=True).stdout
    phases = subprocess.run(["pf-segment", "--quiet", "--method", "marks"], input=trace, stdout=subprocess.PIPE, check=True)
    file = pathlib.Path("choices.phases.tar")
    file.write_bytes(phases.stdout)
    by_phase(cluster, str(file))
    file.unlink()


if __name__ == "__main__":
    main()
