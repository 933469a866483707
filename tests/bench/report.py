"""From measurements to bars, ratios and tables. Pure."""
import statistics

BEGIN, END = '<!-- bench: begin -->', '<!-- bench: end -->'
SESSIONS_BYTES = 2.5e9


def ways_of(results):
    return {way['key']: way for section in ('paired', 'sustained') for way in (results.get(section) or {}).get('ways', [])}


def ratio(way, base):
    """p50 over p50, repetition by repetition: (median, smallest, largest), or None when one of the two was not measured."""
    if not way or not base:
        return None
    each = [mine / theirs for mine, theirs in zip(way['p50_us_by_repetition'], base['p50_us_by_repetition'])]
    return (statistics.median(each), min(each), max(each)) if each else None


def verdict(text, value, limit, shown, why=None, is_at_least=False):
    """`met` is None, and `why` says the reason, where the bar was not measured."""
    met = None if value is None else value >= limit if is_at_least else value <= limit
    return {'bar': text, 'value': value, 'limit': limit, 'shown': shown, 'met': met, 'why': why if value is None else None}


def ratio_bar(text, way, base, limit, is_fraction):
    found = ratio(way, base)
    if not found:
        return verdict(text, None, limit, '', 'one of the two was not measured')
    shown = f'1/{1 / found[0]:.1f}' if is_fraction else f'{found[0]:.2f} times'
    spread = f' ({found[1]:.3f} to {found[2]:.3f} over the repetitions)'
    return verdict(text, round(found[0], 5), limit, shown + spread)


def session_bars(results):
    memory = 'memory of 1,000 live sessions: at most 2.5 GB, by MemAvailable'
    growing = 'creation of the 1,000th session: at most 1.5 times the first'
    idling = 'an idle server uses no CPU: 0 clock ticks'
    found = results.get('sessions')
    if not found:
        return [verdict(text, None, limit, '', 'not in this run') for text, limit in ((memory, SESSIONS_BYTES), (growing, 1.5), (idling, 0))]
    last, why = found['memory'][-1], None
    if found['reached'] < 1000:
        why = f'{found["reached"]} sessions were made' + (f': {found["problem"]}' if found['problem'] else ', which is all that this mode asks for')
    used = last['available_kib'] * 1024
    first_us, last_us = (found['creation'][at]['p50_us'] for at in ('first', 'last'))
    ticks = found['idle_empty']['ticks'] + found['idle_full']['ticks']
    return [verdict(memory, None if why else used, SESSIONS_BYTES, f'{used / 1e9:.2f} GB', why),
            verdict(growing, None if why else round(last_us / first_us, 3), 1.5, f'{last_us / first_us:.2f} times', why),
            verdict(idling, ticks, 0, f'{ticks} ticks in {2 * found["idle_full"]["seconds"]:g} s, half of them without a session')]


def bars(results):
    ways = ways_of(results)
    get = ways.get
    rates = [row['per_second'] for row in (results.get('throughput') or {}).get('rows', [])]
    best = max(rates, default=None)
    rate = 'fresh jails: at least 500 a second on 2 cores'
    fast = verdict(rate, best, 500, '' if best is None else f'{best:.0f} a second', 'not in this run', is_at_least=True)
    return [ratio_bar('fresh jail, with pauses: at most 1/25 of bwrap', get('fresh'), get('bwrap'), 1 / 25, True),
            ratio_bar('fresh jail, with pauses: at most 1/500 of docker run', get('fresh'), get('docker-run'), 1 / 500, True),
            ratio_bar('fresh jails back to back: at most 1/6 of bwrap', get('sustained'), get('sustained-bwrap'), 1 / 6, True),
            fast,
            ratio_bar('second call of a live session: at most 1/60 of bwrap', get('live'), get('bwrap'), 1 / 60, True),
            ratio_bar('cold exec: at most 1.3 times bwrap + python -c', get('exec'), get('bwrap-site'), 1.3, False),
            *session_bars(results)]


def number(value):
    return f'{value:,.0f}' if value >= 100 else f'{value:,.1f}'


def times(found):
    return '' if not found else f'{found[0]:.3f}' if found[0] < 0.1 else f'{found[0]:.2f}' if found[0] < 10 else f'{found[0]:.0f}'


def table(header, rows):
    return ['| ' + ' | '.join(header) + ' |', '|' + '---|' * len(header), *('| ' + ' | '.join(map(str, row)) + ' |' for row in rows), '']


def bar_lines(results):
    word = {True: 'met', False: '**not met**', None: 'not measured'}
    return table(('bar', 'measured', ''), [(bar['bar'], bar['shown'] or bar['why'], word[bar['met']] if bar['met'] is not None else
                                            f'not measured: {bar["why"]}' if bar['shown'] else 'not measured') for bar in results['bars']])


def way_lines(results, ways, unit, other):
    rows = []
    for way in ways:
        name = f'**{way["name"]}**' if way['ours'] else way['name']
        spread = ' '.join(number(us) for us in way['p50_us_by_repetition'])
        rows.append((name, way['n'], number(way['p50_us']), number(way['p99_us']), times(ratio(way, unit)), times(ratio(way, other)), spread))
    return table(('way', 'samples', 'p50 µs', 'p99 µs', 'times our fresh jail', 'times bwrap', 'p50 of each repetition'), rows)


def cpu_line(section):
    return [f'Steal {section["cpu_percent"]["steal"]} %, CPU busy {section["cpu_percent"]["busy"]} %.', '']


def paired_lines(results):
    ways, lines = ways_of(results), []
    if results.get('paired'):
        lines += ['### One snippet, `print(1)`, in turn', '']
        lines += way_lines(results, sorted(results['paired']['ways'], key=lambda way: way['p50_us']), ways.get('fresh'), ways.get('bwrap'))
        for row in results['absent']:
            lines.append(f'- {row["name"]}: {row["why"]}')
        lines += ([''] if results['absent'] else []) + cpu_line(results['paired'])
    if results.get('sustained'):
        lines += ['### Back to back', '']
        lines += way_lines(results, results['sustained']['ways'], ways.get('sustained'), ways.get('sustained-bwrap'))
        lines += [f'CPU time of one fresh jail, in all its processes: {results["sustained"]["cpu_ms_per_jail"]:.2f} ms.', '']
        lines += cpu_line(results['sustained'])
    return lines


def throughput_lines(results):
    found = results.get('throughput')
    if not found:
        return []
    rows = [(row['clients'], number(row['per_second']), ' '.join(number(rate) for rate in row['by_repetition']), number(row['p50_us']),
             number(row['p99_us'])) for row in found['rows']]
    return ['### Throughput of fresh jails', '',
            *table(('calls at a time', 'jails a second', 'each repetition', 'p50 µs', 'p99 µs'), rows), *cpu_line(found)]


def sessions_lines(found, title):
    if not found:
        return []
    rows = [(row['sessions'], number(row['available_kib'] / 1024), number(row['counted_kib'] / 1024),
             *(number(row[key] / max(1, row['sessions'])) for key in ('available_kib', 'pss_kib', 'PageTables_kib', 'Slab_kib', 'KernelStack_kib',
                                                                    'Percpu_kib'))) for row in found['memory']]
    creation = found['creation']
    lines = [f'### {title}', '',
             *table(('sessions', 'all told, MiB (MemAvailable)', 'MiB (PSS + kernel)', 'KiB a session (MemAvailable)', 'PSS', 'page tables', 'slab',
                     'kernel stacks', 'per-CPU'), rows)]
    if found['problem']:
        lines += [f'No more than {found["reached"]} sessions: {found["problem"]}.', '']
    lines += [f'Creation, p50: the first {creation["first"]["n"]} {number(creation["first"]["p50_us"])} µs, the last {creation["last"]["n"]} '
              f'{number(creation["last"]["p50_us"])} µs, all {number(creation["all"]["p50_us"])} µs (p99 {number(creation["all"]["p99_us"])}).',
              f'All of them destroyed in {number(found["shut_ms"])} ms; afterwards {number(found["after"]["available_kib"] / 1024)} MiB were not '
              f'available again. Before the first one, in {found["idle_empty"]["seconds"]:g} s without any call, MemAvailable moved by '
              f'{number(found["drift_kib"] / 1024)} MiB of its own.']
    for words, name in (('no session', 'idle_empty'), (f'{found["reached"]} idle sessions', 'idle_full')):
        lines.append(f'Idle with {words}: {found[name]["ticks"]} clock ticks and {found[name]["context_switches"]} context switches in '
                     f'{found[name]["seconds"]:g} s, over {found[name]["processes"]} processes.')
    return [*lines, '']


def setup_lines(found):
    whole = ', '.join(f'{key[:-3]} {ms:.3f}' for key, ms in found['whole'].items())
    lines = [f'From the receipts, medians of {found["n"]}, ms: {whole}. {found["spares"]} of them stood ready before the call.', '']
    if found['steps']:
        lines += table(('step (they run side by side in several processes)', 'p50 µs', 'p99 µs'), [(row['step'], number(row['p50_us']), number(row['p99_us'])) for row in found['steps']])
    return lines


def other_lines(results):
    lines, flat, setup, cost = [], results.get('flat'), results.get('setup'), results.get('client')
    if flat:
        lines += ['### The server itself', '', f'{flat["calls"]} fresh jails later its processes have {number(flat["pss_kib_after"])} KiB (PSS) in '
                  f'{flat["processes_after"]} processes, before {number(flat["pss_kib_before"])} KiB in {flat["processes_before"]}.', '']
    for name, words in (('paused', 'with pauses'), ('burst', 'back to back')):
        if setup:
            lines += [f'### Where a fresh session goes, {words}', '', *setup_lines(setup[name])]
    if cost:
        lines += [f'The client\'s own CPU time: {cost["us_per_call"]:.1f} µs a call. Starting and reaping `true` from it: p50 '
                  f'{number(cost["true_us"])} µs.', '']
    return lines


def markdown(results):
    machine, mode = results['machine'], results['mode']
    where = 'virtual machine' if machine['hypervisor'] else 'machine'
    walls = f'rung {results["walls"]["rung"]}, {results["walls"]["layers"]} layers' if results.get('walls') else 'walls unknown'
    lines = [f'Revision {results["revision"] or "unknown"}, {results["date"]}, {mode} run, kernel {machine["kernel"]}, {machine["cores"]} cores of '
             f'{machine["cpu"]} ({where}), {machine["memory_mib"] // 1024} GiB, {results["python"]["version"]}, uid {machine["uid"]}, {walls}; load '
             f'{machine["load_before"]:.2f} before.', '',
             *bar_lines(results), *paired_lines(results), *throughput_lines(results),
             *sessions_lines(results.get('sessions'), 'Live sessions'),
             *sessions_lines(results.get('sessions_data'), 'Live sessions, numpy and pandas preloaded'), *other_lines(results)]
    return '\n'.join(lines).rstrip() + '\n'


def replace(document, text):
    """The document with what stands between the markers replaced; ValueError when they are not there, once each, in order."""
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end or BEGIN in tail or END in tail:
        raise ValueError(f'needs one "{BEGIN}" and, after it, one "{END}"')
    return f'{head}{BEGIN}\n\n{text}\n{END}{tail}'
