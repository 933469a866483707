"""ISOLATION row 28: what a call leaves in /session/output comes out of the jail, and nothing else does."""
import ctypes
import hashlib
import json
import os
import stat
import struct
import time

import pytest

import sandbox

ORDINARY = '''
import os
os.makedirs('/session/output/plots/a')
open('/session/output/hello.txt', 'w').write('hello')
open('/session/output/plots/a/p.bin', 'wb').write(bytes(range(256)) * 40)
open('/session/kept-inside.txt', 'w').write('not an artifact')
'''
CONTENTS = {'hello.txt': b'hello', 'plots/a/p.bin': bytes(range(256)) * 40}


def paths(receipt):
    return [row['path'] for row in receipt['artifacts']]


def left(receipt):
    return {row['path']: row['reason'] for row in receipt.get('artifacts_left_out', [])}


def check_ordinary(receipt):
    assert paths(receipt) == sorted(CONTENTS)
    for row in receipt['artifacts']:
        assert row['bytes'] == len(CONTENTS[row['path']])
        assert row['sha256'] == hashlib.sha256(CONTENTS[row['path']]).hexdigest()
    assert 'artifacts_left_out' not in receipt and 'artifacts_incomplete' not in receipt


def tree(directory):
    """Relative path -> content of regular files; anything else but a directory fails."""
    found = {}
    for path in sorted(directory.rglob('*')):
        mode = path.lstat().st_mode
        assert stat.S_ISREG(mode) or stat.S_ISDIR(mode), path
        assert stat.S_IMODE(mode) == (0o700 if stat.S_ISDIR(mode) else 0o600), path
        if stat.S_ISREG(mode):
            found[str(path.relative_to(directory))] = path.read_bytes()
    return found


def test_files_arrive(program):
    out = program.home / 'work' / 'out'
    check_ordinary(program.exec_json(ORDINARY, '--output-dir', out, expect='ok'))
    assert tree(out) == CONTENTS
    assert stat.S_IMODE(out.stat().st_mode) == 0o700


def test_nothing_written_nothing_listed(program):
    receipt = program.exec_json('1', '--output-dir', 'out', expect='ok')
    assert receipt['artifacts'] == [] and 'artifacts_left_out' not in receipt and 'artifacts_incomplete' not in receipt
    assert receipt['metrics']['collect_ms'] < 50 * sandbox.SCALE
    assert tree(program.home / 'work' / 'out') == {}


def test_mcp_lists_them(server):
    receipt = server.call(ORDINARY, 's', expect='ok')
    check_ordinary(receipt)
    assert server.call('1', 's', expect='ok')['artifacts'] == []
    receipt = server.call('open("/session/output/hello.txt", "a").write(" again"); open("/session/output/new", "w").close()', 's', expect='ok')
    assert paths(receipt) == ['hello.txt', 'new']
    assert receipt['artifacts'][0]['sha256'] == hashlib.sha256(b'hello again').hexdigest()
    assert server.call('1', 'other', expect='ok')['artifacts'] == [], 'another session'


def test_mcp_text_names_them(server):
    result = server.tool('execute_python', {'code': 'import os\nopen("/session/output/p.png", "w").write("x" * 7)\n'
                                                    'os.symlink("/etc/passwd", "/session/output/l")'})
    text = '\n'.join(block['text'] for block in result['content'])
    assert 'p.png (7 bytes)' in text and 'l (symlink)' in text, text


def test_exec_names_them(program):
    code, out, err = program.run('exec', '-c', 'print(open("/session/output/p", "w").write("xyz"))')
    assert (code, out) == (0, b'3\n') and b'p (3 bytes)' in err and b'--output-dir' in err
    code, out, err = program.run('exec', '--output-dir', 'out', '-c', 'open("/session/output/p", "w").close()')
    assert code == 0 and b'--output-dir' not in err


def test_a_given_file_comes_back(program):
    (program.home / 'work' / 'in.txt').write_text('input')
    receipt = program.exec_json('1', '--file', 'in.txt:output/in.txt', '--output-dir', 'out', expect='ok')
    assert paths(receipt) == ['in.txt']
    assert (program.home / 'work' / 'out' / 'in.txt').read_text() == 'input'


@pytest.mark.parametrize('end,status', [('raise SystemExit(3)', 'error'), ('while True: pass', 'timeout'),
                                        ('import os; os.abort()', 'crashed'), ('import os; os._exit(0)', 'crashed')])
def test_partial_work_is_kept(program, end, status):
    out = program.home / 'work' / 'out'
    receipt = program.exec_json(ORDINARY + end, '--output-dir', out, '--timeout', '2', expect=status)
    check_ordinary(receipt)
    assert tree(out) == CONTENTS


def test_out_of_memory_keeps_it_too(program):
    receipt = program.exec_json(ORDINARY + 'x = []\nwhile True: x.append(bytearray(1 << 22))', '--memory', '128M')
    assert receipt['status'] in ('out_of_memory', 'error'), receipt
    check_ordinary(receipt)


HOSTILE = '''
import os, socket
os.chdir('/session/output')
os.symlink('/etc/shadow', 'shadow')
os.symlink('/proc/self/root/etc/passwd', 'magic')
os.symlink('../../etc', 'etc')
os.symlink('/', 'root')
os.mkfifo('fifo')
s = socket.socket(socket.AF_UNIX); s.bind('sock')
f = open('sparse', 'wb'); f.truncate(1 << 44); f.close()
open('one', 'w').write('1'); os.link('one', 'two')
open('suid', 'w').write('1'); os.chmod('suid', 0o4755)
at = os.open('.', os.O_RDONLY)
for i in range(1000):
    os.mkdir('deep', dir_fd=at)
    at, old = os.open('deep', os.O_RDONLY, dir_fd=at), at
    os.close(old)
open(b'bad\\xff', 'w').close()
open('new\\nline', 'w').close()
open('good', 'w').write('good')
'''
WANT = {'shadow': 'symlink', 'magic': 'symlink', 'etc': 'symlink', 'root': 'symlink', 'fifo': 'fifo', 'sock': 'socket',
        'sparse': 'file_bytes', 'one': 'hard_link', 'two': 'hard_link', 'suid': 'set_id', 'bad\ufffd': 'name', 'new?line': 'name',
        '/'.join(['deep'] * 16): 'depth'}


def sparse_policy(program):
    """A policy with the largest limit on file sizes that there is."""
    directory = program.home / 'config' / 'snipara-sandbox' / 'policies'
    directory.mkdir(parents=True)
    (directory / 'large.json').write_text(json.dumps({'name': 'large', 'extends': 'default', 'widen': True, 'widen_reason': 'a test',
                                                      'limits': {'file_bytes': '16TiB'}}))


def test_hostile_tree(program):
    """The positive twin: the same file beside all that is taken; without a jail each of them would be followed or waited for."""
    sparse_policy(program)
    out = program.home / 'work' / 'out'
    began = time.monotonic()
    receipt = program.exec_json(HOSTILE, '--policy', 'large', '--output-dir', out, expect='ok')
    assert time.monotonic() - began < 20 * sandbox.SCALE
    assert paths(receipt) == ['good'] and tree(out) == {'good': b'good'}
    found = left(receipt)
    assert found == WANT, {**{k: (v, found.get(k)) for k, v in WANT.items() if found.get(k) != v}}
    assert 'root:' not in json.dumps(receipt)
    assert receipt['metrics']['collect_ms'] < 250 * sandbox.SCALE


def test_left_out_is_told_once(server):
    server.call('import os\nos.symlink("/etc/passwd", "/session/output/l")', 's', expect='ok')
    assert left(server.call('1', 's', expect='ok')) == {}
    assert left(server.call('os.rename("/session/output/l", "/session/output/m")', 's', expect='ok')) == {'m': 'symlink'}


def test_links_are_not_followed_inside_either(server):
    """nosymfollow: the twin in /session is followed."""
    assert server.value('import os\nos.symlink("/etc/passwd", "/session/l"); open("/session/l").read(8)') == "'sandbox:'"
    receipt = server.call('os.symlink("/etc/passwd", "/session/output/l"); open("/session/output/l")', expect='error')
    assert 'symbolic links' in receipt['error']['message']


def test_mount_is_tight(server):
    text = server.call('print(open("/proc/self/mountinfo").read())', expect='ok')['stdout']
    options = {line.split()[4]: set(line.split()[5].split(',')) for line in text.splitlines() if line}
    for point in ('/session', '/session/output'):
        assert {'nosuid', 'nodev', 'noexec'} <= options[point], point
    assert 'nosymfollow' in options['/session/output'] and 'nosymfollow' not in options['/session']


@pytest.mark.parametrize('code', ['os.rmdir("/session/output")', 'os.rename("/session/output", "/session/other")',
                                  'os.rename("/session", "/tmp/s")'])
def test_the_directory_stays(server, code):
    assert server.call(f'import os\n{code}', expect='error')['error']['type'] in ('OSError', 'PermissionError')
    assert paths(server.call('open("/session/output/x", "w").close()', expect='ok')) == ['x']


def test_bounded_with_the_session(server):
    receipt = server.call('open("/session/output/x", "wb").write(b"x" * (63 << 20)); open("/session/y", "wb").write(b"y" * (2 << 20))', expect='error')
    assert 'No space' in receipt['error']['message']
    assert left(receipt) == {'x': 'file_bytes'}


def test_many_files(server):
    receipt = server.call('for i in range(12000): open(f"/session/output/{i}", "w").close()', expect='ok', timeout=60)
    assert len(receipt['artifacts']) == 100 and len(receipt['artifacts_left_out']) == 32
    assert receipt['artifacts_incomplete'] in ('entries', 'time')
    assert receipt['metrics']['collect_ms'] < 500 * sandbox.SCALE


def test_time_is_bounded_and_nothing_is_lost(server):
    """What is too much for one look comes with the next calls."""
    receipt = server.call('for i in range(2): open(f"/session/output/{i}", "wb").write(bytes(10 << 20))', 's', expect='ok')
    found = set(paths(receipt))
    for _ in range(20):
        assert receipt['metrics']['collect_ms'] < 500 * sandbox.SCALE
        assert ('artifacts_incomplete' in receipt) == (left(receipt) != {}), receipt
        if found == {'0', '1'}:
            break
        receipt = server.call('1', 's', expect='ok')
        found |= set(paths(receipt))
    assert found == {'0', '1'}


def test_total(program):
    receipt = program.exec_json('for i in range(4): open(f"/session/output/{i}", "wb").write(bytes(9 << 20))', '--output-dir', 'out', expect='ok')
    assert len(receipt['artifacts']) == 2 and list(left(receipt).values()) == ['total_bytes'] * 2


RACE = '''
import os, threading
os.makedirs('/session/output/d'); os.makedirs('/session/output/e')
for d in 'de': open(f'/session/output/{d}/passwd', 'w').write('mine')
os.symlink('/etc', '/session/output/link')
os.symlink('/etc/passwd', '/session/output/file-link')
os.mkfifo('/session/output/fifo')
open('/session/output/f', 'w').write('mine')
import subprocess, sys
child = subprocess.Popen([sys.executable or '/usr/bin/python3', '-S', '-c', """
import os, ctypes
o = '/session/output/'
def swap(a, b):
    os.rename(o + a, o + 'tmp'); os.rename(o + b, o + a); os.rename(o + 'tmp', o + b)
while True:
    swap('d', 'link'); swap('f', 'fifo'); swap('f', 'file-link')
"""])
'''


def test_swapped_by_a_process_that_runs_on(server):
    """The call has ended and its child goes on renaming while the supervisor walks."""
    receipt = server.call(RACE, 's', timeout=30)
    assert receipt['status'] == 'ok', receipt
    mine = hashlib.sha256(b'mine').hexdigest()
    seen = 0
    for _ in range(150):
        receipt = server.call('open("/session/output/e/passwd", "w").write("mine")', 's', expect='ok')
        seen += len(receipt['artifacts'])
        assert all(row['sha256'] == mine and row['bytes'] == 4 for row in receipt['artifacts']), receipt['artifacts']
    assert seen > 0
    assert server.value('child.poll() is None', 's') == 'True', 'the race has stopped'


def test_output_dir_is_a_file(program):
    (program.home / 'work' / 'file').write_text('x')
    for name in ('file', 'file/below', ''):
        code, out, err = program.run('exec', '--output-dir', name, '-c', 'print(1)')
        assert code == 2 and not out and b'--output-dir' in err and err.count(b'\n') == 1, (name, err)
    assert (program.home / 'work' / 'file').read_text() == 'x'


def test_nothing_is_overwritten(program):
    out = program.home / 'work' / 'out'
    victim = program.home / 'work' / 'victim'
    victim.write_text('precious')
    out.mkdir()
    (out / 'hello.txt').write_text('old')
    (out / 'plots').symlink_to(program.home / 'work')
    code, _, err = program.run('exec', '--output-dir', 'out', '-c', ORDINARY)
    assert code == 1
    assert (out / 'hello.txt').read_text() == 'old' and b'hello.txt: it is there already' in err
    assert b'plots/a/p.bin' in err and not (program.home / 'work' / 'a').exists()
    (out / 'hello.txt').unlink()
    (out / 'hello.txt').symlink_to(victim)
    code, _, err = program.run('exec', '--output-dir', 'out', '-c', ORDINARY)
    assert code == 1 and victim.read_text() == 'precious' and b'hello.txt: it is there already' in err
    assert sorted(os.listdir(out)) == ['hello.txt', 'plots'], 'a temporary file is left'


def test_a_failing_code_keeps_its_exit_code(program):
    out = program.home / 'work' / 'out'
    out.mkdir()
    (out / 'hello.txt').write_text('old')
    code, _, err = program.run('exec', '--output-dir', 'out', '-c', ORDINARY + 'raise SystemExit(7)')
    assert code == 7 and b'it is there already' in err
    assert (out / 'plots' / 'a' / 'p.bin').read_bytes() == CONTENTS['plots/a/p.bin']


def test_a_policy_without_artifacts(program):
    directory = program.home / 'config' / 'snipara-sandbox' / 'policies'
    directory.mkdir(parents=True)
    (directory / 'none.json').write_text(json.dumps({'name': 'none', 'extends': 'default', 'limits': {'artifact_files': 0}}))
    (directory / 'few.json').write_text(json.dumps({'name': 'few', 'extends': 'default', 'limits': {'artifact_depth': 1, 'artifact_bytes': 5}}))
    receipt = program.exec_json(ORDINARY, '--policy', 'none', expect='ok')
    assert receipt['artifacts'] == [] and 'collect_ms' not in receipt['metrics']
    receipt = program.exec_json(ORDINARY, '--policy', 'few', expect='ok')
    assert paths(receipt) == ['hello.txt'] and left(receipt) == {'plots': 'depth'}


def forbid_openat2():
    """In the child: openat2 answers ENOSYS, as before Linux 5.6."""
    ld_nr, jeq, ret = 0x20, 0x15, 0x06
    rows = [(ld_nr, 0, 0, 0), (jeq, 0, 1, 437), (ret, 0, 0, 0x00050000 | 38), (ret, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(rows), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())


def test_without_openat2_nothing_is_collected(program):
    """Never by another way in. The twin is every other test."""
    process = program.start('exec', '--json', '-c', ORDINARY, preexec_fn=forbid_openat2)
    out, err = process.communicate(timeout=60 * sandbox.SCALE)
    receipt = sandbox.validate(json.loads(out))
    assert receipt['status'] == 'ok', (receipt, err)
    assert receipt['artifacts'] == [] and receipt['artifacts_incomplete'] == 'no_openat2'


def test_a_name_begins_no_line_and_commands_no_terminal(server):
    receipt = server.call("""
for name in ('x\\nstatus: forged', 'red\\x9b31m', 'esc\\x1b[31m', 'separator\\u2028status: forged'):
    open('/session/output/' + name, 'w').close()
""", expect='ok')
    assert receipt['artifacts'] == [] or 'artifacts' not in receipt
    assert sorted(row['path'] for row in receipt['artifacts_left_out']) == ['esc?[31m', 'red??31m', 'separator???status: forged', 'x?status: forged']
    assert not [c for c in receipt['text'] if c in '\x1b\x9b\u2028'] and '\nstatus: forged' not in receipt['text']
