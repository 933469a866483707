"""Public faults of other sandboxes, one test each: the attack fails here, and its twin shows that the attack works outside or that the
probe can see what it looks for. CVE-2026-30892 (numbers) is in test_cve_2026_30892.py."""
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import pathlib
import pty
import select
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import termios
import tty

import pytest

import sandbox
import watch

ERRORS = '''import errno, fcntl, os
def attempt(action):
    try: value = action()
    except OSError as e: return errno.errorcode.get(e.errno, str(e.errno))
    return value if isinstance(value, (int, str, list)) else "done"
'''
# Statuses that a closed way may answer with; "done" or a number is a success of the attack.
CLOSED = {'EPERM', 'EACCES', 'EROFS', 'ENOENT', 'ENXIO', 'ENOTDIR', 'ETXTBSY', 'EBADF', 'ENOSYS', 'EXDEV', 'ELOOP'}


def inside(program, code, *options, policy='open', **more):
    return program.exec_json(code + '\nanswer', '--policy', policy, *options, expect='ok', **more)['result']['json']


def outside(code, command=(sys.executable,), **options):
    """The same code without a jail."""
    run = subprocess.run([*command, '-c', code + '\nimport json; print(json.dumps(answer))'], capture_output=True, text=True, timeout=60,
                         check=True, **options)
    return json.loads(run.stdout)


def add_policy(program, name, **members):
    directory = program.home / 'config' / 'snipara-sandbox' / 'policies'
    directory.mkdir(parents=True, exist_ok=True)
    document = {'name': name, 'extends': 'open', 'widen': True, 'widen_reason': 'a test', **members}
    (directory / f'{name}.json').write_text(json.dumps(document))


def pyhost_path():
    named = os.environ.get('SNIPARA_SANDBOX_PYHOST')
    return pathlib.Path(named or pathlib.Path(sandbox.PROGRAM).resolve().parent.parent / 'libexec' / 'snipara-sandbox' / 'snipara-pyhost')


@pytest.fixture
def open_directory():
    """A directory that every user can walk to, unlike a test's own; a jail's user is nobody's."""
    with tempfile.TemporaryDirectory(dir='/tmp', prefix='snipara-faults-') as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


# --- terminals ---

TYPE = ERRORS + '''
def type_into(fd): return attempt(lambda: fcntl.ioctl(fd, 0x5412, b"!"))
paths = ("/dev/tty", "/dev/stdin", "/proc/self/fd/0", "/dev/pts/0", "/dev/console")
answer = [type_into(fd) for fd in range(4)] + [attempt(lambda: type_into(os.open(p, os.O_RDWR | os.O_NOCTTY))) for p in paths]
'''


class Terminal:
    """A pseudo terminal that a child has as its controlling one; what was typed into it can be read at its end."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        self.options = {'stdin': self.slave, 'preexec_fn': lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)}

    def typed(self):
        ready = select.select([self.slave], [], [], 0.2)[0]
        return os.read(self.slave, 100) if ready else b''

    def close(self):
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal():
    made = Terminal()
    yield made
    made.close()


def test_cve_2017_5226_tiocsti(program, terminal):
    """bubblewrap: code in the sandbox typed commands into the terminal that it was started from (ioctl TIOCSTI)."""
    process = program.start('exec', '--json', '--policy', 'open', '-c', TYPE + 'answer', **terminal.options)
    out, err = process.communicate(timeout=60)
    answer = sandbox.validate(json.loads(out))['result']['json']
    assert answer[:4] == ['EPERM'] * 4, (answer, err)
    assert set(answer[4:]) <= CLOSED, answer
    assert terminal.typed() == b''
    # outside: with privilege, or before Linux 6.2, it is typed; else the terminal itself says EIO, so the request reached it
    twin = outside(TYPE, start_new_session=True, **terminal.options)
    assert twin[0] in ('done', 'EIO'), twin
    assert terminal.typed() != b'' or twin[0] == 'EIO'


HIGH_BITS = ERRORS + '''
import ctypes
ioctl = ctypes.CDLL(None, use_errno=True).ioctl
ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
def request(number, fd):
    result = ctypes.c_int(-1)
    done = ioctl(fd, number, ctypes.addressof(result))
    return result.value if done == 0 else errno.errorcode[ctypes.get_errno()]
reader, writer = os.pipe()
os.write(writer, b"123")
highs = [1 << 32, 1 << 63, 0xffffffff << 32]
answer = [request(0x541b, reader), [request(0x541b | h, reader) for h in highs], [request(n | h, 0) for n in (0x5412, 0x541c) for h in [0, *highs]]]
'''


def test_cve_2019_10063_high_bits(program):
    """flatpak: the filter compared 64 bits of the ioctl request, the kernel reads 32, so TIOCSTI with a high bit set passed."""
    allowed, allowed_high, terminal_requests = inside(program, HIGH_BITS)
    assert allowed == 3, 'FIONREAD itself is allowed'
    assert allowed_high == ['EPERM'] * 3
    assert terminal_requests == ['EPERM'] * 8
    assert outside(HIGH_BITS)[1] == [3, 3, 3], 'the kernel does not look at the high bits'


# --- what leads to the host's files ---

EXE = ERRORS + '''
links = ["/proc/self/exe", "/proc/1/exe", "/proc/thread-self/exe"]
def through_descriptor(link, mode):
    fd = os.open(link, os.O_PATH)
    return os.open(f"/proc/self/fd/{fd}", mode) and "done"
answer = {}
for link in links:
    answer[link] = [attempt(f) for f in (
        lambda: os.open(link, os.O_RDWR) and "done", lambda: os.open(link, os.O_WRONLY | os.O_TRUNC) and "done",
        lambda: through_descriptor(link, os.O_RDWR), lambda: os.chmod(link, 0o777), lambda: os.chown(link, os.getuid(), os.getgid()),
        lambda: os.utime(link, (1, 1)), lambda: os.truncate(link, 0), lambda: os.setxattr(link, "user.snipara", b"x"),
        lambda: os.link(link, "/session/linked", follow_symlinks=True))]
'''


def state_of(path):
    status = path.stat()
    return (hashlib.sha256(path.read_bytes()).hexdigest(), status.st_mode, status.st_uid, status.st_mtime_ns, status.st_nlink, os.listxattr(path))


def test_cve_2019_5736_own_program(program, open_directory):
    """runc: a container overwrote the host's runc through /proc/self/exe. The programs here belong to the user who starts them."""
    programs = [open_directory / name for name in ('snipara-sandbox', 'snipara-pyhost')]
    shutil.copy(shutil.which(sandbox.PROGRAM), programs[0])
    shutil.copy(pyhost_path(), programs[1])
    before = [state_of(path) for path in programs]
    answer = inside(program, EXE, env={'SNIPARA_SANDBOX_PYHOST': str(programs[1])})
    run = subprocess.run([programs[0], 'exec', '--policy', 'open', '-'], input=EXE + 'answer', text=True, capture_output=True, timeout=60,
                         check=True, env=sandbox.program_environment(program.home, {'SNIPARA_SANDBOX_PYHOST': str(programs[1])}))
    assert 'ETXTBSY' in run.stdout or 'EACCES' in run.stdout
    for link, results in answer.items():
        assert set(results) <= CLOSED, (link, results)
    assert [state_of(path) for path in programs] == before
    victim = open_directory / 'sleep'  # the twin: a program of one's own, by the same link
    shutil.copy(shutil.which('sleep'), victim)
    process = subprocess.Popen([victim, '60'])
    watch.POPEN.add(process.pid)
    was = state_of(victim)
    os.chmod(f'/proc/{process.pid}/exe', 0o700)
    held = os.open(f'/proc/{process.pid}/exe', os.O_PATH)
    process.kill()
    process.wait()
    os.close(os.open(f'/proc/self/fd/{held}', os.O_WRONLY | os.O_TRUNC))
    os.close(held)
    assert state_of(victim) != was and victim.stat().st_size == 0


LEAK = ERRORS + '''
import stat
def look(fd):
    directory = stat.S_ISDIR(os.fstat(fd).st_mode)
    return ("directory" if directory else "other") + " " + str(attempt(lambda: os.open(f"/proc/self/fd/{fd}/" + NAME, os.O_RDONLY) and "leaked"))
answer = [os.getcwd(), [[fd, look(fd)] for fd in range(4096) if attempt(lambda: os.fstat(fd) and "done") == "done"],
          attempt(lambda: os.open("/".join([".."] * 30) + PATH, os.O_RDONLY) and "leaked")]
'''


def test_cve_2024_21626_leaked_descriptor(program, open_directory):
    """runc: a descriptor of the host's /sys/fs/cgroup stayed open, and a working directory of /proc/self/fd/N led out by it."""
    (open_directory / 'canary').write_text('of the host')
    directory = os.open(open_directory, os.O_RDONLY | os.O_DIRECTORY)
    code = f'NAME, PATH = "canary", {str(open_directory / "canary")!r}\n' + LEAK
    try:
        process = program.start('exec', '--json', '--policy', 'open', '-c', code + 'answer', pass_fds=(directory,),
                                preexec_fn=lambda: os.fchdir(directory))
        out = process.communicate(timeout=60)[0]
        where, descriptors, upwards = sandbox.validate(json.loads(out))['result']['json']
        twin = outside(code, pass_fds=(directory,), preexec_fn=lambda: os.fchdir(directory))
    finally:
        os.close(directory)
    assert where == '/session'
    assert [fd for fd, _ in descriptors] == [0, 1, 2, 3] and not [text for _, text in descriptors if text.startswith('directory')]
    assert upwards == 'ENOENT'
    assert dict(twin[1])[directory] == 'directory leaked' and twin[2] == 'leaked'


@pytest.fixture
def root(program, open_directory):
    """A root directory as an image would bring it, and a place of the host that its links aim at."""
    made = open_directory / 'root'
    for name in ('proc', 'dev', 'tmp', 'session', 'etc', 'usr/lib'):
        (made / name).mkdir(parents=True)
    (open_directory / 'host').mkdir()
    (open_directory / 'host' / 'canary').write_text('of the host')
    add_policy(program, 'rooted', filesystem={'rootfs': str(made), 'mounts': []})
    return made


def refuses_link(program, root, name):
    target = root.parent / 'host'
    (root / name).rmdir()
    (root / name).symlink_to(target)
    assert os.listdir(root / name) == ['canary'], 'the twin: outside the link is followed'
    receipt = program.exec_json('print("ran")', '--policy', 'rooted', expect='refused')
    assert f'/{name} is a symbolic link' in receipt['error']['message'], receipt['error']
    assert os.listdir(target) == ['canary'] and (target / 'canary').read_text() == 'of the host'


def test_cve_2025_31133_masked_paths(program, root):
    """runc: /dev/null of an image was a link, and what was bound or masked through it was a file of the host."""
    for name in ('null', 'zero', 'urandom'):
        (root / 'dev' / name).symlink_to(root.parent / 'host' / 'canary')
    assert (root / 'dev' / 'null').read_text() == 'of the host', 'the twin: outside the link is followed'
    code = ('import os, stat\nseen = [os.stat("/dev/" + name) for name in ("null", "zero", "urandom")]\nopen("/dev/null", "w").write("over")\n'
            'answer = [[stat.S_ISCHR(s.st_mode), os.major(s.st_rdev), os.minor(s.st_rdev)] for s in seen]')
    assert inside(program, code, policy='rooted') == [[True, 1, 3], [True, 1, 5], [True, 1, 9]]
    assert (root.parent / 'host' / 'canary').read_text() == 'of the host'
    refuses_link(program, root, 'session')


def test_cve_2025_52565_dev_console(program, root):
    """runc: the bind of /dev/console followed a link of the image before the root was changed."""
    consoles = ERRORS + 'answer = [attempt(lambda: os.stat(p) and "there") for p in ("/dev/console", "/dev/pts", "/dev/ptmx", "/dev/tty")]'
    assert set(inside(program, consoles, policy='rooted')) == {'ENOENT'}
    assert 'there' in outside(consoles) or 'done' in outside(consoles)
    refuses_link(program, root, 'dev')


PROC = ERRORS + '''
paths = ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches", "/proc/kcore", "/proc/keys", "/proc/timer_list"]
answer = [[attempt(lambda: os.stat(p) and "there") for p in paths], [attempt(lambda: os.open(p, os.O_WRONLY) and "open") for p in paths]]
'''


def test_cve_2025_52881_fake_proc(program, root):
    """runc: writes meant for /proc/self/attr went to files of the attacker's choice, /proc/sysrq-trigger among them."""
    seen, opened = inside(program, PROC)
    assert set(seen) == {'ENOENT'} and set(opened) == {'ENOENT'}
    assert outside(PROC)[0].count('there') > 2, 'the twin: they are there'
    (root / 'proc' / 'self').mkdir()
    (root / 'proc' / 'self' / 'status').write_text('Seccomp:\t0\n')  # hidden by the true one
    code = 'answer = [line for line in open("/proc/self/status") if line.startswith("Seccomp:")]'
    assert inside(program, code, policy='rooted') == ['Seccomp:\t2\n']
    shutil.rmtree(root / 'proc' / 'self')
    refuses_link(program, root, 'proc')


# --- credentials ---

CAPABILITIES = '''
import subprocess
def sets(text): return {k: int(v, 16) for k, v in (l.split(":") for l in text.splitlines() if l.startswith("Cap"))}
answer = [sets(open("/proc/self/status").read()), sets(subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout)]
'''


def test_cve_2022_27650_inheritable_capabilities(program):
    """crun: containers were started with inheritable capabilities, so a program with file capabilities got them back."""
    raise_them = ['setpriv', '--inh-caps=+chown,+kill']
    if not sandbox.IS_ROOT:
        raise_them = ['unshare', '--user', '--map-root-user', *raise_them]
    twin = outside(CAPABILITIES, command=[*raise_them, sys.executable])
    assert twin[0]['CapInh'] == 0x21 and twin[1]['CapInh'] == 0x21
    start = raise_them if sandbox.IS_ROOT else []  # a user's "root" of a namespace is another rung
    run = subprocess.run([*start, sandbox.PROGRAM, 'exec', '--json', '--policy', 'open', '-'], input=CAPABILITIES + 'answer', text=True,
                         capture_output=True, timeout=60, check=True, env=sandbox.program_environment(program.home))
    for seen in sandbox.validate(json.loads(run.stdout))['result']['json']:
        assert seen == dict.fromkeys(('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'), 0)


# --- the supervisor and what others left in a tree ---

def test_cve_2026_47766_project_files(program, open_directory):
    """crun, and with it a class: the trusted side opened paths in a tree that somebody else made. Here a project's policy files."""
    secret = open_directory / 'secret'
    secret.write_text('{"canary": "6fa2c1"} of the host')
    directory = program.home / 'work' / '.snipara-sandbox' / 'policies'
    directory.mkdir(parents=True)
    (directory / 'linked.json').symlink_to(secret)
    assert 'canary' in (directory / 'linked.json').read_text(), 'the twin: outside the link is followed'
    (directory / 'endless.json').symlink_to('/dev/zero')
    (directory / 'loop.json').symlink_to(directory / 'loop.json')
    (directory / 'folder.json').mkdir()
    os.mkfifo(directory / 'fifo.json')
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        at = os.open(directory, os.O_RDONLY)
        listener.bind(f'/proc/self/fd/{at}/s.json')  # the path itself is too long for an address
        os.close(at)
        for name in ('linked', 'endless', 'loop', 'folder', 'fifo', 's'):
            for command in (('exec', '--policy', name, '-c', 'print("ran")'), ('policy', 'check', directory / f'{name}.json'),
                            ('policy', 'trust', directory / f'{name}.json')):
                code, out, err = program.run(*command, timeout=10)
                assert code in (1, 2, 3, 4) and b'6fa2c1' not in out + err and b'ran' not in out, (command, code, out, err)
    code, out, err = program.run('policy', 'list', '--json', timeout=10)
    assert code == 0 and b'6fa2c1' not in out + err
    assert not (program.home / 'state' / 'snipara-sandbox' / 'trusted-policies').exists(), 'nothing of this was trusted'


PLANT = '''
import os
os.makedirs("/session/output", exist_ok=True)
os.symlink(TARGET, "/session/output/link"); os.symlink(os.path.dirname(TARGET), "/session/output/tree")
os.symlink(TARGET, "/session/data.txt"); os.symlink(os.path.dirname(TARGET), "/session/folder")
os.mkfifo("/session/output/fifo")
with open("/session/output/sparse", "wb") as f:
    try: f.truncate(1 << 50)
    except OSError: pass
at = os.open("/session/output", os.O_RDONLY)
for n in range(200):
    os.mkdir("deep", dir_fd=at); at = os.open("deep", os.O_RDONLY, dir_fd=at)
'''


def test_go_judge_copy_out_symlink(program, open_directory):
    """go-judge: files were copied out of a finished box by name, with the host's rights and following links."""
    canary = open_directory / 'canary'
    canary.write_text('canary-93d1c0')
    link = open_directory / 'link'
    link.symlink_to(canary)
    assert link.read_text() == 'canary-93d1c0', 'the twin: outside the link is followed'
    code, out, err = program.run('exec', '--json', '-', stdin=(f'TARGET = {str(canary)!r}\n' + PLANT).encode())
    receipt = sandbox.validate(json.loads(out))
    assert code == 0 and receipt['status'] == 'ok', receipt
    assert b'canary-93d1c0' not in out + err
    digest = hashlib.sha256(b'canary-93d1c0').hexdigest()
    assert not [row for row in receipt['artifacts'] if digest in json.dumps(row) or row['path'] in ('link', 'fifo') or 'tree' in row['path']]
    assert canary.read_text() == 'canary-93d1c0'


def test_sandlock_112_supervisor_follows_links(program, open_directory):
    """sandlock: the supervisor opened paths for the sandboxed code, with its own rights and following the code's links."""
    open_directory.chmod(0o777)
    canary = open_directory / 'canary'
    canary.write_text('untouched')
    canary.chmod(0o666)
    server = program.serve()
    server.call(f'TARGET = {str(canary)!r}\n' + PLANT, 'links', expect='ok')
    for path in ('data.txt', 'folder/canary', 'folder/new', 'output/link', 'output/tree/canary'):
        receipt = server.call('1', 'links', files=[{'path': path, 'text': 'written through a link'}])
        assert receipt['status'] != 'ok' and receipt['error']['message'], (path, receipt)
    receipt = server.call('open("plain.txt").read()', 'links', expect='ok', files=[{'path': 'plain.txt', 'text': 'arrived'}])
    assert receipt['result']['json'] == 'arrived'
    assert server.close() == 0
    assert canary.read_text() == 'untouched' and os.listdir(open_directory) == ['canary']
    (open_directory / 'folder').symlink_to(open_directory)  # the twin: a plain open follows it
    (open_directory / 'folder' / 'canary').write_text('written through a link')
    assert canary.read_text() == 'written through a link'


# --- what jails share ---

def test_isolate_2_6_shared_dev_shm(program):
    """isolate: /dev/shm was one directory for all boxes and the host."""
    server = program.serve()
    name = f'snipara-{os.getpid()}'
    write = f'import os, stat\nopen("/dev/shm/{name}", "w").write("x")\nsorted(os.listdir("/dev/shm"))'
    assert server.call(write, 'one', expect='ok')['result']['json'] == [name]
    assert server.call('sorted(os.listdir("/dev/shm"))', 'one')['result']['json'] == [name], 'the twin: the same jail sees it'
    assert server.call('import os\nos.listdir("/dev/shm")', 'two')['result']['json'] == []
    assert name not in os.listdir('/dev/shm')
    assert server.call('os.stat("/dev/shm").st_dev', 'one')['result']['json'] != os.stat('/dev/shm').st_dev
    assert server.close() == 0


KEYS = ERRORS + '''
import ctypes, platform
call = ctypes.CDLL(None, use_errno=True).syscall
first = 248 if platform.machine() == "x86_64" else 217
def key(*arguments): return errno.errorcode[ctypes.get_errno()] if call(*arguments) < 0 else "done"
answer = [key(first, b"user", b"snipara-fault", b"x", 1, -2), key(first + 1, b"user", b"snipara-fault", None, 0), key(first + 2, 0, -3, 1),
          attempt(lambda: __import__("socket").socket(40, 1) and "done"), attempt(lambda: fcntl.fcntl(os.open("/usr/bin/env", os.O_RDONLY), 1024, 0) and "done")]
'''
LOCK = '''
import fcntl, os
held = [os.open(d + "/lock", os.O_RDWR | os.O_CREAT) for d in ("/session", "/tmp", "/dev/shm")]
for fd in held: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
try: fcntl.flock(os.open("/session/lock", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB); answer = "shared"
except BlockingIOError: answer = "held"
'''


def test_isolate_2_4_keyring_vsock_locks(program):
    """isolate: boxes met each other in objects without a namespace: keyrings, vsock, locks on shared files."""
    assert inside(program, KEYS) == ['EPERM'] * 5
    twin = outside(KEYS)
    if twin[0] in ('EPERM', 'ENOSYS'):
        pytest.skip('kernel cannot: keyrings are closed outside the jail, too')
    assert twin[0] == 'done' and twin[3] != 'EPERM', twin
    server = program.serve()
    for name in ('one', 'two'):  # both hold theirs at once
        assert server.call(LOCK + 'answer', name, expect='ok')['result']['json'] == 'held'
    assert server.close() == 0


# --- before the filter ---

PLANTED = 'import os\nopen(os.environ["MARK"], "a").write(__name__ + "\\n")\n'


def test_dify_sandbox_27_nothing_runs_before_the_filter(program, open_directory):
    """dify-sandbox: code of the request's `preload` member ran before the filter was loaded."""
    mark = program.home / 'mark'
    for name in ('sitecustomize', 'usercustomize', 'json', 'numpy'):
        (program.home / 'work' / f'{name}.py').write_text(PLANTED)
    env = {'PYTHONPATH': str(program.home / 'work'), 'PYTHONSTARTUP': str(program.home / 'work' / 'numpy.py'), 'MARK': str(mark), 'PYTHONINSPECT': '1'}
    first = ('status = open("/proc/self/status").read()\nanswer = [status.split(key + ":")[1].split()[0] for key in ("Seccomp", "NoNewPrivs", "CapEff")]')
    seen = inside(program, first, policy='default', env=env)
    assert seen[:2] == ['2', '1'] and int(seen[2], 16) == 0
    assert not mark.exists(), mark.read_text()
    subprocess.run([sys.executable, '-c', 'pass'], env={**env, 'PYTHONPATH': str(program.home / 'work')}, cwd=open_directory, check=False,
                   timeout=60, capture_output=True)
    assert mark.exists(), 'the twin: the same environment runs planted code in a usual interpreter'
    directory = program.home / 'work' / '.snipara-sandbox' / 'policies'
    directory.mkdir(parents=True)
    (directory / 'eager.json').write_text('{"name": "eager", "extends": "default", "imports": {"preload": ["numpy"]}}')
    code, out, err = program.run('exec', '--policy', 'eager', '-c', 'print("ran")')
    assert code == 2 or code == 3, (code, out, err)
    assert b'preload' in err and not out
    server = program.serve()
    assert 'preload' in server.refused({'code': '1', 'preload': 'import os'})
    assert server.close() == 0


BUSY = '''
import concurrent.futures, os, random, subprocess, tempfile, threading
def once(n):
    os.sched_getaffinity(0); os.getrandom(8); os.stat("/usr"); os.close(os.memfd_create("x"))
    for fd in os.pipe2(os.O_CLOEXEC): os.close(fd)
    with tempfile.TemporaryFile() as f: f.write(b"x"); f.flush(); os.fsync(f.fileno())
    return subprocess.run(["true"]).returncode + os.cpu_count() * 0
with concurrent.futures.ThreadPoolExecutor(8) as pool: answer = sum(pool.map(once, range(100)))
'''


@pytest.mark.parametrize('policy', ['default', 'open', 'validation'])
def test_dify_sandbox_274_276_rare_sigsys(program, policy):
    """dify-sandbox: calls that libc makes now and then (statx, pipe2, rseq, sched_getaffinity) were not in the filter: SIGSYS."""
    assert inside(program, BUSY, policy=policy) == 0
    killed = ('import os, ctypes\npid = os.fork()\nif pid == 0: ctypes.CDLL(None).syscall(KEXEC, 0, 0, 0, 0)\n'
              'answer = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])')
    number = 246 if os.uname().machine == 'x86_64' else 104
    assert inside(program, killed.replace('KEXEC', str(number))) == -31, 'the twin: a call that kills is seen to kill'


def test_dify_sandbox_274_276_no_filter_kills_what_libc_calls():
    """The same, for every policy and architecture, strict among them, from the tables of what the filters answer."""
    calls = {'statx', 'pipe2', 'rseq', 'sched_getaffinity', 'getrandom', 'futex', 'membarrier', 'prlimit64', 'set_robust_list', 'newfstatat',
             'faccessat2', 'close_range', 'openat2', 'clock_nanosleep', 'getcpu', 'madvise', 'mremap', 'tgkill', 'rt_sigaction', 'sched_yield'}
    files = sorted((sandbox.ROOT / 'tests' / 'golden').glob('syscalls-*.txt'))
    assert len(files) == 8
    for file in files:
        rows = {name: outcome for _, name, outcome in (line.split(' ') for line in file.read_text().splitlines())}
        assert {name: rows[name] for name in calls} == dict.fromkeys(calls, 'allowed'), file
        assert rows['clone3'] == 'ENOSYS'
        assert {name for name, outcome in rows.items() if outcome == 'killed'} == {
            'kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module', 'reboot'}, file


# --- network ---

CONNECT = ERRORS + '''
import socket
def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(3); s.connect((address, PORT)); s.send(b"x"); return "connected"
ways = [(family, kind, address) for family, addresses in ((socket.AF_INET, ("127.0.0.1", "127.9.9.9", "0.0.0.0")), (socket.AF_INET6, ("::1", "::ffff:127.0.0.1")))
        for address in addresses for kind in (socket.SOCK_STREAM,)]
answer = [attempt(lambda: connect(*way)) for way in ways]
'''


@pytest.fixture
def listener():
    with socket.create_server(('', 0), family=socket.AF_INET6, dualstack_ipv6=True) as made:
        yield made


def test_librecodeinterpreter_95_loopback(program, listener):
    """LibreCodeInterpreter: code in the sandbox reached every port of the host's loopback, its own API among them."""
    code = f'PORT = {listener.getsockname()[1]}\n' + CONNECT
    assert outside(code)[0] == 'connected' and outside(code)[4] == 'connected'
    add_policy(program, 'looped', network={'mode': 'loopback'})
    for policy in ('default', 'open', 'validation'):
        assert set(inside(program, code, policy=policy)) <= {'EPERM', 'EACCES'}, policy
    reached = inside(program, code, policy='looped')
    assert set(reached) <= {'ECONNREFUSED', 'EPERM', 'EACCES', 'ENETUNREACH', 'EADDRNOTAVAIL'}, reached
    own = ('import socket\ns = socket.create_server(("127.0.0.1", 0))\nc = socket.create_connection(s.getsockname(), 3)\n'
           'answer = s.accept()[1] == c.getsockname()')
    assert inside(program, own, policy='looped') is True, 'the twin: a loopback of its own is there'
    listener.settimeout(0)
    waiting = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            waiting += 1
    assert waiting == 2 * 5, 'only the two runs outside arrived'
