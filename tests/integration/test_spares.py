"""Jails that stand ready before anybody asks, and generations of zygotes."""
import os
import signal
import threading
import time

import pytest

import sandbox
import watch

SPARES = 2


def ready(server, count=SPARES):
    """Wait until `count` jails without a session stand ready, and nothing more is being made."""
    assert watch.wait_until(lambda: len(watch.jailed(server.pid)) >= count, 20 * sandbox.SCALE)
    watch.settled(lambda: len(watch.jailed(server.pid)))
    return set(watch.jailed(server.pid))


def zygotes(server):
    table = watch.parents()
    return {pid for pid in watch.descendants(server.pid)
            if table.get(pid, (0,))[0] == server.pid and '--zygote' in watch.describe(pid)}


def test_a_new_session_takes_a_spare(server):
    spares = ready(server)
    receipt = server.call('print("hello")', 'first', expect='ok')
    setup = receipt['metrics']['setup']
    assert setup['spare'] is True and receipt['metrics']['setup_ms'] == 0
    assert setup['total_us'] > 0 and setup['fork_us'] > 0 and setup['mounts_us'] > 0 and setup['seal_us'] > 0
    assert receipt['stdout'] == 'hello\n' and receipt['session']['created']
    assert len(spares & set(watch.jailed(server.pid))) == len(spares)
    again = server.call('1', 'first', expect='ok')['metrics']
    assert 'setup' not in again, 'told once'
    assert len(ready(server, SPARES + 1)) == SPARES + 1, 'the spare that was taken is replaced'


def test_two_spares_know_nothing_of_each_other(server):
    ready(server)
    assert server.value('open("/tmp/x", "w").write("a")', 'one') == '1'
    assert server.call('open("/tmp/x")', 'two', expect='error')['error']['type'] == 'FileNotFoundError'
    drawn = [server.value('import random, os, uuid, tempfile; (random.random(), os.urandom(8), uuid.uuid4().hex, tempfile.mktemp())', name)
             for name in ('one', 'two', 'three')]
    assert len(set(drawn)) == 3


def test_without_spares(program):
    server = program.serve(arguments=('--spares', '0'))
    receipt = server.call('1', 'only', expect='ok')
    assert receipt['metrics']['setup']['spare'] is False and receipt['metrics']['setup_ms'] > 0
    time.sleep(0.3)
    assert len(watch.jailed(server.pid)) == 1
    assert server.close() == 0


def test_a_spare_that_dies_is_replaced(server):
    spares = ready(server)
    for pid in spares:
        os.kill(pid, signal.SIGKILL)
    assert watch.wait_until(lambda: not spares & set(watch.jailed(server.pid)), 5 * sandbox.SCALE)
    assert server.call('6 * 7', 'next', expect='ok')['result']['json'] == 42
    assert not spares & ready(server, SPARES + 1)


@pytest.mark.parametrize('text', ['-1', '65', 'two', '', '1.5', '0x2', '99999999999999999999'])
def test_odd_numbers_of_spares(program, text):
    code, out, err = program.run('mcp-serve', '--spares', text)
    assert code == 2 and b'0 to 64' in err and not out


def test_end_of_input_while_spares_are_made(program):
    for delay in (0, 0.02, 0.1, 0.15, 0.2, 0.25, 0.3):
        server = program.serve(handshake=False)
        time.sleep(delay)
        below = watch.descendants(server.pid)
        assert server.close(10) == 0
        assert not watch.gone(below, 2 * sandbox.SCALE)


def test_forty_sessions_at_once(program):
    server = program.serve()
    numbers = [server.start_call(f'{n} + 1', f'at-once-{n}') for n in range(40)]
    answers = [server.wait_receipt(number)['result']['json'] for number in numbers]
    assert answers == list(range(1, 41))
    assert server.close(10) == 0


def test_cancel_while_the_jail_is_made(program):
    server = program.serve(arguments=('--spares', '0'))
    numbers = [server.start_call('import time; time.sleep(30)', f'c{n}') for n in range(6)]
    for number in numbers:
        server.notify('notifications/cancelled', {'requestId': number})
    assert server.value('1', 'after') == '1'
    assert watch.wait_until(lambda: all(row['state'] != 'running' for row in
                                        server.tool('list_sessions', {})['structuredContent']['sessions']), 5 * sandbox.SCALE)
    assert server.close(10) == 0


def test_destroy_while_the_jail_is_made(program):
    server = program.serve(arguments=('--spares', '0'))
    number = server.start_call('1', 'early')
    gone = server.start('tools/call', {'name': 'destroy_session', 'arguments': {'session_id': 'early'}})
    assert server.wait_receipt(number)['status'] in ('ok', 'cancelled')
    assert not server.wait(gone).get('isError')
    assert server.value('2', 'early') == '2'
    assert server.close(10) == 0


GENERATION = 'hash("of the generation"), id(len)'


def test_generations(program):
    """ISOLATION.md row 46: hash secret and addresses are shared within a generation, and a new one comes after so many forks."""
    server = program.serve(env={'SNIPARA_SANDBOX_ZYGOTE_FORKS': '4'}, arguments=('--spares', '0'))
    first = server.value(GENERATION, 'g0')
    assert server.value('kept = 40', 'g0') is None
    assert server.value(GENERATION, 'g1') == first and server.value(GENERATION, 'g2') == first
    seen = {first}
    for number in range(3, 24):
        seen.add(server.value(GENERATION, f'g{number}'))
        time.sleep(0.05)
    assert 3 <= len(seen) <= 8
    assert server.value('kept + 2', 'g0') == '42', 'a session outlives the generation of others'
    for number in range(1, 24):
        server.tool('destroy_session', {'session_id': f'g{number}'})
    assert watch.wait_until(lambda: len(zygotes(server)) <= 3, 5 * sandbox.SCALE), 'zygotes without payloads end'
    assert server.value('kept', 'g0') == '40'
    assert server.close(10) == 0


def test_a_zygote_that_dies_while_jails_are_made(program):
    server = program.serve(arguments=('--spares', '0'))
    server.value('1', 'before')
    answers = []

    def ask(number):
        answers.append(server.call(f'{number}', f'during-{number}')['status'])
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for pid in zygotes(server):
        os.kill(pid, signal.SIGKILL)
    for thread in threads:
        thread.join()
    assert set(answers) <= {'ok', 'refused', 'crashed'} and len(answers) == 8
    assert server.value('1', 'later') == '1'
    assert server.close(10) == 0


def test_a_zygote_that_dies_between_a_fork_and_its_word(program):
    """The payload is then a child of ours that nobody has named, and its init waits until somebody reaps it."""
    server = program.serve(arguments=('--spares', '0'))
    server.value('1', 'before')
    for attempt in range(20):
        calls = [server.start_call('1', f's{attempt}.{number}') for number in range(12)]
        time.sleep(0.005 * (attempt % 8))
        for pid in zygotes(server):
            if not watch.in_other_pid_namespace(pid):
                os.kill(pid, signal.SIGKILL)
        for number in calls:
            server.wait(number, 60)
        for number in range(12):
            server.tool('destroy_session', {'session_id': f's{attempt}.{number}'}, 10)
    assert watch.wait_until(lambda: not [pid for pid in watch.descendants(server.pid) if watch.status(pid).get('State', '').startswith('Z')],
                            5 * sandbox.SCALE)
    assert server.value('1', 'later') == '1'
    start = time.monotonic()
    assert server.close(10) == 0
    assert time.monotonic() - start < 3 * sandbox.SCALE, 'no jail waits for ever'
