/* Operators that call back. */
#include "stand_in.h"

typedef status (*copier)(void** out, void* in);
typedef status (*deleter)(void* in);
/* Before 5.3 the callback took no message. */
#if ROCM < 503
typedef status (*shaper)(shape* out, void* object, shapes* in);
#else
typedef status (*shaper)(shape* out, void* object, char* message, size_t size, shapes* in);
#endif
typedef status (*computer)(argument* out, void* object, char* message, size_t size, void* context, shape* output, arguments* in);
typedef status (*aliaser)(size_t* out, size_t* count, void* object, char* message, size_t size, shapes* in);
typedef status (*placer)(bool* out, void* object, char* message, size_t size);

typedef struct experimental_custom_op
{
    handle h;
    char name[MAX_NAME];
    void* object;
    copier copy;
    deleter drop;
    shaper shape;
    computer compute;
    aliaser alias;
    placer place;
} experimental_custom_op;

struct custom { const experimental_custom_op* kind; void* object; };

static experimental_custom_op registered[4096];
static size_t count;
static struct { handle h; } context = {INSIDE(context)};

static const experimental_custom_op* find(const char* name)
{
    for(size_t i = 0; i < count; i++)
        if(strcmp(registered[i].name, name) == 0)
            return &registered[i];
    return NULL;
}

bool is_custom(const char* name) { return find(name) != NULL; }

custom* copy_custom(const char* name)
{
    custom* c = calloc(1, sizeof(*c));
    c->kind   = find(name);
    c->kind->copy(&c->object, c->kind->object);
    return c;
}

void drop_custom(custom* c)
{
    c->kind->drop(c->object);
    memset(c, 0xdd, sizeof(*c));
}

/* The real library asks it what it aliases and where it runs, too. */
bool custom_shape(custom* c, size_t number, const shape* inputs, shape* out, char* problem)
{
    shapes list        = {.h = INSIDE(shapes), .count = number};
    char message[256]  = "";
    size_t alias[1024], aliases = 1024;
    memcpy(list.items, inputs, number * sizeof(shape));
    *out = packed(FLOAT, 0, NULL);
#if ROCM < 503
    status told = c->kind->shape(out, c->object, &list);
#else
    status told = c->kind->shape(out, c->object, message, sizeof(message), &list);
#endif
    if(told == OK && c->kind->alias)
        told = c->kind->alias(alias, &aliases, c->object, message, sizeof(message), &list);
    if(told != OK)
        snprintf(problem, MAX_TEXT, "Error in compute_shape of %s: %s", c->kind->name, message);
    return told == OK;
}

bool custom_compute(custom* c, const shape* output, size_t number, const argument* inputs, argument* out, char* problem)
{
    shape given[MAX_ITEMS], expected;
    arguments list    = {.h = INSIDE(arguments), .count = number};
    char message[256] = "";
    for(size_t i = 0; i < number; i++)
    {
        given[i]        = inputs[i].shape;
        list.items[i]   = inputs[i];
        list.items[i].h = (handle)INSIDE(argument);
    }
    if(!custom_shape(c, number, given, &expected, problem))
        return false;
    shape of = *output;
    *out     = (argument){.h = INSIDE(argument), .shape = of};
    if(!c->kind->compute)
        return snprintf(problem, MAX_TEXT, "compute function is missing."), false;
    const status told = c->kind->compute(out, c->object, message, sizeof(message), &context, &of, &list);
    if(told != OK)
    {
        let_go(out);
        snprintf(problem, MAX_TEXT, "Error in compute of %s: %s", c->kind->name, message);
    }
    return told == OK;
}

/* ---- C functions ---- */

#if ROCM < 503
API status migraphx_experimental_custom_op_create(experimental_custom_op** out, void* object, copier copy, deleter drop, const char* name)
#else
API status migraphx_experimental_custom_op_create(experimental_custom_op** out, void* object, copier copy, deleter drop, const char* type, const char* name)
#endif
{
    ENTER();
    experimental_custom_op op = {.copy = copy, .drop = drop};
#if ROCM >= 503
    if(!type)
        violation(__func__, "no name of the type");
#endif
    snprintf(op.name, MAX_NAME, "%s", name);
    op.copy(&op.object, object);
    return GIVE(out, experimental_custom_op, op);
}

API status migraphx_experimental_custom_op_destroy(experimental_custom_op* op)
{
    const status told = enter(__func__);
    if(op && live(op, KIND_experimental_custom_op, __func__))
        op->drop(op->object);
    destroy(op, KIND_experimental_custom_op, sizeof(*op), __func__);
    return told;
}

#define SETTER(name, type, field)                                                            \
    API status migraphx_experimental_custom_op_set_##name(experimental_custom_op* op, type f) \
    {                                                                                        \
        ENTER();                                                                             \
        NEED(op, experimental_custom_op);                                                    \
        op->field = f;                                                                       \
        return OK;                                                                           \
    }
SETTER(compute_shape, shaper, shape)
SETTER(compute, computer, compute)
SETTER(output_alias, aliaser, alias)
SETTER(runs_on_offload_target, placer, place)

/* For the life of the process. */
API status migraphx_experimental_custom_op_register(experimental_custom_op* op)
{
    ENTER();
    NEED(op, experimental_custom_op);
    if(count == sizeof(registered) / sizeof(*registered))
        return fail(__func__, "too many");
    registered[count] = *op;
    op->copy(&registered[count].object, op->object);
    count++;
    return OK;
}

API status migraphx_context_get_queue(void** out, void* c)
{
    ENTER();
    NEED(c, context);
    *out = NULL; /* no GPU */
    return OK;
}
