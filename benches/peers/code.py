#!/usr/bin/env python3
"""Measures of Rust repositories side by side: the table of docs/code-beside-peers.md.

    benches/peers/code.py FOLDER...

FOLDER is a git work tree. Only tracked files count; tests, benches, examples and modules under
`#[cfg(test)]` are left out, except in the count of tests. A line that begins with `//` is a
comment. The recognition of functions and items is by line and needs rustfmt's layout.
"""

import re
import statistics
import subprocess
import sys

FUNCTION = re.compile(r'(\s*)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe |extern "C" )*fn (\w+)')
PUBLIC = re.compile(r'\s*pub (?:const |async |unsafe )*(?:fn|struct|enum|trait|const|type|mod) \w')
APART = re.compile(r'(^|/)(tests|benches|examples)/|tests\.rs$|build\.rs$')


def tracked(folder):
    command = ['git', '-C', folder, 'ls-files', '*.rs']
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def without_tests(lines):
    for i, line in enumerate(lines):
        if re.match(r'\s*#\[cfg\(test\)\]', line) and 'mod ' in ' '.join(lines[i:i + 2]):
            return lines[:i]
    return lines


def length(lines, first, indent):
    """Lines of a function; of a declaration without a body, those of the signature."""
    for last in range(first, len(lines)):
        if lines[last] == indent + '}' or lines[last].endswith(';') and '{' not in ''.join(lines[first:last]):
            return last - first + 1
        if last == first and lines[last].endswith('}'):
            return 1
    return len(lines) - first


def documented(lines, item):
    before = item - 1
    while before >= 0 and re.match(r'\s*#\[', lines[before]):
        before -= 1
    return before >= 0 and lines[before].lstrip().startswith('///')


def measures(folder):
    sizes, headers, code, comments, wide = [], 0, 0, 0, 0
    functions, public, with_doc, tests, text = [], 0, 0, 0, []
    for name in tracked(folder):
        with open(f'{folder}/{name}', errors='replace') as file:
            lines = file.read().split('\n')
        tests += sum(line.strip() == '#[test]' for line in lines)
        if APART.search(name):
            continue
        lines = without_tests(lines)
        sizes.append(len(lines))
        headers += any(line.startswith('//!') for line in lines[:3])
        for i, line in enumerate(lines):
            if line.lstrip().startswith('//'):
                comments += 1
                wide += len(line) > 100
                text.append(line.strip().lstrip('/! '))
            elif line.strip():
                code += 1
            if function := FUNCTION.match(line):
                functions.append(length(lines, i, function[1]))
            if PUBLIC.match(line):
                public += 1
                with_doc += documented(lines, i)
    sentences = [len(s.split()) for s in re.split(r'(?<=[.:;?!])\s+', ' '.join(text)) if len(s.split()) > 2]
    with open(f'{folder}/Cargo.lock') as lock:
        packages = sum(line.startswith('name = ') for line in lock)
    return {
        'files': len(sizes),
        'lines of code': code,
        'lines of comment': comments,
        'lines of a file, median': int(statistics.median(sizes)),
        'lines of a file, largest': max(sizes),
        'functions': len(functions),
        'functions over 70 lines': sum(lines > 70 for lines in functions),
        'public items with a docstring': f'{100 * with_doc / max(public, 1):.0f} %',
        'files with a module docstring': f'{100 * headers / len(sizes):.0f} %',
        'comment lines over 100 columns': wide,
        'sentences over 25 words': f'{100 * sum(n > 25 for n in sentences) / max(len(sentences), 1):.1f} %',
        'tests (`#[test]`)': tests,
        'packages in Cargo.lock': packages,
    }


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    columns = [measures(folder) for folder in sys.argv[1:]]
    for row in columns[0]:
        print(f'| {row} | ' + ' | '.join(f'{column[row]:,}'.replace(',', ' ') if isinstance(column[row], int)
                                       else column[row] for column in columns) + ' |')


main()
