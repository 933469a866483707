"""The soak's result as a table, and what of it is a failure."""
import os
import pathlib
import platform
import subprocess
import time

from flatness import percentile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WHAT = {'fresh': 'first call of a session: a fresh jail', 'live': 'second call, in the live session', 'end': 'end of the session',
        'ping': 'ping: the server\'s own loop, no jail',
        'lag': 'how late this client itself wakes'}
GATED = ('fresh', 'live')


def revision():
    if os.environ.get('SNIPARA_REVISION'):  # of a copy of the tree
        return os.environ['SNIPARA_REVISION']
    done = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'], capture_output=True, text=True, check=False)
    return done.stdout.strip() or 'unknown'


def ratio(tally, what):
    return percentile(tally.latency[('loaded', what)], 0.99) / percentile(tally.latency[('quiet', what)], 0.99)


def failures_of(result):
    o, tally, found = result['options'], result['tally'], []
    if tally.faults:
        found.append(f'{len(tally.faults)} wrong answers, receipts or leftovers')
    for row in result['flatness']:
        if not row.flat and (o.timing or not row.figure.startswith('machine:')):
            found.append(f'{row.figure}: grew by {row.growth:.1f}, bound {row.bound:g}')
    if o.timing:
        for what in GATED:
            if ratio(tally, what) > o.ratio:
                found.append(f'{WHAT[what]}: p99 is {ratio(tally, what):.1f} times the quiet one')
    kinds = {attack.name for attack in result['attacks']}
    if kinds != set(tally.outcomes):
        found.append(f'attacks that never ran: {sorted(kinds - set(tally.outcomes))}')
    return found


def neighbours_table(tally):
    lines = ['| neighbours, ms | quiet p50 | quiet p99 | n | loaded p50 | loaded p99 | n | p99 ratio |', '|---|---|---|---|---|---|---|---|']
    for what, words in WHAT.items():
        quiet, loaded = tally.latency[('quiet', what)], tally.latency[('loaded', what)]
        lines.append(f'| {words} | {percentile(quiet, .5):.1f} | {percentile(quiet, .99):.1f} | {len(quiet)} | {percentile(loaded, .5):.1f} '
                     f'| {percentile(loaded, .99):.1f} | {len(loaded)} | {ratio(tally, what):.2f} |')
    return lines


def attacks_table(result):
    lines = ['| attack | times | outcomes | p50 ms | p99 ms |', '|---|---|---|---|---|']
    for attack in result['attacks']:
        outcomes, ms = result['tally'].outcomes.get(attack.name, {}), result['tally'].attack_ms.get(attack.name, [])
        words = ', '.join(f'{status} {count}' for status, count in sorted(outcomes.items()))
        lines.append(f'| {attack.name} | {sum(outcomes.values())} | {words} | {percentile(ms, .5):.0f} | {percentile(ms, .99):.0f} |')
    return lines


def flatness_table(result):
    lines = ['| at rest | first | last | per 1,000 jails | over the soak | bound | |', '|---|---|---|---|---|---|---|']
    for row in result['flatness']:
        lines.append(f'| {row.figure} | {row.first:g} | {row.last:g} | {row.per_1000:+.2f} | {row.growth:+.1f} | {row.bound:g} '
                     f'| {"flat" if row.flat else "**grows**"} |')
    return lines


def peaks_table(result):
    lines = ['| while it runs | median | most |', '|---|---|---|']
    for figure in ('supervisor RSS (KiB)', 'supervisor PSS (KiB)', 'supervisor descriptors', 'maker RSS (KiB)', 'zygote RSS (KiB)', 'zygote descriptors',
                   'jailed processes', 'cgroups of the server', 'machine: network namespaces (slab objects)', 'machine: memory cgroups, dying ones too',
                   'machine: slab, unreclaimable (KiB)'):
        values = [row[figure] for row in result['running'] if figure in row]
        if values:
            lines.append(f'| {figure} | {percentile(values, .5):g} | {max(values):g} |')
    return lines


def write(result):
    """(markdown, failures)."""
    o, tally, failures = result['options'], result['tally'], failures_of(result)
    attacked = sum(sum(row.values()) for row in tally.outcomes.values())
    backend = result['first']['backend']
    absent = sorted(row['layer'] for row in backend['missing'])
    lines = ['# Soak', '',
             f'Revision {revision()}, {time.strftime("%Y-%m-%d", time.gmtime())}, kernel {platform.release()}, {os.cpu_count()} cores, uid {os.geteuid()}, '
             f'rung {backend["rung"]}' + (f' without {", ".join(absent)}' if absent else '') + '. Made by `tests/soak/soak.py`.', '',
             f'{result["jails"]} jails in {result["seconds"]:.0f} s ({result["jails"] / result["seconds"]:.1f} a second), {attacked} of them attacked; '
             f'{o.neighbours} neighbours and {o.attackers} attackers at a time, {o.rounds} rounds of a quiet and a loaded slice and a rest. '
             f'{result["receipts"]} receipts validated. Faults: {len(tally.faults)}. '
             f'Load average before it began: {result["load"]:.1f}.' + ('' if o.timing else ' Times and the whole machine\'s figures were not asserted.'), '',
             *(['**Failed**: ' + '; '.join(failures) + '.', ''] if failures else []),
             *neighbours_table(tally), '', *flatness_table(result), '', *peaks_table(result), '', *attacks_table(result), '']
    return '\n'.join(lines), failures


def last_line(result, failures):
    tally = result['tally']
    words = f'{result["jails"]} jails, p99 fresh {ratio(tally, "fresh"):.2f}, live {ratio(tally, "live"):.2f} times the quiet one'
    return f'soak: {words}: ' + ('FAILED: ' + '; '.join(failures) if failures else 'all flat, every receipt right')
