"""Runs the probes of some rows once, in this process, and prints a JSON object: row -> None (as it must be) or words.
worker.py [--mutant N] [--twins] [--long] [--rows 1,2,3]"""
import argparse
import json
import pathlib
import signal
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'integration'))

import rows
import sandbox
import scene
import watch


def too_long(*_):
    raise TimeoutError('the probe hangs')


def outcome(function, where, seconds):
    signal.alarm(int(seconds))
    try:
        return function(where)
    except BaseException as e:
        if isinstance(e, KeyboardInterrupt):
            raise
        last = traceback.extract_tb(e.__traceback__)[-1]
        return f'{type(e).__name__}: {str(e)[-400:]} ({last.filename.rsplit("/", 1)[-1]}:{last.lineno})'
    finally:
        signal.alarm(0)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('--mutant', type=int, default=0)
    arguments.add_argument('--rows', default='')
    arguments.add_argument('--twins', action='store_true')
    arguments.add_argument('--long', action='store_true')
    options = arguments.parse_args()
    wanted = [int(row) for row in options.rows.split(',')] if options.rows else sorted(rows.CHECKS)
    watch.become_subreaper()
    signal.signal(signal.SIGALRM, too_long)
    limit = (600 if options.long else 20) * sandbox.SCALE
    where = scene.Scene(options.mutant, wanted if options.rows else (), options.long)
    result = {'probes': {}, 'twins': {}, 'seconds': {}, 'notes': []}
    try:
        for row in wanted:
            began = time.monotonic()
            check, twin = rows.CHECKS[row]
            result['probes'][row] = outcome(check, where, limit)
            if options.twins:
                result['twins'][row] = outcome(twin, where, limit)
            result['seconds'][row] = round(time.monotonic() - began, 3)
        result['notes'] += [getattr(where, 'forks', '')]
    finally:
        result['left'] = where.close()
    print(json.dumps(result))
    return 0


if __name__ == '__main__':
    sys.exit(main())
