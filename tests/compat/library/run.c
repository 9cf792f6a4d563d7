/* Targets, compiling and running. */
#include "stand_in.h"

typedef struct compile_options { handle h; bool offload_copy, fast_math, exhaustive; } compile_options;

DESTROY(target)
DESTROY(compile_options)

API status migraphx_target_create(target** out, const char* name)
{
    ENTER();
    target t = {.h = INSIDE(target)};
    if(strcmp(name, "ref") != 0)
        return fail(__func__, "Failed to load: libmigraphx_%s.so", name);
    snprintf(t.name, MAX_NAME, "%s", name);
    return GIVE(out, target, t);
}

API status migraphx_compile_options_create(compile_options** out)
{
    ENTER();
    compile_options options = {.fast_math = true};
    return GIVE(out, compile_options, options);
}

#define OPTION(name, field)                                                                  \
    API status migraphx_compile_options_set_##name(compile_options* options, bool value)     \
    {                                                                                        \
        ENTER();                                                                             \
        NEED(options, compile_options);                                                      \
        options->field = value;                                                              \
        return OK;                                                                           \
    }
OPTION(offload_copy, offload_copy)
OPTION(fast_math, fast_math)
OPTION(exhaustive_tune_flag, exhaustive)

API status migraphx_program_compile(program* p, target* t, compile_options* options)
{
    ENTER();
    NEED(p, program);
    NEED(t, target);
    NEED(options, compile_options);
    if(p->target[0])
        violation(__func__, "compiled already, of which the real library dies");
    if(!returned_by(p->modules[0]))
        violation(__func__, "an empty program, of which the real library dies");
    snprintf(p->target, MAX_NAME, "%s", t->name);
    return OK;
}

/* ---- running ---- */

static bool eval(node* n, const program_parameters* map, char* problem);

static bool eval_inputs(node* n, const program_parameters* map, argument* inputs, char* problem)
{
    for(size_t i = 0; i < n->count; i++)
    {
        if(!eval(n->inputs[i], map, problem))
            return false;
        inputs[i] = n->inputs[i]->value;
    }
    return true;
}

static bool parameter_of(node* n, const program_parameters* map, char* problem)
{
    for(size_t i = 0; i < map->count; i++)
    {
        if(strcmp(map->items[i].name, n->name) != 0)
            continue;
        /* As the real library: nothing is checked of what has ranges. */
        if(!n->shape.dynamic && !same_shape(&n->shape, &map->items[i].value.shape))
            return snprintf(problem, MAX_TEXT, "Incorrect shape for parameter: %s", n->name), false;
        n->value = shared(&map->items[i].value);
        return true;
    }
    return snprintf(problem, MAX_TEXT, "Parameter not found: %s", n->name), false;
}

/* Sums and relu of float, row by row. */
static argument compute_floats(const node* n, const argument* inputs)
{
    argument out       = fresh(&inputs[0].shape);
    float* result      = (float*)out.data;
    const float* left  = (const float*)inputs[0].data;
    const float* right = n->count > 1 ? (const float*)inputs[1].data : NULL;
    for(size_t i = 0; i < elements_of(&out.shape); i++)
        result[i] = right ? left[i] + right[i] : left[i] > 0 ? left[i] : 0;
    return out;
}

static bool compute(node* n, const argument* inputs, char* problem)
{
    if(n->custom)
        return custom_compute(n->custom, &n->shape, n->count, inputs, &n->value, problem);
    if(strcmp(n->op, "allocate") == 0)
        n->value = fresh(&n->shape);
    else if(strcmp(n->op, "add") == 0 || strcmp(n->op, "relu") == 0)
        n->value = compute_floats(n, inputs);
    else /* identity, contiguous, squeeze, rounding there and back */
        n->value = shared(&inputs[0]);
    return true;
}

static bool eval(node* n, const program_parameters* map, char* problem)
{
    if(n->ready)
        return true;
    argument inputs[MAX_ITEMS];
    if(strcmp(n->op, "@param") == 0)
        n->ready = parameter_of(n, map, problem);
    else if(strcmp(n->op, "@literal") == 0)
    {
        n->value = shared(&n->literal);
        n->ready = true;
    }
    else
        n->ready = eval_inputs(n, map, inputs, problem) && compute(n, inputs, problem);
    return n->ready;
}

bool run_program(program* p, const program_parameters* map, arguments* out, char* problem)
{
    const node* returned = returned_by(p->modules[0]);
    bool done            = returned != NULL;
    out->count           = 0;
    for(size_t i = 0; done && i < returned->count; i++)
    {
        done = eval(returned->inputs[i], map, problem);
        if(done)
            out->items[out->count++] = shared(&returned->inputs[i]->value);
    }
    for(size_t i = 0; i < p->count; i++)
    {
        for(size_t k = 0; k < p->modules[i]->count; k++)
        {
            node* n = p->modules[i]->nodes[k];
            if(n->ready)
                let_go(&n->value);
            n->ready = false;
        }
    }
    for(size_t i = 0; !done && i < out->count; i++)
        let_go(&out->items[i]);
    return done;
}

API status migraphx_program_run(arguments** out, program* p, program_parameters* map)
{
    ENTER();
    NEED(p, program);
    NEED(map, program_parameters);
    arguments results;
    char problem[MAX_TEXT] = "an empty program";
    if(!run_program(p, map, &results, problem))
        return fail(__func__, "%s", problem);
    return GIVE(out, arguments, results);
}
