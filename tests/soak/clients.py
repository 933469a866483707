"""The two kinds of clients of the soak. A neighbour makes a session, computes what nobody else computes, comes back to find what it
left, and ends the session. An attacker makes a session, attacks from inside, and ends it."""
import asyncio
import hashlib
import json
import random
import time

FIRST = ('import hashlib, os\nmine = {token!r}\nwith open("mine", "w") as f: f.write(mine)\nwith open("/tmp/mine", "w") as f: f.write(mine)\n'
         'print(mine)\nhashlib.sha256(mine.encode()).hexdigest()')
SECOND = '[mine, open("mine").read(), open("/tmp/mine").read(), sorted(set(os.listdir("/session")) - {"output"}), os.listdir("/tmp"), os.listdir("/dev/shm")]'


class Tally:
    """What the soak counts. Receipts go to a spool and are judged when the clocks have stopped."""

    def __init__(self, spool, seed):
        self.spool = spool
        self.jails = 0
        self.live = 0           # clients inside a session
        self.live_peak = 0
        self.faults = []
        self.latency = {}       # (phase, what) -> [ms]
        self.outcomes = {}      # attack -> {status: count}
        self.attack_ms = {}     # attack -> [ms]
        self.random = random.Random(seed)

    def fault(self, text):
        self.faults.append(text)
        if len(self.faults) <= 20:
            print('FAULT', text[:1500], flush=True)

    def note(self, who, receipt, ms, timeout=30.0):
        self.spool.write(json.dumps([who, ms, timeout]).encode() + b'\n' + receipt.line)

    def time(self, phase, what, ms):
        self.latency.setdefault((phase, what), []).append(ms)

    def enter(self):
        self.jails += 1
        self.live += 1
        self.live_peak = max(self.live, self.live_peak)
        return f's{self.jails}'


async def neighbour(server, tally, phase):
    """One session of a well-behaved client."""
    session = tally.enter()
    token = f'{session}-{tally.random.getrandbits(64):016x}'
    try:
        receipt, ms = await server.call(session, FIRST.format(token=token))
        tally.time(phase, 'fresh', ms)
        tally.note('neighbour', receipt, ms)
        if receipt['status'] != 'ok' or receipt['result']['json'] != hashlib.sha256(token.encode()).hexdigest() or receipt['stdout'] != token + '\n':
            tally.fault(f'neighbour {token}: {json.dumps(receipt)}')
        if not receipt['session']['created'] or receipt['session']['id'] != session:
            tally.fault(f'neighbour {token}: not a session of its own: {receipt["session"]}')
        receipt, ms = await server.call(session, SECOND)
        tally.time(phase, 'live', ms)
        tally.note('neighbour', receipt, ms)
        if receipt['status'] != 'ok' or receipt['result']['json'] != [token] * 3 + [['mine'], ['mine'], []]:
            tally.fault(f'neighbour {token} on its return: {json.dumps(receipt)}')
        tally.time(phase, 'end', await server.destroy(session))
    finally:
        tally.live -= 1


async def attacker(server, tally, attack):
    session = tally.enter()
    timeout = attack.arguments.get('timeout', 30.0)
    try:
        receipt, ms = await server.call(session, attack.code, **attack.arguments)
        tally.note(attack.name, receipt, ms, timeout)
        outcomes = tally.outcomes.setdefault(attack.name, {})
        outcomes[receipt['status']] = outcomes.get(receipt['status'], 0) + 1
        tally.attack_ms.setdefault(attack.name, []).append(ms)
        if not right(attack, receipt):
            tally.fault(f'attack "{attack.name}": wanted {attack.status}: {json.dumps(receipt)}')
        if attack.after:
            receipt, ms = await server.call(session, attack.after)
            tally.note(attack.name + ', after', receipt, ms)
            if receipt['status'] not in attack.after_status:
                tally.fault(f'after "{attack.name}": wanted {attack.after_status}: {json.dumps(receipt)}')
        await server.destroy(session)
    finally:
        tally.live -= 1


def right(attack, receipt):
    if receipt['status'] not in attack.status or (attack.hit and receipt['limits']['hit'] != attack.hit):
        return False
    return attack.check is None or bool(attack.check(receipt))


async def neighbours(server, tally, phase, pause, go_on):
    """Sessions one after another, with a user's pause between them."""
    while go_on():
        await neighbour(server, tally, phase)
        await asyncio.sleep(pause * tally.random.uniform(0.5, 1.5))


async def attackers(server, tally, following, go_on):
    while go_on():
        await attacker(server, tally, next(following))


async def pings(server, tally, phase, go_on):
    """How long the server's own loop takes to answer, jails aside: tells its share of a neighbour's wait."""
    while go_on():
        _, ms = await server.request('ping', {})
        tally.time(phase, 'ping', ms)
        began = time.perf_counter()
        await asyncio.sleep(0.05)
        tally.time(phase, 'lag', (time.perf_counter() - began) * 1000 - 50)  # of this client itself


def endless(attacks, rng):
    """Every kind once per round, in a new order each round."""
    while True:
        order = list(attacks)
        rng.shuffle(order)
        yield from order
