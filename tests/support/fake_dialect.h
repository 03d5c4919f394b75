/* A dialect for the tests of the schema layer: native types are our own type texts, a native type holds what its join with the other
 * leaves unchanged, texts with anything wrong and dates beyond the year 9999 are refused. */
#ifndef TESTS_SUPPORT_FAKE_DIALECT_H
#define TESTS_SUPPORT_FAKE_DIALECT_H

#include <math.h>

#include <millrace/base/buf.h>
#include <millrace/dialect.h>
#include <millrace/schema/lattice.h>

static void fake_quote_ident(struct mr_str name, struct mr_buf *out)
{
    mr_buf_printf(out, "\"%.*s\"", MR_STR_FMT(name));
}

static void fake_quote_table(struct mr_str schema, struct mr_str table, struct mr_buf *out)
{
    if (schema.len > 0)
        mr_buf_printf(out, "\"%.*s\".", MR_STR_FMT(schema));
    fake_quote_ident(table, out);
}

static void fake_column_type(const struct mr_column *col, struct mr_buf *out)
{
    mr_type_format(col->type, out);
}

static struct mr_type fake_type_of_column(struct mr_str native)
{
    struct mr_type type;

    return mr_type_parse(native, &type) ? type : MR_TYPE(MR_T_NONE);
}

static bool fake_native_holds(struct mr_str native, struct mr_type type)
{
    struct mr_type have = fake_type_of_column(native), joined;

    if (have.kind == MR_T_TEXT)
        return true;
    return have.kind != MR_T_NONE && mr_type_join(have, type, NULL, &joined) && mr_type_eq(joined, have);
}

static enum mr_status fake_holds(struct mr_type type, bool is_key, struct mr_value v, struct mr_error *err)
{
    (void)is_key;
    if ((v.tag == MR_V_TEXT || v.tag == MR_V_JSON) && v.flags)
        return mr_fail_data(err, MR_CODE_TEXT_INVALID, "the target's texts cannot hold it");
    if (type.kind == MR_T_DATE && v.i > 2932896)
        return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "beyond the year 9999");
    if (type.kind == MR_T_FLOAT32 && v.tag == MR_V_FLOAT && !isfinite(v.f))
        return mr_fail_data(err, MR_CODE_OUT_OF_RANGE, "no NaN here");
    return MR_OK;
}

__attribute__((unused)) static struct mr_dialect fake_dialect(void)
{
    return (struct mr_dialect){
        .name = "fake",
        .max_ident = 63,
        .has_schemas = true,
        .max_columns = 1600,
        .quote_ident = fake_quote_ident,
        .quote_table = fake_quote_table,
        .column_type = fake_column_type,
        .type_of_column = fake_type_of_column,
        .native_holds = fake_native_holds,
        .holds = fake_holds,
    };
}

#endif
