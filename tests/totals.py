#!/usr/bin/env python3
"""Add up what the stages of scripts/check-all left in a results directory and print the closing line.

    tests/totals.py [--skipped] DIRECTORY

Reads *.xml (pytest's junit form), *.check (logs of unit tests with check's "100%: Checks: N, Failures: F, Errors: E"),
*.tap (node's test runner) and *.count (lines "passed|failed|skipped NAME..."). A skip counts as skipped only when its reason
begins with "kernel cannot": any other test that did not run is a failure. Exit status 1 when something failed or nothing ran.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

ALLOWED = 'kernel cannot'


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.notes = []

    def junit(self, path):
        for case in ElementTree.parse(path).iter('testcase'):
            name = f'{path.stem}: {case.get("classname")}.{case.get("name")}'
            skip = case.find('skipped')
            if case.find('failure') is not None or case.find('error') is not None:
                self.failed += 1
                self.notes.append(f'failed {name}')
            elif skip is None:
                self.passed += 1
            elif (skip.get('message') or '').startswith(ALLOWED):
                self.skipped += 1
                self.notes.append(f'skipped {name}: {skip.get("message")}')
            else:
                self.failed += 1
                self.notes.append(f'failed {name}: skipped without an allowed reason: {skip.get("message")}')

    def units(self, path):
        text = path.read_text(errors='replace')
        found = re.findall(r'^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)', text, re.M)
        for checks, failures, errors in found:
            bad = int(failures) + int(errors)
            self.passed += int(checks) - bad
            self.failed += bad
        if not found:
            self.failed += 1
            self.notes.append(f'failed {path.name}: no unit test ran')

    def tap(self, path):
        counts = dict(re.findall(r'^# (pass|fail|cancelled|skipped|todo) (\d+)$', path.read_text(errors='replace'), re.M))
        number = {key: int(value) for key, value in counts.items()}
        self.passed += number.get('pass', 0)
        bad = sum(number.get(key, 0) for key in ('fail', 'cancelled', 'skipped', 'todo'))
        self.failed += bad
        if bad or not number.get('pass'):
            self.failed += not bad
            self.notes.append(f'failed {path.name}: {counts or "no test ran"}')

    def counts(self, path):
        for line in path.read_text().splitlines():
            word, _, name = line.partition(' ')
            if word == 'passed':
                self.passed += 1
            elif word == 'skipped' and name.partition(': ')[2].startswith(ALLOWED):
                self.skipped += 1
                self.notes.append(line)
            else:
                self.failed += 1
                self.notes.append(line)


def main():
    arguments = sys.argv[1:]
    with_skipped = '--skipped' in arguments
    arguments = [a for a in arguments if a != '--skipped']
    if len(arguments) != 1:
        sys.exit(__doc__)
    totals, directory = Totals(), pathlib.Path(arguments[0])
    readers = {'.xml': totals.junit, '.check': totals.units, '.tap': totals.tap, '.count': totals.counts}
    for path in sorted(directory.iterdir()):
        if path.suffix in readers:
            readers[path.suffix](path)
    for note in totals.notes:
        print(note)
    line = f'{totals.passed} passed, {totals.failed} failed'
    print(line + (f', {totals.skipped} skipped' if with_skipped else ''))
    return 1 if totals.failed or not totals.passed else 0


if __name__ == '__main__':
    sys.exit(main())
