#include "report.h"

#include "exception.h"
#include "traceback.h"
#include "value.h"
#include "base/wire.h"

#define MESSAGE_MAX (64u * 1024)

int outcome_take_value(struct outcome *outcome, PyObject *value, size_t max)
{
    if (value_repr(value, max, &outcome->value, &outcome->value_truncated) < 0)
        return -1;
    cleanup_object PyObject *name = PyType_GetName(Py_TYPE(value)); /* C only: a metaclass has no say */
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    PyErr_Clear();
    if (buf_adds(&outcome->value_type, text ? text : "object") < 0) {
        PyErr_NoMemory();
        return -1;
    }
    value_json(value, max, &outcome->value_json);
    outcome->has_value = true;
    return 0;
}

/* What the interpreter's exit status would be: None is 0, an int its low byte, anything else is printed and 1. */
static void take_exit_code(struct outcome *outcome, PyObject *exception)
{
    cleanup_object PyObject *code = PyObject_GetAttrString(exception, "code");
    outcome->has_exit_code = true;
    if (!code || code == Py_None) {
        PyErr_Clear();
        return;
    }
    if (PyLong_Check(code)) {
        outcome->exit_code = PyLong_AsLong(code) & 0xff; /* too large: -1, as in the interpreter */
        PyErr_Clear();
        return;
    }
    outcome->exit_code = 1;
    PyObject *stream = PySys_GetObject("stderr");
    if (stream && stream != Py_None && PyFile_WriteObject(code, stream, Py_PRINT_RAW) == 0)
        PyFile_WriteString("\n", stream);
    PyErr_Clear();
}

void outcome_take_exception(struct outcome *outcome, PyObject *exception, PyObject *filename)
{
    outcome->status = PAYLOAD_ERROR;
    outcome->has_value = false;
    if (!exception) {
        buf_adds(&outcome->error_type, "SystemError");
        buf_adds(&outcome->error_message, "the interpreter failed without an exception");
        return;
    }
    cleanup_object PyObject *holder = NULL;
    buf_adds(&outcome->error_type, exception_type(exception, &holder));
    if (filename) {
        traceback_trim(exception, filename);
        traceback_complete(exception, filename);
        traceback_position(exception, filename, &outcome->line, &outcome->column);
    }
    if (exception_message(exception, MESSAGE_MAX, &outcome->error_message) > 0)
        traceback_format_plain(exception, &outcome->error_message, &outcome->traceback);
    else
        traceback_format(exception, &outcome->traceback);
    if (PyObject_TypeCheck(exception, (PyTypeObject *)PyExc_SystemExit))
        take_exit_code(outcome, exception);
}

static int put_text(struct buf *reply, enum payload_tag tag, const struct buf *text)
{
    return wire_put(reply, (uint16_t)tag, text->data ? text->data : "", text->len);
}

static int put_value(const struct outcome *o, struct buf *reply)
{
    if (put_text(reply, PT_VALUE_REPR, &o->value) < 0 || put_text(reply, PT_VALUE_TYPE, &o->value_type) < 0 ||
        wire_put_u64(reply, PT_VALUE_TRUNCATED, o->value_truncated) < 0)
        return -1;
    return o->value_json.len ? put_text(reply, PT_VALUE_JSON, &o->value_json) : 0;
}

static int put_position(long line, long column, struct buf *reply)
{
    if (line > 0 && wire_put_i64(reply, PT_ERROR_LINE, line) < 0)
        return -1;
    return column > 0 ? wire_put_i64(reply, PT_ERROR_COLUMN, column) : 0;
}

static int put_error(const struct outcome *o, struct buf *reply)
{
    if (put_text(reply, PT_ERROR_TYPE, &o->error_type) < 0 || put_text(reply, PT_ERROR_MESSAGE, &o->error_message) < 0 ||
        put_text(reply, PT_ERROR_TRACEBACK, &o->traceback) < 0 || put_position(o->line, o->column, reply) < 0)
        return -1;
    return o->has_exit_code ? wire_put_i64(reply, PT_EXIT_CODE, o->exit_code) : 0;
}

static int put_rejected(const struct findings *f, struct buf *reply)
{
    if (wire_puts(reply, PT_ERROR_TYPE, "Rejected") < 0 || put_text(reply, PT_ERROR_MESSAGE, &f->text) < 0 ||
        put_position(f->line, f->column, reply) < 0 || wire_puts(reply, PT_RULE, f->rule) < 0)
        return -1;
    return f->remedy[0] ? wire_puts(reply, PT_REMEDY, f->remedy) : 0;
}

int outcome_put(const struct outcome *outcome, struct buf *reply)
{
    if (wire_put_u64(reply, PT_STATUS, outcome->status) < 0)
        return -1;
    switch (outcome->status) {
    case PAYLOAD_OK: return outcome->has_value ? put_value(outcome, reply) : 0;
    case PAYLOAD_ERROR: return put_error(outcome, reply);
    case PAYLOAD_REJECTED: return put_rejected(&outcome->findings, reply);
    }
    return -1;
}

void outcome_free(struct outcome *outcome)
{
    buf_free(&outcome->value);
    buf_free(&outcome->value_type);
    buf_free(&outcome->value_json);
    buf_free(&outcome->error_type);
    buf_free(&outcome->error_message);
    buf_free(&outcome->traceback);
    findings_free(&outcome->findings);
}

int report_status(const struct buf *fields)
{
    struct wire_cursor cursor = {.at = fields->data, .end = fields->data + fields->len};
    struct wire_field field;
    uint64_t status;
    while (wire_field_next(&cursor, &field) > 0)
        if (field.tag == PT_STATUS && wire_u64(&field, &status))
            return (int)status;
    return -1;
}
