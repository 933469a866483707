#!/usr/bin/env python3
"""A module includes only from floors below its own, or its own folder (doc/ARCHITECTURE.md). Fails with file and line otherwise."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLOOR = {'base': 0, 'config': 0, 'policy': 1, 'jail': 1, 'receipt': 1, 'backend': 2, 'session': 3, 'trajectory': 3,
         'validation': 4, 'mcp': 5, 'agent': 5, 'cli': 6, 'main.c': 7}  # main.c only hands over to cli/
# pyhost stands beside the house: it runs next to guest code and links only what a sealed process needs (libcore in Makefile.am).
PYHOST_MAY = {'base/error.h', 'base/cleanup.h', 'base/buf.h', 'base/wire.h', 'base/fdpass.h', 'base/utf8.h', 'base/clock.h', 'base/mutant.h', 'base/slice.h',
              'jail/layers.h', 'jail/landlock.h', 'jail/capabilities.h', 'jail/seal.h', 'jail/protocol.h'}
INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
LONGEST = 800


def includes(path):
    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found[1]


def problems_of_supervisor(path, module):
    for number, target in includes(path):
        at, other = f'{path.relative_to(ROOT)}:{number}', target.split('/')[0]
        if target == 'config.h':
            continue
        if not (ROOT / 'supervisor' / target).is_file():
            yield f'{at}: "{target}" is not a path below supervisor/'
        elif other != module and FLOOR[other] >= FLOOR[module]:
            yield f'{at}: {module} (floor {FLOOR[module]}) includes {target} of {other} (floor {FLOOR[other]})'


def problems_of_pyhost(path):
    for number, target in includes(path):
        beside = (ROOT / 'pyhost' / target).is_file() or target == 'config.h' or '/' not in target
        if not beside and target not in PYHOST_MAY:
            yield f'{path.relative_to(ROOT)}:{number}: pyhost includes {target}, which libcore does not hold'


def main():
    found, count = [], 0
    for path in sorted((ROOT / 'supervisor').rglob('*.[ch]')):
        count += 1
        module = path.relative_to(ROOT / 'supervisor').parts[0]
        if module in FLOOR:
            found += problems_of_supervisor(path, module)
        else:
            found.append(f'{path.relative_to(ROOT)}: {module} stands on no floor: add it to tests/floors.py and the documents')
    for path in sorted((ROOT / 'pyhost').rglob('*.[ch]')):
        count += 1
        found += problems_of_pyhost(path)
    for path in [*(ROOT / 'supervisor').rglob('*.[ch]'), *(ROOT / 'pyhost').rglob('*.[ch]')]:
        lines = path.read_text(encoding='utf-8').count('\n')
        if lines > LONGEST:
            found.append(f'{path.relative_to(ROOT)}: {lines} lines; nothing here is longer than {LONGEST}')
    print(*found, sep='\n', end='\n' if found else '')
    print(f'floors: {count} files, {len(found)} problems')
    return 1 if found or not count else 0


if __name__ == '__main__':
    sys.exit(main())
