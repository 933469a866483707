#!/usr/bin/env python3
"""Hold the outcome of the behaviour cases against doc/CASES.md.

    tests/cases.py CASES.md COUNT-FILE RESULTS.json...

The table in CASES.md has one row per case that is known to fail, "| `id` | reason |". A must-case that fails and is not listed
is a failure; so is a listed case that passes, was skipped or is not in the results. Writes lines "passed|failed|skipped NAME"
for tests/totals.py.
"""
import json
import re
import sys


def known(path):
    rows = {}
    with open(path, encoding='utf-8') as text:
        for line in text:
            row = re.match(r'\|\s*`([a-z0-9@#-]+)`\s*\|\s*(\S.*?)\s*\|\s*$', line)
            if row:
                rows[row[1]] = row[2]
    return rows


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    runs = []
    for path in sys.argv[3:]:
        with open(path, encoding='utf-8') as results:
            runs += json.load(results)
    expected, lines, seen = known(sys.argv[1]), [], set()
    for run in runs:
        name, outcome = run['run'], run['outcome']
        if name in expected:
            seen.add(name)
            lines.append(f'passed case {name}: fails as listed' if outcome == 'failed' else
                         f'failed case {name}: is listed in CASES.md but {outcome}; take it off the list')
        elif outcome == 'failed' and run['severity'] == 'must':
            lines.append(f'failed case {name}: {run["failures"][0]}'.replace('\n', '\\n'))
        elif outcome == 'failed':
            print(f'note: should-case {name} fails: {run["failures"][0]}')
        elif outcome == 'skipped':
            print(f'note: case {name} skipped: {run["reason"]}')
        else:
            lines.append(f'passed case {name}')
    lines += [f'failed case {name}: is listed in CASES.md but did not run' for name in expected if name not in seen]
    with open(sys.argv[2], 'w', encoding='utf-8') as count:
        count.writelines(line[:500] + '\n' for line in lines)
    bad = [line for line in lines if line.startswith('failed')]
    print(*bad, sep='\n', end='\n' if bad else '')
    print(f'{len(lines) - len(bad)} passed, {len(bad)} failed')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
