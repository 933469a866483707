"""Probes that need more than a look at two jails: a server that is killed, limits that are run into, processes that are left, a
second mount namespace. Each has its twin next to it. None: as it must be; words: what was found."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import sandbox
import scene as scenes
import watch

MIB = 1 << 20


def new_mount_namespace():
    return ['unshare', '-m'] if sandbox.IS_ROOT else ['unshare', '-U', '-r', '-m']


def pids_in(link):
    """Processes of the pid namespace that has this link."""
    found = set()
    for pid in watch.parents():
        try:
            if watch.namespace(pid, 'pid') == link:
                found.add(pid)
        except OSError:
            pass
    return found


# 6
def supervisor_dies(s):
    server = s.serve()
    s.servers.remove(server)
    server.start_call('import time\nprint("up", flush=True)\ntime.sleep(60)', 'doomed', policy='escape', timeout=60)
    if not watch.wait_until(lambda: watch.jailed(server.pid), 15 * sandbox.SCALE):
        return 'no jail to be seen'
    time.sleep(0.3)
    below = watch.descendants(server.pid)
    os.kill(server.pid, signal.SIGKILL)
    server.process.wait()
    server.abandon()
    left = [watch.describe(pid) for pid in watch.gone(below, sandbox.SCALE)]
    watch.kill(below & set(watch.parents()))
    watch.gone(below, 2)
    return f'{len(left)} of {len(below)} processes live on: {left}' if left else None


ORPHAN = 'import subprocess, sys, time\nprint(subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL).pid, flush=True)\ntime.sleep(60)'


def supervisor_dies_outside(s):
    parent = subprocess.Popen([scenes.PYTHON, '-I', '-S', '-c', ORPHAN], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    time.sleep(0.3)
    alive = child in watch.parents()
    watch.kill({child})
    watch.gone({child}, 2)
    return None if alive else 'a child does not outlive its parent here'


# 15
BAIT = 'mount -t tmpfs none /proc/sys/kernel && echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns && exec "$@"'


def doctor_names_apparmor(s):
    process = subprocess.run([*new_mount_namespace(), 'sh', '-c', BAIT, 'sh', sandbox.PROGRAM, 'doctor', '--json'], capture_output=True,
                             env=sandbox.program_environment(s.home, s.program.extra), timeout=60, check=False)
    try:
        notes = ' '.join(json.loads(process.stdout)['notes'])
    except (ValueError, KeyError) as e:
        return f'{e!r}: {process.stdout[-300:]!r} {process.stderr[-300:]!r}'
    found = 'apparmor_restrict_unprivileged_userns' in notes and 'set it to 0' in notes
    return None if found else f'doctor says: {notes[:300]}'


def apparmor_bait(s):
    run = subprocess.run([*new_mount_namespace(), 'sh', '-c', BAIT, 'sh', 'cat', '/proc/sys/kernel/apparmor_restrict_unprivileged_userns'],
                         capture_output=True, timeout=60, check=False)
    return None if run.stdout == b'1\n' else f'the bait is not there: {run}'


# 17
def payload_ends(s):
    code = 'import os, subprocess\nsubprocess.Popen(["sleep", "100"])\nprint(os.readlink("/proc/self/ns/pid"), flush=True)\nos._exit(5)'
    s.server.call('1', 'ending', policy='escape')
    began = time.monotonic()
    receipt = s.server.call(code, 'ending', policy='escape', timeout=4)
    took = time.monotonic() - began
    left = watch.gone(pids_in(receipt['stdout'].strip()), 0.5)
    error = receipt.get('error') or {}
    fine = took < sandbox.SCALE and not left and receipt['status'] == 'crashed'  # with which status: row 18
    return None if fine else f'{receipt["status"]}, {error.get("message")}, {took:.1f} s, {len(left)} processes left'


def payload_ends_outside(s):
    run = subprocess.run(['sh', '-c', 'sleep 30 >/dev/null & echo $!; exit 5'], stdout=subprocess.PIPE, text=True, check=False)
    pid = int(run.stdout)
    alive = pid in watch.parents()
    watch.kill({pid})
    watch.gone({pid}, 2)
    return None if alive and run.returncode == 5 else f'{run}: its child is gone'


# 18
ALLOCATE = 'hoard = []\nfor _ in range(100): hoard.append(bytearray(4 << 20))\nlen(hoard)'
ENDS = {'SystemExit(42)': 'raise SystemExit(42)', 'exit 42': 'import os\nos._exit(42)', 'SIGSEGV': 'import os\nos.kill(os.getpid(), 11)',
        'SIGKILL': 'import os\nos.kill(os.getpid(), 9)'}
WANTED = {'SystemExit(42)': ('error', 42, None), 'exit 42': ('crashed', 42, None), 'SIGSEGV': ('crashed', None, 11),
          'SIGKILL': ('crashed', None, 9), 'out of memory': ('out_of_memory', None, None)}


def ending(receipt):
    error = receipt.get('error') or {}
    return receipt['status'], error.get('exit_code'), error.get('signal')


def has_memory_limit(s):
    return 'cgroup_memory' in s.server.call('1', 'limits', policy='escape')['backend']['layers']


def classified(s):
    ends = dict(ENDS)
    if has_memory_limit(s):
        ends['out of memory'] = ALLOCATE
    found = {name: ending(s.server.call(code, 'ends', policy='escape')) for name, code in ends.items()}
    wrong = {name: result for name, result in found.items() if result != WANTED[name]}
    return f'classified wrongly: {wrong}' if wrong else None


def classified_outside(s):
    found = [subprocess.run([scenes.PYTHON, '-I', '-S', '-c', code], check=False).returncode for code in ENDS.values()]
    return None if found == [42, 42, -11, -9] else f'{found}'


# 22
def under_a_bind(s, command):
    """Run in another mount namespace, with a file system on /mnt that has one of its own below it."""
    policy = {'name': 'escape-bind', 'description': 'a mount with a submount', 'extends': 'escape', 'widen': True, 'widen_reason': 'one mount more',
              'filesystem': {'mounts': [{'kind': 'ro', 'source': '/usr', 'target': '/usr', 'exec': True},
                                        {'kind': 'ro', 'source': '/mnt', 'target': '/data'}]}}
    (s.home / 'config' / 'snipara-sandbox' / 'policies' / 'escape-bind.json').write_text(json.dumps(policy), encoding='utf-8')
    script = ('mount -t tmpfs none /mnt && mkdir /mnt/sub && mount -t tmpfs none /mnt/sub && mkdir /mnt/sub/deep && chmod 777 /mnt/sub/deep && '
              'exec "$@"')
    return subprocess.run([*new_mount_namespace(), 'sh', '-c', script, 'sh', *command], capture_output=True, timeout=60, check=False,
                          env=sandbox.program_environment(s.home, s.program.extra), cwd=s.home / 'work')


def submount(s):
    code = ('import errno, os\ntry:\n  os.mkdir("/data/sub/deep/x")\n  print("ok")\nexcept OSError as e: print(errno.errorcode[e.errno])\n'
            'print(bool(os.statvfs("/data/sub").f_flag & os.ST_RDONLY))')
    run = under_a_bind(s, [sandbox.PROGRAM, 'exec', '--policy', 'escape-bind', '-c', code])
    found = run.stdout.decode().split()
    return None if found == ['EROFS', 'True'] else f'in a submount: {found} {run.stderr.decode()[-300:]}'


def submount_outside(s):
    run = under_a_bind(s, ['mkdir', '/mnt/sub/deep/x'])
    return None if run.returncode == 0 else f'outside: {run}'


# 24
def disk_limit(s):
    receipt = s.server.call('with open("/tmp/full", "wb", buffering=0) as f:\n  while True: f.write(bytes(1 << 20))', 'disk', policy='escape')
    hit = receipt['limits']['hit']
    return None if receipt['status'] == 'error' and hit == 'disk' else f'the receipt says {receipt["status"]}, limit {hit}'


# 28
LITTER = '''
import os
os.makedirs("/session/output", exist_ok=True)
os.chdir("/session/output")
open("good.txt", "w").write("good")
os.symlink(SECRET, "link")
os.symlink("/etc", "directory")
os.mkfifo("fifo")
open("hard", "w").write("x")
os.link("hard", "second")
with open("sparse", "wb") as f: f.truncate(60 << 20)
for _ in range(100):
    os.mkdir("d")
    os.chdir("d")
open("deep.txt", "w").close()
'''


def litter(s):
    secret = s.home / 'host-secret'
    secret.write_text('secret of the host')
    out = s.home / 'work' / 'out'
    began = time.monotonic()
    receipt = s.program.exec_json(f'SECRET = {str(secret)!r}' + LITTER, '--policy', 'escape', '--output-dir', out, expect='ok', timeout=15)
    took = time.monotonic() - began
    taken = sorted(str(path.relative_to(out)) for path in out.rglob('*') if not path.is_dir())
    reasons = {row['path'].split('/')[0]: row['reason'] for row in receipt.get('artifacts_left_out', [])}
    fine = (taken == ['good.txt'] and [row['path'] for row in receipt['artifacts']] == ['good.txt'] and took < 10 * sandbox.SCALE
            and reasons.get('link') == reasons.get('directory') == 'symlink' and reasons.get('fifo') == 'fifo'
            and reasons.get('hard') == 'hard_link' and reasons.get('d') == 'depth' and reasons.get('sparse') in ('file_bytes', 'total_bytes'))
    leaked = [path for path in taken if b'secret' in (out / path).read_bytes()[:100]]
    return None if fine else f'taken {taken}, left out {reasons}, {took:.1f} s, leaked {leaked}'


def litter_outside(s):
    """A copy that follows links reads the host's file, and one that opens whatever it finds hangs at the FIFO."""
    secret, link, fifo = s.home / 'host-secret', s.home / 'work' / 'link', s.home / 'work' / 'fifo'
    secret.write_text('secret of the host')
    link.symlink_to(secret)
    os.mkfifo(fifo)
    try:
        subprocess.run(['cp', '--copy-contents', fifo, s.home / 'work' / 'copy'], timeout=0.3, check=False)
        hangs = False
    except subprocess.TimeoutExpired:
        hangs = True
    read = link.read_text()
    link.unlink()
    fifo.unlink()
    return None if hangs and read == secret.read_text() else f'hangs {hangs}, read {read!r}'


# 33, 35
def cgroup_limits(s):
    pid, wrong = s.payload(s.a), []
    memory = watch.cgroup_file(pid, 'memory', 'memory.limit_in_bytes', 'memory.max')
    wanted = (192 + 16) * MIB
    if memory == 'max' or int(memory) > wanted:
        wrong.append(f'memory {memory}')
    pids = watch.cgroup_file(pid, 'pids', 'pids.max', 'pids.max')
    if pids == 'max' or int(pids) > 42:
        wrong.append(f'pids {pids}')
    quota = watch.cgroup_file(pid, 'cpu', 'cpu.cfs_quota_us', 'cpu.max').split()[0]
    if quota in ('max', '-1'):
        wrong.append(f'cpu {quota}')
    status = s.server.call(ALLOCATE, 'hoard', policy='escape')['status']
    if status not in ('out_of_memory', 'crashed'):  # which of them: row 18
        wrong.append(f'an allocation loop ends as {status}')
    bomb = ('import os, time\nmade = []\ntry:\n  for _ in range(200):\n    pid = os.fork()\n    if pid == 0: time.sleep(20); os._exit(0)\n'
            '    made.append(pid)\nexcept OSError as e: result = e.errno\nelse: result = 0\nfor pid in made: os.kill(pid, 9)\n'
            'for pid in made: os.waitpid(pid, 0)\n[result, len(made)]')
    result = s.server.call(bomb, 'bomb', policy='escape', expect='ok')['result']['json']
    if result[0] != 11 or result[1] > 41 or s.server.value('1', 'a') != '1':
        wrong.append(f'a fork bomb: errno, children {result}')
    return f'{wrong}' if wrong else None


def allocation_outside(s):
    run = subprocess.run([scenes.PYTHON, '-I', '-S', '-c', ALLOCATE], check=False)
    return None if run.returncode == 0 else f'the loop ends with {run.returncode} outside, too'


def clean_baseline(s):
    hog = ('import os\npid = os.fork()\nif pid == 0:\n  hoard = []\n  for _ in range(100): hoard.append(bytearray(4 << 20))\n  os._exit(0)\n'
           'os.waitpid(pid, 0)[1]')
    first = s.server.call(hog, 'slot', policy='escape')
    small = s.server.call('1', 'slot', policy='escape')
    last = s.server.call('import os\nos.kill(os.getpid(), 9)', 'slot', policy='escape')
    found = (first['status'], (first.get('result') or {}).get('repr'), small['status'], last['status'])
    return None if found == ('ok', '9', 'ok', 'crashed') else f'{found}'


# 34
LEAVE = '''
import os, signal, sys, time
def child(action):
    if os.fork() == 0:
        action()
        time.sleep(60)
        os._exit(0)
def daemonise():
    os.setsid()
    if os.fork(): os._exit(0)
child(daemonise)
child(lambda: os.kill(os.getpid(), signal.SIGSTOP))
child(lambda: [signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 17, 19)])
time.sleep(0.1)
print(os.readlink("/proc/self/ns/pid"), flush=True)
'''


def kill_all(s):
    s.server.call('1', 'left', policy='escape')
    began = time.monotonic()
    receipt = s.server.call(LEAVE + 'time.sleep(60)', 'left', policy='escape', timeout=0.5)
    link = receipt['stdout'].strip()
    watch.wait_until(lambda: not pids_in(link), 1)
    took, left = time.monotonic() - began, pids_in(link)
    fine = receipt['status'] == 'timeout' and took < 2.5 * sandbox.SCALE and not left and link
    return None if fine else f'{receipt["status"]} after {took:.1f} s, {len(left)} processes left'


def kill_all_outside(s):
    before = watch.descendants(os.getpid())
    parent = subprocess.Popen([scenes.PYTHON, '-I', '-S', '-c', LEAVE + 'time.sleep(60)'], stdout=subprocess.PIPE)
    parent.stdout.readline()
    below = watch.descendants(os.getpid()) - before - {parent.pid}
    parent.kill()
    parent.wait()
    parent.stdout.close()
    time.sleep(0.2)
    alive = below & set(watch.parents())
    watch.kill(below)
    watch.gone(below, 2)
    return None if len(alive) >= 2 else f'{len(alive)} of {len(below)} outlive the kill'


# 37
FLOOD = 'import sys\nline = "x" * 65535 + "\\n"\nfor _ in range(TIMES): sys.stdout.write(line)\nNone'


def flood(s):
    times = 16384 if s.long else 256  # 1 GiB, 16 MiB
    s.server.call('1', 'flood', policy='escape')
    before = peak(s.server.pid)
    receipt = s.server.call(FLOOD.replace('TIMES', str(times)), 'flood', policy='escape', timeout=120)
    grown = peak(s.server.pid) - before
    fine = receipt['status'] == 'ok' and receipt['output']['truncated'] and receipt['output']['stdout_bytes'] == times << 16 and grown < 6 * MIB
    return None if fine else f'{receipt["status"]}, truncated {receipt["output"]}, the supervisor grew by {grown >> 20} MiB'


def peak(pid):
    return int(watch.status(pid)['VmHWM'].split()[0]) << 10


def flood_outside(s):
    run = subprocess.run([scenes.PYTHON, '-I', '-S', '-c', FLOOD.replace('TIMES', '256')], stdout=subprocess.PIPE, check=False)
    return None if len(run.stdout) == 16 * MIB else f'{len(run.stdout)} bytes arrive outside'


# 42
PROGRAMS = '''
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def child(action):
    pid = os.fork()
    if pid == 0:
        try: action()
        except OSError as e: os._exit(e.errno)
        os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def memory():
    fd = os.memfd_create("x")
    os.sendfile(fd, os.open("/usr/bin/true", os.O_RDONLY), 0, 1 << 20)
    os.execve(fd, ["true"], {})
def at():
    fd = os.open("/usr/bin/true", os.O_RDONLY)
    argv = (ctypes.c_char_p * 2)(b"true", None)
    libc.syscall(322, fd, b"", argv, None, 0x1000)
    raise OSError(ctypes.get_errno(), "execveat")
result = [child(lambda: os.execv("/usr/bin/true", ["true"])), child(memory), child(at)]
'''


def no_programs(s):
    found = s.server.call(PROGRAMS + 'result', 'quiet', policy='escape-quiet', expect='ok')['result']['json']
    return None if found == [1, 1, 1] else f'execve, memfd_create, execveat: errno {found}'


def programs_outside(s):
    run = subprocess.run([scenes.PYTHON, '-I', '-S', '-c', PROGRAMS + 'print(result)'], capture_output=True, text=True, check=False)
    return None if run.stdout == '[0, 0, 0]\n' else f'{run.stdout} {run.stderr}'


# 44
def canary_elsewhere(s):
    """As root, from outside: in no process of a jail, init among them."""
    if not sandbox.IS_ROOT:
        return None
    needle = '-'.join(scenes.CANARY).encode()
    found = [watch.describe(pid) for pid in [s.payload(s.a), *s.inits()] if needle in memory_of(pid)]
    return f'the canary stands in {found}' if found else None


def memory_of(pid):
    parts = []
    if pid not in watch.parents():
        return b''  # a spare that went meanwhile
    with open(f'/proc/{pid}/maps', encoding='ascii', errors='replace') as maps, open(f'/proc/{pid}/mem', 'rb', 0) as memory:
        for line in maps:
            span, mode = line.split()[:2]
            start, end = (int(x, 16) for x in span.split('-'))
            if mode[0] == 'r' and '[v' not in line and end - start < 64 * MIB:
                try:
                    memory.seek(start)
                    parts.append(memory.read(end - start))
                except OSError:
                    pass
    return b''.join(parts)


# 45
SHARED = '''
import multiprocessing, os, sys
for _ in range(2):
    if os.fork() == 0:
        print(bytes(multiprocessing.current_process().authkey).hex(), flush=True)
        os._exit(0)
    os.wait()
'''


def forks_share_outside(s):
    run = subprocess.run([scenes.PYTHON, '-I', '-c', SHARED], stdout=subprocess.PIPE, text=True, check=False)
    keys = run.stdout.split()
    return None if len(keys) == 2 and keys[0] == keys[1] else f'two forks of one interpreter differ by themselves: {keys}'


# 46
LAYOUT = 'print(hash("snipara"), next(line.split("-")[0] for line in open("/proc/self/maps") if "libc.so" in line))'


def rotation(s):
    """A zygote that is replaced after one fork: the next jail has another hash secret and another layout."""
    server, found = s.serve(SNIPARA_SANDBOX_ZYGOTE_FORKS='1'), set()
    for number in range(40):  # the old one goes on until its successor is warm
        found.add(server.call(LAYOUT, f'generation-{number}', policy='escape', expect='ok')['stdout'])
        server.tool('destroy_session', {'session_id': f'generation-{number}'})
        if len(found) > 1:
            return None
        time.sleep(0.1)
    return 'the zygote is not replaced after its number of forks'


# 47
def many_forks(s):
    count = 10000 if s.long else 5 if s.mutant else 200
    began = time.monotonic()
    for number in range(count):
        receipt = s.server.call('1', f'fork-{number}', policy='escape', within=10)
        s.server.tool('destroy_session', {'session_id': f'fork-{number}'})
        if receipt['status'] != 'ok':
            return f'fork {number}: {receipt["status"]} {receipt.get("error")}'
    s.forks = f'{count} forks in {time.monotonic() - began:.1f} s'
    return None


LOCK = '''
import os, threading, time
lock = threading.Lock()
def hold():
    with lock: time.sleep(5)
threading.Thread(target=hold, daemon=True).start()
time.sleep(0.05)
pid = os.fork()
if pid == 0:
    os._exit(0 if lock.acquire(timeout=0.3) else 3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
os._exit(0)
'''


def lock_outside(s):
    run = subprocess.run([scenes.PYTHON, '-I', '-c', LOCK], stdout=subprocess.PIPE, text=True, check=False)
    return None if run.stdout == '3\n' else 'a lock that another thread holds is not held in the child'
