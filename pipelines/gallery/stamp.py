"""Puts before each line of standard input the time when its end came: CLOCK_MONOTONIC in nanoseconds, and a tab.

    program | python3 stamp.py > log

Recordings of pf-profile begin at a moment that they know on this clock. A carriage return ends a line too, since programs
that count steps on a terminal end theirs so.
"""

import os
import re
import sys
import time

rest = b""
while piece := os.read(0, 1 << 16):
    now = time.monotonic_ns()
    *lines, rest = re.split(rb"\r\n|\r|\n", rest + piece)
    sys.stdout.buffer.write(b"".join(b"%d\t%s\n" % (now, line) for line in lines))
    sys.stdout.buffer.flush()
