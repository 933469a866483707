"""Sessions over MCP: state, order, side by side, cancellation, progress, and ends that leave nothing behind."""
import os
import queue
import signal
import time

import pytest

import sandbox
import watch


def test_initialize(server):
    assert server.hello['serverInfo']['name'] == 'snipara-sandbox' and server.hello['protocolVersion'] == '2025-06-18'
    assert 'tools' in server.hello['capabilities']


def test_tools_list(server):
    tools = {tool['name']: tool for tool in server.request('tools/list')['tools']}
    tool = tools['execute_python']
    assert tool['inputSchema']['type'] == 'object' and tool['inputSchema']['required'] == ['code']
    assert tool['outputSchema']['type'] == 'object' and tool['description']
    assert server.request('tools/list') == server.request('tools/list')


def test_variables_are_kept(server):
    assert server.value('x = 20', 'a') is None
    assert server.value('x + 1', 'a') == '21'
    receipt = server.call('x', 'a', expect='ok')
    assert receipt['session'] == {**receipt['session'], 'id': 'a', 'call': 3, 'created': False}
    assert server.call('x', 'b', expect='error')['error']['type'] == 'NameError'


def test_receipts_are_chained(server):
    first, second = server.call('1', 'chain'), server.call('2', 'chain')
    assert not first['digests'].get('previous')
    assert second['digests']['previous'].startswith('sha256:')
    assert first['receipt_id'] < second['receipt_id'], 'uuid v7 sorts by time'


def test_default_session(server):
    server.value('y = 5')
    assert server.value('y', 'default') == '5'


def test_an_error_keeps_the_variables(server):
    server.call('kept = 1\n1/0', 'e', expect='error')
    assert server.value('kept', 'e') == '1'


def test_a_session_is_bound_to_its_policy(server):
    server.value('1', 'bound', policy='strict')
    assert 'policy' in server.refused({'code': '1', 'session_id': 'bound', 'policy': 'open'}).lower()
    assert server.call('2', 'bound', expect='ok')['session']['policy'] == 'strict'


def test_sessions_overlap(server):
    server.value('1', 'p1')
    server.value('1', 'p2')
    started = time.monotonic()
    code = 'import time\nt = time.monotonic(); time.sleep(2); (t, time.monotonic())'
    numbers = [server.start_call(code, name) for name in ('p1', 'p2')]
    spans = [server.wait_receipt(number)['result']['json'] for number in numbers]
    assert time.monotonic() - started < 3.5 * sandbox.SCALE
    if 'time_namespace' not in server.call('1', 'p1')['backend']['layers']:
        assert max(span[0] for span in spans) < min(span[1] for span in spans)


def test_one_session_is_served_in_order(server):
    server.value('seen = []', 'o')
    numbers = [server.start_call(f'import time; time.sleep({0.2 if n % 2 else 0}); seen.append({n}); len(seen)', 'o') for n in range(8)]
    assert [server.wait_receipt(number)['result']['json'] for number in numbers] == list(range(1, 9))
    assert server.value('seen', 'o') == str(list(range(8)))


def test_ping_is_answered_during_a_call(server):
    number = server.start_call('import time; time.sleep(2)', 'busy')
    started = time.monotonic()
    server.alive()
    assert time.monotonic() - started < 1 * sandbox.SCALE
    server.wait_receipt(number)


def test_timeout_does_not_reach_other_sessions(server):
    server.value('precious = 7', 'other')
    assert server.call('while True: pass', 'loop', timeout=1)['status'] == 'timeout'
    assert server.value('precious', 'other') == '7'
    assert server.value('1 + 1', 'loop') == '2'


def test_crash_does_not_reach_other_sessions(server):
    server.value('precious = 7', 'other')
    receipt = server.call('import os; print("last words", flush=True); os.abort()', 'crash', expect='crashed')
    assert receipt['stdout'] == 'last words\n'
    assert server.value('precious', 'other') == '7'
    assert server.value('1 + 1', 'crash') == '2'


def guests_running(server):
    """CPU time used by jailed processes, to see whether any of them works."""
    total = 0
    for pid in watch.jailed(server.pid):
        try:
            fields = open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace').read().rsplit(')', 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        except OSError:
            pass
    return total


def test_cancel_kills_within_a_second(server):
    server.value('1', 'c')
    number = server.start_call('while True: pass', 'c', timeout=60)
    time.sleep(1)
    server.notify('notifications/cancelled', {'requestId': number, 'reason': 'enough'})
    time.sleep(1)
    before = guests_running(server)
    time.sleep(0.5)
    assert guests_running(server) - before <= 5, 'the cancelled code still runs'
    assert number not in server.answers, 'a cancelled request is not answered'
    assert server.value('5 * 5', 'c') == '25'


def test_cancel_of_a_waiting_call(server):
    first = server.start_call('import time; time.sleep(1.5); 1', 'w')
    second = server.start_call('open("/session/ran", "w")', 'w')
    server.notify('notifications/cancelled', {'requestId': second})
    server.notify('notifications/cancelled', {'requestId': 999999})
    assert server.wait_receipt(first)['status'] == 'ok'
    assert server.value('import os; os.path.exists("/session/ran")', 'w') == 'False'
    assert second not in server.answers


def drain(server):
    found = []
    while True:
        try:
            found.append(server.notifications.get_nowait())
        except queue.Empty:
            return found


@pytest.mark.parametrize('token', ['text', 0, ''], ids=repr)
def test_progress_carries_output(server, token):
    number = server.start_call('import time\nfor n in range(4):\n    print("step", n, flush=True)\n    time.sleep(0.7)', 'p', progress=token)
    receipt = server.wait_receipt(number)
    assert receipt['status'] == 'ok'
    notes = [message['params'] for _, message in drain(server) if message['method'] == 'notifications/progress']
    assert notes, 'no progress in almost three seconds'
    assert all(note['progressToken'] == token and type(note['progressToken']) is type(token) for note in notes)
    values = [note['progress'] for note in notes]
    assert values == sorted(set(values))
    assert any('step' in note.get('message', '') for note in notes)
    time.sleep(0.5)
    assert not drain(server), 'progress after the answer'


def test_no_progress_without_a_token(server):
    server.value('import time\nfor n in range(3):\n    print(n, flush=True)\n    time.sleep(0.5)', 'p')
    assert not drain(server)


def ending(program, end, within):
    """Start a server with a busy, an idle and a daemonised guest, end it by `end`, and see every process gone; the exit code."""
    server = program.serve()
    server.value('1', 'idle')
    server.value('import subprocess; subprocess.Popen(["sleep", "100"], start_new_session=True); 1', 'daemon')
    server.start_call('while True: pass', 'busy', timeout=60)
    time.sleep(1)
    below = watch.descendants(server.pid)
    assert len(below) >= 3
    started = time.monotonic()
    end(server)
    code = server.process.wait(10 * sandbox.SCALE)
    left = watch.gone(below, within * sandbox.SCALE)
    assert not left, [watch.describe(pid) for pid in left]
    assert time.monotonic() - started < (within + 1) * sandbox.SCALE
    server.abandon()
    return code


def test_end_of_input(program):
    assert ending(program, lambda server: server.process.stdin.close(), 2) == 0


@pytest.mark.parametrize('name', ['SIGTERM', 'SIGINT', 'SIGHUP'])
def test_signal(program, name):
    number = getattr(signal, name)
    assert ending(program, lambda server: server.process.send_signal(number), 2) in (0, 128 + number, -number)


def test_kill_of_the_server(program):
    """SIGKILL gives the server no chance to remove its cgroups; the processes go at once, the empty groups with the next start."""
    owner = []

    def kill(server):
        owner.append(f'snipara-{server.pid}-')
        server.process.kill()
    ending(program, kill, 2)
    for path in watch.own_cgroups():
        if owner[0] in path:
            assert watch.wait_until(lambda: not watch.members(path), 2), f'{path} is not empty'
    assert program.run('exec', '-c', '1')[0] == 0


def test_answers_that_are_pending_at_end_of_input(program):
    server = program.serve()
    number = server.start_call('6 * 7', 's')
    server.process.stdin.close()
    assert server.wait_receipt(number)['result']['json'] == 42
    assert server.process.wait(10 * sandbox.SCALE) == 0
    server.abandon()


def test_list_and_destroy(server):
    server.value('import threading, time\nfor _ in range(6): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n1', 'gone')
    pid = watch.with_threads(server.pid, 7)
    assert pid
    rows = server.tool('list_sessions', {})['structuredContent']['sessions']
    assert 'gone' in {row['id'] for row in rows}
    assert not server.tool('destroy_session', {'session_id': 'gone'}).get('isError')
    assert watch.wait_until(lambda: not os.path.exists(f'/proc/{pid}'), 3)
    assert 'gone' in server.refused({'session_id': 'gone'}, name='destroy_session')
    assert server.call('1', 'gone')['session']['created'] is True


def test_thirty_sessions_come_and_go(program):
    server = program.serve()
    for number in range(30):
        receipt = server.call(f'{number}', f's{number}')
        assert receipt['status'] in ('ok', 'refused'), receipt
    below = watch.descendants(server.pid)
    assert server.close(10) == 0
    assert not watch.gone(below, 2 * sandbox.SCALE)


def test_memory_of_the_server_stays_flat(server):
    for number in range(10):
        server.value('list(range(1000))', 'flat')
    before = watch.rss(server.pid)
    for number in range(200):
        server.value('list(range(1000))', 'flat')
    assert watch.rss(server.pid) - before < 8 << 20 or sandbox.SANITIZED


def test_different_sessions_have_different_files(server):
    server.value('open("mine", "w").write("a")', 'f1')
    assert server.value('import os; os.listdir("/session")', 'f2') in ("[]", "['output']")
    assert os.getpid() not in watch.jailed(server.pid)


def test_sessions_that_died_idle_leave_the_others_their_ends(program):
    """Their descriptors were closed when they ended, the numbers are others' by now: letting go of them must not touch those."""
    server = program.serve()
    dying, others = [f'dying-{n}' for n in range(12)], [f'other-{n}' for n in range(12)]
    for name in dying:
        server.call('import os, threading\nthreading.Timer(0.2, os._exit, (0,)).start()', name)
    time.sleep(0.7)
    for name in others:
        server.call('1', name, expect='ok')
    for name in dying + others:
        assert server.tool('destroy_session', {'session_id': name}, timeout=10)['structuredContent'] == {'destroyed': True}
    assert server.close() == 0
