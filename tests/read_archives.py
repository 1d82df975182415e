#!/usr/bin/env python3
"""Reads PhaseFlow's archives with nothing but docs/formats.md and Python's standard library.

    read_archives.py trace FILE     prints t_ns,src,dst,bytes of every message
    read_archives.py phases FILE    prints phase,src,dst,messages,bytes of every matrix
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


if __name__ == "__main__":
    {"trace": trace, "phases": phases}[sys.argv[1]](sys.argv[2])
