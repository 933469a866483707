"""The syscall matrix in a real jail: every number from 0 to 600 with all arguments ones, and the edges of every argument rule. What
the jail answers must be what tests/golden says, which tests/unit/test_syscalls.c holds against the emitted filters. Denials are
also counted by the kernel's listener, so an EPERM of the call itself is not taken for one of the filter. The twin makes the same
calls outside."""
import collections
import json
import os
import re
import subprocess
import sys

import pytest

import sandbox

ARCH = os.uname().machine
GOLDEN = sandbox.ROOT / 'tests' / 'golden'
# With sanitizers one policy of each filter will do: what they look at is our code, and default, open and validation have one filter.
POLICIES = ('default', 'strict') if sandbox.SANITIZED else ('default', 'strict', 'open', 'validation')
KINDS = 60  # denials of different kinds that one jail can count (jail/denials.h)
ONES = [(1 << 64) - 1] * 6
# Allowed calls that answer EPERM of their own: RLIMIT_MEMLOCK is 0, and F_ADD_SEALS wants a writable descriptor. That it was not the
# filter is seen in the listener's count.
EPERM_OF_ITS_OWN = {'mlock', 'fcntl'}
# The kernel itself lets these past every filter (kernel/seccomp.c, seccomp_uprobe_exception): only trampolines that it mapped may
# make them, and any other caller gets SIGILL or ENXIO.
PAST_EVERY_FILTER = {335, 336} if ARCH == 'x86_64' else set()

# One call in a child of its own: it may block, end the process, or fork. The first word that comes back is the answer.
ATTEMPT = r'''
import ctypes, errno, os, select, signal
call = ctypes.CDLL(None, use_errno=True).syscall
call.restype, call.argtypes = ctypes.c_long, [ctypes.c_long] + [ctypes.c_ulong] * 6
def attempt(number, arguments, bound=10):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        ctypes.set_errno(0)
        value = call(number, *arguments)
        code = ctypes.get_errno()
        os.write(writer, (errno.errorcode.get(code, f'errno {code}') if value == -1 else 'returned').encode() + b' ')
        os._exit(0)
    os.close(writer)
    answer = b''
    poller = select.poll()
    poller.register(reader, select.POLLIN)
    word = 'blocked'
    if poller.poll(bound * 1000):
        answer = os.read(reader, 100)
        word = answer.split(b' ')[0].decode()
        if not answer:
            status = os.waitpid(pid, 0)[1]
            pid = 0
            word = f'exited {os.WEXITSTATUS(status)}' if os.WIFEXITED(status) else (
                'killed' if os.WTERMSIG(status) == signal.SIGSYS else f'signal {os.WTERMSIG(status)}')
    if pid:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(reader)
    return word
'''


def golden(kind, policy):
    """[(number, name, arguments, outcome)]"""
    path = GOLDEN / f'{kind}-{policy}-{ARCH}.txt'
    if not path.exists():
        pytest.skip(f'kernel cannot: no golden file for the architecture {ARCH}')
    rows = []
    for line in path.read_text(encoding='ascii').splitlines():
        words = line.split(' ')
        rows.append((int(words[0]), words[1], [int(word, 16) for word in words[2:-1]] or ONES, words[-1]))
    return rows


def all_rows(policy):
    return golden('syscalls', policy) + golden('arguments', policy)


def chunks(rows):
    """So few denials each that every one has a row of its own in the jail's table."""
    chunk, denied = [], 0
    for row in rows:
        if denied == KINDS:
            yield chunk
            chunk, denied = [], 0
        chunk.append(row)
        denied += row[3] == 'EPERM'
    yield chunk


def seccomp_of(program, name):
    code, out, err = program.run('policy', 'show', name, '--json')
    assert code == 0, err
    return json.loads(out)['seccomp']


def with_ctypes(program, policy):
    """The name of a policy with the very same seccomp rules that lets code use ctypes."""
    directory = program.home / 'config' / 'snipara-sandbox' / 'policies'
    directory.mkdir(parents=True)
    shipped = json.loads((sandbox.ROOT / 'policies' / f'{policy}.json').read_text(encoding='utf-8'))
    (directory / 'matrix.json').write_text(json.dumps({'name': 'matrix', 'extends': 'open',
                                                       'seccomp': shipped.get('seccomp', {'profile': 'default'})}))
    assert seccomp_of(program, 'matrix') == seccomp_of(program, policy)
    return 'matrix'


class Jail:
    """What the jail of one policy answered to each row, and the denials that its listener counted, by name."""

    def __init__(self, home, policy):
        self.program = sandbox.Program(home)
        name = with_ctypes(self.program, policy)
        server = self.program.serve()
        self.rows, self.answers, self.counted = all_rows(policy), [], collections.Counter()
        for number, chunk in enumerate(chunks(self.rows)):
            # whether an allowed call blocks or is only slow is no matter
            calls = [(row[0], row[2], 0.4 if row[3] == 'allowed' else 20 * sandbox.SCALE) for row in chunk]
            receipt = server.call(ATTEMPT + f'calls = {calls!r}\n[attempt(*each) for each in calls]', f'chunk-{number}', expect='ok', policy=name,
                                  timeout=min(60 * sandbox.SCALE, 300), within=90)
            self.answers += receipt['result']['json']
            self.notified = 'seccomp_notify' in receipt['backend']['layers']
            for row in receipt['denied']:
                self.counted[re.sub(r'\(.*', '', row['what'])] += row['count']
        assert server.close() == 0
        version = json.loads(self.program.run('version', '--json')[1])['libraries']['libseccomp']
        self.same_library = version.startswith('2.5.')  # which the golden files were made with


@pytest.fixture(scope='module', params=POLICIES)
def jail(request, tmp_path_factory):
    return Jail(tmp_path_factory.mktemp(f'matrix-{request.param}'), request.param)


@pytest.fixture(scope='module')
def outside():
    """(number, arguments) -> answer without a filter, for the rows of all policies. In namespaces of its own, so that the twin
    leaves nothing on this machine, and never as its root."""
    calls = {(row[0], tuple(row[2])) for policy in POLICIES for row in all_rows(policy)}
    code = ATTEMPT + f'import json, sys\ncalls = {sorted(calls)!r}\nprint(json.dumps([attempt(*each, 1.5) for each in calls]))'
    command = ['unshare', '--user', '--ipc', '--net', '--uts', '--pid', '--fork', '--kill-child', sys.executable, '-c', code]
    if sandbox.IS_ROOT:
        command = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', *command]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, stdin=subprocess.DEVNULL, start_new_session=True,
                         cwd='/')
    return dict(zip(sorted(calls), json.loads(run.stdout)))


def test_every_call_answers_as_the_golden_file_says(jail, outside):
    wrong = []
    for (number, name, arguments, expected), answer in zip(jail.rows, jail.answers):
        there = outside[number, tuple(arguments)]
        if expected == 'allowed':
            # an allowed call answers for itself: anything but what a filter would say, unless it says that without a filter too
            right = answer not in ('EPERM', 'ENOSYS', 'killed') or answer == there or (
                answer == 'EPERM' and name in EPERM_OF_ITS_OWN and jail.notified)
        else:
            right = answer == expected or (name == '-' and not jail.same_library and answer != 'killed') or (
                number in PAST_EVERY_FILTER and answer == there in ('signal 4', 'ENXIO'))
        if not right:
            wrong.append(f'{number} {name} {[hex(a) for a in arguments]}: {answer}, not {expected}; outside: {there}')
    assert len(jail.answers) == len(jail.rows) > 800
    assert not wrong, '\n'.join(wrong)


def test_the_listener_counted_exactly_the_denied_calls(jail):
    if not jail.notified:
        pytest.skip('kernel cannot: no seccomp user notification here')
    expected = collections.Counter(name for _, name, _, outcome in jail.rows if outcome == 'EPERM')
    assert jail.counted == expected


def test_the_probe_can_tell_outside(outside):
    """Without a filter most denied calls answer something else, and none of those that kill in a jail kills."""
    rows = [row for row in golden('syscalls', 'default') if row[3] != 'allowed' and row[1] != '-']
    differ = [name for number, name, arguments, outcome in rows if outside[number, tuple(arguments)] != outcome]
    assert len(differ) > len(rows) * 2 // 3, sorted({row[1] for row in rows} - set(differ))
    assert {'mount', 'ptrace', 'socket', 'unshare', 'setns', 'io_uring_setup', 'keyctl', 'bpf', 'clone3', 'chroot'} <= set(differ)
    killed = [row for row in rows if row[3] == 'killed']
    assert len(killed) == 6
    assert not [row for row in killed if outside[row[0], tuple(row[2])] == 'killed']


# x32 numbers have bit 30; int 0x80 enters as i386, whose number 20 is getpid.
FOREIGN = ATTEMPT + r'''
import mmap
numbers = [attempt(0x40000000 + n, [0] * 6) for n in (0, 1, 20, 39, 59, 101, 165, 512, 520, 547)]
code = mmap.mmap(-1, 4096, prot=7)
code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
enter = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
pid = os.fork()
if pid == 0:
    os._exit(0 if enter() == os.getpid() else 1)
status = os.waitpid(pid, 0)[1]
answer = [numbers, "killed" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS else str(status)]
'''


@pytest.mark.skipif(ARCH != 'x86_64', reason='kernel cannot: x32 and int 0x80 belong to x86_64')
def test_other_ways_into_the_kernel_are_closed(program):
    inside = program.exec_json(FOREIGN + 'answer', '--policy', 'open', expect='ok')['result']['json']
    assert inside == [['ENOSYS'] * 10, 'killed']


@pytest.mark.skipif(ARCH != 'x86_64', reason='kernel cannot: x32 and int 0x80 belong to x86_64')
def test_int_0x80_works_outside():
    run = subprocess.run([sys.executable, '-c', FOREIGN + 'print(answer[1])'], capture_output=True, text=True, timeout=60, check=True)
    if run.stdout.strip() == '139' or 'signal 11' in run.stdout:
        pytest.skip('kernel cannot: it was built without 32-bit entry')
    assert run.stdout.strip() == '0'
