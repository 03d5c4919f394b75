/* What the engine does about a SQLite result code. The native code is the extended result code as a decimal number; a code that is not in
 * the table counts as its primary code (the low byte). */
#include "internal.h"

struct entry {
    int code;
    enum mr_status status;
    const char *word; /* NULL: the class's own name */
};

static const struct entry table[] = {
    /* A statement of ours that no longer fits: a table or column is missing, or the key has no unique index. */
    {SQLITE_ERROR, MR_E_SCHEMA, NULL},
    {SQLITE_SCHEMA, MR_E_SCHEMA, NULL},
    {SQLITE_CONSTRAINT_DATATYPE, MR_E_SCHEMA, NULL}, /* a STRICT table's column has another type */

    {SQLITE_BUSY, MR_E_BUSY, NULL},
    {SQLITE_LOCKED, MR_E_BUSY, NULL},
    {SQLITE_ABORT, MR_E_BUSY, NULL}, /* the transaction was rolled back under a statement */

    {SQLITE_FULL, MR_E_ENV, NULL},
    {SQLITE_IOERR, MR_E_ENV, NULL},
    {SQLITE_CANTOPEN, MR_E_ENV, NULL},
    {SQLITE_READONLY, MR_E_ENV, MR_CODE_NO_RIGHTS},
    {SQLITE_NOMEM, MR_E_ENV, NULL},
    {SQLITE_PERM, MR_E_ENV, MR_CODE_NO_RIGHTS},
    {SQLITE_CORRUPT, MR_E_CONFIG, "corrupt"}, /* no waiting mends it */
    {SQLITE_PROTOCOL, MR_E_ENV, NULL},
    {SQLITE_NOLFS, MR_E_ENV, NULL},
    {SQLITE_NOTADB, MR_E_CONFIG, NULL},
    {SQLITE_AUTH, MR_E_CONFIG, NULL},

    {SQLITE_CONSTRAINT, MR_E_DATA, MR_CODE_CONSTRAINT},
    {SQLITE_MISMATCH, MR_E_DATA, MR_CODE_REFUSED},
    {SQLITE_TOOBIG, MR_E_DATA, MR_CODE_TOO_LARGE},

    {SQLITE_INTERRUPT, MR_E_STOPPED, NULL},
};

static const struct entry *find(int code)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].code == code)
            return &table[i];
    }
    return NULL;
}

enum mr_status mr_sqlite_classify(const char *native_z, const char **code_z)
{
    int64_t code = 0;
    const struct entry *e = NULL;
    if (mr_parse_int64(mr_str_z(native_z), &code) && code > 0 && code < INT32_MAX) {
        e = find((int)code);
        if (!e)
            e = find((int)(code & 0xff));
    }
    enum mr_status status = e ? e->status : MR_E_BUG;
    if (code_z)
        *code_z = e && e->word ? e->word : mr_status_name(status);
    return status;
}
