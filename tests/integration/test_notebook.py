"""A cell behaves as in a notebook. Each test takes a session of its own on one server."""
import pytest

NOTHING = object()


@pytest.mark.parametrize('code, expected', [
    ('1 + 1', '2'),
    ('x = 1', None),
    ('None', None),
    ('1; 2', '2'),
    ('2;', '2'),
    ('3  # a comment', '3'),
    ('if True:\n    5', None),
    ('result = 7', '7'),
    ('result = 7\n8', '8'),
    ('result = None', None),
    ('def f(): return 1', None),
    ('"text"', "'text'"),
    ('(1,\n 2)', '(1, 2)'),
    ('x: int = 5\nx', '5'),
    ('4\n\n\n', '4'),
    ('\ufeff6', '6'),
    ('[n for n in range(3)]', '[0, 1, 2]'),
    ('__name__', "'__main__'"),
    ('await_ = 1\nawait_', '1'),
    ('import asyncio\nawait asyncio.sleep(0, "slept")', "'slept'"),
    ('import asyncio\nasync def f():\n    return 9\nawait f()', '9'),
    ('async def f():\n    yield 1\n[n async for n in f()]', '[1]'),
    ('from __future__ import annotations\ndef f(a: nothing): pass\nf.__annotations__', "{'a': 'nothing'}"),
    ('match {"a": 1}:\n    case {"a": n}: pass\nn', '1'),
    ('try:\n    raise ExceptionGroup("g", [ValueError(1)])\nexcept* ValueError:\n    caught = True\ncaught', 'True'),
    ('(lambda: (yield))().gi_code.co_name', "'<lambda>'"),
], ids=repr)
def test_value(shared, session, code, expected):
    assert shared.value(code, session) == expected


def test_stale_result_is_not_shown_again(shared, session):
    assert shared.value('result = 5', session) == '5'
    assert shared.value('y = 1', session) is None
    assert shared.value('result', session) == '5'


def test_same_text_runs_again(shared, session):
    code = 'try:\n    hits += 1\nexcept NameError:\n    hits = 1\nhits'
    assert [shared.value(code, session) for _ in range(3)] == ['1', '2', '3']


def test_values_have_type_and_json(shared, session):
    for code, kind, data in (('{"a": [1, None, 1.5, True, "é"]}', 'dict', {'a': [1, None, 1.5, True, 'é']}), ('(1, 2)', 'tuple', NOTHING),
                             ('float("nan")', 'float', NOTHING), ('{1: 2}', 'dict', NOTHING), ('b"x"', 'bytes', NOTHING),
                             ('type("N", (int,), {})(3)', 'N', NOTHING), ('""', 'str', ''), ('0', 'int', 0), ('False', 'bool', False)):
        result = shared.call(code, session, expect='ok')['result']
        assert result['type'] == kind, result
        if data is NOTHING:
            assert result.get('json') is None or kind == 'tuple', result
        else:
            assert result['json'] == data, result


def test_circular_and_deep_values(shared, session):
    assert shared.value('a = []; a.append(a); a', session) == '[[...]]'
    receipt = shared.call('d = []\nfor _ in range(100000): d = [d]\nd', session)
    assert receipt['status'] in ('ok', 'error')
    assert shared.value('1', session) == '1'


def test_traceback_across_calls_has_source_lines(shared, session):
    shared.value('def outer(n):\n    marker = "first call"\n    return inner(n)', session)
    shared.value('def inner(n):\n    return 1 // n  # here it breaks', session)
    error = shared.call('x = 1\n\nouter(0)', session, expect='error')['error']
    for part in ('File "<call 1>", line 3', 'return inner(n)', 'File "<call 2>", line 2', 'here it breaks', 'File "<call 3>", line 3',
                 'outer(0)', 'ZeroDivisionError'):
        assert part in error['traceback'], (part, error['traceback'])
    assert error['line'] == 3
    assert 'snipara' not in error['traceback'].lower() and 'pyhost' not in error['traceback'].lower()


def test_syntax_error_position(shared, session):
    error = shared.call('ok = 1\nx = = 2\n', session, expect='error')['error']
    assert error['type'] == 'SyntaxError' and error['line'] == 2 and '^' in error['traceback']
    assert shared.call('ok', session)['status'] == 'error', 'nothing of a cell with a syntax error runs'


def test_system_exit(shared, session):
    for code, exit_code in (('raise SystemExit', 0), ('import sys; sys.exit(4)', 4), ('exit(5)', 5), ('quit()', 0)):
        error = shared.call(code, session, expect='error')['error']
        assert error['type'] == 'SystemExit' and error['exit_code'] == exit_code, (code, error)
    assert shared.value('1', session) == '1', 'the session goes on'


def test_keyboard_interrupt(shared, session):
    assert shared.call('raise KeyboardInterrupt', session, expect='error')['error']['type'] == 'KeyboardInterrupt'
    assert shared.value('1', session) == '1'


def test_hostile_exceptions(shared, session):
    code = 'class Nasty(Exception):\n    def __str__(self): raise RuntimeError("no text")\nraise Nasty()'
    assert shared.call(code, session, expect='error')['error']['type'] == 'Nasty'
    assert shared.call('class E(Exception): pass\nE.__name__ = "\\ud800"\nraise E', session)['status'] == 'error'
    assert shared.value('1', session) == '1'


def test_exception_chain(shared, session):
    text = shared.call('try:\n    {}["k"]\nexcept KeyError as e:\n    raise ValueError("v") from e', session, expect='error')['error']['traceback']
    assert 'KeyError' in text and 'direct cause' in text and 'ValueError: v' in text


def test_warnings_reach_stderr(shared, session):
    receipt = shared.call('import warnings\nwarnings.warn("mind the gap")\n1', session, expect='ok')
    assert 'mind the gap' in receipt['stderr'] and 'UserWarning' in receipt['stderr']


def test_classes_pickle(shared, session):
    shared.value('import pickle\nclass Point:\n    def __init__(self, x): self.x = x', session)
    assert shared.value('pickle.loads(pickle.dumps(Point(4))).x', session) == '4'


def test_dataclass_with_future_annotations(shared, session):
    code = 'from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\nP()'
    assert shared.value(code, session) == 'P(x=1)'


def test_inspect_getsource(shared, session):
    shared.value('class A:\n    """first"""\n    def m(self):\n        return 1', session)
    shared.value('pad = 1\ndef f(x):\n    return x + 41\n', session)
    assert shared.value('import inspect; inspect.getsource(f)', session) == repr('def f(x):\n    return x + 41\n')
    source = shared.call('inspect.getsource(A)', session, expect='ok')['result']['json']
    assert source.rstrip('\n') == 'class A:\n    """first"""\n    def m(self):\n        return 1'
    assert shared.call('inspect.getsource(A.m)', session, expect='ok')['result']['json'].strip() == 'def m(self):\n        return 1'


def test_functions_see_later_names(shared, session):
    shared.value('def even(n): return n == 0 or odd(n - 1)', session)
    shared.value('def odd(n): return n != 0 and even(n - 1)', session)
    assert shared.value('even(10)', session) == 'True'


def test_main_module_is_the_namespace(shared, session):
    shared.value('v = 12', session)
    assert shared.value('import __main__, sys; (__main__.v, sys.modules["__main__"] is __main__, globals() is vars(__main__))',
                        session) == '(12, True, True)'


def test_stdin_is_empty(shared, session):
    assert shared.call('input()', session, expect='error')['error']['type'] == 'EOFError'


def test_threads_and_multiprocessing(shared, session):
    code = ('from concurrent.futures import ThreadPoolExecutor\n'
            'with ThreadPoolExecutor(4) as pool: total = sum(pool.map(lambda n: n * n, range(10)))\ntotal')
    assert shared.value(code, session) == '285'


def test_replaced_streams_do_not_break_the_next_call(shared, session):
    shared.call('import sys, io\nsys.stdout = io.StringIO()\nsys.stderr.close()\nprint("lost")', session)
    assert shared.call('print("seen")\n1', session)['status'] == 'ok'


def test_builtins_removed(shared, session):
    shared.call('import builtins\nfor name in list(vars(builtins)):\n    if name[0] != "_": delattr(builtins, name)', session)
    receipt = shared.call('1', session)
    assert receipt['status'] in ('ok', 'error', 'crashed')


def test_numbers_of_lines_start_at_one_in_each_call(shared, session):
    shared.value('a = 1\nb = 2\nc = 3', session)
    assert shared.call('1/0', session, expect='error')['error']['line'] == 1


RANDOM = ('import os, random, tempfile, uuid\n'
          'values = [random.random(), os.urandom(8).hex(), str(uuid.uuid4()), os.path.basename(tempfile.mktemp()), random.SystemRandom().random()]\n'
          'try:\n    import numpy\n    values.append(float(numpy.random.random()))\nexcept ImportError:\n    pass\nvalues')


def test_two_fresh_jails_draw_different_numbers(shared, session):
    draws = [shared.call(RANDOM, f'{session}-{n}', expect='ok')['result']['json'] for n in range(3)]
    for column in zip(*draws):
        assert len(set(column)) == 3, column


def test_a_seed_holds_within_the_session(shared, session):
    shared.value('import random; random.seed(5)', session)
    first = shared.value('random.random()', session)
    shared.value('random.seed(5)', session)
    assert shared.value('random.random()', session) == first


def test_recursion_and_deep_nesting(shared, session):
    assert shared.call('def f(): return f()\nf()', session, expect='error')['error']['type'] == 'RecursionError'
    nested = shared.call('(' * 5000 + ')' * 5000, session)
    assert nested['status'] in ('error', 'rejected', 'crashed')
    assert shared.value('1', session) == '1'
