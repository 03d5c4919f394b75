/* Messages, enums and fields as both readers of schemas (proto_parse.c, proto_descriptor.c) make them. See proto_parts.h. */
#include "proto_parts.h"

#define MAX_MADE 200000 /* messages, enums, fields */

enum mr_status mr_proto_count(struct mr_proto *p, struct mr_error *err)
{
    if (++p->made > MAX_MADE)
        return mr_fail_data(err, MR_CODE_BAD_SCHEMA, "the Protobuf schema defines more than %d things",
                            MAX_MADE);
    return MR_OK;
}

struct mr_str mr_proto_full_name(struct mr_proto *p, struct mr_str scope, struct mr_str name)
{
    return scope.len == 0 ? name : mr_arena_printf(p->ar, "%.*s.%.*s", MR_STR_FMT(scope), MR_STR_FMT(name));
}

static void define(struct mr_proto *p, struct mr_str name, struct mr_proto_message *msg,
                   struct mr_proto_enum *values)
{
    struct mr_proto_named *named = mr_arena_zalloc(p->ar, sizeof(*named));
    named->message = msg;
    named->values = values;
    mr_map_put(p->types, name, named);
}

/* Room for one more, in an arena: the old array stays behind. */
static void *grown(struct mr_arena *ar, const void *items, size_t count, size_t *cap, size_t size)
{
    *cap = *cap == 0 ? 8 : *cap * 2;
    void *out = mr_arena_zalloc(ar, *cap * size);
    if (count != 0)
        memcpy(out, items, count * size);
    return out;
}

struct mr_proto_message *mr_proto_add_message(struct mr_proto *p, struct mr_proto_message *into,
                                              struct mr_str full)
{
    struct mr_proto_message *msg = mr_arena_zalloc(p->ar, sizeof(*msg));
    msg->name = full;
    define(p, full, msg, NULL);
    if (into == NULL)
        return msg;
    if (into->nested_count == into->nested_cap)
        into->nested = grown(p->ar, into->nested, into->nested_count, &into->nested_cap,
                             sizeof(struct mr_proto_message *));
    into->nested[into->nested_count++] = msg;
    return msg;
}

struct mr_proto_field *mr_proto_add_field(struct mr_proto *p, struct mr_proto_message *msg)
{
    if (msg->field_count == msg->field_cap)
        msg->fields =
            grown(p->ar, msg->fields, msg->field_count, &msg->field_cap, sizeof(struct mr_proto_field));
    return &msg->fields[msg->field_count++];
}

struct mr_proto_enum *mr_proto_add_enum(struct mr_proto *p, struct mr_str full)
{
    struct mr_proto_enum *e = mr_arena_zalloc(p->ar, sizeof(*e));
    e->name = full;
    define(p, full, NULL, e);
    return e;
}

void mr_proto_add_symbol(struct mr_proto *p, struct mr_proto_enum *e, struct mr_str name, int32_t number)
{
    if (e->count == e->cap) {
        size_t cap = e->cap;
        e->names = grown(p->ar, e->names, e->count, &cap, sizeof(struct mr_str));
        e->numbers = grown(p->ar, e->numbers, e->count, &e->cap, sizeof(int32_t));
    }
    e->names[e->count] = name;
    e->numbers[e->count++] = number;
}
