/* The reference of the configuration, as a Markdown page and as a part of the man page, made of the option table. */
#include "man_text.h"
#include "option.h"

#include <millrace/base/buf.h>

static const char intro[] =
    "<!-- Made by `millrace config --reference` from src/config/options.c; tests/lint/reference.py --write "
    "renews it. -->\n"
    "# Configuration\n"
    "\n"
    "Everything works without a file. With one, `millrace run -c millrace.yaml`, the file is YAML,\n"
    "and every key can also be said on the command line as `--set key.path=value`; some have a flag\n"
    "of their own. What is said later wins: first the defaults, then the file, then the command line\n"
    "from left to right. `millrace config -c millrace.yaml` shows every option, its value and the\n"
    "place it comes from.\n"
    "\n"
    "```yaml\n"
    "source:\n"
    "  kafka:\n"
    "    brokers: ${KAFKA_BROKERS}\n"
    "    topics: [shop.customers, \"^shop\\\\.order.*\"]\n"
    "    group: warehouse\n"
    "    properties: {security.protocol: SASL_SSL}\n"
    "target:\n"
    "  url: postgresql://loader:${DB_PASSWORD}@db/warehouse\n"
    "types:\n"
    "  columns: {shop.orders.total: \"decimal(18,2)\"}\n"
    "tables:\n"
    "  shop.orders: {primary_key: [id], delete: soft}\n"
    "  \"*\": {delete: hard}\n"
    "```\n"
    "\n"
    "* **Keys.** Nested maps and dots are the same: `log: {level: debug}`, `log.level: debug` and\n"
    "  `--set log.level=debug`. Quotes around a part that holds dots may be written and may be left\n"
    "  out: `--set unwrap.\"array.encoding\"=json`. An unknown key is refused with its place and the\n"
    "  nearest right one. Names of tables and columns cannot be checked beforehand: `plan` and\n"
    "  `backfill` tell at their end which of these settings matched nothing.\n"
    "* **Environment.** `${NAME}` in a value is replaced by the variable, `${NAME:-text}` by the text\n"
    "  where the variable is not set or empty. A variable that is not set is an error. `$${` stands\n"
    "  for a plain `${`. Where YAML would read the braces itself (inside `[ ]` and `{ }`) the value\n"
    "  needs quotes.\n"
    "* **Lists** are YAML lists; on the command line `--set source.kafka.topics=a,b`, `--set\n"
    "  'tables.shop.orders.primary_key=[id,line]'`, or `--set source.kafka.topics+=c` for one more.\n"
    "* **Sizes** are bytes or have a unit: `kB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB`\n"
    "  (powers of 1024). **Times** have one of the units `ms`, `s`, `m`, `h`, `d`.\n"
    "* **Secrets.** Passwords are never shown, neither in logs nor by `millrace config`.\n";

/* The section of an option: the longest prefix that fits; a section without title continues the one before. */
static size_t section_of(const struct mr_option *opt)
{
    size_t best = 0, best_len = 0;
    for (size_t i = 1; i < mr_option_section_count; i++) {
        struct mr_str prefix = mr_str_z(mr_option_sections[i].prefix_z);
        struct mr_str key = mr_str_z(opt->key_z);
        bool fits = mr_str_starts(key, prefix) && (key.len == prefix.len || key.ptr[prefix.len] == '.');
        if (fits && prefix.len > best_len) {
            best = i;
            best_len = prefix.len;
        }
    }
    while (!mr_option_sections[best].title_z)
        best--;
    return best;
}

static void append_default_text(const struct mr_option *opt, struct mr_buf *out)
{
    if (opt->default_note_z && *opt->default_z)
        mr_buf_printf(out, "`%s`, %s", opt->default_z, opt->default_note_z);
    else if (opt->default_note_z)
        mr_buf_append_z(out, opt->default_note_z);
    else if (opt->default_z && *opt->default_z)
        mr_buf_printf(out, "`%s`", opt->default_z);
    else
        mr_buf_append_z(out, "none");
}

static void markdown_option(const struct mr_option *opt, struct mr_buf *out)
{
    mr_buf_printf(out, "\n### `%s`\n\n%s\n", opt->key_z, opt->help_z);
    if (opt->type == MR_OPT_TABLES) {
        for (size_t i = 0; i < mr_table_member_count; i++) {
            const struct mr_member *member = &mr_table_members[i];
            mr_buf_printf(out, "\n* **`tables.NAME.%s`**: `%s`. %s", member->name_z, member->values_z,
                          member->help_z);
        }
        mr_buf_append_char(out, '\n');
        return;
    }
    mr_buf_append_z(out, "\nValue: ");
    mr_option_append_expected(opt, out);
    mr_buf_append_z(out, ". Default: ");
    append_default_text(opt, out);
    if (opt->flag_z)
        mr_buf_printf(out, ". Command line: `%s`", opt->flag_z);
    mr_buf_append_z(out, ".\n");
}

void mr_config_reference_markdown(struct mr_buf *out)
{
    mr_buf_append_z(out, intro);
    for (size_t s = 0; s < mr_option_section_count; s++) {
        const struct mr_option_section *section = &mr_option_sections[s];
        if (!section->title_z)
            continue;
        mr_buf_printf(out, "\n## %s\n", section->title_z);
        if (*section->intro_z)
            mr_buf_printf(out, "\n%s\n", section->intro_z);
        for (size_t i = 0; i < mr_option_count; i++) {
            if (section_of(&mr_options[i]) == s)
                markdown_option(&mr_options[i], out);
        }
    }
}

/* ---- man ---- */

void mr_man_append(struct mr_buf *out, const char *text_z)
{
    bool bold = false;
    for (const char *p = text_z; *p; p++) {
        bool at_start = p == text_z || p[-1] == '\n';
        if (*p == '`') {
            bold = !bold;
            mr_buf_append_z(out, bold ? "\\fB" : "\\fR");
        } else if (*p == '\\') {
            mr_buf_append_z(out, "\\e");
        } else if (*p == '-') {
            mr_buf_append_z(out, "\\-");
        } else if ((*p == '.' || *p == '\'') && at_start) {
            mr_buf_append_z(out, "\\&");
            mr_buf_append_char(out, *p);
        } else {
            mr_buf_append_char(out, *p);
        }
    }
}

static void man_option(const struct mr_option *opt, struct mr_buf *out)
{
    struct mr_buf text = MR_BUF_INIT(8192);

    mr_buf_append_z(out, ".TP\n.B ");
    mr_man_append(out, opt->key_z);
    mr_buf_append_char(out, '\n');
    mr_man_append(out, opt->help_z);
    mr_buf_append_char(out, '\n');
    if (opt->type != MR_OPT_TABLES) {
        mr_buf_append_z(&text, "Value: ");
        mr_option_append_expected(opt, &text);
        mr_buf_append_z(&text, ". Default: ");
        append_default_text(opt, &text);
        if (opt->flag_z)
            mr_buf_printf(&text, ". Command line: `%s`", opt->flag_z);
        mr_buf_append_z(&text, ".\n");
    }
    for (size_t i = 0; i < mr_table_member_count && opt->type == MR_OPT_TABLES; i++) {
        const struct mr_member *member = &mr_table_members[i];
        mr_man_append(out, mr_buf_z(&text));
        mr_buf_clear(&text);
        mr_buf_printf(&text, "`tables.NAME.%s` (%s): %s\n", member->name_z, member->values_z, member->help_z);
        mr_buf_append_z(out, ".IP\n");
    }
    mr_man_append(out, mr_buf_z(&text));
    mr_buf_free(&text);
}

void mr_config_reference_man(struct mr_buf *out)
{
    mr_buf_append_z(out, ".SH CONFIGURATION\n");
    mr_man_append(out, "Keys of the configuration file (YAML) and of `--set`. `${NAME}` and `${NAME:-text}` "
                       "in values come from the "
                       "environment. Later sayings win: defaults, file, command line.\n");
    for (size_t s = 0; s < mr_option_section_count; s++) {
        const struct mr_option_section *section = &mr_option_sections[s];
        if (!section->title_z)
            continue;
        mr_buf_append_z(out, ".SS ");
        mr_man_append(out, section->title_z);
        mr_buf_append_char(out, '\n');
        if (*section->intro_z) {
            mr_man_append(out, section->intro_z);
            mr_buf_append_char(out, '\n');
        }
        for (size_t i = 0; i < mr_option_count; i++) {
            if (section_of(&mr_options[i]) == s)
                man_option(&mr_options[i], out);
        }
    }
}
