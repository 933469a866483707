#!/usr/bin/env python3
"""make check-escape: every probe against the unchanged program, then against one mutant per row: exactly its own probe must notice.

run_mutants.py [--quick] [--long] [--write] [--rows 5,6] [--jobs 2]
  SNIPARA_MUTANT_BIN  snipara-sandbox of a tree configured with --enable-mutants; SNIPARA_SANDBOX_PYHOST, SNIPARA_SANDBOX_POLICY_DIR
                      and SNIPARA_SABOTEUR (tests/escape/saboteur) as it is not installed. scripts/check-escape sets them
  --quick   each mutant meets its own probe only; without it all probes, and no other may notice
  --long    the long forms: 10,000 forks, 1 GiB of output
  --write   doc/results/escape-root.md or escape-user.md
Rows that an ordinary user cannot have stand in doc/HOSTS.md; rows that turn red with another row's mutant, and rows that are not
built yet, in table.py. Each list is checked both ways.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

import table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
IS_ROOT = os.geteuid() == 0


def environment():
    return {**os.environ, 'SNIPARA_BIN': os.environ['SNIPARA_MUTANT_BIN']}


def run_sabotage():
    """Row 48 against the unchanged program: there the saboteur is the mutant, and the tests count what it could not do."""
    run = subprocess.run([sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', HERE / 'test_sabotage.py'], capture_output=True, text=True,
                         cwd=ROOT, env=environment(), check=False)
    summary = [line for line in run.stdout.splitlines() if line.startswith('sabotage:')]
    return run.returncode, ''.join(summary), run.stdout[-2000:]


def run_worker(*arguments, seconds):
    env = environment()
    run = subprocess.run([sys.executable, HERE / 'worker.py', *arguments], capture_output=True, text=True, env=env, check=False,
                         timeout=seconds * float(os.environ.get('SNIPARA_TIME_SCALE', '1')))
    try:
        result = json.loads(run.stdout)
    except ValueError:
        raise SystemExit(f'worker.py {" ".join(arguments)}: exit {run.returncode}\n{run.stderr[-3000:]}') from None
    for part in ('probes', 'twins', 'seconds'):
        result[part] = {int(row): value for row, value in result[part].items()}
    return result


class Report:
    def __init__(self, options):
        self.options, self.wrong, self.lines = options, [], {}
        self.absent = {} if IS_ROOT else table.user_exceptions(ROOT / 'doc' / 'HOSTS.md')
        if len(self.absent) > table.USER_MOST:
            self.fault(f'doc/HOSTS.md: {len(self.absent)} rows that an ordinary user cannot have, at most {table.USER_MOST}')
        if sum(map(len, table.ALSO.values())) > table.ALSO_MOST:
            self.fault(f'table.py: more than {table.ALSO_MOST} entries in ALSO')
        self.rows = [row for row in sorted(table.ROWS) if not options.rows or row in options.rows]

    def fault(self, text):
        self.wrong.append(text)

    def clean_run(self):
        arguments = ['--twins'] + (['--long'] if self.options.long else [])
        if self.options.rows:
            arguments += ['--rows', ','.join(str(row) for row in self.rows if row != 48)]
        result = run_worker(*arguments, seconds=3600 if self.options.long else 300)
        self.clean, self.twins = result['probes'], result['twins']
        self.notes = [note for note in result['notes'] if note]
        for pid in result['left']:
            self.fault(f'left behind: {pid}')
        for row in self.rows:
            if row == 48:
                continue
            found, twin = self.clean.get(row), self.twins.get(row)
            if row in table.PENDING:
                continue
            if row in self.absent:
                if not found:
                    self.fault(f'row {row} holds for an ordinary user: take it out of doc/HOSTS.md')
                continue
            if found:
                self.fault(f'row {row}: the probe is red without a mutant: {found}')
            if twin:
                self.fault(f'row {row}: the positive twin does not find it open: {twin}')

    def judge(self, row, result):
        probes, expected = result['probes'], {row, *table.ALSO.get(row, {})}
        red = {other for other, found in probes.items() if found and not self.clean.get(other)}
        missed = [other for other in expected if other in probes and other not in red and other not in self.absent]
        strays = sorted(red - expected)
        self.lines[row] = 'killed' if row in red else 'SURVIVED'
        if row in red and strays:
            self.lines[row] = f'killed, but rows {strays} notice, too'
        for other in missed:
            self.fault(f'mutant {row}: probe {other} does not notice' + ('' if other == row else ' any more: take it out of ALSO'))
        for other in strays:
            self.fault(f'mutant {row}: probe {other} notices, too: {probes[other][-200:]}')

    def mutants(self):
        wanted = [row for row in self.rows if row not in self.absent and row not in table.PENDING and row != 48]

        def one(row):
            arguments = ['--mutant', str(row)] + (['--rows', str(row)] if self.options.quick or self.options.rows else [])
            return row, run_worker(*arguments, seconds=300)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for row, result in pool.map(one, wanted):
                self.judge(row, result)

    def sabotage(self):
        code, summary, text = run_sabotage()
        self.lines[48] = 'killed' if code == 0 and summary else 'SURVIVED'
        self.notes += [summary] if summary else []
        if self.lines[48] != 'killed':
            self.fault(f'row 48: test_sabotage.py: exit {code}\n{text}')

    def pending(self):
        """A row that is waited for has a probe that is red, or none; as soon as it is green the entry has to go."""
        for row in self.rows:
            if row in table.PENDING and row in self.clean and not self.clean[row]:
                self.fault(f'row {row} is not pending any more: take it out of table.py')

    def outcome(self, row):
        if row in self.absent:
            return f'not on this rung: {self.absent[row]}'
        if row in table.PENDING:
            return f'pending: {table.PENDING[row]}'
        return self.lines.get(row, 'not run')

    def total(self):
        killed = sum(text.startswith('killed') for text in self.lines.values())
        absent, pending = ([row for row in some if row in self.rows] for some in (self.absent, table.PENDING))
        text = f'{killed}/{len(self.rows) - len(absent) - len(pending)} killed'
        if absent:
            text += f', {len(absent)} not on this rung'
        if pending:
            text += f', {len(pending)} pending'
        return text + (f', {len(self.wrong)} faults' if self.wrong else '')

    def markdown(self):
        yield '| row | step | probe | twin | mutant | outcome |'
        yield '|---|---|---|---|---|---|'
        for row in self.rows:
            step, probe, mutant = table.ROWS[row]
            twin = 'in the tests' if row == 48 else '-' if row not in self.twins or row in table.PENDING else 'open' if not self.twins[row] else 'NOT OPEN'
            also = ''.join(f'; row {other}, too: {why}' for other, why in table.ALSO.get(row, {}).items())
            yield f'| {row} | {step} | {probe} | {twin} | {mutant} | {self.outcome(row)}{also} |'

    def write(self, seconds):
        revision = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'], capture_output=True, text=True, check=False).stdout.strip()
        who = 'root' if IS_ROOT else 'an ordinary user'
        text = (f'# make check-escape as {who}\n\nRevision {os.environ.get("SNIPARA_REVISION") or revision or "unknown"}, '
                f'{time.strftime("%Y-%m-%d", time.gmtime())}, kernel {os.uname().release}, {os.cpu_count()} cores, {seconds:.0f} s.\n\n'
                + '\n'.join(self.markdown()) + f'\n\n{self.total()}\n' + ''.join(f'\n- {note}' for note in self.notes) + '\n')
        target = pathlib.Path(os.environ.get('SNIPARA_RESULTS', ROOT / 'doc' / 'results'), f'escape-{"root" if IS_ROOT else "user"}.md')
        target.write_text(text.rstrip('\n') + '\n', encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('--quick', '--long', '--write'):
        parser.add_argument(name, action='store_true')
    parser.add_argument('--rows', type=lambda text: [int(row) for row in text.split(',')], default=[])
    parser.add_argument('--jobs', type=int, default=2)
    options = parser.parse_args()
    if 'SNIPARA_MUTANT_BIN' not in os.environ:
        raise SystemExit('SNIPARA_MUTANT_BIN is not set: make check-escape builds the tree and sets it')
    began = time.monotonic()
    report = Report(options)
    report.clean_run()
    report.mutants()
    if 48 in report.rows:
        report.sabotage()
    report.pending()
    seconds = time.monotonic() - began
    print(*report.markdown(), sep='\n')
    print(*report.wrong, sep='\n', end='\n' if report.wrong else '')
    if options.write:
        report.write(seconds)
    print(f'{report.total()}, {seconds:.0f} s')
    return 1 if report.wrong else 0


if __name__ == '__main__':
    sys.exit(main())
