"""What is measured, section by section. Everything here returns plain data for the JSON; judging it is report.py's."""
import dataclasses
import json
import random
import statistics
import subprocess
import time

import host
import peers
from client import BenchError

DATA_POLICY = 'bench-data'  # `default` with numpy and pandas preloaded; bench.py writes it


@dataclasses.dataclass
class Plan:
    """How much of everything."""
    repetitions: int    # of the whole of a section
    rounds: int         # A B A B ... of the paired section, in one repetition
    pause_ms: int       # after a fresh jail, for what is prepared ahead to be there again
    blocks: int         # of fresh jails back to back, against blocks of bwrap
    burst: int          # calls of one such block; a third of them, made before, is not counted
    calls: int          # of one throughput figure
    clients: tuple
    sessions: tuple     # how many live ones memory is measured at
    window: int         # creations compared at the beginning and at the end
    idle_seconds: float
    flat_calls: int     # fresh jails between two looks at the server's memory
    settle_seconds: float = 1  # before looking at memory: freed pages and RCU callbacks come back late


FULL = Plan(3, 60, 40, 5, 60, 300, (1, 2, 4, 8), (100, 1000), 50, 10, 500)
QUICK = Plan(3, 10, 40, 2, 30, 60, (1, 2, 4, 8), (100,), 25, 3, 60)
SMOKE = Plan(1, 1, 1, 1, 4, 4, (1, 2), (2, 3), 1, 0.2, 4, 0.1)


def summary(us):
    ordered = sorted(us)

    def at(share):
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)
    return {'n': len(us), 'min_us': at(0), 'p50_us': round(statistics.median(us), 1), 'p90_us': at(0.9), 'p99_us': at(0.99), 'max_us': at(1)}


def medians(repetitions):
    return [round(statistics.median(us), 1) for us in repetitions if us]


def described(way, repetitions):
    return {'key': way.key, 'name': way.name, 'ours': way.measure is not None, **summary([us for one in repetitions for us in one]),
            'p50_us_by_repetition': medians(repetitions)}


def our_ways(client, program, plan, has_data):
    def fresh(policy):
        return lambda: client.fresh(1, policy, pause_ms=plan.pause_ms)['us']

    def live(policy):  # the second of two in a row; the first finds a machine that has done other things
        return lambda: client.call(2, f'live-{policy}', policy)['us'][1:]

    def rested():
        def measure():
            time.sleep(plan.pause_ms / 1000)
            return client.call(1, 'live-default', 'default')['us']
        return measure

    def command():
        return client.spawn([program, 'exec', '-c', 'print(1)'])['us']
    ways = [peers.Way('fresh', 'fresh jail per call, with pauses', measure=fresh('default')),
            peers.Way('live', 'second call of a live session', measure=live('default')),
            peers.Way('rested', 'call of a live session after a rest', measure=rested()),
            peers.Way('exec', 'cold command line: snipara-sandbox exec', measure=command)]
    if has_data:
        ways[3:3] = [peers.Way('fresh-data', 'fresh jail per call, numpy and pandas preloaded', measure=fresh(DATA_POLICY)),
                     peers.Way('live-data', 'second call of a live session, numpy and pandas preloaded', measure=live(DATA_POLICY))]
    return ways


def paired(client, ways, plan):
    """One sample of each way in turn, again and again: whatever the machine does meanwhile happens to all of them. In another order
    each time, the same ones in every run: who comes after a container engine finds its leavings in the caches and on the other core."""
    for way in ways:
        if way.measure:
            way.measure()  # warm: zygotes stand and sessions live
    steal, taken = host.Steal(), {way.key: [[] for _ in range(plan.repetitions)] for way in ways}
    for repetition in range(plan.repetitions):
        for turn in range(plan.rounds):
            for way in random.Random(turn).sample(ways, len(ways)):
                if not way.is_slow or turn % 5 == 0:
                    taken[way.key][repetition] += way.measure() if way.measure else (way.client or client).spawn(way.command)['us']
    return {'ways': [described(way, taken[way.key]) for way in ways], 'cpu_percent': steal.percent()}


def sustained(client, bwrap, plan):
    """Fresh jails back to back by one client, so many that nothing prepared ahead is left, against bwrap back to back: A B A B in blocks."""
    steal = host.Steal()
    ours, theirs = [[] for _ in range(plan.repetitions)], [[] for _ in range(plan.repetitions)]
    our_ms = 0
    for repetition in range(plan.repetitions):
        for _ in range(plan.blocks):
            spent = host.spent_ms(host.tree(client.server))
            ours[repetition] += client.fresh(plan.burst * 2 // 3, skip=plan.burst // 3)['us']
            our_ms += host.spent_ms(host.tree(client.server)) - spent
            if bwrap:
                theirs[repetition] += client.spawn(bwrap.command, count=max(1, plan.burst // 6))['us']
    ways = [described(peers.Way('sustained', 'fresh jails back to back, one client', measure=True), ours)]
    made = plan.repetitions * plan.blocks * (plan.burst * 2 // 3 + plan.burst // 3)
    cpu_ms = round(our_ms / made, 2)
    if bwrap:
        ways.append(described(peers.Way('sustained-bwrap', 'bwrap --unshare-all, python -I -S -c, back to back', bwrap.command), theirs))
    return {'ways': ways, 'cpu_ms_per_jail': cpu_ms, 'cpu_percent': steal.percent()}


def throughput(client, plan):
    """Fresh jails a second with so many calls open at a time, the goodbye to each session included."""
    steal, rows = host.Steal(), {clients: [] for clients in plan.clients}
    latencies = {clients: [] for clients in plan.clients}
    for _ in range(plan.repetitions):
        for clients in plan.clients:
            answer = client.fresh(plan.calls, skip=plan.calls // 4 + clients, clients=clients)
            rows[clients].append(round(len(answer['us']) / answer['wall_ns'] * 1e9, 1))
            latencies[clients] += answer['us']
    return {'rows': [{'clients': clients, 'per_second': round(statistics.median(rates), 1), 'by_repetition': rates,
                      **summary(latencies[clients])} for clients, rates in rows.items()], 'cpu_percent': steal.percent()}


def look(server, plan):
    """Memory now: what the machine has left, kernel memory by kind, and the processes' shares."""
    time.sleep(plan.settle_seconds)
    pids = host.tree(server)
    return {'processes': len(pids), 'pss_kib': host.pss_kib(pids), **{f'{key}_kib': value for key, value in host.meminfo_kib().items()}}


def growth(sessions, before, now):
    grown = {key: now[key] - before[key] for key in now}
    kernel = sum(grown[f'{key}_kib'] for key in host.MEMINFO if key != 'MemAvailable' and f'{key}_kib' in grown)
    available = -grown.pop('MemAvailable_kib')
    return {'sessions': sessions, 'available_kib': available, 'counted_kib': grown['pss_kib'] + kernel, 'kernel_kib': kernel, **grown}


def idle(server, seconds):
    pids = host.tree(server)
    before = host.activity(pids)
    time.sleep(seconds)
    now = host.activity(pids)
    return {'seconds': seconds, 'processes': len(pids), 'ticks': now[0] - before[0], 'context_switches': now[1] - before[1]}


def open_up_to(client, have, want, policy, took):
    """Sessions until `want` are there. Returns how many there are, and why not more."""
    answer = client.open(want - have, policy, may_fail=True)
    took += answer['us']
    return have + len(answer['us']), answer.get('problem')


def live_sessions(client, policy, plan):
    """Sessions from none to many in a server of its own: creation times, memory at each count, idleness at the end."""
    client.fresh(1, policy)  # the zygote stands
    before, took, rows, have, problem = look(client.server, plan), [], [], 0, None
    idle_before = idle(client.server, plan.idle_seconds)
    drift = growth(0, before, look(client.server, plan))['available_kib']  # nothing of ours happened: what the rest of the machine did
    for count in plan.sessions:
        # The first and the last creations get the same treatment: a rest before, then back to back.
        for want in (plan.window, count - plan.window, count):
            if want > have and not problem:
                time.sleep(plan.settle_seconds)
                have, problem = open_up_to(client, have, want, policy, took)
        rows.append(growth(have, before, look(client.server, plan)))
        if problem:
            break
    found = {'policy': policy, 'memory': rows, 'wanted': max(plan.sessions), 'reached': have, 'problem': problem,
             'drift_kib': drift, 'creation': {'first': summary(took[:plan.window]), 'last': summary(took[-plan.window:]), 'all': summary(took)},
             'idle_empty': idle_before, 'idle_full': idle(client.server, plan.idle_seconds)}
    closing = client.shut()
    found['shut_ms'] = round(closing['wall_ns'] / 1e6, 1)
    found['after'] = growth(0, before, look(client.server, plan))
    return found


def flat(client, plan):
    """The server's own memory (no session lives) before and after many fresh jails."""
    client.fresh(plan.flat_calls // 4)
    before = look(client.server, plan)
    client.fresh(plan.flat_calls, clients=2)
    now = look(client.server, plan)
    return {'calls': plan.flat_calls, 'pss_kib_before': before['pss_kib'], 'pss_kib_after': now['pss_kib'],
            'processes_before': before['processes'], 'processes_after': now['processes']}


def setup_steps(client, count, policy='default', pause_ms=0):
    """What receipts of fresh sessions say of their own making: metrics.*_ms, metrics.setup step by step, and how many were spares."""
    whole, steps, spares = {}, {}, 0
    for _ in range(count):
        answer = client.open(1, policy)
        metrics = answer['last']['result']['structuredContent']['metrics']
        for name in ('queue_ms', 'setup_ms', 'wall_ms'):
            whole.setdefault(name, []).append(metrics[name])
        setup = dict(metrics.get('setup') or {})
        spares += bool(setup.pop('spare', False))
        for name, us in setup.items():
            steps.setdefault(name.removesuffix('_us'), []).append(us)
        client.shut()
        time.sleep(pause_ms / 1000)
    return {'n': count, 'spares': spares, 'whole': {name: round(statistics.median(ms), 3) for name, ms in whole.items()},
            'steps': [{'step': name, **summary(us)} for name, us in steps.items()]}


def rung(client):
    receipt = client.call(1, 'rung')['last']['result']['structuredContent']
    return {'rung': receipt['backend']['rung'], 'layers': len(receipt['backend']['layers']),
            'missing': [row['layer'] for row in receipt['backend']['missing']]}


def interpreter(program, environment):
    """The very interpreter that the jail embeds: peers are measured with it."""
    done = subprocess.run([program, 'exec', '--json', '-c', 'import sys; print(sys.executable)'], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f'{program} exec does not run here: {(done.stdout or done.stderr).strip()[:400]}')
    return json.loads(done.stdout)['stdout'].strip()
