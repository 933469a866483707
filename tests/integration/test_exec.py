"""`snipara-sandbox exec`: output, values, and one exit code per status."""
import json
import os
import subprocess
import time

import pytest

import sandbox
import watch


def test_main_path(program):
    receipt = program.exec_json('import sys\nprint("out")\nprint("err", file=sys.stderr)\n6 * 7', expect='ok')
    assert receipt['stdout'] == 'out\n' and receipt['stderr'] == 'err\n'
    assert receipt['result'] == {**receipt['result'], 'repr': '42', 'type': 'int', 'json': 42}
    assert receipt['tool'] == 'execute_python'
    assert receipt['session']['policy'] == 'default' and receipt['session']['created'] is True and receipt['session']['call'] == 1
    assert receipt['backend']['name'] == 'native'
    assert receipt['output'] == {**receipt['output'], 'stdout_bytes': 4, 'stderr_bytes': 4, 'truncated': False}
    assert receipt['metrics']['wall_ms'] > 0 and receipt['metrics']['cpu_user_ms'] is not None
    assert not receipt['denied']


def test_layers_are_those_of_the_rung(program, rung, host_table):
    backend = program.exec_json('1', expect='ok')['backend']
    layers, missing = set(backend['layers']), {row['layer']: row['reason'] for row in backend['missing']}
    for layer, cells in host_table.items():
        cell = cells[rung]
        if cell == 'yes':
            assert layer in layers, f'{layer} is missing on {rung}: {missing.get(layer)}'
        elif cell == 'no':
            assert layer not in layers, f'{layer} stands on {rung}: update doc/HOSTS.md'
        if layer not in layers:
            assert missing.get(layer), f'{layer} neither stands nor is it listed as missing with a reason'


def test_all_that_the_default_policy_requires_stands(program):
    code, out, err = program.run('policy', 'show', 'default', '--json')
    assert code == 0, err
    required = json.loads(out)['layers']['required']
    assert required
    assert not set(required) - set(program.exec_json('1', expect='ok')['backend']['layers'])


def test_plain_output_is_live(program):
    process = program.start('exec', '-c', 'import time\nprint("first", flush=True)\ntime.sleep(3)\nprint("second")')
    started = time.monotonic()
    assert process.stdout.readline() == b'first\n'
    first = time.monotonic() - started
    out, err = process.communicate(timeout=30 * sandbox.SCALE)
    assert time.monotonic() - started - first > 2, 'the first line came only with the last'
    assert out.startswith(b'second\n') and process.returncode == 0, (out, err)


def test_three_ways_to_give_code(program):
    (program.home / 'work' / 'snippet.py').write_text('print(__name__)')
    for arguments, stdin in ((('-c', 'print(__name__)'), None), (('snippet.py',), None), (('-',), b'print(__name__)')):
        code, out, err = program.run('exec', *arguments, stdin=stdin)
        assert (code, out) == (0, b'__main__\n'), (arguments, err)


@pytest.mark.parametrize('code, status, exit_code', [
    ('1', 'ok', 0),
    ('raise SystemExit', 'error', 0),
    ('raise SystemExit(3)', 'error', 3),
    ('import sys; sys.exit("bye")', 'error', 1),
    ('1/0', 'error', 1),
    ('def (', 'error', 1),
    ('import os; os.abort()', 'crashed', 139),
    ('import faulthandler; faulthandler._sigsegv()', 'crashed', 139),
    ('import os; os._exit(0)', 'crashed', 139),
    ('import os, signal; os.kill(os.getpid(), signal.SIGKILL)', 'crashed', 139),
])
def test_exit_code_of(program, code, status, exit_code):
    exit_status, out, err = program.run('exec', '-c', code)
    assert exit_status == exit_code, (out, err)
    receipt = program.exec_json(code, expect=status)
    if status != 'ok':
        assert receipt['error']['type'] or status == 'crashed'
    if 'sigsegv' in code and not sandbox.SANITIZED:
        assert receipt['error']['signal'] == 11
    if 'SystemExit(3)' in code:
        assert receipt['error']['exit_code'] == 3 and receipt['error']['type'] == 'SystemExit'


def test_error_says_line_and_keeps_output(program):
    receipt = program.exec_json('print("before")\nx = 1\n1/0\n', expect='error')
    error = receipt['error']
    assert receipt['stdout'] == 'before\n'
    assert error['type'] == 'ZeroDivisionError' and error['message'] == 'division by zero' and error['line'] == 3
    assert '1/0' in error['traceback'] and '<call 1>' in error['traceback']


def test_strict_rejects_before_anything_runs(program):
    receipt = program.exec_json('print("ran")\n().__class__', '--policy', 'strict', expect='rejected')
    assert receipt['stdout'] == '' and receipt['error']['line'] == 2
    assert '__class__' in receipt['error']['message']
    code, out, err = program.run('exec', '--policy', 'strict', '-c', 'print("ran")\n().__class__')
    assert code == 3 and b'ran' not in out and b'__class__' in err


@pytest.mark.parametrize('seconds', [0.3, 1])
def test_timeout(program, seconds):
    receipt = program.exec_json('print("partial", end="")\nwhile True: pass', '--timeout', seconds, expect='timeout')
    assert receipt['stdout'] == 'partial'
    assert receipt['limits']['timeout_seconds'] == seconds and receipt['limits']['hit'] == 'timeout'
    assert seconds * 1000 * 0.9 <= receipt['metrics']['wall_ms'] < (seconds + 1.5) * 1000 * sandbox.SCALE
    used = receipt['metrics']['cpu_user_ms']
    assert used is None or used > seconds * 1000 * 0.3
    assert used is not None or 'cgroup_cpu' not in receipt['backend']['layers']
    assert program.run('exec', '--timeout', seconds, '-c', 'while True: pass')[0] == 124


@pytest.mark.root
@pytest.mark.cgroups
def test_out_of_memory_is_told_from_a_crash(program):
    code = 'hoard = []\nwhile True: hoard.append(bytearray(4 << 20))'
    receipt = program.exec_json(code, '--memory', '200M', '--timeout', 20, expect='out_of_memory')
    assert receipt['limits']['hit'] == 'memory' and receipt['limits']['memory_bytes'] == 200 << 20
    assert program.run('exec', '--memory', '200M', '-c', code)[0] == 137
    after = program.exec_json('1', expect='ok')
    assert after['limits']['hit'] is None


@pytest.mark.root
@pytest.mark.cgroups
def test_fork_bomb_is_held(program):
    code = ('import os, time\nn = 0\ntry:\n  while n < 5000:\n    if os.fork() == 0:\n      time.sleep(30); os._exit(0)\n    n += 1\n'
            'except BlockingIOError as e:\n  print("stopped", e.errno)\nn')
    receipt = program.exec_json(code, '--timeout', 20, expect='ok')
    assert receipt['stdout'] == 'stopped 11\n' and 10 < receipt['result']['json'] <= receipt['limits']['pids']
    assert receipt['metrics']['pids_peak'] >= receipt['result']['json']


def test_background_children_do_not_hold_the_answer(program):
    started = time.monotonic()
    receipt = program.exec_json('import subprocess\nsubprocess.Popen(["sleep", "100"])\nraise SystemExit(5)', expect='error')
    assert receipt['error']['exit_code'] == 5
    assert time.monotonic() - started < 5 * sandbox.SCALE


def test_files_are_put_into_the_session(program):
    (program.home / 'work' / 'data.txt').write_text('payload\n')
    code = 'import os\nprint(open("data.txt").read(), open("/session/in/other.txt").read(), os.getcwd())'
    receipt = program.exec_json(code, '--file', 'data.txt', '--file', 'data.txt:in/other.txt', expect='ok')
    assert receipt['stdout'] == 'payload\n payload\n /session\n'


@pytest.mark.parametrize('arguments', [('--file', 'data.txt:../up'), ('--file', 'data.txt:/etc/x'), ('--file', 'absent.txt')])
def test_files_that_are_refused(program, arguments):
    (program.home / 'work' / 'data.txt').write_text('payload\n')
    code, out, err = program.run('exec', *arguments, '-c', 'print("ran")')
    assert code == 2 and not out and arguments[1].split(':')[-1].encode() in err, err


def test_environment_is_scrubbed(program):
    receipt = program.exec_json('import os\nsorted(os.environ.items())', env={'OPENAI_API_KEY': 'canary-1', 'CANARY': 'canary-2'})
    assert 'canary' not in json.dumps(receipt)


def test_sys_executable_names_no_trusted_binary(program):
    receipt = program.exec_json('import sys\nsys.executable', expect='ok')
    name = os.path.basename(receipt['result']['json'] or '')
    assert 'snipara' not in name


def test_subprocess_runs_inside_the_jail(program):
    code = 'import subprocess, sys\nsubprocess.run([sys.executable, "-c", "import os; print(os.getuid(), os.getcwd())"])'
    receipt = program.exec_json(code, expect='ok')
    assert receipt['stdout'].split()[1] == '/session', receipt


def test_killing_the_command_ends_the_jail(program):
    process = program.start('exec', '-c', 'import time\nprint("up", flush=True)\ntime.sleep(60)')
    assert process.stdout.readline() == b'up\n'
    below = watch.descendants(process.pid)
    assert below
    process.kill()
    process.communicate()
    assert not watch.gone(below, 2 * sandbox.SCALE)
    assert program.run('exec', '-c', '1')[0] == 0  # the next start sweeps the empty cgroups


def test_interrupting_the_command_ends_the_jail(program):
    process = program.start('exec', '-c', 'import time\nprint("up", flush=True)\ntime.sleep(60)')
    assert process.stdout.readline() == b'up\n'
    below = watch.descendants(process.pid)
    process.send_signal(2)
    process.communicate(timeout=5 * sandbox.SCALE)
    assert process.returncode != 0
    assert not watch.gone(below, 2 * sandbox.SCALE)


def test_closed_output_does_not_hang(program):
    process = program.start('exec', '-c', 'for n in range(200000): print("x" * 100)')
    process.stdout.read(10)
    process.stdout.close()
    try:
        process.wait(20 * sandbox.SCALE)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()


def test_usage_errors(program):
    for arguments, word in ((('exec',), b'exec'), (('exec', '--nonsense', '-c', '1'), b'nonsense'), (('exec', '-c'), b'-c'),
                            (('no-such-command',), b'no-such-command'), (('exec', '-c', '1', 'file.py'), b'file.py'),
                            (('exec', 'absent.py'), b'absent.py')):
        code, out, err = program.run(*arguments)
        assert code == 2 and not out and word in err, (arguments, code, out, err)


def test_version(program):
    code, out, _ = program.run('version')
    again, short, _ = program.run('--version')
    assert (code, again) == (0, 0) and out.split()[0] == b'snipara-sandbox' and short.split()[:2] == out.split()[:2]


def test_empty_stdin_is_an_error_not_a_hang(program):
    code, out, err = program.run('exec', '-', stdin=b'')
    assert code in (2, 3) and not out and b'empty' in err


def test_closed_stdin(program):
    process = subprocess.run([sandbox.PROGRAM, 'exec', '-c', 'print(1)'], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                             env=sandbox.program_environment(program.home), timeout=30 * sandbox.SCALE)
    assert process.returncode == 0 and process.stdout == b'1\n'


@pytest.mark.parametrize('code', ['with open("/tmp/full", "wb", buffering=0) as f:\n  while True: f.write(bytes(1 << 20))',
                                  'n = 0\nwhile True:\n  open(f"/session/{n}", "w").close()\n  n += 1'], ids=['bytes', 'files'])
def test_a_full_disk_is_named(program, code):
    receipt = program.exec_json(code, expect='error')
    assert receipt['error']['type'] == 'OSError' and receipt['limits']['hit'] == 'disk', receipt
    assert program.exec_json('1 / 0', expect='error')['limits']['hit'] is None
