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
