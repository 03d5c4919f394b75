/* Looking into a record. */
#include <millrace/model/record.h>

/* As in Kafka's own clients, the last header of a name counts. */
const struct mr_header *mr_record_header(const struct mr_record *rec, const char *name_z)
{
    for (size_t i = rec->header_count; i-- > 0;) {
        if (mr_str_eq_z(rec->headers[i].name, name_z))
            return &rec->headers[i];
    }
    return NULL;
}

struct mr_str mr_partition_file(const struct mr_partition *part)
{
    struct mr_str name = mr_str_z(part->topic_z), prefix = MR_STR("file:");
    ptrdiff_t end = mr_str_rfind(name, '#');

    /* A topic's name cannot hold a colon. */
    if (!mr_str_starts(name, prefix) || end < (ptrdiff_t)prefix.len)
        return (struct mr_str){NULL, 0};
    return mr_str_of(name.ptr + prefix.len, (size_t)end - prefix.len);
}
