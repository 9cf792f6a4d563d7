/* Models: whatever the bytes, z = x + y of floats, [batch, 3] each. The options
 * decide the sizes, as they do in the real library. */
#include "stand_in.h"

typedef struct onnx_options
{
    handle h;
    size_t count, default_dim;
    struct { char name[MAX_NAME]; shape shape; } items[MAX_ITEMS];
    dynamic_dimension range;
} onnx_options;

typedef struct tf_options { handle h; size_t default_dim; bool nhwc; } tf_options;

DESTROY(onnx_options)
DESTROY(tf_options)

static program* read_model(const onnx_options* options)
{
    program p         = empty_program();
    module* m         = p.modules[0];
    node* inputs[2];
    const char* const names[] = {"x", "y"};
    for(size_t i = 0; i < 2; i++)
    {
        shape s = packed(FLOAT, 2, (size_t[]){options->default_dim, 3});
#ifdef FUTURE_TYPE
        s.type = FUTURE;
#endif
        if(options->range.max > 0)
        {
            s.dynamic   = true;
            s.ranges[0] = options->range;
            s.ranges[1] = (dynamic_dimension){.min = 3, .max = 3};
        }
        for(size_t k = 0; k < options->count; k++)
            if(strcmp(options->items[k].name, names[i]) == 0)
                s = options->items[k].shape;
        for(size_t k = 0; s.dynamic && k < s.rank; k++)
            s.ranges[k].h = (handle)INSIDE(dynamic_dimension);
        inputs[i] = add_node(m, "@param", names[i], &s);
    }
    node* sum  = add_node(m, "add", NULL, &inputs[0]->shape);
    sum->count = 2;
    memcpy(sum->inputs, inputs, sizeof(inputs));
    const shape nothing = packed(FLOAT, 0, NULL);
    node* returned      = add_node(m, "@return", NULL, &nothing);
    returned->count     = 1;
    returned->inputs[0] = sum;
    program* out        = own(KIND_program, &p, sizeof(p));
    return out;
}

API status migraphx_parse_onnx_buffer(program** out, const void* data, size_t size, onnx_options* options)
{
    ENTER();
    NEED(options, onnx_options);
    if(!data || size == 0)
        violation(__func__, "nothing, which the real library takes for a program");
    *out = read_model(options);
    return OK;
}

API status migraphx_parse_onnx(program** out, const char* path, onnx_options* options)
{
    ENTER();
    NEED(options, onnx_options);
    FILE* file = fopen(path, "rb");
    if(!file)
        return fail(__func__, "Error reading file: %s", path);
    fclose(file);
    *out = read_model(options);
    return OK;
}

API status migraphx_onnx_options_create(onnx_options** out)
{
    ENTER();
    onnx_options options = {.default_dim = 1};
    return GIVE(out, onnx_options, options);
}

static status put_shape(onnx_options* options, const char* name, shape s, const char* function)
{
    if(options->count == MAX_ITEMS)
        return fail(function, "too many");
    snprintf(options->items[options->count].name, MAX_NAME, "%s", name);
    options->items[options->count++].shape = s;
    return OK;
}

API status migraphx_onnx_options_set_input_parameter_shape(onnx_options* options, const char* name, size_t* dims, size_t rank)
{
    ENTER();
    NEED(options, onnx_options);
    return put_shape(options, name, packed(FLOAT, rank, dims), __func__);
}

API status migraphx_onnx_options_set_dyn_input_parameter_shape(onnx_options* options, const char* name, dynamic_dimensions* dims)
{
    ENTER();
    NEED(options, onnx_options);
    NEED(dims, dynamic_dimensions);
    shape s = {.h = INSIDE(shape), .type = FLOAT, .dynamic = true, .rank = dims->count};
    memcpy(s.ranges, dims->items, sizeof(s.ranges));
    return put_shape(options, name, s, __func__);
}

API status migraphx_onnx_options_set_default_dim_value(onnx_options* options, size_t value)
{
    ENTER();
    NEED(options, onnx_options);
    options->default_dim = value;
    return OK;
}

API status migraphx_onnx_options_set_default_dyn_dim_value(onnx_options* options, const dynamic_dimension* range)
{
    ENTER();
    NEED(options, onnx_options);
    NEED(range, dynamic_dimension);
    options->range = *range;
    return OK;
}

API status migraphx_onnx_options_set_default_loop_iterations(onnx_options* options, int64_t value)
{
    ENTER();
    NEED(options, onnx_options);
    (void)value;
    return OK;
}

API status migraphx_onnx_options_set_limit_loop_iterations(onnx_options* options, int64_t value)
{
    ENTER();
    NEED(options, onnx_options);
    (void)value;
    return OK;
}

API status migraphx_onnx_options_set_external_data_path(onnx_options* options, const char* path)
{
    ENTER();
    NEED(options, onnx_options);
    return path ? OK : fail(__func__, "basic_string: construction from null");
}

API status migraphx_tf_options_create(tf_options** out)
{
    ENTER();
    tf_options options = {.default_dim = 1, .nhwc = true};
    return GIVE(out, tf_options, options);
}

API status migraphx_tf_options_set_nhwc(tf_options* options, bool value)
{
    ENTER();
    NEED(options, tf_options);
    options->nhwc = value;
    return OK;
}

API status migraphx_tf_options_set_default_dim_value(tf_options* options, size_t value)
{
    ENTER();
    NEED(options, tf_options);
    options->default_dim = value;
    return OK;
}

API status migraphx_parse_tf_buffer(program** out, const void* data, size_t size, tf_options* options)
{
    ENTER();
    NEED(options, tf_options);
    (void)data, (void)size;
    onnx_options alike = {.default_dim = options->default_dim};
    *out               = read_model(&alike);
    return OK;
}

API status migraphx_parse_tf(program** out, const char* path, tf_options* options)
{
    ENTER();
    NEED(options, tf_options);
    FILE* file = fopen(path, "rb");
    if(!file)
        return fail(__func__, "Error reading file: %s", path);
    fclose(file);
    onnx_options alike = {.default_dim = options->default_dim};
    *out               = read_model(&alike);
    return OK;
}

static char* operators[] = {"Relu", "Conv", "Add"};

API status migraphx_get_onnx_operators_size(size_t* out)
{
    ENTER();
    *out = 3;
    return OK;
}

API status migraphx_get_onnx_operator_name_at_index(char** out, size_t index)
{
    ENTER();
    if(index >= 3)
        return fail(__func__, "Index out of range");
    *out = operators[index];
    return OK;
}
