"""What the probes of tests/escape look at: one server with two jails, the facts that guest.py found in them, and the same facts
from outside. Everything is made when a probe first asks for it, so that a single row costs no more than it needs."""
import ctypes
import fcntl
import functools
import json
import os
import pathlib
import pty
import resource
import secrets
import signal
import socket
import subprocess
import tempfile
import termios

import sandbox
import watch

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = '/usr/bin/python3'
PRELOAD = ['ctypes', 'fcntl', 'mmap', 'multiprocessing', 'random', 're', 'resource', 'socket', 'struct', 'subprocess', 'tempfile',
           'threading', 'uuid']
POLICY = {
    'name': 'escape', 'description': 'The jail alone, with small limits, for the probes of tests/escape.', 'extends': 'open',
    'widen': True, 'widen_reason': 'the probes need native code, and modules whose random state must be renewed',
    'imports': {'preload': PRELOAD},
    'filesystem': {'session': {'bytes': '8MiB', 'inodes': 1024}, 'tmp': {'bytes': '4MiB', 'inodes': 1024}, 'shm': {'bytes': '4MiB'}},
    'limits': {'pids': 40, 'memory_bytes': '192MiB'},
}
QUIET = {
    'name': 'escape-quiet', 'description': 'The same without programs, as in policy strict.', 'extends': 'escape',
    'seccomp': {'add': json.loads((sandbox.ROOT / 'policies' / 'strict.json').read_text(encoding='utf-8'))['seccomp']['add'][:1]},
}
CANARY = ('escape', f'{os.getpid():08x}{secrets.token_hex(8)}')  # in memory it stands as one word only where it came from outside


def have_numpy():
    return subprocess.run([PYTHON, '-I', '-c', 'import numpy'], stderr=subprocess.DEVNULL, check=False).returncode == 0


def at_start(terminal):
    """In the child that becomes the program: a terminal, ignored and blocked signals, a core limit: what must not reach a jail."""
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


class Program(sandbox.Program):
    """The program under test with a controlling terminal, and with the mutant's number in its environment."""

    def __init__(self, home, mutant):
        super().__init__(home)
        self.terminals = []
        self.extra = {'ESCAPE_CANARY': '-'.join(CANARY), 'ESCAPE_API_KEY': 'secret'}
        if mutant:
            self.extra['SNIPARA_MUTANT'] = str(mutant)
        policies = home / 'config' / 'snipara-sandbox' / 'policies'
        policies.mkdir(parents=True)
        policy = {**POLICY, 'imports': {'preload': PRELOAD + (['numpy.random'] if have_numpy() else [])}}
        for each in (policy, QUIET):
            (policies / f'{each["name"]}.json').write_text(json.dumps(each), encoding='utf-8')

    def start(self, *arguments, env=None, **options):
        return super().start(*arguments, env={**self.extra, **(env or {})}, preexec_fn=self.at_start(), **options)

    def at_start(self):
        """A terminal controls one session only."""
        self.terminals += pty.openpty()
        return functools.partial(at_start, self.terminals[-1])

    def close(self):
        for each in self.terminals:
            os.close(each)


class Scene:
    def __init__(self, mutant=0, only=(), long=False):
        self.mutant, self.only, self.long = mutant, sorted(only), long
        self.mark = f'escape-{os.getpid()}'
        self.key = 0x5e000000 | os.getpid() & 0xffffff
        self.directory = tempfile.TemporaryDirectory(prefix='snipara-escape.')
        self.home = pathlib.Path(self.directory.name)
        self.program = Program(self.home, mutant)
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind('\0' + self.mark)
        self.abstract.listen()
        self.servers = []

    def serve(self, **env):
        server = sandbox.Server(self.program, env=env)
        self.servers.append(server)
        return server

    def source(self, where, make=False, tmp='/tmp', shm='/dev/shm', cwd='/session', only=None):
        names = {'WHERE': where, 'TCP_PORT': self.listener.getsockname()[1], 'ABSTRACT': self.mark, 'SHM_KEY': self.key, 'SHM_MAKE': make,
                 'MARK': self.mark, 'TMP': tmp, 'SHM': shm, 'NEEDLE': CANARY, 'CWD': cwd, 'ONLY': self.only if only is None else only}
        return ''.join(f'{name} = {value!r}\n' for name, value in names.items()) + (HERE / 'guest.py').read_text(encoding='utf-8')

    @functools.cached_property
    def server(self):
        return self.serve()

    def facts(self, session, make):
        only = sorted({*self.only, 32}) if self.only else []
        source = self.source('inside', make, only=only) + '\nimport json\nprint(json.dumps(FINDINGS))\n'
        return json.loads(self.server.call(source, session, expect='ok', policy='escape')['stdout'])

    @functools.cached_property
    def a(self):
        return self.facts('a', True)

    @functools.cached_property
    def b(self):
        assert self.a
        return self.facts('b', False)

    def outside(self, only, make=False, before=(), cwd=None, **options):
        """The same probes in a plain interpreter, started as the program is."""
        for name in ('tmp', 'shm'):
            (self.home / f'outside-{name}').mkdir(exist_ok=True)
        source = self.source('outside', make, str(self.home / 'outside-tmp'), str(self.home / 'outside-shm'),
                             cwd or '/', only=only) + '\nimport json\nprint(json.dumps(FINDINGS))\n'
        environment = sandbox.program_environment(self.home, self.program.extra)
        run = subprocess.run([*before, PYTHON, '-'], input=source.encode(), capture_output=True, env=environment, cwd=self.home / 'work',
                             timeout=60 * sandbox.SCALE, start_new_session=True, preexec_fn=self.program.at_start(),
                             check=False, **options)
        assert run.returncode == 0, run.stderr.decode(errors='replace')[-1000:]
        return json.loads(run.stdout)

    def namespaces(self):
        return {kind: os.readlink(f'/proc/self/ns/{kind}') for kind in watch.NAMESPACES}

    def payload(self, facts):
        """The process of a jail, found by the link of its pid namespace."""
        link = facts['32']['namespaces']['pid']
        for pid in watch.jailed(self.server.pid):
            try:
                if watch.namespace(pid, 'pid') == link and watch.status(pid)['State'][0] != 'Z':
                    return pid
            except OSError:
                pass
        raise AssertionError(f'no process in {link} can be seen from outside')

    def inits(self):
        return [pid for pid in watch.descendants(self.server.pid) if watch.in_other_pid_namespace(pid)
                and watch.status(pid)['NSpid'].split()[-1] == '1']

    def zygotes(self):
        return [pid for pid in watch.descendants(self.server.pid) if '--zygote' in watch.describe(pid)
                and not watch.in_other_pid_namespace(pid)]

    def close(self):
        late = []
        for server in self.servers:
            try:
                if server in sandbox.Server.live:
                    server.close(20)
            except subprocess.TimeoutExpired:
                late.append('a server that did not end')
        below = watch.gone(watch.descendants(os.getpid()), 3 * sandbox.SCALE)
        left = late + [watch.describe(pid) for pid in below if pid in watch.parents()]
        watch.kill(below)
        watch.gone(below, 2)
        watch.remove_cgroups(watch.own_cgroups())
        remove_segment(self.key)
        for file in pathlib.Path('/dev/shm').glob(f'{self.mark}*'):
            file.unlink()
        self.listener.close()
        self.abstract.close()
        self.program.close()
        self.directory.cleanup()
        return left


def remove_segment(key):
    """A System V segment that a jail without an IPC namespace of its own left on the host."""
    libc = ctypes.CDLL(None)
    number = libc.shmget(key, 0, 0)
    if number >= 0:
        libc.shmctl(number, 0, None)
