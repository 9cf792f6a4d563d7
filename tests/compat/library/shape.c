/* Data types by this release's numbers, shapes, and ranges of sizes. */
#include "stand_in.h"

static const struct { const char* name; size_t size; } types[TYPE_COUNT] = {
    {"tuple", 0}, {"fp4x2", 1}, {"bool", 1}, {"half", 2}, {"float", 4}, {"double", 8},
    {"uint8", 1}, {"int8", 1}, {"uint16", 2}, {"int16", 2}, {"int32", 4}, {"int64", 8},
    {"uint32", 4}, {"uint64", 8}, {"fp8e4m3fnuz", 1}, {"fp8e4m3fn", 1}, {"fp8e5m2", 1},
    {"bf16", 2}, {"fp8e5m2fnuz", 1}, {"future", 1}};

/* Up to 7.0 there was no fp4x2; the third numbering has one more before it. */
static unsigned number_of(enum type type)
{
    return type == TUPLE ? 0 : (unsigned)type + NUMBERING - 1;
}

static bool type_of(unsigned number, enum type* out)
{
    enum type last = FP8E5M2FNUZ;
    if(ROCM < 601)
        last = UINT64;
    else if(ROCM < 603)
        last = FP8E4M3FNUZ;
    else if(ROCM < 604)
        last = FP8E5M2;
#ifdef FUTURE_TYPE
    last = FUTURE;
#endif
    for(enum type type = TUPLE; type <= last; type++)
    {
        if(number_of(type) == number && !(NUMBERING == 0 && type == FP4X2))
        {
            *out = type;
            return true;
        }
    }
    if(NUMBERING == 2 && number == 1)
    {
        *out = UINT8; /* what was put in before: of one byte too */
        return true;
    }
    return false;
}

bool type_named(const char* text, enum type* out)
{
    for(enum type type = TUPLE; type < TYPE_COUNT; type++)
    {
        const size_t length = strlen(types[type].name);
        if(strncmp(text, types[type].name, length) == 0 && strncmp(text + length, "_type", 5) == 0)
        {
            *out = type;
            return true;
        }
    }
    return false;
}

shape packed(enum type type, size_t rank, const size_t* lens)
{
    shape s = {.h = INSIDE(shape), .type = type, .rank = rank};
    size_t stride = 1;
    for(size_t i = rank; i-- > 0; stride *= lens[i])
    {
        s.lens[i]    = lens[i];
        s.strides[i] = stride;
    }
    return s;
}

size_t elements_of(const shape* s)
{
    size_t count = 1;
    for(size_t i = 0; i < s->rank; i++)
        count *= s->dynamic ? s->ranges[i].max : s->lens[i];
    return count;
}

size_t bytes_of(const shape* s)
{
    if(s->dynamic)
        return elements_of(s) * types[s->type].size;
    size_t span = 1;
    for(size_t i = 0; i < s->rank; i++)
    {
        if(s->lens[i] == 0)
            return 0;
        span += (s->lens[i] - 1) * s->strides[i];
    }
    return span * types[s->type].size;
}

static bool same_range(const dynamic_dimension* a, const dynamic_dimension* b)
{
    return a->min == b->min && a->max == b->max &&
           (a->min == a->max || (a->count == b->count && memcmp(a->items, b->items, a->count * sizeof(size_t)) == 0));
}

bool same_shape(const shape* a, const shape* b)
{
    if(a->type != b->type || a->dynamic != b->dynamic || a->rank != b->rank)
        return false;
    for(size_t i = 0; i < a->rank; i++)
        if(a->dynamic ? !same_range(&a->ranges[i], &b->ranges[i])
                      : a->lens[i] != b->lens[i] || a->strides[i] != b->strides[i])
            return false;
    return true;
}

/* As the library prints it. */
void describe(const shape* s, char* out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "%s%s_type, {", s->dynamic ? "dynamic, " : "", types[s->type].name);
    for(size_t i = 0; i < s->rank; i++)
    {
        const char* comma = i ? ", " : "";
        if(s->dynamic)
            at += (size_t)snprintf(out + at, size - at, "%s[ %zu, %zu, {} ]", comma, s->ranges[i].min, s->ranges[i].max);
        else
            at += (size_t)snprintf(out + at, size - at, "%s%zu", comma, s->lens[i]);
    }
    at += (size_t)snprintf(out + at, size - at, "}");
    if(s->dynamic)
        return;
    at += (size_t)snprintf(out + at, size - at, ", {");
    for(size_t i = 0; i < s->rank; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%zu", i ? ", " : "", s->strides[i]);
    snprintf(out + at, size - at, "}");
}

/* ---- C functions ---- */

DESTROY(shape)
DESTROY(optimals)
DESTROY(dynamic_dimension)
DESTROY(dynamic_dimensions)

API status migraphx_shape_assign_to(shape* out, const shape* in)
{
    ENTER();
    NEED(out, shape);
    NEED(in, shape);
    const handle h = out->h;
    *out           = *in;
    out->h         = h;
    return OK;
}

static status known(unsigned number, enum type* type, const char* function)
{
    if(!type_of(number, type))
    {
        fail(function, "Unknown type");
        return BAD_PARAM;
    }
    if(*type == TUPLE)
        violation(function, "a tuple, of which the real library dies");
    return OK;
}

API status migraphx_shape_create_with_strides(shape** out, unsigned number, size_t* lens, size_t rank, size_t* strides, size_t stride_count)
{
    ENTER();
    enum type type;
    const status told = known(number, &type, __func__);
    if(told != OK)
        return told;
    if(rank != stride_count || rank > MAX_RANK)
    {
        violation(__func__, "sizes and strides differ in number");
        return UNKNOWN_ERROR;
    }
    shape s = packed(type, rank, lens);
    memcpy(s.strides, strides, rank * sizeof(size_t));
    return GIVE(out, shape, s);
}

API status migraphx_shape_create_scalar(shape** out, unsigned number)
{
    ENTER();
    enum type type;
    const status told = known(number, &type, __func__);
    if(told != OK)
        return told;
    shape s      = packed(type, 1, (size_t[]){1});
    s.strides[0] = 0; /* the library's way to say rank 0 */
    return GIVE(out, shape, s);
}

API status migraphx_shape_create_dynamic(shape** out, unsigned number, const dynamic_dimensions* dims)
{
    ENTER();
    enum type type;
    const status told = known(number, &type, __func__);
    if(told != OK)
        return told;
    NEED(dims, dynamic_dimensions);
    shape s = {.h = INSIDE(shape), .type = type, .dynamic = true, .rank = dims->count};
    memcpy(s.ranges, dims->items, sizeof(s.ranges));
    return GIVE(out, shape, s);
}

API status migraphx_shape_type(unsigned* out, const shape* s)
{
    ENTER();
    NEED(s, shape);
    *out = number_of(s->type);
    return OK;
}

API status migraphx_shape_lengths(const size_t** out, size_t* rank, const shape* s)
{
    ENTER();
    NEED(s, shape);
    if(s->dynamic)
        return fail(__func__, "lens() called on a dynamic shape");
    *out  = s->lens;
    *rank = s->rank;
    return OK;
}

API status migraphx_shape_strides(const size_t** out, size_t* rank, const shape* s)
{
    ENTER();
    NEED(s, shape);
    if(s->dynamic)
        return fail(__func__, "strides() called on a dynamic shape");
    *out  = s->strides;
    *rank = s->rank;
    return OK;
}

API status migraphx_shape_bytes(size_t* out, const shape* s)
{
    ENTER();
    NEED(s, shape);
    *out = bytes_of(s);
    return OK;
}

API status migraphx_shape_equal(bool* out, const shape* a, const shape* b)
{
    ENTER();
    NEED(a, shape);
    NEED(b, shape);
    *out = same_shape(a, b);
    return OK;
}

API status migraphx_shape_dynamic(bool* out, const shape* s)
{
    ENTER();
    NEED(s, shape);
    *out = s->dynamic;
    return OK;
}

API status migraphx_shape_dyn_dims(dynamic_dimensions** out, const shape* s)
{
    ENTER();
    NEED(s, shape);
    if(!s->dynamic)
        return fail(__func__, "dyn_dims() called on a static shape");
    dynamic_dimensions dims = {.count = s->rank};
    memcpy(dims.items, s->ranges, sizeof(dims.items));
    return GIVE(out, dynamic_dimensions, dims);
}

API status migraphx_optimals_create(optimals** out, const size_t* items, size_t count)
{
    ENTER();
    optimals list = {.count = count};
    if(count > MAX_ITEMS)
        return fail(__func__, "too many");
    memcpy(list.items, items, count * sizeof(size_t));
    return GIVE(out, optimals, list);
}

API status migraphx_dynamic_dimension_create_min_max(dynamic_dimension** out, size_t min, size_t max)
{
    ENTER();
    dynamic_dimension range = {.h = INSIDE(dynamic_dimension), .min = min, .max = max};
    return GIVE(out, dynamic_dimension, range);
}

API status migraphx_dynamic_dimension_create_min_max_optimals(dynamic_dimension** out, size_t min, size_t max, optimals* list)
{
    ENTER();
    NEED(list, optimals);
    dynamic_dimension range = {.h = INSIDE(dynamic_dimension), .min = min, .max = max, .count = list->count};
    memcpy(range.items, list->items, sizeof(range.items));
    return GIVE(out, dynamic_dimension, range);
}

API status migraphx_dynamic_dimension_equal(bool* out, const dynamic_dimension* a, const dynamic_dimension* b)
{
    ENTER();
    NEED(a, dynamic_dimension);
    NEED(b, dynamic_dimension);
    *out = same_range(a, b);
    return OK;
}

API status migraphx_dynamic_dimensions_create(dynamic_dimensions** out, const dynamic_dimension* const* items, size_t count)
{
    ENTER();
    dynamic_dimensions list = {.count = count};
    if(count > MAX_RANK)
        return fail(__func__, "too many");
    for(size_t i = 0; i < count; i++)
    {
        NEED(items[i], dynamic_dimension);
        list.items[i]   = *items[i];
        list.items[i].h = (handle)INSIDE(dynamic_dimension);
    }
    return GIVE(out, dynamic_dimensions, list);
}

API status migraphx_dynamic_dimensions_size(size_t* out, dynamic_dimensions* list)
{
    ENTER();
    NEED(list, dynamic_dimensions);
    *out = list->count;
    return OK;
}

API status migraphx_dynamic_dimensions_get(const dynamic_dimension** out, dynamic_dimensions* list, size_t index)
{
    ENTER();
    NEED(list, dynamic_dimensions);
    if(index >= list->count)
        return fail(__func__, "Index out of range");
    *out = &list->items[index];
    return OK;
}
