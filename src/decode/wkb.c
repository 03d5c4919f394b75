/* See wkb.h. Only lengths are followed, without recursion: how many geometries are still to come is one number. */
#include "wkb.h"

#include <millrace/base/encode.h>

#define EWKB_Z 0x80000000u
#define EWKB_M 0x40000000u
#define EWKB_SRID 0x20000000u

struct walk {
    const unsigned char *p;
    size_t left;
    bool is_little;
};

static bool take_u32(struct walk *w, uint32_t *out)
{
    if (w->left < 4)
        return false;
    const unsigned char *p = w->p;
    *out = w->is_little ? (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24
                        : (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
    w->p += 4;
    w->left -= 4;
    return true;
}

static bool skip(struct walk *w, uint64_t size)
{
    if (size > w->left)
        return false;
    w->p += size;
    w->left -= (size_t)size;
    return true;
}

static bool skip_points(struct walk *w, uint64_t point_size)
{
    uint32_t count;
    return take_u32(w, &count) && skip(w, count * point_size);
}

/* Coordinates of a point: two, and one each for Z and M, as EWKB's flags or ISO's thousands say. */
static uint64_t point_size(uint32_t type)
{
    uint32_t thousands = (type & 0x0fffffff) / 1000;
    uint64_t more = (uint64_t)((type & EWKB_Z) != 0) + ((type & EWKB_M) != 0);
    if (thousands == 1 || thousands == 2)
        more = 1;
    else if (thousands == 3)
        more = 2;
    return (2 + more) * 8;
}

/* One geometry; those in it are added to *open. */
static bool one_geometry(struct walk *w, uint64_t *open)
{
    uint32_t type, srid, count;
    if (w->left < 5 || w->p[0] > 1)
        return false;
    w->is_little = w->p[0] == 1;
    w->p++;
    w->left--;
    if (!take_u32(w, &type) || ((type & EWKB_SRID) != 0 && !take_u32(w, &srid)) ||
        (type & 0x0fffffff) >= 4000)
        return false;

    switch ((type & 0x0fffffff) % 1000) {
    case 1:
        return skip(w, point_size(type));
    case 2: /* LineString */
    case 8: /* CircularString */
        return skip_points(w, point_size(type));
    case 3:  /* Polygon */
    case 17: /* Triangle */
        if (!take_u32(w, &count))
            return false;
        for (; count > 0; count--)
            if (!skip_points(w, point_size(type)))
                return false;
        return true;
    case 4: /* MultiPoint, MultiLineString, MultiPolygon, GeometryCollection */
    case 5:
    case 6:
    case 7:
    case 9: /* CompoundCurve, CurvePolygon, MultiCurve, MultiSurface, PolyhedralSurface, TIN */
    case 10:
    case 11:
    case 12:
    case 15:
    case 16:
        if (!take_u32(w, &count))
            return false;
        *open += count;
        return true;
    default: /* a type that nobody knows */
        return false;
    }
}

static bool is_whole(struct mr_str bytes)
{
    struct walk w = {.p = (const unsigned char *)bytes.ptr, .left = bytes.len};
    uint64_t open = 1;
    for (; open > 0; open--) {
        if (open > w.left || !one_geometry(&w, &open))
            return false;
    }
    return w.left == 0;
}

static uint32_t little_u32(const char *ptr)
{
    const unsigned char *p = (const unsigned char *)ptr;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* EWKB's SRID is taken out of the outermost geometry. */
static struct mr_str without_srid(struct mr_str wkb, struct mr_arena *ar, uint32_t *srid)
{
    struct walk w = {
        .p = (const unsigned char *)wkb.ptr + 1, .left = wkb.len - 1, .is_little = wkb.ptr[0] == 1};
    uint32_t type;
    if (!take_u32(&w, &type) || (type & EWKB_SRID) == 0 || !take_u32(&w, srid))
        return wkb;
    char *plain = mr_arena_alloc(ar, wkb.len - 4);
    memcpy(plain, wkb.ptr, 5);
    memcpy(plain + 5, wkb.ptr + 9, wkb.len - 9);
    plain[w.is_little ? 4 : 1] = (char)(plain[w.is_little ? 4 : 1] & ~0x20);
    return mr_str_of(plain, wkb.len - 4);
}

bool mr_wkb_read(struct mr_str bytes, struct mr_arena *ar, struct mr_value *out)
{
    uint32_t srid = 0;
    struct mr_str wkb = bytes;
    if (!is_whole(wkb)) {
        if (bytes.len < 4)
            return false;
        srid = little_u32(bytes.ptr);
        wkb = mr_str_of(bytes.ptr + 4, bytes.len - 4);
        if (!is_whole(wkb))
            return false;
    }
    wkb = without_srid(wkb, ar, &srid);

    struct mr_buf text = MR_BUF_INIT(wkb.len * 2 + 128);
    mr_buf_append_z(&text, "{\"wkb\":\"");
    mr_base64_append(&text, wkb);
    mr_buf_printf(&text, "\",\"srid\":%lu}", (unsigned long)srid);
    *out = mr_value_bytes(MR_V_JSON, mr_arena_copy(ar, mr_buf_str(&text)));
    mr_buf_free(&text);
    return true;
}
