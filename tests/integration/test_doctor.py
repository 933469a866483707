"""`doctor`: each layer there or not, with evidence and a remedy; its answer is what receipts then show."""
import json
import os


def doctor(program):
    code, out, err = program.run('doctor', '--json')
    document = json.loads(out)
    assert code in (0, 1), err
    return document


def test_all_layers_are_named(program, host_table):
    layers = doctor(program)['layers']
    assert [row['layer'] for row in layers] == list(dict.fromkeys(row['layer'] for row in layers))
    assert {row['layer'] for row in layers} == set(host_table)
    for row in layers:
        assert row['evidence'], row
        assert isinstance(row['there'], bool)


def test_rung(program, rung):
    document = doctor(program)
    assert document['rung'] == rung, document
    assert document['kernel']


def test_layers_of_the_table(program, rung, host_table):
    """doc/HOSTS.md holds a fixed list of exceptions per rung; it may only shrink."""
    there = {row['layer'] for row in doctor(program)['layers'] if row['there']}
    taken = set(os.environ.get('SNIPARA_EXPECT_MISSING', '').split(','))
    for layer, cells in host_table.items():
        if cells[rung] == 'yes':
            assert layer in there, layer
        assert layer not in taken or layer not in there, layer


def test_doctor_and_receipt_agree(program):
    document = doctor(program)
    there = {row['layer'] for row in document['layers'] if row['there']}
    backend = program.exec_json('1', expect='ok')['backend']
    assert set(backend['layers']) == there
    assert backend['rung'] == document['rung']


EXCEPTIONS = {'T0': 1, 'T1': 5, 'T2': 6}


def test_the_list_of_exceptions_does_not_grow(fixed_table):
    for name, most in EXCEPTIONS.items():
        assert sum(cells[name] != 'yes' for cells in fixed_table.values()) <= most, name


def test_words_for_people(program, host_table):
    code, out, err = program.run('doctor', env={'NO_COLOR': '1'})
    text = out.decode()
    assert '\x1b' not in text
    for layer in host_table:
        assert layer in text
