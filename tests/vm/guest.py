#!/usr/bin/env python3
"""Checks that run inside the emulated guest, as root; scripts/check-vm boots it and reads what is printed here.

    guest.py SECTION...          sections and what they stand for: see SECTIONS at the end

A line "ok<tab>name<tab>detail", "FAIL<tab>..." or "skip<tab>..." is one check; all other lines are its log. A section may run a part
of itself as another user or in another unit: `guest.py --part NAME` there prints the same lines.
"""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import traceback
import xml.etree.ElementTree as ElementTree

PROGRAM = '/opt/snipara-sandbox/bin/snipara-sandbox'
TESTS = '/opt/tests'
USER = 1000  # the ordinary user; scripts/check-vm writes it into /etc/passwd
CGROUP = pathlib.Path('/sys/fs/cgroup')
LAYERS = ('cgroup_memory', 'cgroup_pids', 'cgroup_cpu', 'cgroup_kill')
SCALE = os.environ.get('SNIPARA_TIME_SCALE', '8')  # emulation is slow
GIB = 1 << 30
label = ''


def line(word, name, detail=''):
    print(f'{word}\t{label}{name}\t{str(detail)[:400]}', flush=True)


class Skip(Exception):
    """This machine cannot; the reason is the argument."""


def check(name, function, *arguments):
    start = time.monotonic()
    try:
        detail = function(*arguments)
        line('ok', name, f'{detail or ""} ({time.monotonic() - start:.0f} s)'.strip())
    except Skip as reason:
        line('skip', name, reason)
    except Exception as problem:  # an assertion, a missing file, a time-out: all of them are the check's failure
        traceback.print_exc(file=sys.stdout)
        line('FAIL', name, ' '.join(str(problem).split()) or type(problem).__name__)


# --- the program ---

def environment():
    home = pathlib.Path(f'/tmp/home-{os.getuid()}')
    (home / 'tmp').mkdir(parents=True, exist_ok=True)
    return {'PATH': os.environ['PATH'], 'HOME': str(home), 'TMPDIR': str(home / 'tmp'), 'LANG': 'C.UTF-8'}


def start(*arguments, before=()):
    return subprocess.Popen([*before, PROGRAM, *arguments], env=environment(), cwd='/tmp', stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def answer(process, seconds=120):
    """(pid, JSON document) of a process that prints one."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    try:
        return process.pid, json.loads(out)
    except ValueError:
        raise AssertionError(f'exit {process.returncode}, stdout {out[-300:]!r}, stderr {err[-500:]!r}') from None


def execute(code, *options, expect='ok', before=()):
    pid, receipt = answer(start('exec', '--json', *options, '-c', code, before=before))
    assert receipt['status'] == expect, receipt
    left = groups(pid)
    assert not left, f'groups left behind: {left}'
    return receipt


def doctor(before=()):
    return answer(start('doctor', '--json', before=before))[1]


def rows(document):
    return {row['layer']: row for row in document['layers']}


def groups(pid):
    return sorted(str(path) for path in CGROUP.glob(f'**/snipara-{pid}-*'))


def own_group(pid='self'):
    for text in pathlib.Path(f'/proc/{pid}/cgroup').read_text().splitlines():
        if text.startswith('0::'):
            return text[3:]
    raise AssertionError('not in cgroup v2')


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def listed(path):
    try:
        return [int(pid) for pid in pathlib.Path(path).read_text().split()]
    except OSError:
        return []


# --- what every place with cgroups must show ---

def layers_stand(rung):
    document = doctor()
    assert document['rung'] == rung and document['cgroup'] == 'v2', (document['rung'], document['cgroup'])
    layers = rows(document)
    lacking = {layer: layers[layer]['evidence'] for layer in LAYERS if not layers[layer]['there']}
    assert not lacking, lacking
    receipt = execute('6 * 7')
    assert receipt['result']['repr'] == '42' and receipt['backend']['rung'] == rung
    assert set(LAYERS) <= set(receipt['backend']['layers']), receipt['backend']
    assert set(receipt['backend']['layers']) == {layer for layer in layers if layers[layer]['there']}
    return f'{rung}, {document["kernel"]}, Landlock ABI {document["landlock_abi"]}, {len(receipt["backend"]["layers"])} layers'


def limits_from_outside():
    """What the kernel says of the group while a call runs: limits, type, and that the jailed processes are in it."""
    process = start('exec', '--json', '-c', 'import time\ntime.sleep(6)')
    try:
        def busy():
            return [g for g in groups(process.pid) if len(listed(g + '/cgroup.procs')) >= 2]
        found = wait_for(busy, 40)
        assert found, f'no group with a jail in it: {groups(process.pid)}'
        group = pathlib.Path(found[0])
        read = {name: (group / name).read_text().strip() for name in ('memory.max', 'pids.max', 'cpu.max', 'cgroup.type')}
        if (group / 'memory.swap.max').exists():
            read['memory.swap.max'] = (group / 'memory.swap.max').read_text().strip()
        place = own_group(process.pid)
        inside = [own_group(pid) for pid in listed(group / 'cgroup.procs')]
    finally:
        _, receipt = answer(process)
    assert receipt['status'] == 'ok', receipt
    assert receipt['limits']['memory_bytes'] <= int(read['memory.max']) < GIB, read
    assert int(read['pids.max']) == receipt['limits']['pids'] + 1, read  # and init
    assert read['cpu.max'] == f'{int(receipt["limits"]["cpus"] * 100000)} 100000', read
    assert read['cgroup.type'] == 'domain' and read.get('memory.swap.max', '0') == '0', read
    assert all(str(group).endswith(path) for path in inside), inside
    assert not groups(process.pid), 'groups left behind'
    return f'supervisor in {place}, {read}'


def metrics():
    receipt = execute('x = bytearray(50 << 20)\nsum(range(300000))')
    numbers = receipt['metrics']
    assert numbers['memory_counts'] == 'cgroup' and 50 << 20 <= numbers['memory_peak_bytes'] < GIB, numbers
    assert numbers['cpu_user_ms'] > 0 and numbers['cpu_system_ms'] is not None, numbers
    reason = [row for row in receipt['backend']['missing'] if row['layer'] == 'metrics.pids_peak']
    assert (numbers['pids_peak'] is None) == bool(reason), receipt
    return f'memory {numbers["memory_peak_bytes"] >> 20} MiB, cpu {numbers["cpu_user_ms"]:.0f} ms, pids_peak {numbers["pids_peak"]}'


def out_of_memory():
    receipt = execute('hoard = []\nwhile True: hoard.append(bytearray(1 << 22))', '--memory', '64M', '--timeout', '60',
                      expect='out_of_memory')
    assert receipt['limits']['hit'] == 'memory', receipt['limits']
    execute('1')


def child_out_of_memory():
    """memory.oom.group stays 0: the kernel takes the child that hoards, and the interpreter goes on."""
    receipt = execute('import os\npid = os.fork()\nif pid == 0:\n  hoard = []\n  while True: hoard.append(bytearray(1 << 22))\n'
                      'os.waitpid(pid, 0)[1]', '--memory', '64M', '--timeout', '60', '--policy', 'open')
    assert receipt['result']['repr'] == '9', receipt


def fork_bomb():
    code = ('import os\nrefused = 0\nwhile refused < 200:\n  try:\n    if os.fork() == 0:\n      while True: os.fork()\n'
            '  except OSError: refused += 1\nrefused')
    receipt = execute(code, '--policy', 'open', '--timeout', '60')
    peak, limit = receipt['metrics']['pids_peak'], receipt['limits']['pids']
    assert receipt['result']['repr'] == '200' and (peak is None or peak <= limit + 1), receipt
    return f'pids_peak {peak} of {limit}'


def kill_at_timeout():
    """Children that ignore every signal and left the process group go with the call, by cgroup.kill."""
    code = ('import os, signal, time\nfor n in range(5):\n  if os.fork() == 0:\n    os.setsid()\n'
            '    for s in range(1, 32):\n      try: signal.signal(s, signal.SIG_IGN)\n      except (OSError, ValueError): pass\n'
            '    time.sleep(1000)\ntime.sleep(1000)')
    before = len([p for p in os.listdir('/proc') if p.isdigit()])
    execute(code, '--policy', 'open', '--timeout', '3', expect='timeout')
    # A few of slack: kernel threads come and go.
    wait_for(lambda: len([p for p in os.listdir('/proc') if p.isdigit()]) <= before + 3, 10)
    after = len([p for p in os.listdir('/proc') if p.isdigit()])
    assert after <= before + 3, (before, after)


def with_cgroups(rung):
    check('layers stand, doctor and receipt agree', layers_stand, rung)
    check('limits and members, read from outside', limits_from_outside)
    check('metrics come from the v2 files', metrics)
    check('out of memory is told as such', out_of_memory)
    check('a child out of memory does not end the call', child_out_of_memory)
    check('a fork bomb is bounded', fork_bomb)
    check('a time-out kills all', kill_at_timeout)


# --- places without cgroups, or with odd ones ---

def without_cgroups(rung, words, before=()):
    """The four layers are missing, with a reason that holds `words`; code runs all the same and the receipt says so."""
    document = doctor(before)
    layers = rows(document)
    assert document['rung'] == rung, document['rung']
    assert not [layer for layer in LAYERS if layers[layer]['there']]
    evidence = layers['cgroup_memory']['evidence']
    assert all(word in evidence for word in words), evidence
    receipt = execute('6 * 7', before=before)
    missing = {row['layer']: row for row in receipt['backend']['missing']}
    assert set(LAYERS) <= set(missing), receipt['backend']
    assert all(word in missing['cgroup_memory']['reason'] for word in words), missing
    assert missing['cgroup_memory']['remedy']
    receipt = execute('hoard = []\nwhile True: hoard.append(bytearray(1 << 22))', '--memory', '64M', '--timeout', '60', expect='error',
                      before=before)
    assert receipt['error']['type'] == 'MemoryError', receipt['error']
    return evidence


@contextlib.contextmanager
def group(path, controllers='', kind=''):
    """A group for us to stand in; we leave it and it goes afterwards."""
    made = CGROUP / path
    made.mkdir(parents=True)
    if kind:
        (made / 'cgroup.type').write_text(kind)
    if controllers:
        (made.parent / 'cgroup.subtree_control').write_text(controllers)
    try:
        yield made
    finally:
        (CGROUP / 'cgroup.procs').write_text(str(os.getpid()))
        for below in sorted(made.glob('**/'), reverse=True):
            wait_for(lambda: not listed(below / 'cgroup.procs'), 10)
            below.rmdir()


def entering(made):
    """A command prefix that moves itself into the group first."""
    return ['/bin/sh', '-c', f'echo 0 > {made}/cgroup.procs && exec "$@"', 'sh']


def in_threaded_group():
    with group('odd/threaded', kind='threaded') as made:
        document = doctor(entering(made))
        receipt = execute('1', before=entering(made))
        assert set(LAYERS) <= set(receipt['backend']['layers']), receipt['backend']
        assert rows(document)['cgroup_memory']['there']
    with contextlib.suppress(OSError):
        (CGROUP / 'odd').rmdir()
    return 'the jail is in a group above it'


def crowded_group():
    """A group with other processes in it cannot hand controllers down; root finds room next to it."""
    with group('crowd/inner', '+memory +pids +cpu') as made:
        other = subprocess.Popen(['sleep', '1000'], preexec_fn=lambda: (made / 'cgroup.procs').write_text('0'))
        try:
            receipt = execute('1', before=entering(made))
            assert set(LAYERS) <= set(receipt['backend']['layers']), receipt['backend']
            assert own_group(other.pid) == '/crowd/inner', 'a process that is not ours was moved'
        finally:
            other.kill()
            other.wait()
    wait_for(lambda: not listed(CGROUP / 'crowd/cgroup.procs'), 10)
    (CGROUP / 'crowd').rmdir()


def read_only_cgroups():
    before = ['unshare', '-m', 'sh', '-c', 'mount -o remount,bind,ro /sys/fs/cgroup && exec "$@"', 'sh']
    return without_cgroups('T0', ['Read-only'], before)


def namespaced():
    """A container with a cgroup namespace and a writable mount of its own: its root is no real root and has processes in it."""
    with group('container', '') as made:
        before = entering(made) + ['unshare', '-C', '-m', 'sh', '-c',
                                   'umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && "$@"; exit $?', 'sh']
        pid, receipt = answer(start('exec', '--json', '-c', '6 * 7', before=before))
        assert receipt['status'] == 'ok' and set(LAYERS) <= set(receipt['backend']['layers']), receipt['backend']
    return 'the shell beside it moved into the leaf, too'


def foreign_namespace():
    """A cgroup namespace below a mount of the one outside: the paths do not fit together."""
    with group('foreign/deep', '') as made:
        before = entering(made) + ['unshare', '-C']
        receipt = execute('6 * 7', before=before)
        reason = {row['layer']: row['reason'] for row in receipt['backend']['missing']}
        assert not (CGROUP / 'snipara-supervisor').exists(), 'a group in the wrong place'
    (CGROUP / 'foreign').rmdir()
    assert 'another cgroup namespace' in reason['cgroup_memory'], reason
    return reason['cgroup_memory']


# --- the suite ---

def suite(files, before=(), missing='', rung='', seconds=420):
    """tests/integration and tests/escape through pytest; one line for each file."""
    home = pathlib.Path(f'/tmp/suite-{time.monotonic_ns()}')
    home.mkdir(mode=0o777)
    os.chmod(home, 0o777)
    variables = {'HOME': str(home), 'TMPDIR': str(home), 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8', 'PYTHONDONTWRITEBYTECODE': '1',
                 'SNIPARA_BIN': PROGRAM, 'SNIPARA_TIME_SCALE': SCALE}
    if rung:
        variables['SNIPARA_EXPECT_RUNG'] = rung
    if missing:
        variables['SNIPARA_EXPECT_MISSING'] = missing
    result = home / 'result.xml'
    command = [*before, 'env', '-i', *(f'{k}={v}' for k, v in variables.items()), 'python3', '-m', 'pytest', '-q', '--tb=short',
               '-p', 'no:cacheprovider', '-rs', f'--junitxml={result}', *files]
    try:
        subprocess.run(command, cwd=TESTS, stdin=subprocess.DEVNULL, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        line('FAIL', 'suite', f'not done after {seconds} s')
        return
    if not result.exists():
        line('FAIL', 'suite', 'pytest left no result')
        return
    report(ElementTree.parse(result))


def report(tree):
    table = {}
    for case in tree.iter('testcase'):
        row = table.setdefault(case.get('classname').replace('.', '/') + '.py', [0, 0, 0, 0.0, []])
        skip = case.find('skipped')
        bad = case.find('failure') is not None or case.find('error') is not None
        if skip is not None and not (skip.get('message') or '').startswith('kernel cannot'):
            bad = True
        row[1 if bad else 2 if skip is not None else 0] += 1
        row[3] += float(case.get('time', 0))
        if bad:
            row[4].append(case.get('name'))
    for name, (passed, failed, skipped, seconds, names) in sorted(table.items()):
        line('FAIL' if failed or not passed else 'ok', name,
             f'{passed} passed, {failed} failed, {skipped} skipped, {seconds:.0f} s {" ".join(names)}'.rstrip())
    if not table:
        line('FAIL', 'suite', 'no test ran')


# --- sections ---

def as_user(*command):
    return ['setpriv', f'--reuid={USER}', f'--regid={USER}', '--clear-groups', *command]


def part(name, before):
    """A part of a section somewhere else: its lines are printed as they come."""
    command = [*before, sys.executable, os.path.abspath(__file__), '--part', name]
    status = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    if status != 0:
        line('FAIL', name, f'the part ended with status {status}')


def unit(*properties):
    return ['systemd-run', '--wait', '--pipe', '--collect', '--quiet', '--service-type=exec',
            f'--setenv=PATH={os.environ["PATH"]}', f'--setenv=SNIPARA_TIME_SCALE={SCALE}',
            *(f'--property={p}' for p in properties)]


def section_root():
    with_cgroups('T0')


def section_odd():
    check('in a threaded group', in_threaded_group)
    check('beside other processes in a group', crowded_group)
    check('read-only cgroups', read_only_cgroups)
    check('in a cgroup namespace with a mount of its own', namespaced)
    check('in a cgroup namespace below a foreign mount', foreign_namespace)


def section_user():
    part('user', as_user())


def section_suite():
    suite(['tests/integration/' + name for name in ('test_exec.py', 'test_doctor.py', 'test_walls.py', 'test_probes.py', 'test_attacks.py',
                                                     'test_sessions.py')])


def section_subset():
    suite(['tests/integration/' + name for name in ('test_exec.py', 'test_doctor.py', 'test_walls.py')])


def section_session():
    """Root in a unit without Delegate=, as in a login shell."""
    with_cgroups('T0')


def section_delegated():
    part('delegated', unit(f'User={USER}', 'Delegate=yes'))


def section_remedy():
    remedy = None

    def printed():
        nonlocal remedy
        _, receipt = answer(start('exec', '--json', '-c', '1', before=as_user()))
        remedy = {row['layer']: row['remedy'] for row in receipt['backend']['missing']}['cgroup_memory']
        found = re.search(r'systemd-run --user --scope -p Delegate=yes(?= snipara-sandbox)', remedy)
        assert found, remedy
        remedy = found[0].split()
    check('a receipt names the remedy', printed)
    if not remedy:
        return
    subprocess.run(['loginctl', 'enable-linger', str(USER)], check=False)
    wait_for(lambda: os.path.exists(f'/run/user/{USER}/systemd/private'), 60)
    part('remedied', as_user('env', f'XDG_RUNTIME_DIR=/run/user/{USER}', *remedy))


def section_undelegated():
    part('user', unit(f'User={USER}'))


PARTS = {
    'user': lambda: check('an ordinary user without delegation is T1, honestly', without_cgroups, 'T1', ['Permission denied']),
    'delegated': lambda: with_cgroups('T1'),
    'remedied': lambda: with_cgroups('T1'),
}
SECTIONS = {
    'root': section_root,              # root, a cgroup v2 without systemd
    'odd': section_odd,                # hosts that arrange their groups in another way
    'user': section_user,              # an ordinary user, no delegation
    'suite': section_suite,            # most of tests/integration
    'subset': section_subset,          # a part of it
    'session': section_session,        # below systemd: root in a unit that is not delegated
    'delegated': section_delegated,    # below systemd: User= and Delegate=yes
    'remedy': section_remedy,          # below systemd: what doctor tells a user to type
    'undelegated': section_undelegated,
}


def main(arguments):
    global label
    if arguments[:1] == ['--part']:
        label = f'{arguments[1]}: '
        PARTS[arguments[1]]()
        return
    for name in arguments:
        label = f'{name}: '
        SECTIONS[name]()
    print('guest ended', flush=True)


main(sys.argv[1:])
