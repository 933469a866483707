"""The rows of the checklist, 1 to 47: what each probe's facts must be in a jail, and what its positive twin must find outside.
A check returns None, or says in words what it found; what it raises counts as found, too."""
import json
import os
import re
import stat
import subprocess

import sandbox
import scene as scenes
import special
import watch

DENIED = {'EPERM', 'ENOSYS'}
ALLOWED_POINTS = re.compile(r'/(usr|bin|sbin|lib[0-9a-z]*|etc(/.+)?|dev(/.+)?|proc|tmp|session(/.+)?)?')
WRITABLE = {'/session', '/tmp', '/dev/shm'}
SECUREBITS = 0xef  # CAPABILITIES_SECUREBITS of supervisor/jail/capabilities.h
DEVICES = {'null': [stat.S_IFCHR >> 12, 1, 3], 'zero': [stat.S_IFCHR >> 12, 1, 5], 'full': [stat.S_IFCHR >> 12, 1, 7],
           'random': [stat.S_IFCHR >> 12, 1, 8], 'urandom': [stat.S_IFCHR >> 12, 1, 9],
           **{name: [stat.S_IFLNK >> 12, 0, 0] for name in ('fd', 'stdin', 'stdout', 'stderr')}, 'shm': [stat.S_IFDIR >> 12, 0, 0]}
MIB = 1 << 20
LIMITS = {'CPU': 86400, 'FSIZE': 64 * MIB, 'NOFILE': 256, 'NPROC': 40, 'STACK': 8 * MIB, 'MEMLOCK': 0, 'MSGQUEUE': 0, 'RTPRIO': 0,
          'NICE': 0, 'SIGPENDING': 256}


def environment_list():
    policy = json.loads((sandbox.ROOT / 'policies' / 'default.json').read_text(encoding='utf-8'))['environment']
    return set(policy['set']) | set(policy['pass'])


def expect(condition, found):
    return None if condition else f'found {found}'


def options_of(facts):
    return {point: options for point, options in facts['23']['options'].items() if ALLOWED_POINTS.fullmatch(point)}


# Inside: facts of the first jail, for rows that need nothing else.
def row_1(f):
    return expect(f == {'SigBlk': 0, 'SigIgn': 1 << 12 | 1 << 24}, f)  # SIGPIPE and SIGXFSZ, which Python itself ignores


def row_2(f):
    return expect(set(f) <= {0, 1, 2, 3}, f)


def row_3(f):
    return expect(set(f) <= environment_list(), sorted(set(f) - environment_list()))


def row_4(f):
    return expect(not any(f['isatty']) and f['tty'] == 0 and f['leader'] and f['/dev/tty'] in ('ENXIO', 'ENOENT'), f)


def row_5(f):
    return expect(f == ['EPERM'] * 4, f)


def row_8(f):
    return expect(f == {'limit': [0, 0], 'dumped': False, 'files': []}, f)


def row_9(f):
    return expect(set(f) <= DENIED, f)


def row_10(f):
    return expect(f == SECUREBITS, hex(f))


def row_11(f):
    return expect(not any(f.values()), f)


def row_12(f):
    return expect(f == '1', f)


def row_16(f):
    return expect(f['left'] == 0 and f['pid'] != 1, f)


def row_19(f):
    return expect(f == [], f)


def row_20(f):
    strangers = [point for point in f['points'] if not ALLOWED_POINTS.fullmatch(point) and not point.startswith('/sys')]  # /sys: row 27
    return expect(not strangers and f['chroot'] == 'EPERM', {'strangers': strangers[:5], 'chroot': f['chroot']})


def row_21(f):
    return expect(f == {'directories': [], 'inside': True}, f)


def row_24(f):
    return expect(f == {'bytes': 'ENOSPC', 'inodes': 'ENOSPC'}, f)


def row_26(f):
    return expect(not f['files'] and f['other'] == ['self', 'thread-self'] and f['pids'] < 5, f)


def row_27(f):
    return expect(f == [], f)


def row_29(f):
    return expect(f['open'] != 'ok' and f['read_only'], f)


def row_31(f):
    return expect(set(f.values()) <= {'EPERM', 'EAFNOSUPPORT'} and f['16/0'] == 'EPERM', f)


def row_36(f):
    found = {name: f.get(name) for name in LIMITS}
    return expect(all(found[name] in ([value, value], None) for name, value in LIMITS.items()) and found['NOFILE'], found)


def row_38(f):
    closed = ('ENOSYS', 'signal 31', 'signal 11')
    return expect(f['int 0x80'] in closed and f['x32'] in closed and f['native'] == 'ok', f)


def row_40(f):
    return expect(f == {'clone3': 'ENOSYS', 'unshare': 'EPERM', 'setns': 'EPERM', 'clone': 'EPERM', 'threads': 1}, f)


def row_41(f):
    return expect(set(f.values()) <= set('pnk'), {call: letter for call, letter in f.items() if letter not in 'pnk'})


def row_44(f):
    return expect(f == 0, f)


# Outside: the twins of the same facts. True: the thing is open there.
TWINS = {
    1: lambda f: f['SigBlk'] and f['SigIgn'] & 1, 2: lambda f: set(f) - {0, 1, 2, 3}, 3: lambda f: 'ESCAPE_API_KEY' in f,
    4: lambda f: f['tty'] and f['/dev/tty'] == 'ok', 5: lambda f: not set(f) & DENIED,
    8: lambda f: f['limit'] != [0, 0], 9: lambda f: f[0] == 'ok', 10: lambda f: f != SECUREBITS,
    11: lambda f: f['CapBnd'], 12: lambda f: f == '0', 16: lambda f: f['left'] == 3, 19: None,
    20: lambda f: [point for point in f['points'] if not ALLOWED_POINTS.fullmatch(point)],
    21: lambda f: f['directories'] and not f['inside'], 24: lambda f: f == {'bytes': 'ok', 'inodes': 'ok'},
    26: lambda f: 'sys' in f['files'] and f['pids'] >= 3, 27: lambda f: '/sys' in f, 29: lambda f: not f['read_only'],
    31: lambda f: f['16/0'] == f['2/0'] == 'ok', 36: lambda f: any(f[name] != [value, value] for name, value in LIMITS.items()),
    38: lambda f: f['int 0x80'] == 'ok', 40: lambda f: f['clone'].startswith('ok') and f['unshare'] == 'ok' and f['setns'] == 'EBADF',
    41: lambda f: sum(letter == 't' for letter in f.values()) > 25, 44: lambda f: f >= 1,
}


def simple(row):
    def check(s):
        facts = s.a[str(row)]
        if isinstance(facts, dict) and 'failed' in facts:
            return facts['failed']
        return globals()[f'row_{row}'](facts)

    def twin(s):
        options, read = {}, None
        if row in (2, 21):
            read = os.open('/', os.O_RDONLY)
            options = {'pass_fds': [read]}
        before = []
        if row == 19:
            before = special.new_mount_namespace() + ['--propagation', 'shared']
        facts = s.outside([row], before=before, **options)[str(row)]
        if read is not None:
            os.close(read)
        if isinstance(facts, dict) and 'failed' in facts:
            return facts['failed']
        return expect((TWINS[row] or bool)(facts), f'outside: {facts}')
    return check, twin


# Rows that need both jails, or a look from outside.
NEIGHBOUR = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
capset, nothing = [ctypes.create_string_buffer(text) for text in (b'\\x22\\x05\\x08\\x20' + bytes(4), bytes(24))]
spaces = [os.open(f"/proc/{sys.argv[1]}/ns/{kind}", os.O_RDONLY) for kind in ("user", "pid", "mnt")]
for fd in spaces:
    if libc.setns(fd, 0) != 0: sys.exit("setns: " + errno.errorcode[ctypes.get_errno()])
if os.fork() == 0:
    os.chdir("/")
    libc.setresgid(1000, 1000, 1000), libc.setresuid(1000, 1000, 1000)
    if libc.syscall(126, capset, nothing) != 0: sys.exit("capset")
    for pid in ("1", "self"):
        try:
            os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY))
            print("ok")
        except OSError as e: print(errno.errorcode[e.errno])
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


def check_7(s):
    """The guest's view, and that of a process of the same user in the same jail that neither Landlock nor a filter holds back."""
    f = s.a['7']
    if f['mem'] not in ('EACCES', 'EPERM', 'ENOENT') or not {f['ptrace'], f['process_vm_writev']} <= DENIED:
        return f'found {f}'
    run = subprocess.run([scenes.PYTHON, '-I', '-S', '-c', NEIGHBOUR, str(s.payload(s.a))], capture_output=True, text=True, timeout=20, check=False)
    init, *_ = found = run.stdout.split() or [run.stderr[-200:]]
    return expect(init in ('EACCES', 'ENOENT', 'EPERM'), f'/proc/1/mem and /proc/self/mem of a neighbour: {found}')


def twin_7(s):
    f = s.outside([7])['7']
    return expect(f == {'mem': 'ok', 'process_vm_writev': 'ok', 'ptrace': 'ok'}, f)


def check_13(s):
    payloads, wrong = [s.payload(s.a), s.payload(s.b)], []
    if len({watch.status(pid)['Uid'].split()[0] for pid in payloads}) != 2:
        wrong.append('two jails have one uid')
    for pid in payloads:
        rows = open(f'/proc/{pid}/uid_map', encoding='ascii').read().split()
        if len(rows) != 3 or rows[2] != '1' or rows[1] == '0':
            wrong.append(f'uid_map: {rows}')
        if open(f'/proc/{pid}/setgroups', encoding='ascii').read() != 'deny\n':
            wrong.append('setgroups is allowed')
    return expect(not wrong, wrong)


def twin_13(s):
    rows = open('/proc/self/uid_map', encoding='ascii').read().split()
    return expect(int(rows[2]) > 1 and open('/proc/self/setgroups', encoding='ascii').read() == 'allow\n', rows)


ENTER = '''
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if len(sys.argv) > 1 and libc.setns(os.open(f"/proc/{sys.argv[1]}/ns/user", os.O_RDONLY), 0x10000000) != 0:
    sys.exit("setns: " + errno.errorcode[ctypes.get_errno()])
print("ok" if libc.unshare(0x10000000) == 0 else errno.errorcode[ctypes.get_errno()])
'''


def unshare_as(*arguments):
    run = subprocess.run([scenes.PYTHON, '-I', '-S', '-c', ENTER, *map(str, arguments)], capture_output=True, text=True, timeout=20, check=False)
    return run.stdout.strip() or run.stderr.strip()


def check_14(s):
    """The limit of the namespace itself, which holds for whoever comes into it, whatever the filter says."""
    found = {'inside': s.a['14'], 'in its user namespace': unshare_as(s.payload(s.a))}
    return expect(found['inside'] in ('EPERM', 'ENOSPC') and found['in its user namespace'] == 'ENOSPC', found)


def twin_14(s):
    found = {'outside': unshare_as(), 'the probe itself': s.outside([14])['14']}
    return expect(found == {'outside': 'ok', 'the probe itself': 'ok'}, found)


def check_22(s):
    f = s.a['22']
    wrong = {path: code for path, code in f['mkdir'].items() if code != 'EROFS'}
    if wrong or not all(f['read_only'].values()):
        return f'found {f}'
    return special.submount(s)


def twin_22(s):
    f = s.outside([22])['22']
    return expect('EROFS' not in f['mkdir'].values() and not f['read_only']['/'], f) or special.submount_outside(s)


def check_23(s):
    f, wrong = s.a['23'], []
    for point, options in options_of(s.a).items():
        wanted = {'nosuid'} | (set() if point.startswith('/dev/') and point != '/dev/shm' else {'nodev'})
        if point in WRITABLE:
            wanted.add('noexec')
        if not wanted <= set(options):
            wrong.append(f'{point}: {",".join(options)}')
    return expect(not wrong and f['exec'] == 'EACCES' and f['mmap'] == 'EPERM', {**{k: f[k] for k in ('exec', 'mmap')}, 'mounts': wrong})


def twin_23(s):
    f = s.outside([23])['23']
    bad = [point for point, options in f['options'].items() if 'nosuid' not in options]
    return expect(f['exec'] == 'ok' and f['mmap'] == 'ok' and bad, {k: f[k] for k in ('exec', 'mmap')})


def check_24(s):
    return row_24(s.a['24']) or special.disk_limit(s)


def check_25(s):
    devices, shared = s.a['25']['devices'], s.b['25']['shm']
    return expect(devices == DEVICES and f'{s.mark}-shared' not in shared, {'devices': devices, 'shm of the other jail': shared})


def twin_25(s):
    s.outside([25], make=True)
    f = s.outside([25])['25']
    return expect(f'{s.mark}-shared' in f['shm'] and set(f['devices']) - set(DEVICES), f['shm'])


def check_30(s):
    f = s.a['30']
    fine = f['connect'] in ('EPERM', 'EACCES', 'ENETUNREACH', 'ECONNREFUSED') and set(f['interfaces']) <= {'lo'}
    return expect(fine and f['namespace'] != s.namespaces()['net'], f)


def twin_30(s):
    f = s.outside([30])['30']
    return expect(f['connect'] == 'ok' and f['namespace'] == s.namespaces()['net'], f)


def check_32(s):
    a, b, host, wrong = s.a['32'], s.b['32'], s.namespaces(), []
    wrong += [f'{kind} namespace is the host\'s' for kind in host if host[kind] == a['namespaces'][kind] and kind != 'net']  # net: row 30
    wrong += [f'two jails share a {kind} namespace' for kind in ('ipc', 'uts') if a['namespaces'][kind] == b['namespaces'][kind]]
    if not a['shm'] or b['shm']:
        wrong.append('a System V segment is shared' if b['shm'] else 'a segment cannot be made')
    if a['hostname'] != 'sandbox' or a['cgroup'] != ['/']:
        wrong.append(f'{a["hostname"]} {a["cgroup"]}')
    return expect(not wrong, wrong)


def twin_32(s):
    f = s.outside([32], make=True)['32']
    g = s.outside([32])['32']
    scenes.remove_segment(s.key)
    return expect(f['shm'] and g['shm'] and f['namespaces'] == s.namespaces(), {'shm': [f['shm'], g['shm']]})


LETTERS = {'allowed': 't', 'EPERM': 'p', 'ENOSYS': 'n', 'killed': 'k'}


def golden():
    """What the golden file of policy open says of each number: t it goes through, p EPERM, n ENOSYS, k killed."""
    text = (sandbox.ROOT / 'tests' / 'golden' / 'syscalls-open-x86_64.txt').read_text(encoding='ascii')
    rows = (line.split() for line in text.splitlines() if line[:1].isdigit())
    return {int(row[0]): LETTERS[row[-1]] for row in rows}


KERNELS_OWN = {335, 336}  # uretprobe and uprobe: the kernel keeps these two out of every filter (kernel/seccomp.c, Linux 6.14)


def check_39(s):
    """Every number that the golden file denies is denied. One that it lets through may answer EPERM or ENOSYS by itself (mlock under a
    limit of 0, map_shadow_stack on an old processor). Above 448 the names depend on libseccomp's release: either no is a no."""
    table, found = golden(), s.a['39']
    wrong = {number: letter for number, letter in enumerate(found) if letter not in ('.', table[number]) and table[number] != 't'
             and not (number > 448 and {letter, table[number]} <= set('pn')) and number not in KERNELS_OWN}
    through = sum(letter == 't' for letter in found)
    return expect(len(found) == 601 and through > 200 and not wrong, {'through': through, **wrong})


def twin_39(s):
    table, found = golden(), s.outside([39])['39']
    open_outside = sum(letter == 't' and table[number] in 'pnk' for number, letter in enumerate(found))
    return expect(open_outside > 20, f'{open_outside} of the denied numbers go through')


def check_43(s):
    f = s.a['43']
    return expect(f['write'] == 'EACCES' and f['signal'] == 'EPERM' and f['abstract'] in ('EPERM', 'ECONNREFUSED'), f)


def twin_43(s):
    f = s.outside([43])['43']
    return expect(set(f.values()) == {'ok'}, f)


def check_44(s):
    return row_44(s.a['44']) or special.canary_elsewhere(s)


def check_45(s):
    a, b = s.a['45'], s.b['45']
    wrong = [key for key in a if a[key] == b[key]]
    return expect(not wrong and ('numpy' in a) == scenes.have_numpy(), f'the same in two jails: {wrong}')


def check_46(s):
    a, b = s.a['46'], s.b['46']
    return expect(a == b, [a, b]) or special.rotation(s)


def twin_46(s):
    f, g = s.outside([46])['46'], s.outside([46])['46']
    return expect(f != g, 'two interpreters share their hash secret and layout')


def check_47(s):
    threads = {'payload': s.a['47'], **{f'zygote {pid}': int(watch.status(pid)['Threads']) for pid in s.zygotes()}}
    return expect(len(threads) > 1 and set(threads.values()) == {1}, threads) or special.many_forks(s)


SIMPLE = (1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 16, 19, 20, 21, 26, 27, 29, 31, 36, 38, 40, 41)
CHECKS = {row: simple(row) for row in SIMPLE}
CHECKS.update({
    6: (special.supervisor_dies, special.supervisor_dies_outside), 7: (check_7, twin_7), 13: (check_13, twin_13), 14: (check_14, twin_14),
    15: (special.doctor_names_apparmor, special.apparmor_bait), 17: (special.payload_ends, special.payload_ends_outside),
    18: (special.classified, special.classified_outside), 22: (check_22, twin_22), 23: (check_23, twin_23),
    24: (check_24, simple(24)[1]), 25: (check_25, twin_25), 28: (special.litter, special.litter_outside), 30: (check_30, twin_30), 32: (check_32, twin_32),
    33: (special.cgroup_limits, special.allocation_outside), 34: (special.kill_all, special.kill_all_outside),
    35: (special.clean_baseline, special.allocation_outside), 37: (special.flood, special.flood_outside), 39: (check_39, twin_39),
    42: (special.no_programs, special.programs_outside), 43: (check_43, twin_43), 44: (check_44, simple(44)[1]),
    45: (check_45, special.forks_share_outside), 46: (check_46, twin_46), 47: (check_47, special.lock_outside),
})
