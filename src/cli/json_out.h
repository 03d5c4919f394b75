/* JSON for scripts: written as it comes, members in the order of the calls, whole numbers with all their digits. */
#ifndef MR_CLI_JSON_OUT_H
#define MR_CLI_JSON_OUT_H

#include <millrace/base/buf.h>
#include <millrace/model/type.h>

struct mr_jo {
    struct mr_buf *out;
    unsigned depth;
    bool comma; /* something stands before on this level */
};

/* `name_z` NULL: an element of a list, or the whole document. */
void mr_jo_object(struct mr_jo *js, const char *name_z);
void mr_jo_end_object(struct mr_jo *js);
void mr_jo_list(struct mr_jo *js, const char *name_z);
void mr_jo_end_list(struct mr_jo *js);

void mr_jo_str(struct mr_jo *js, const char *name_z, struct mr_str text);
void mr_jo_z(struct mr_jo *js, const char *name_z, const char *text_z); /* NULL is null */
void mr_jo_int(struct mr_jo *js, const char *name_z, int64_t n);
void mr_jo_uint(struct mr_jo *js, const char *name_z, uint64_t n);
void mr_jo_bool(struct mr_jo *js, const char *name_z, bool yes);
void mr_jo_null(struct mr_jo *js, const char *name_z);
void mr_jo_time(struct mr_jo *js, const char *name_z, int64_t us); /* ISO with Z; null if unknown (0 or INT64_MIN) */
void mr_jo_type(struct mr_jo *js, const char *name_z, struct mr_type type); /* null for NONE */
/* JSON text as it stands. */
void mr_jo_raw(struct mr_jo *js, const char *name_z, struct mr_str text);

#endif
