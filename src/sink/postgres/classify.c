/* From SQLSTATE to what the caller must do: one visible table. The longest matching prefix wins. A state that is not listed is
 * ENV: the batch waits and is tried again, with the message in the log. Trouble that we do not understand must never drain good rows
 * into the dead letters. */
#include "pg.h"

struct rule {
    const char *prefix; /* of the SQLSTATE, two to five characters */
    enum mr_status status;
    const char *code;
};

static const struct rule rules[] = {
    /* connection, shutdown, resources: outside trouble */
    {"08", MR_E_ENV, "connection"},
    {"53100", MR_E_ENV, "disk_full"},
    {"53200", MR_E_ENV, "out_of_memory"},
    {"53300", MR_E_ENV, "too_many_connections"},
    {"53", MR_E_ENV, "resources"},
    {"57014", MR_E_ENV, "canceled"},
    {"57", MR_E_ENV, "shutdown"},
    {"58", MR_E_ENV, "server_io"},
    {"25006", MR_E_ENV, "read_only"},
    {"0A000", MR_E_ENV, "not_supported"}, /* of a stale prepared query it means SCHEMA: exec.c knows */
    {"28", MR_E_ENV, "authentication"},
    {"42501", MR_E_ENV, MR_CODE_NO_RIGHTS},
    {"55006", MR_E_ENV, "in_use"},
    {"55P03", MR_E_ENV, "lock_timeout"},
    {"2BP01", MR_E_ENV, "has_dependents"},

    /* somebody else was there at the same time: at once again */
    {"40", MR_E_BUSY, "busy"},

    /* the catalog is not what we thought */
    {"22P03", MR_E_SCHEMA, "wrong_type"},    /* binary form of another type */
    {"26000", MR_E_SCHEMA, "no_statement"},
    {"3F000", MR_E_SCHEMA, "no_schema"},
    {"42P01", MR_E_SCHEMA, "no_table"},
    {"42P06", MR_E_SCHEMA, "exists"},
    {"42P07", MR_E_SCHEMA, "exists"},
    {"42P10", MR_E_SCHEMA, "no_unique_key"}, /* ON CONFLICT without a matching index */
    {"42P18", MR_E_SCHEMA, "wrong_type"},
    {"42701", MR_E_SCHEMA, "exists"},
    {"42703", MR_E_SCHEMA, "no_column"},
    {"42710", MR_E_SCHEMA, "exists"},
    {"42804", MR_E_SCHEMA, "wrong_type"},
    {"42809", MR_E_SCHEMA, "wrong_object"}, /* a view, a sequence … under the table's name */
    {"42846", MR_E_SCHEMA, "wrong_type"},
    {"42883", MR_E_SCHEMA, "wrong_type"}, /* no operator for these two types */
    {"428C9", MR_E_SCHEMA, "generated"},
    {"42P16", MR_E_CONFIG, "table_definition"}, /* an inherited column, a partition key, a second primary key */
    {"42939", MR_E_DATA, MR_CODE_REFUSED}, /* a schema called pg_… */

    /* this row */
    {"21000", MR_E_DATA, MR_CODE_CONSTRAINT}, /* two keys of a batch are one for the target's index */
    {"22001", MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {"22003", MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {"22007", MR_E_DATA, MR_CODE_BAD_VALUE},
    {"22008", MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {"22015", MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {"22021", MR_E_DATA, MR_CODE_TEXT_INVALID},
    {"22026", MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {"22P02", MR_E_DATA, MR_CODE_BAD_VALUE},
    {"22P05", MR_E_DATA, MR_CODE_TEXT_INVALID},
    {"22", MR_E_DATA, MR_CODE_REFUSED},
    {"23", MR_E_DATA, MR_CODE_CONSTRAINT},
    {"44", MR_E_DATA, MR_CODE_CONSTRAINT},  /* WITH CHECK OPTION */
    {"54", MR_E_DATA, MR_CODE_TOO_LARGE},   /* index row, row or document beyond a limit */
    {"09", MR_E_DATA, MR_CODE_REFUSED},     /* functions of the user, in triggers and checks: what they raise */
    {"20", MR_E_DATA, MR_CODE_REFUSED},
    {"27", MR_E_DATA, MR_CODE_REFUSED},
    {"2F", MR_E_DATA, MR_CODE_REFUSED},
    {"38", MR_E_DATA, MR_CODE_REFUSED},
    {"39", MR_E_DATA, MR_CODE_REFUSED},
    {"P0", MR_E_DATA, MR_CODE_REFUSED},

    /* text that we wrote ourselves */
    {"42601", MR_E_BUG, "bug"},
    {"42P02", MR_E_BUG, "bug"},
};

enum mr_status mr_pg_classify(const char *native_z, const char **code_z)
{
    const struct rule *best = NULL;
    size_t best_len = 0;

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        size_t len = strlen(rules[i].prefix);
        if (len > best_len && native_z && strncmp(native_z, rules[i].prefix, len) == 0) {
            best = &rules[i];
            best_len = len;
        }
    }
    if (code_z)
        *code_z = best ? best->code : MR_CODE_UNKNOWN;
    return best ? best->status : MR_E_ENV;
}
