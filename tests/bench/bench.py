#!/usr/bin/env python3
"""How quick, how big, how idle: this program against the other ways that are installed, in one run (doc/BENCHMARKS.md says how to read it).

    tests/bench/bench.py --program build/snipara-sandbox             the full run, about 10 minutes
    tests/bench/bench.py --program ... --quick                       no docker and podman, fewer repetitions, about a minute
    tests/bench/bench.py --program ... --install                     as root: get the peers that Debian has, first
"""
import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import client as bench_client
import engines
import host
import measure
import peers
import report

SECTIONS = ('sessions', 'paired', 'sustained', 'throughput', 'flat', 'setup')


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--program', required=True, help='the snipara-sandbox to measure')
    parser.add_argument('--client', help='the built client; without it cc(1) builds one')
    parser.add_argument('--quick', action='store_true', help='no docker and podman, fewer repetitions')
    parser.add_argument('--smoke', action='store_true', help='a handful of calls: only shows that everything runs')
    parser.add_argument('--install', action='store_true', help=f'as root, first apt-get install {" ".join(peers.PACKAGES)}')
    parser.add_argument('--only', default=','.join(SECTIONS), help=f'sections, parted by commas: {", ".join(SECTIONS)}')
    parser.add_argument('--json', help='write the results there')
    parser.add_argument('--markdown', help='write the tables there')
    parser.add_argument('--document', help='put the tables between the markers of this file')
    parser.add_argument('--revision', help='what to call the measured tree (default: from git)')
    given = parser.parse_args()
    unknown = set(given.only.split(',')) - set(SECTIONS)
    if unknown:
        parser.error(f'--only: no section is called {", ".join(sorted(unknown))}; there are {", ".join(SECTIONS)}')
    found = shutil.which(given.program)
    if not found:
        parser.error(f'--program: {given.program} is not a program')
    given.program = str(pathlib.Path(found).absolute())
    if given.install and os.geteuid() != 0:
        parser.error('--install needs root')
    return given


def say(text):
    print(f'bench: {text}', file=sys.stderr, flush=True)


def install():
    done = subprocess.run(['apt-get', 'install', '-y', '-q', '--no-install-recommends', *peers.PACKAGES], stdin=subprocess.DEVNULL,
                          env={**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'}, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise bench_client.BenchError(f'apt-get install failed (apt-get update may help): exit code {done.returncode}')


def environment(directory):
    """A home of its own, with the policy that preloads numpy and pandas among the operator's."""
    policies = directory / 'config' / 'snipara-sandbox' / 'policies'
    policies.mkdir(parents=True)
    (policies / f'{measure.DATA_POLICY}.json').write_text(json.dumps(
        {'name': measure.DATA_POLICY, 'extends': 'default', 'imports': {'preload': ['numpy', 'pandas']}}), encoding='utf-8')
    kept = {name: value for name, value in os.environ.items() if name.startswith('SNIPARA_SANDBOX_') or name.endswith('SAN_OPTIONS')}
    return {**kept, 'PATH': peers.SYSTEM_PATH, 'LANG': 'C.UTF-8', 'HOME': str(directory), 'TMPDIR': str(directory / 'tmp'),
            'XDG_CONFIG_HOME': str(directory / 'config'), 'XDG_STATE_HOME': str(directory / 'state')}


class Run:
    """One run: its directory, its settings, its results."""

    def __init__(self, given, directory):
        self.given, self.directory = given, directory
        self.plan = measure.SMOKE if given.smoke else measure.QUICK if given.quick else measure.FULL
        self.mode = 'smoke' if given.smoke else 'quick' if given.quick else 'full'
        self.only = set(given.only.split(','))
        self.environment = environment(directory)
        (directory / 'tmp').mkdir()
        self.client = pathlib.Path(given.client).absolute() if given.client else bench_client.build(directory)
        self.calls, self.cpu_us = 0, 0

    @contextlib.contextmanager
    def serving(self):
        """A client with a server of its own."""
        with bench_client.Client(self.client, self.environment) as client:
            client.start(self.given.program, 'mcp-serve')
            yield client
            client.quit()
            self.calls += client.calls
            self.cpu_us += client.cpu_us

    def facts(self):
        python = measure.interpreter(self.given.program, self.environment)
        version = subprocess.run([python, '--version'], capture_output=True, text=True, check=True).stdout.strip()
        with bench_client.Client(self.client, self.environment) as client:
            self.has_data = not self.given.smoke and peers.with_data(python, client)
        return {'schema': 'snipara-sandbox/bench/v1', 'mode': self.mode,
                'revision': self.given.revision or host.revision(pathlib.Path(__file__).resolve().parent.parent.parent),
                'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d'), 'machine': host.facts(),
                'python': {'executable': python, 'version': version, 'numpy_and_pandas': self.has_data}, 'absent': []}

    def ways(self, client, stack, results):
        python = results['python']['executable']
        is_hybrid = os.geteuid() == 0 and os.path.ismount(host.HYBRID)
        found, results['absent'] = peers.find(python, self.directory, client, self.has_data, lambda key: not is_hybrid or key != 'crun')
        if is_hybrid:
            apart = stack.enter_context(bench_client.Client(self.client, self.environment, host.without_hybrid))
            crun, absent = peers.find(python, self.directory, apart, False, lambda key: key == 'crun')
            found += crun
            results['absent'] += absent
        if not self.given.quick and not self.given.smoke and 'paired' in self.only:
            more, absent = engines.start(stack, self.directory, python, client)
            found += more
            results['absent'] += absent
        elif 'paired' in self.only:
            results['absent'] += [{'key': key, 'name': key, 'why': f'not in a {self.mode} run'} for key in ('docker', 'podman')]
        return found

    def sessions(self, results):
        say('live sessions')
        with self.serving() as client:
            results['sessions'] = measure.live_sessions(client, 'default', self.plan)
        if self.has_data and self.mode == 'full':
            with self.serving() as client:
                few = dataclasses.replace(self.plan, sessions=self.plan.sessions[:1])
                results['sessions_data'] = measure.live_sessions(client, measure.DATA_POLICY, few)

    def speed(self, results):
        with self.serving() as client, contextlib.ExitStack() as stack:
            results['walls'] = measure.rung(client)
            found = self.ways(client, stack, results) if self.only & {'paired', 'sustained'} else []
            if 'paired' in self.only:
                say(f'paired: {", ".join(way.key for way in found)}')
                ours = measure.our_ways(client, self.given.program, self.plan, self.has_data)
                results['paired'] = measure.paired(client, ours + found, self.plan)
            stack.close()  # engines would disturb what comes now
            if 'sustained' in self.only:
                say('back to back')
                bwrap = next((way for way in found if way.key == 'bwrap'), None)
                results['sustained'] = measure.sustained(client, bwrap, self.plan)
            if 'throughput' in self.only:
                say('throughput')
                results['throughput'] = measure.throughput(client, self.plan)
            cost = client.spawn(['/bin/true'], count=self.plan.rounds, expect='')
            results['client'] = {'true_us': measure.summary(cost['us'])['p50_us']}

    def rest(self, results):
        with self.serving() as client:
            if 'flat' in self.only:
                say('the server itself')
                results['flat'] = measure.flat(client, self.plan)
            if 'setup' in self.only:
                count = self.plan.rounds
                results['setup'] = {'paused': measure.setup_steps(client, count, pause_ms=self.plan.pause_ms),
                                    'burst': measure.setup_steps(client, count)}

    def all(self):
        results = self.facts()
        if 'sessions' in self.only:
            self.sessions(results)
        self.speed(results)
        if self.only & {'flat', 'setup'}:
            self.rest(results)
        results['client']['us_per_call'] = round(self.cpu_us / max(1, self.calls), 1)
        results['bars'] = report.bars(results)
        return results


def write(given, results):
    text = report.markdown(results)
    if given.document:
        path = pathlib.Path(given.document)
        path.write_text(report.replace(path.read_text(encoding='utf-8'), text), encoding='utf-8')
    if given.markdown:
        pathlib.Path(given.markdown).write_text(text, encoding='utf-8')
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(results, indent=1) + '\n', encoding='utf-8')
    print(text)


def on_signal(number, _):
    raise SystemExit(128 + number)


def main():
    given = arguments()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    if given.document:
        report.replace(pathlib.Path(given.document).read_text(encoding='utf-8'), '')  # fail now, not in ten minutes
    try:
        if given.install:
            install()
        if os.geteuid() == 0:
            host.own_mounts()
            engines.sweep()
        with tempfile.TemporaryDirectory(prefix='snipara-bench-') as directory:
            try:
                write(given, Run(given, pathlib.Path(directory)).all())
            finally:
                engines.remove_cgroups(f'snipara-bench-{os.getpid()}')
    except (bench_client.BenchError, OSError, ValueError) as error:
        say(error)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
