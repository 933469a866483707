"""Attacks from inside, each with a positive twin outside: the same code must succeed there, so that a broken probe cannot pass."""
import json
import os
import pathlib
import socket
import subprocess
import sys

import pytest

import sandbox
import watch

# name: (code that leaves True in `won` when the attack succeeds, needs root for its twin)
PREPARE = 'import ctypes, errno, mmap, os, signal, socket, struct\nlibc = ctypes.CDLL(None, use_errno=True)\n' + '''
def must(value):
    if value < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value
def in_child(action):
    pid = os.fork()
    if pid == 0:
        try: action(); os._exit(0)
        except OSError as e: os._exit(e.errno)
        except BaseException: os._exit(250)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status): raise OSError(1000 + os.WTERMSIG(status), "killed")
    if os.WEXITSTATUS(status): raise OSError(os.WEXITSTATUS(status), os.strerror(os.WEXITSTATUS(status)))
'''
ATTACKS = {
    'read a file that only root may read': ('open("/etc/shadow").read(1)', True),
    'read a file of the host': ('open(HOST_FILE).read(1)', False),
    'write below /usr': ('open("/usr/lib/snipara-probe", "w").close(); os.unlink("/usr/lib/snipara-probe")', True),
    'write below /etc': ('open("/etc/snipara-probe", "w").close(); os.unlink("/etc/snipara-probe")', True),
    'read the environment of pid 1': ('assert open(f"/proc/{PID_ONE}/environ", "rb").read(1)', False),
    'see the processes of the host': ('assert str(VICTIM) in os.listdir("/proc")', False),
    'read /proc/sys': ('open("/proc/sys/kernel/hostname").read()', False),
    'read /sys': ('assert os.listdir("/sys")', False),
    'see cgroup files': ('assert os.listdir("/sys/fs/cgroup")', False),
    'connect over IPv4': ('socket.create_connection(("127.0.0.1", TCP_PORT), 3).close()', False),
    'send over UDP': ('socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", TCP_PORT))', False),
    'connect to an abstract unix socket': ('s = socket.socket(socket.AF_UNIX); s.connect("\\0" + ABSTRACT)', False),
    'connect to a unix socket of the host': ('s = socket.socket(socket.AF_UNIX); s.connect(HOST_SOCKET)', False),
    'signal a process of the host': ('os.kill(VICTIM, 0)', False),
    'mount a tmpfs': ('in_child(lambda: (must(libc.unshare(0x20000)), must(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))))', True),
    'make a user namespace': ('in_child(lambda: must(libc.unshare(0x10000000)))', False),
    'make a network namespace': ('in_child(lambda: must(libc.unshare(0x40000000)))', True),
    'trace a child': ('''
def traced():
    pid = os.fork()
    if pid == 0:
        signal.pause()
    try: must(libc.ptrace(16, pid, None, None)); os.waitpid(pid, 0)
    finally: os.kill(pid, 9)
in_child(traced)''', False),
    'change the root': ('in_child(lambda: os.chroot("/"))', True),
    'set the host name': ('in_child(lambda: (must(libc.unshare(0x4000000)), socket.sethostname("probe")))', True),
    'become another user': ('in_child(lambda: os.setuid(1234))', True),
    'make a device node': ('os.mknod("/tmp/snipara-null", 0o20666, os.makedev(1, 3)); os.unlink("/tmp/snipara-null")', True),
    'open a raw socket': ('socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()', True),
    'raise a limit': ('import resource; in_child(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (90, 90)) or '
                      'resource.setrlimit(resource.RLIMIT_CORE, (1, 1)))', True),
    'run a program from a writable directory': ('''
path = "/tmp/snipara-probe.sh"
open(path, "w").write("#!/bin/sh\\nexit 0\\n"); os.chmod(path, 0o755)
import subprocess
try: assert subprocess.run([path]).returncode == 0
finally: os.unlink(path)''', False),
    'use the keyring': ('must(libc.syscall(248, b"user", b"snipara-probe", b"x", 1, -2))', False),
}
RUN = '''
report = {}
for name, code in ATTACKS.items():
    try:
        exec(code, globals())
        report[name] = "succeeded"
    except BaseException as e:
        report[name] = f"{type(e).__name__} {getattr(e, 'errno', None)} {e}"
'''


@pytest.fixture(scope='module')
def targets(tmp_path_factory):
    """What the attacks aim at: a listener, two unix sockets, a file and a process, all of this host."""
    home = tmp_path_factory.mktemp('targets')
    home.chmod(0o755)
    listener = socket.create_server(('127.0.0.1', 0))
    abstract, by_path = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    name = f'snipara-probe-{os.getpid()}'
    abstract.bind('\0' + name)
    abstract.listen()
    by_path.bind(str(home / 'socket'))
    by_path.listen()
    (home / 'file').write_text('host canary')
    victim = subprocess.Popen(['sleep', '600'])
    watch.POPEN.add(victim.pid)
    watch.KEPT.add(victim.pid)
    yield {'HOST_FILE': str(home / 'file'), 'VICTIM': victim.pid, 'TCP_PORT': listener.getsockname()[1], 'ABSTRACT': name,
           'HOST_SOCKET': str(home / 'socket')}
    assert victim.poll() is None, 'the victim process was killed'
    watch.KEPT.discard(victim.pid)
    victim.kill()
    victim.wait()
    for each in (listener, abstract, by_path):
        each.close()


def source(targets, pid_one):
    names = ''.join(f'{name} = {value!r}\n' for name, value in {**targets, 'PID_ONE': pid_one}.items())
    attacks = {name: code for name, (code, _) in ATTACKS.items()}
    return PREPARE + names + f'ATTACKS = {attacks!r}\n' + RUN


@pytest.fixture(scope='module')
def outside(targets):
    """The same code outside the jail. pid 1 may be out of reach there, too: the victim stands for it."""
    run = subprocess.run([sys.executable, '-c', source(targets, targets['VICTIM']) + '\nimport json; print(json.dumps(report))'], text=True,
                         capture_output=True, timeout=60, check=True)
    return json.loads(run.stdout)


@pytest.fixture(scope='module')
def inside(targets, tmp_path_factory):
    """Under policy open: no language rule stands before the walls, so the jail alone has to hold."""
    receipt = sandbox.Program(tmp_path_factory.mktemp('inside')).exec_json(source(targets, 1) + '\nreport', '--policy', 'open', expect='ok')
    return receipt['result']['json']


@pytest.mark.parametrize('name', ATTACKS)
def test_attack_fails_inside(inside, name):
    assert inside[name] != 'succeeded'
    kind = inside[name].split()[0]
    assert kind in ('PermissionError', 'OSError', 'FileNotFoundError', 'ConnectionRefusedError', 'ProcessLookupError',
                    'AssertionError', 'NotADirectoryError'), inside[name]
    assert kind != 'OSError' or inside[name].split()[1].isdigit(), inside[name]


@pytest.mark.parametrize('name', [name for name, (_, root) in ATTACKS.items() if sandbox.IS_ROOT or not root])
def test_positive_twin_succeeds_outside(outside, name):
    if outside[name] != 'succeeded' and name in ('use the keyring', 'mount a tmpfs', 'set the host name', 'make a network namespace',
                                                 'make a user namespace', 'open a raw socket'):
        pytest.skip(f'kernel cannot: also outside the jail: {outside[name]}')
    assert outside[name] == 'succeeded'


def denied(receipt):
    return {(row['layer'], row['what']): row['count'] for row in receipt['denied']}


def test_denied_system_calls_are_counted(program):
    code = ('import socket\nfor _ in range(3):\n  try: socket.socket(socket.AF_INET)\n  except OSError as e: print(type(e).__name__)')
    receipt = program.exec_json(code, expect='ok')
    if 'seccomp_notify' not in receipt['backend']['layers']:
        pytest.skip('kernel cannot: no seccomp user notification here')
    assert denied(receipt)[('seccomp', 'socket(AF_INET)')] == 3, receipt['denied']


def test_denied_imports_are_counted(program):
    receipt = program.exec_json('for _ in range(2):\n  try: import ctypes\n  except ImportError as e: print(e)', expect='ok')
    assert denied(receipt)[('import', 'ctypes')] == 2
    assert 'ctypes' in receipt['stdout'] and 'default' in receipt['stdout'], 'the message names module and policy'
    receipt = program.exec_json('import ctypes', expect='error')
    assert receipt['error']['type'] in ('ImportError', 'ModuleNotFoundError')


def test_a_flood_of_denied_calls_is_bounded(program):
    code = 'import os\nfor n in range(20000):\n  try: os.chroot("/")\n  except OSError: pass\n"done"'
    receipt = program.exec_json(code, '--timeout', 60, expect='ok', timeout=90)
    assert len(receipt['denied']) <= 65
    if 'seccomp_notify' in receipt['backend']['layers']:
        assert denied(receipt).get(('seccomp', 'chroot'), 0) == 20000, receipt['denied']


def test_nothing_was_written_outside(inside):
    for path in ('/usr/lib/snipara-probe', '/etc/snipara-probe', '/tmp/snipara-null', '/tmp/snipara-probe.sh'):
        assert not pathlib.Path(path).exists(), path
