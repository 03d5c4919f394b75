/* Any bytes through the JSON event reader in its three modes, and every reading function over what it accepts. What it writes compactly must
 * read again as the same text. */
#include <stdlib.h>

#include <millrace/base/mem.h>
#include <millrace/base/utf8.h>

#include "decode/flatten.h"
#include "decode/json.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void read_all(const struct mr_json_doc *doc, bool is_utf8, struct mr_arena *ar)
{
    for (uint32_t n = 0; n < doc->node_count; n++) {
        const struct mr_json_node *node = &doc->nodes[n];
        unsigned flags;
        int64_t whole;

        require(node->next > n && node->next <= doc->node_count);
        require((size_t)node->offset + node->len <= doc->text.len);
        if (mr_json_is(doc, n, MR_J_STRING)) {
            struct mr_str text = mr_json_string(doc, n, ar, &flags);
            require(mr_json_string_is(doc, n, text));
            require(!is_utf8 || mr_utf8_check(text) == flags);
        }
        mr_json_int64(doc, n, &whole);

        uint32_t count = 0;
        for (uint32_t c = mr_json_first(doc, n); c != MR_JSON_NONE; c = mr_json_next_in(doc, n, c)) {
            count++;
            if (node->kind == MR_J_OBJECT && node->count < 100) {
                uint32_t value = mr_json_member(doc, n, mr_json_string(doc, c, ar, NULL));
                require((value == c + 1) == !mr_json_is_shadowed(doc, n, c));
            }
        }
        require(count == node->count);
    }
}

static void write_again(struct mr_json_reader *reader, const struct mr_json_doc *doc, struct mr_arena *ar)
{
    struct mr_json_doc again;
    struct mr_str text = mr_json_text(doc, 0, ar, NULL);

    require(mr_json_parse(reader, text, &again, NULL) == MR_OK);
    struct mr_str same = mr_json_text(&again, 0, ar, NULL);
    require(same.ptr == text.ptr && same.len == text.len);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct mr_arena *ar = mr_arena_create(0);
    struct mr_str text = mr_str_of((const char *)data, size);

    for (int mode = 0; mode < 3; mode++) {
        struct mr_json_limits limits = {.max_depth = 40, .max_bytes = 1 << 20, .allow_words = mode > 0,
                                        .allow_ill_formed = mode > 1};
        struct mr_json_reader *reader = mr_json_reader_create(&limits);
        struct mr_config cfg = {.flatten_struct = mode != 1};
        struct mr_json_doc doc;
        struct mr_error err = {0};
        struct mr_field_list fields = {0};

        if (mr_json_parse_arena(reader, text, ar, &doc, &err) == MR_OK) {
            read_all(&doc, mode < 2, ar);
            write_again(reader, &doc, ar);
            mr_flatten_json(&cfg, &doc, 0, (struct mr_str){NULL, 0}, ar, &fields);
        } else {
            require(err.status == MR_E_DATA && err.message[0] != '\0');
        }
        mr_json_reader_destroy(reader);
        mr_arena_reset(ar);
    }
    mr_arena_destroy(ar);
    return 0;
}
