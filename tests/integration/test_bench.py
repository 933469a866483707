"""The bench runs and says what it found. How quick anything is is not asserted here: that is `make bench`."""
import json
import os
import subprocess
import sys

import pytest

import sandbox

BENCH = sandbox.ROOT / 'tests' / 'bench'
sys.path.insert(0, str(BENCH))

import report  # pylint: disable=wrong-import-position,wrong-import-order


def bench(tmp_path, *arguments, program=sandbox.PROGRAM):
    env = {**os.environ, 'TMPDIR': str(tmp_path), 'PYTHONDONTWRITEBYTECODE': '1'}
    return subprocess.run([sys.executable, BENCH / 'bench.py', '--program', program, '--quick', '--smoke', *arguments], env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150 * sandbox.SCALE, check=False)


def test_smoke(tmp_path):
    document = tmp_path / 'document.md'
    document.write_text(f'before\n{report.BEGIN}\nearlier results\n{report.END}\nafter\n', encoding='utf-8')
    done = bench(tmp_path, '--json', tmp_path / 'found.json', '--document', document, '--revision', 'abcdef')
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / 'found.json').read_text(encoding='utf-8'))
    assert (found['schema'], found['mode'], found['revision']) == ('snipara-sandbox/bench/v1', 'smoke', 'abcdef')
    ways = {way['key']: way for way in found['paired']['ways'] + found['sustained']['ways']}
    assert {'fresh', 'live', 'exec', 'python', 'python-site', 'sustained'} <= set(ways)
    for way in ways.values():
        assert 0 < way['min_us'] <= way['p50_us'] <= way['p99_us'] <= way['max_us'], way
        assert way['n'] >= 1 and len(way['p50_us_by_repetition']) == 1
    assert found['sustained']['cpu_ms_per_jail'] >= 0  # counted in clock ticks
    assert [row['clients'] for row in found['throughput']['rows']] == [1, 2]
    assert [row['sessions'] for row in found['sessions']['memory']] == [2, 3] and found['sessions']['problem'] is None
    steps = {step['step']: step for step in found['setup']['burst']['steps']}
    assert 'spare' not in steps and steps['total']['p50_us'] > 0
    assert len(found['bars']) == 9 and all(bar['met'] in (True, False) or bar['why'] for bar in found['bars'])
    text = document.read_text(encoding='utf-8')
    assert text.startswith('before\n') and text.endswith('after\n') and 'earlier results' not in text and 'Revision abcdef' in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ['document.md', 'found.json'], 'the bench left something in TMPDIR'


def test_a_wrong_answer_is_no_fast_answer(tmp_path):
    """A program that answers at once, but not with what the snippet prints."""
    liar = tmp_path / 'liar'
    liar.write_text('#!/bin/sh\nif [ "$1" = exec ]; then exec %s "$@"; fi\nread line; echo \'{"id":1,"result":{"protocolVersion":"x"}}\'\n'
                    'read line; while read line; do n=$((${n-1} + 1)); echo "{\\"id\\":$n,\\"result\\":{}}"; done\n' % sandbox.PROGRAM,
                    encoding='utf-8')
    liar.chmod(0o755)
    done = bench(tmp_path, '--only', 'throughput', program=liar)
    assert done.returncode == 1 and 'unexpected answer: {"id":2' in done.stderr, done.stderr


def test_what_cannot_run_is_named(tmp_path):
    done = bench(tmp_path, program='/bin/false')
    assert done.returncode == 1 and '/bin/false exec does not run here' in done.stderr
    done = bench(tmp_path, '--only', 'speed')
    assert done.returncode == 2 and 'no section is called speed' in done.stderr
    (tmp_path / 'plain.md').write_text('no markers\n', encoding='utf-8')
    done = bench(tmp_path, '--document', tmp_path / 'plain.md')
    assert done.returncode == 1 and report.BEGIN in done.stderr


def way(key, *medians):
    return {'key': key, 'p50_us_by_repetition': list(medians)}


@pytest.mark.parametrize('ours, met', [((400, 900, 380), True), ((400, 900, 401), False)])
def test_bars_are_judged_by_the_median_of_the_repetitions(ours, met):
    results = {'paired': {'ways': [way('fresh', *ours), way('bwrap', 10000, 10000, 10000)]}}
    bars = {bar['bar']: bar for bar in report.bars(results)}
    bar = bars['fresh jail, with pauses: at most 1/25 of bwrap']
    assert bar['met'] is met and bar['value'] == sorted(ours)[1] / 10000
    assert bars['fresh jail, with pauses: at most 1/500 of docker run']['met'] is None


@pytest.mark.parametrize('rates, met', [((480, 501), True), ((499, 300), False), ((), None)])
def test_the_bar_of_throughput_takes_the_best(rates, met):
    results = {'throughput': {'rows': [{'per_second': rate} for rate in rates]}}
    bar = next(bar for bar in report.bars(results) if 'a second' in bar['bar'])
    assert bar['met'] is met and bar['value'] == max(rates, default=None)


@pytest.mark.parametrize('reached, kib, first, last, ticks, met', [
    (1000, 2.4e9 / 1024, 1000, 1500, 0, [True, True, True]), (1000, 2.6e9 / 1024, 1000, 1600, 1, [False, False, False]),
    (256, 1, 1000, 1000, 0, [None, None, True])])
def test_bars_of_sessions(reached, kib, first, last, ticks, met):
    idle = {'ticks': ticks, 'seconds': 10}
    results = {'sessions': {'reached': reached, 'problem': None, 'memory': [{'available_kib': kib}], 'idle_empty': {'ticks': 0}, 'idle_full': idle,
                            'creation': {'first': {'p50_us': first}, 'last': {'p50_us': last}}}}
    assert [bar['met'] for bar in report.bars(results)[-3:]] == met
