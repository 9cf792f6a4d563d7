/* Quantizing: operands are rounded, which for the numbers of tests changes nothing. */
#include "stand_in.h"

typedef struct quantize_op_names { handle h; names list; } quantize_op_names;
typedef struct quantize_int8_options { handle h; names list; size_t count; program_parameters maps[MAX_ITEMS]; } quantize_int8_options;
typedef quantize_int8_options quantize_fp8_options;

DESTROY(quantize_op_names)

static status destroy_options(quantize_int8_options* options, enum kind kind, const char* function)
{
    const status told = enter(function);
    if(options && live(options, kind, function))
        for(size_t i = 0; i < options->count; i++)
            for(size_t k = 0; k < options->maps[i].count; k++)
                let_go(&options->maps[i].items[k].value);
    destroy(options, kind, sizeof(*options), function);
    return told;
}

API status migraphx_quantize_int8_options_destroy(quantize_int8_options* options)
{
    return destroy_options(options, KIND_quantize_int8_options, __func__);
}

API status migraphx_quantize_fp8_options_destroy(quantize_fp8_options* options)
{
    return destroy_options(options, KIND_quantize_fp8_options, __func__);
}

bool put_name(names* list, const char* name)
{
    if(list->count == MAX_ITEMS)
        return false;
    snprintf(list->items[list->count++], MAX_NAME, "%s", name);
    return true;
}

/* Puts an instruction before each operand of the operators that are not in @. */
static void round_operands(program* p, const char* op)
{
    module* m   = p->modules[0];
    node* old[64];
    size_t count = m->count;
    memcpy(old, m->nodes, sizeof(old));
    m->count = 0;
    for(size_t k = 0; k < count; k++)
    {
        for(size_t i = 0; old[k]->op[0] != '@' && i < old[k]->count && m->count < 60; i++)
        {
            char name[MAX_NAME];
            snprintf(name, sizeof(name), "@%s_%zu_%zu", op, k, i);
            node* rounded      = add_node(m, op, name, &old[k]->inputs[i]->shape);
            rounded->count     = 1;
            rounded->inputs[0] = old[k]->inputs[i];
            old[k]->inputs[i]  = rounded;
        }
        m->nodes[m->count++] = old[k];
    }
}

static status not_compiled(const program* p, const char* function)
{
    if(p->target[0])
        violation(function, "a compiled program");
    return OK;
}

#define SIXTEEN(name)                                                                       \
    API status migraphx_quantize_##name(program* p)                                         \
    {                                                                                       \
        ENTER();                                                                            \
        NEED(p, program);                                                                   \
        round_operands(p, "convert");                                                       \
        return not_compiled(p, __func__);                                                   \
    }                                                                                       \
    API status migraphx_quantize_##name##_with_op_names(program* p, quantize_op_names* list) \
    {                                                                                       \
        ENTER();                                                                            \
        NEED(p, program);                                                                   \
        NEED(list, quantize_op_names);                                                      \
        round_operands(p, "convert");                                                       \
        return not_compiled(p, __func__);                                                   \
    }
SIXTEEN(fp16)
SIXTEEN(bf16)

/* Runs on the samples, as the real library does. */
static status eight(program* p, target* t, quantize_int8_options* options, const char* function)
{
    NEED(t, target);
    if(options->count == 0)
        violation(function, "no sample, of which the real library makes wrong numbers");
    for(size_t i = 0; i < options->count; i++)
    {
        arguments results;
        char problem[MAX_TEXT] = "an empty program";
        if(!run_program(p, &options->maps[i], &results, problem))
            return fail(function, "%s", problem);
        for(size_t k = 0; k < results.count; k++)
            let_go(&results.items[k]);
    }
    round_operands(p, "dequantizelinear");
    return not_compiled(p, function);
}

API status migraphx_quantize_int8(program* p, target* t, quantize_int8_options* options)
{
    ENTER();
    NEED(p, program);
    NEED(options, quantize_int8_options);
    return eight(p, t, options, __func__);
}

API status migraphx_quantize_fp8(program* p, target* t, quantize_fp8_options* options)
{
    ENTER();
    NEED(p, program);
    NEED(options, quantize_fp8_options);
    return eight(p, t, options, __func__);
}

API status migraphx_quantize_op_names_create(quantize_op_names** out)
{
    ENTER();
    quantize_op_names list = {.list = {.count = 0}};
    return GIVE(out, quantize_op_names, list);
}

API status migraphx_quantize_op_names_add(quantize_op_names* list, const char* name)
{
    ENTER();
    NEED(list, quantize_op_names);
    return put_name(&list->list, name) ? OK : fail(__func__, "too many");
}

API status migraphx_quantize_int8_options_create(quantize_int8_options** out)
{
    ENTER();
    quantize_int8_options options = {.count = 0};
    return GIVE(out, quantize_int8_options, options);
}

API status migraphx_quantize_fp8_options_create(quantize_fp8_options** out)
{
    ENTER();
    quantize_fp8_options options = {.count = 0};
    return GIVE(out, quantize_fp8_options, options);
}

API status migraphx_quantize_int8_options_add_op_name(quantize_int8_options* options, const char* name)
{
    ENTER();
    NEED(options, quantize_int8_options);
    return put_name(&options->list, name) ? OK : fail(__func__, "too many");
}

static status add_sample(quantize_int8_options* options, program_parameters* map, const char* function)
{
    NEED(map, program_parameters);
    if(options->count == MAX_ITEMS)
        return fail(function, "too many");
    options->maps[options->count++] = shared_map(map);
    return OK;
}

API status migraphx_quantize_int8_options_add_calibration_data(quantize_int8_options* options, program_parameters* map)
{
    ENTER();
    NEED(options, quantize_int8_options);
    return add_sample(options, map, __func__);
}

API status migraphx_quantize_fp8_options_add_calibration_data(quantize_fp8_options* options, program_parameters* map)
{
    ENTER();
    NEED(options, quantize_fp8_options);
    return add_sample(options, map, __func__);
}
