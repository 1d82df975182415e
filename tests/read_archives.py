#!/usr/bin/env python3
"""Reads PhaseFlow's archives with nothing but docs/formats.md and Python's standard library.

    read_archives.py trace FILE     prints t_ns,src,dst,bytes of every message
    read_archives.py phases FILE    prints phase,src,dst,messages,bytes of every matrix
    read_archives.py messages FILE  prints phase,t_ns,src,dst,bytes of every message in a phase archive
    read_archives.py results FILE   prints run,src,dst,bytes,flows,load of every row of the link tables
"""
import json
import struct
import sys
import tarfile
import zlib


def columns(block):
    """A block of columns as {id: [values]}."""
    body, crc = block[:-4], struct.unpack("<I", block[-4:])[0]
    assert zlib.crc32(body) == crc, "checksum"
    rows, count = struct.unpack_from("<IB", body)
    at, table = 5, {}
    for _ in range(count):
        column, transform, length = struct.unpack_from("<BBI", body, at)
        data, at = body[at + 6 : at + 6 + length], at + 6 + length
        values, offset = [], 0
        while len(values) < rows:
            width, base = struct.unpack_from("<Bq", data, offset)
            offset += 9
            for _ in range(min(256, rows - len(values))):
                value = base + int.from_bytes(data[offset : offset + width], "little")
                values.append((value + 2**63) % 2**64 - 2**63)
                offset += width
        if transform == 1:
            total = 0
            for i, value in enumerate(values):
                total = (total + value + 2**63) % 2**64 - 2**63
                values[i] = total
        table[column] = values
    return table


def members(path, expected):
    """Names and bytes of all members; the first has to be the header of `expected`."""
    with tarfile.open(path) as tar:
        first = True
        for member in tar:
            data = tar.extractfile(member).read()
            tar.fileobj.seek(member.offset + 500)
            checksum = tar.fileobj.read(12).rstrip(b"\0")
            assert not checksum or int(checksum, 16) == zlib.crc32(data), f"checksum of {member.name}"
            if first:
                header = json.loads(data)
                assert (header["format"], header["version"]) == (expected, 1), header
                first = False
            yield member.name, data


def trace(path):
    print("t_ns,src,dst,bytes")
    for name, data in members(path, "phaseflow.trace"):
        if name.startswith("messages/"):
            table = columns(data)
            for row in zip(table[1], table[2], table[3], table[4]):
                print(*row, sep=",")


def phases(path):
    print("phase,src,dst,messages,bytes")
    names = []
    for name, data in members(path, "phaseflow.phases"):
        if name == "phases.json":
            names = [phase["name"] for phase in json.loads(data)]
        if name.startswith("matrix-"):
            phase = names[int(name.removeprefix("matrix-").split("/")[0])]
            table = columns(data)
            for row in zip(table[1], table[2], table[3], table[4]):
                print(phase, *row, sep=",")


def messages(path):
    print("phase,t_ns,src,dst,bytes")
    entries, rows = [], []
    for name, data in members(path, "phaseflow.phases"):
        if name == "phases.json":
            entries = json.loads(data)
        if name.startswith("occurrences/"):
            table = columns(data)
            rows += zip(table[3], table[4], table[7])
        if name.startswith("messages"):
            phase = name.removeprefix("messages").split("/")[0].removeprefix("-")
            table = columns(data)
            if phase:
                start, end, deviation = rows[entries[int(phase)]["representative"]]
                assert deviation == 0 and all(start <= time < end for time in table[1]), name
            for row in zip(table[1], table[2], table[3], table[4]):
                print(phase, *row, sep=",")


def results(path):
    print("run,src,dst,bytes,flows,load")
    nodes, links, topology = {}, {}, {}
    for name, data in members(path, "phaseflow.results"):
        kind, number, *part = name.removesuffix(".json").split("/")[:3] if "/" in name else (name, None)
        if kind == "topologies" and part:
            table = nodes if part[0] == "nodes" else links
            table.setdefault(int(number), []).extend(json.loads(line) for line in data.splitlines())
        if kind == "runs" and not part:
            topology[number] = json.loads(data)["topology"]
        if kind == "runs" and part == ["links"]:
            table, at = columns(data), topology[number]
            for link, size, flows, load in zip(table[3], table[4], table[5], table[6]):
                ends = [nodes[at][links[at][link][end]]["name"] for end in ("src", "dst")]
                print(number, *ends, size, flows, struct.unpack("<d", struct.pack("<q", load))[0], sep=",")


if __name__ == "__main__":
    {"trace": trace, "phases": phases, "messages": messages, "results": results}[sys.argv[1]](sys.argv[2])
