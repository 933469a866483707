"""The fuzz targets: which files each one is meant to cover, and a bug that it must find.

A planted bug is one exact piece of a source file and what stands there instead. scripts/check-fuzz makes the change in a copy and
links the copy into a target of its own, so the product's sources hold none of it. A piece that is not found exactly once is an
error: the table follows the code.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    modules: tuple[str, ...]  # below supervisor/, for the coverage figure
    planted_file: str
    planted_old: str
    planted_new: str
    planted_what: str
    max_length: int = 4096


TARGETS = {
    "wire": Target(
        ("base/wire.c",),
        "base/wire.c",
        "if (length > left - FIELD_HEADER || load16(cursor->at + AT_ZERO) != 0)",
        "if (length > left - (load16(cursor->at + AT_TAG) == 0x44 ? 0 : FIELD_HEADER) || load16(cursor->at + AT_ZERO) != 0)",
        "a field of one tag may run over the end by the length of its head"),
    "json": Target(
        ("base/json.c", "base/json_check.c", "base/json_print.c", "base/json_raw.c"),
        "base/json_check.c",
        "if (is_low(second)) {",
        "if (is_low(second) || is_high(second)) {",
        "two high surrogates pass for a pair"),
    "text": Target(
        ("base/utf8.c", "base/error.c"),
        "base/utf8.c",
        "high = 0x8f;",
        "high = 0x91;",
        "code points above U+10FFFF pass"),
    "claims": Target(
        ("backend/claims.c",),
        "backend/claims.c",
        "if (!nul || (size_t)(nul - name) >= sizeof layer)",
        "if (!nul || (size_t)(nul - name) > sizeof layer + 8)",
        "the name of a layer is copied past the end of its buffer"),
    "mcp_line": Target(
        ("mcp/jsonrpc.c", "mcp/jsonrpc_write.c", "mcp/arguments.c"),
        "mcp/jsonrpc.c",
        "if (c == '\\\\')",
        "if (c == '\\\\' && depth < 2)",
        "an escaped quote two objects deep in a batch ends the string"),
    "receipt": Target(
        ("receipt/capture.c", "receipt/output_text.c", "receipt/receipt.c", "receipt/receipt_digest.c", "receipt/receipt_json.c",
         "receipt/receipt_text.c", "jail/denials.c"),
        "receipt/capture.c",
        "buf_drop(tail, tail->len + length - c->tail_max);",
        "buf_drop(tail, tail->len + length - c->tail_max + 1);",
        "a tail that fills up for the second time loses a byte",
        1024),
    "policy": Target(
        ("policy/build.c", "policy/document.c", "policy/explain.c", "policy/lint.c", "policy/lint_seccomp.c", "policy/load.c",
         "policy/merge.c", "policy/narrow.c", "policy/seccomp_compile.c", "policy/seccomp_oci.c", "policy/seccomp_resolve.c",
         "policy/shape.c", "policy/strings.c", "policy/words.c"),
        "policy/narrow.c",
        "if (b->child <= b->parent)",
        "if (b->child <= b->parent * 1024)",
        "a child's limits are compared as if they were KiB",
        2048),
    "plan": Target(
        ("jail/plan.c", "jail/seal_plan.c"),
        "jail/seal_plan.c",
        "plan->rlimit_count == SEAL_RLIMITS)",
        "plan->rlimit_count > SEAL_RLIMITS)",
        "one rlimit more than the table holds"),
    "numbers": Target(
        ("cli/numbers.c",),
        "cli/numbers.c",
        "value > UINT64_MAX >> units[i].shift)",
        "value > UINT64_MAX >> (units[i].shift ? 20 : 0))",
        "a size in GiB wraps",
        64),
}
