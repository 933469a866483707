#!/usr/bin/python3
"""The soak: thousands of jails of one server, half of them attacked from inside. Nothing may pile up, every receipt must be right, and
the well-behaved neighbours of the attackers must not wait much longer than they do when all is quiet.

In rounds, so that quiet and loaded are measured side by side on a machine that may itself be in a mood: a quiet slice with the neighbours
alone, a slice with the same neighbours and the attackers, then rest: every session is ended, and what the server and the machine still
hold is counted. The rests give the flatness table: a slope is fitted to each figure and held against a bound.

    SNIPARA_BIN=... /usr/bin/python3 tests/soak/soak.py [--jails 20000] [--timing] [--write doc/results/soak.md]
"""
import argparse
import asyncio
import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import attacks
import client
import clients
import flatness
import judge
import machine
import report

REST_SECONDS = 8.0  # longest wait for the last namespaces and groups of a round to be gone
SETTLED = 3         # samples in a row that agree


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--jails', type=int, default=20000, help='how many at least; half of them, at least, are attacked')
    p.add_argument('--rounds', type=int, default=0, help='default: one per 800 jails, 5 at least')
    p.add_argument('--neighbours', type=int, default=4, help='well-behaved clients at a time')
    p.add_argument('--attackers', type=int, default=4, help='attacking clients at a time')
    p.add_argument('--pause', type=float, default=0.3, help='seconds between two sessions of a neighbour, on average')
    p.add_argument('--ratio', type=float, default=3.0, help='how much longer the neighbours may wait, by p99')
    p.add_argument('--timing', action='store_true', help='the machine is ours: fail when they wait longer, and when the whole machine\'s figures grow')
    p.add_argument('--only', default='', help='only attacks whose name has this in it')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--write', type=pathlib.Path, help='write the table to this file (markdown)')
    chosen = p.parse_args()
    chosen.rounds = chosen.rounds or max(5, chosen.jails // 800)
    return chosen


async def rest(server, tally):
    """Nobody is in a session: wait until nothing changes any more, and say what is there."""
    deadline, last, same = time.monotonic() + REST_SECONDS, None, 0
    left = await server.sessions()
    if left:
        tally.fault(f'sessions that live on after they were destroyed: {left}')
    while True:
        await asyncio.sleep(0.1)
        now = machine.sample(server.pid)
        counts = {name: value for name, value in now.items() if not name.endswith('(KiB)') and not name.startswith('machine')}
        same = same + 1 if counts == last else 1
        last = counts
        if same >= SETTLED or time.monotonic() > deadline:
            return now


async def run_round(server, tally, o, following, quiet, attacked):
    """A quiet slice of `quiet` neighbours, then a loaded one of at least `attacked` attacks and as many neighbours."""
    done = {'quiet': tally.jails + quiet}
    await asyncio.gather(*(clients.neighbours(server, tally, 'quiet', o.pause, lambda: tally.jails < done['quiet'])
                           for _ in range(o.neighbours)), clients.pings(server, tally, 'quiet', lambda: tally.jails < done['quiet']))

    def made(what):
        return sum(sum(row.values()) for row in tally.outcomes.values()) if what == 'attacks' else len(tally.latency.get(('loaded', 'fresh'), ()))
    goal = {what: made(what) + share for what, share in (('attacks', attacked), ('neighbours', attacked - quiet))}

    def go_on():
        return any(made(what) < wanted for what, wanted in goal.items())
    await asyncio.gather(*(clients.neighbours(server, tally, 'loaded', o.pause, go_on) for _ in range(o.neighbours)),
                         *(clients.attackers(server, tally, following, go_on) for _ in range(o.attackers)),
                         clients.pings(server, tally, 'loaded', go_on))


async def soak(o, home, spool, samples_file):
    load = os.getloadavg()[0]
    tally = clients.Tally(spool, o.seed)
    with open(home / 'server.err', 'wb') as errors:
        server = await client.Server.start(os.environ.get('SNIPARA_BIN', 'snipara-sandbox'), client.environment(home), home, errors)
    first, _ = await server.call('first', '1')
    await server.destroy('first')
    with_cgroup = 'cgroup_memory' in first['backend']['layers']
    chosen = [a for a in attacks.for_host(with_cgroup) if o.only in a.name]
    following = clients.endless(chosen, tally.random)
    # Warm up with every kind, unmeasured: what a first time allocates for good is no growth.
    first_ones = iter(chosen * (2 if o.jails >= 1000 else 1))

    async def warm_up():
        for attack in first_ones:
            await clients.attacker(server, tally, attack)
            await clients.neighbour(server, tally, 'warm')
    await asyncio.gather(*(warm_up() for _ in range(o.attackers + o.neighbours)))  # as many at a time as later: pools fill up
    warm = tally.jails
    rests = [(0, await rest(server, tally))]
    tally.outcomes.clear()
    tally.attack_ms.clear()
    sampler = subprocess.Popen([sys.executable, machine.__file__, str(server.pid), str(samples_file)])
    began = time.monotonic()
    attacked = -(-o.jails // (2 * o.rounds))
    for number in range(o.rounds):
        await run_round(server, tally, o, following, max(o.neighbours, attacked // 4), attacked)
        rests.append((tally.jails - warm, await rest(server, tally)))
        gc.collect()  # ours, while nobody is timed: it is off otherwise
        print(f'round {number + 1} of {o.rounds}: {tally.jails - warm} jails, {time.monotonic() - began:.0f} s, {len(tally.faults)} faults', flush=True)
    seconds = time.monotonic() - began
    code = await server.close()
    sampler.wait(10)
    if code != 0:
        tally.fault(f'the server ended with exit code {code}')
    leftovers(server.pid, home, tally)
    return {'tally': tally, 'rests': rests, 'seconds': seconds, 'jails': tally.jails - warm, 'first': first,
            'attacks': chosen, 'options': o, 'load': load}


def leftovers(pid, home, tally):
    groups = machine.own_cgroups(pid)
    if groups:
        tally.fault(f'cgroups left behind: {sorted(groups)}')
    left = sorted(name for name in os.listdir(home) if name not in ('server.err', 'receipts', 'samples'))
    if left:
        tally.fault(f'files left behind in TMPDIR: {left}')
    said = (home / 'server.err').read_text(errors='replace').strip()
    if said:
        print('the server said:', said[-2000:])


def judge_receipts(spool_file, result):
    one, count = judge.Judge(result['first']), 0
    with open(spool_file, 'rb') as spool:
        for head in spool:
            who, ms, timeout = json.loads(head)
            count += 1
            problems = one.problems(json.loads(next(spool))['result']['structuredContent'], ms, timeout)
            if problems:
                result['tally'].fault(f'receipt of "{who}": {problems}')
    return count


def stop(*_):
    raise SystemExit('soak: stopped by a signal')  # so that the directory goes away, and with our end of the pipe the server


def main():
    o = options()
    signal.signal(signal.SIGTERM, stop)
    flatness.prove()
    with tempfile.TemporaryDirectory(prefix='snipara-soak.') as directory:
        home = pathlib.Path(directory)
        spool_file, samples_file = home / 'receipts', home / 'samples'
        gc.disable()
        with open(spool_file, 'wb') as spool:
            result = asyncio.run(soak(o, home, spool, samples_file))
        gc.enable()
        result['receipts'] = judge_receipts(spool_file, result)
        with open(samples_file, encoding='utf-8') as samples:
            result['running'] = [json.loads(line) for line in samples]
    result['flatness'] = flatness.fit(result['rests'], result['jails'])
    text, failures = report.write(result)
    print(text)
    if o.write:
        o.write.parent.mkdir(parents=True, exist_ok=True)
        o.write.write_text(text, encoding='utf-8')
    print(report.last_line(result, failures))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
