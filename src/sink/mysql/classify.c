/* From an error number of the server or of its client library to what the caller must do: one visible table. Of a number that is not listed its
 * SQLSTATE counts (mr_my_classify_state): data exceptions and violated constraints are a row's, whatever number a function in an index, a generated
 * column or a check gives them. The rest is ENV: the batch waits and is tried again, with the message in the log. Trouble that we do not understand
 * must never drain good rows into the dead letters. */
#include "my.h"

struct rule {
    int number;
    enum mr_status status;
    const char *code;
};

static const struct rule rules[] = {
    /* the client library: the connection */
    {2000, MR_E_ENV, "connection"},
    {2001, MR_E_ENV, "connection"},
    {2002, MR_E_ENV, "connection"},
    {2003, MR_E_ENV, "connection"},
    {2004, MR_E_ENV, "connection"},
    {2005, MR_E_ENV, "connection"},
    {2006, MR_E_ENV, "connection"}, /* gone; after a packet that was too large for the server conn.c says so */
    {2008, MR_E_ENV, "out_of_memory"},
    {2012, MR_E_ENV, "connection"},
    {2013, MR_E_ENV, "connection"},
    {2020, MR_E_DATA, MR_CODE_TOO_LARGE}, /* CR_NET_PACKET_TOO_LARGE: this row */
    {2026, MR_E_ENV, "tls"},
    {2055, MR_E_ENV, "connection"},
    {2059, MR_E_ENV, "authentication"}, /* a plugin that is not installed here */
    {2061, MR_E_ENV, "authentication"},

    /* outside trouble */
    {1020, MR_E_BUSY, "busy"}, /* record has changed since last read */
    {1021, MR_E_ENV, "disk_full"},
    {1030, MR_E_ENV, "server_io"},
    {1037, MR_E_ENV, "out_of_memory"},
    {1038, MR_E_ENV, "out_of_memory"},
    {1040, MR_E_ENV, "too_many_connections"},
    {1041, MR_E_ENV, "out_of_memory"},
    {1044, MR_E_ENV, MR_CODE_NO_RIGHTS},
    {1045, MR_E_ENV, "authentication"},
    {1053, MR_E_ENV, "shutdown"},
    {1077, MR_E_ENV, "shutdown"},
    {1079, MR_E_ENV, "shutdown"},
    {1114, MR_E_ENV, "disk_full"},
    {1129, MR_E_ENV, "connection"},
    {1130, MR_E_ENV, "authentication"},
    {1142, MR_E_ENV, MR_CODE_NO_RIGHTS},
    {1143, MR_E_ENV, MR_CODE_NO_RIGHTS},
    {1158, MR_E_ENV, "connection"},
    {1159, MR_E_ENV, "connection"},
    {1160, MR_E_ENV, "connection"},
    {1161, MR_E_ENV, "connection"},
    {1203, MR_E_ENV, "too_many_connections"},
    {1206, MR_E_ENV, "out_of_memory"}, /* the lock table is full */
    {1226, MR_E_ENV, "too_many_connections"},
    {1227, MR_E_ENV, MR_CODE_NO_RIGHTS},
    {1290, MR_E_ENV, "read_only"},
    {1317, MR_E_ENV, "canceled"},
    {1461, MR_E_ENV, "too_many_statements"},
    {1792, MR_E_ENV, "read_only"},
    {1836, MR_E_ENV, "read_only"},
    {1845, MR_E_ENV, "no_such_algorithm"}, /* ddl.c takes the next one */
    {1846, MR_E_ENV, "no_such_algorithm"},
    {1927, MR_E_ENV, "connection"}, /* killed */
    {3024, MR_E_ENV, "canceled"},
    {3100, MR_E_ENV, "refused_by_a_hook"},
    {3101, MR_E_BUSY, "busy"}, /* rolled back by group replication */
    {3169, MR_E_ENV, "canceled"},
    {4031, MR_E_ENV, "connection"}, /* idle for too long */
    {4092, MR_E_ENV, "no_such_algorithm"}, /* no more columns can be added instantly */
    {4157, MR_E_ENV, "no_such_algorithm"}, /* nor to rows that may get so long */

    /* somebody else was there at the same time: at once again */
    {1205, MR_E_BUSY, "lock_timeout"},
    {1213, MR_E_BUSY, "deadlock"},
    {1412, MR_E_BUSY, "busy"}, /* the table's definition has changed */
    {1614, MR_E_BUSY, "deadlock"},
    {1615, MR_E_BUSY, "busy"}, /* prepare once more */
    {1637, MR_E_BUSY, "busy"},

    /* the catalog is not what we thought */
    {1007, MR_E_SCHEMA, "exists"},
    {1049, MR_E_SCHEMA, "no_database"}, /* of a table; when connecting it is the configuration's */
    {1050, MR_E_SCHEMA, "exists"},
    {1051, MR_E_SCHEMA, "no_table"},
    {1054, MR_E_SCHEMA, "no_column"},
    {1060, MR_E_SCHEMA, "exists"},
    {1061, MR_E_SCHEMA, "exists"},
    {1091, MR_E_SCHEMA, "no_column"},
    {1109, MR_E_SCHEMA, "no_table"},
    {1136, MR_E_SCHEMA, "no_column"},
    {1146, MR_E_SCHEMA, "no_table"},
    {1243, MR_E_SCHEMA, "no_statement"},
    {1265, MR_E_SCHEMA, "wrong_type"},
    {1347, MR_E_SCHEMA, "wrong_object"},
    {1267, MR_E_SCHEMA, "wrong_type"}, /* the character set of a column that is compared has no such character */
    {1366, MR_E_SCHEMA, "wrong_type"},
    {3854, MR_E_SCHEMA, "wrong_type"}, /* the column's character set has no such character */
    {3988, MR_E_SCHEMA, "wrong_type"},
    {1406, MR_E_SCHEMA, MR_CODE_OUT_OF_RANGE}, /* longer than the column: which may grow */
    {3105, MR_E_SCHEMA, "generated"},
    {1906, MR_E_SCHEMA, "generated"},

    /* the configuration asks for what there cannot be */
    {1059, MR_E_CONFIG, "name_too_long"},
    {1068, MR_E_CONFIG, "wrong_key"},
    {1102, MR_E_CONFIG, "wrong_name"},
    {1103, MR_E_CONFIG, "wrong_name"},
    {1115, MR_E_CONFIG, "no_utf8mb4"},
    {1166, MR_E_CONFIG, "wrong_name"},
    {1251, MR_E_CONFIG, "authentication"},
    {1273, MR_E_CONFIG, "no_collation"},
    {1286, MR_E_CONFIG, "no_innodb"},
    {1665, MR_E_CONFIG, "binlog_format"}, /* READ COMMITTED wants row format */
    {3750, MR_E_CONFIG, "key_required"},
    {1553, MR_E_CONFIG, "has_dependents"}, /* of DDL: what foreign keys and generated columns forbid */
    {1828, MR_E_CONFIG, "has_dependents"},
    {1829, MR_E_CONFIG, "has_dependents"},
    {1832, MR_E_CONFIG, "has_dependents"},
    {1833, MR_E_CONFIG, "has_dependents"},
    {1834, MR_E_CONFIG, "has_dependents"},
    {3108, MR_E_CONFIG, "has_dependents"},
    {3780, MR_E_CONFIG, "has_dependents"},
    {1089, MR_E_CONFIG, "has_dependents"}, /* of a prefix that the new type cannot have */
    {1101, MR_E_CONFIG, "has_dependents"}, /* of a default value */
    {1170, MR_E_CONFIG, "has_dependents"}, /* of an index that wants a length */
    {1283, MR_E_CONFIG, "has_dependents"}, /* of a full-text index */
    {1491, MR_E_CONFIG, "has_dependents"}, /* of partitions, here and in the next ones */
    {1503, MR_E_CONFIG, "has_dependents"},
    {1654, MR_E_CONFIG, "has_dependents"},
    {1659, MR_E_CONFIG, "has_dependents"},
    {3106, MR_E_CONFIG, "has_dependents"}, /* of generated columns and what is made of them */
    {3837, MR_E_CONFIG, "has_dependents"},
    {3959, MR_E_CONFIG, "has_dependents"}, /* of a check */
    {4108, MR_E_CONFIG, "has_dependents"}, /* of partitions */
    {4111, MR_E_CONFIG, "has_dependents"}, /* a key that the server has made for a table without one */
    {4119, MR_E_CONFIG, "has_dependents"}, /* MariaDB: the history of a system-versioned table */

    /* this row */
    {1048, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1062, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1070, MR_E_DATA, MR_CODE_TOO_LARGE}, /* an index of more than 16 columns; MariaDB has 32 */
    {1071, MR_E_DATA, MR_CODE_TOO_LARGE}, /* an index key */
    {1074, MR_E_DATA, MR_CODE_TOO_LARGE},
    {1117, MR_E_DATA, MR_CODE_TOO_LARGE}, /* too many columns */
    {1118, MR_E_DATA, MR_CODE_TOO_LARGE}, /* the row size */
    {1138, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1153, MR_E_DATA, MR_CODE_TOO_LARGE}, /* max_allowed_packet */
    {1162, MR_E_DATA, MR_CODE_TOO_LARGE},
    {1169, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1216, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1217, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1264, MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {1292, MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {1301, MR_E_DATA, MR_CODE_TOO_LARGE},
    {1300, MR_E_DATA, MR_CODE_TEXT_INVALID},
    {1364, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1369, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1411, MR_E_DATA, MR_CODE_OUT_OF_RANGE}, /* a function of the table's did not like the value */
    {1441, MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {1442, MR_E_DATA, MR_CODE_REFUSED}, /* a trigger does what it may not */
    {1451, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1452, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1526, MR_E_DATA, MR_CODE_CONSTRAINT}, /* no partition for the value */
    {1557, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1586, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1644, MR_E_DATA, MR_CODE_REFUSED}, /* a trigger of the user raised it */
    {1690, MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {1709, MR_E_DATA, MR_CODE_TOO_LARGE},
    {1748, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1761, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1762, MR_E_DATA, MR_CODE_CONSTRAINT},
    {1916, MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {3140, MR_E_DATA, MR_CODE_REFUSED}, /* a text that its JSON reader does not take */
    {3141, MR_E_DATA, MR_CODE_REFUSED},
    {3150, MR_E_DATA, MR_CODE_TOO_LARGE},
    {3156, MR_E_DATA, MR_CODE_REFUSED},
    {3157, MR_E_DATA, MR_CODE_TOO_LARGE}, /* JSON nested deeper than 100 */
    {3158, MR_E_DATA, MR_CODE_TOO_LARGE},
    {3819, MR_E_DATA, MR_CODE_CONSTRAINT},
    {3643, MR_E_DATA, MR_CODE_REFUSED}, /* a geometry of another reference system */
    {3751, MR_E_DATA, MR_CODE_OUT_OF_RANGE}, /* an index over an expression */
    {3752, MR_E_DATA, MR_CODE_OUT_OF_RANGE},
    {3905, MR_E_DATA, MR_CODE_TOO_LARGE}, /* more values in an array than an index takes */
    {3906, MR_E_DATA, MR_CODE_TOO_LARGE},
    {3908, MR_E_DATA, MR_CODE_REFUSED},
    {4025, MR_E_DATA, MR_CODE_CONSTRAINT},
    {4036, MR_E_DATA, MR_CODE_REFUSED}, /* MariaDB's JSON functions, in generated columns and checks */
    {4037, MR_E_DATA, MR_CODE_REFUSED},
    {4038, MR_E_DATA, MR_CODE_REFUSED},
    {4039, MR_E_DATA, MR_CODE_REFUSED},
    {4040, MR_E_DATA, MR_CODE_TOO_LARGE},

    /* text that we wrote ourselves */
    {1064, MR_E_BUG, "bug"},
    {1210, MR_E_BUG, "bug"},
    {2030, MR_E_BUG, "bug"},
    {2031, MR_E_BUG, "bug"},
};

enum mr_status mr_my_classify(const char *native_z, const char **code_z)
{
    const struct rule *found = NULL;
    int64_t number = 0;

    if (native_z && mr_parse_int64(mr_str_z(native_z), &number))
        for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !found; i++)
            if (rules[i].number == number)
                found = &rules[i];
    if (code_z)
        *code_z = found ? found->code : MR_MY_UNKNOWN;
    return found ? found->status : MR_E_ENV;
}

enum mr_status mr_my_classify_state(const char *state_z, const char **code_z)
{
    static const struct {
        char class[3];
        const char *code;
    } classes[] = {{"22", MR_CODE_OUT_OF_RANGE}, {"23", MR_CODE_CONSTRAINT}, {"45", MR_CODE_REFUSED}}; /* 45: SIGNAL in a trigger */

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        if (strncmp(state_z, classes[i].class, 2) != 0)
            continue;
        *code_z = classes[i].code;
        return MR_E_DATA;
    }
    *code_z = MR_MY_UNKNOWN;
    return MR_E_ENV;
}
