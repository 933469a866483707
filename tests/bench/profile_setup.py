#!/usr/bin/env python3
"""Where the making of a fresh session goes, from the receipts: medians of metrics.queue_ms, setup_ms, wall_ms, and of metrics.setup, step by
step. The quick way to see what a change to the set-up brought; `make bench` prints the same tables.

    tests/bench/profile_setup.py --program build/snipara-sandbox [--count 50] [--policy default] [--pause-ms 40]
"""
import argparse
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import client as bench_client
import measure
import report


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--program', required=True)
    parser.add_argument('--client', help='the built client; without it cc(1) builds one')
    parser.add_argument('--count', type=int, default=50)
    parser.add_argument('--policy', default='default')
    parser.add_argument('--pause-ms', type=int, default=0, help='between sessions, for what is prepared ahead to be there again')
    given = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix='snipara-bench-') as directory:
            with bench_client.Client(given.client or bench_client.build(directory), os.environ) as client:
                client.start(given.program, 'mcp-serve')
                client.fresh(3, given.policy)
                found = measure.setup_steps(client, given.count, given.policy, given.pause_ms)
                client.quit()
    except (bench_client.BenchError, OSError) as error:
        print(f'profile_setup: {error}', file=sys.stderr)
        return 1
    print('\n'.join(report.setup_lines(found)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
