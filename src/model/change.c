/* Words for the kinds of schema changes. */
#include <millrace/model/change.h>

const char *mr_statement_kind_name(enum mr_statement_kind kind)
{
    switch (kind) {
    case MR_STMT_UNKNOWN:
        break;
    case MR_STMT_CREATE:
        return "CREATE";
    case MR_STMT_ALTER:
        return "ALTER";
    case MR_STMT_DROP:
        return "DROP";
    case MR_STMT_RENAME:
        return "RENAME";
    case MR_STMT_CREATE_INDEX:
        return "CREATE_INDEX";
    case MR_STMT_DROP_INDEX:
        return "DROP_INDEX";
    case MR_STMT_CREATE_DATABASE:
        return "CREATE_DATABASE";
    case MR_STMT_ALTER_DATABASE:
        return "ALTER_DATABASE";
    case MR_STMT_DROP_DATABASE:
        return "DROP_DATABASE";
    }
    return "";
}
