/* Tensors, and lists and maps of them. */
#include "stand_in.h"

argument fresh(const shape* s)
{
    const size_t size = bytes_of(s);
    storage* memory   = calloc(1, sizeof(storage) + size + 1);
    memory->users     = 1;
    memory->size      = size;
    argument a = {.h = INSIDE(argument), .shape = *s, .data = memory->data, .owned = memory};
    a.shape.h  = (handle)INSIDE(shape);
    return a;
}

argument shared(const argument* a)
{
    argument copy = *a;
    copy.h        = (handle)INSIDE(argument);
    if(copy.owned)
        __atomic_add_fetch(&copy.owned->users, 1, __ATOMIC_SEQ_CST);
    return copy;
}

/* Memory that nobody has any more is poisoned, and kept. */
void let_go(argument* a)
{
    if(a->owned && __atomic_sub_fetch(&a->owned->users, 1, __ATOMIC_SEQ_CST) == 0)
        memset(a->owned->data, 0xdd, a->owned->size);
    a->owned = NULL;
}

program_parameters shared_map(const program_parameters* map)
{
    program_parameters copy = *map;
    for(size_t i = 0; i < map->count; i++)
        copy.items[i].value = shared(&map->items[i].value);
    return copy;
}

API status migraphx_argument_destroy(argument* a)
{
    const status told = enter(__func__);
    if(a && a->h.owned && live(a, KIND_argument, __func__))
        let_go(a);
    destroy(a, KIND_argument, sizeof(*a), __func__);
    return told;
}

API status migraphx_argument_assign_to(argument* out, const argument* in)
{
    ENTER();
    NEED(out, argument);
    NEED(in, argument);
    const handle h      = out->h;
    const argument next = shared(in);
    let_go(out);
    *out   = next;
    out->h = h;
    return OK;
}

/* The memory is the caller's and is not copied. */
API status migraphx_argument_create(argument** out, const shape* s, void* buffer)
{
    ENTER();
    NEED(s, shape);
    if(!buffer && bytes_of(s) > 0)
        violation(__func__, "no memory");
    argument a = {.shape = *s, .data = buffer};
    a.shape.h  = (handle)INSIDE(shape);
    return GIVE(out, argument, a);
}

API status migraphx_argument_generate(argument** out, const shape* s, size_t seed)
{
    ENTER();
    NEED(s, shape);
    argument a = fresh(s);
    memset(a.data, (int)(seed & 0x3f), bytes_of(s));
    return GIVE(out, argument, a);
}

API status migraphx_argument_shape(const shape** out, const argument* a)
{
    ENTER();
    NEED(a, argument);
    *out = &a->shape;
    return OK;
}

API status migraphx_argument_buffer(char** out, const argument* a)
{
    ENTER();
    NEED(a, argument);
    *out = a->data;
    return OK;
}

API status migraphx_arguments_destroy(arguments* list)
{
    const status told = enter(__func__);
    if(list && live(list, KIND_arguments, __func__) && list->h.owned)
        for(size_t i = 0; i < list->count; i++)
            let_go(&list->items[i]);
    destroy(list, KIND_arguments, sizeof(*list), __func__);
    return told;
}

API status migraphx_arguments_size(size_t* out, arguments* list)
{
    ENTER();
    NEED(list, arguments);
    *out = list->count;
    return OK;
}

API status migraphx_arguments_get(const argument** out, arguments* list, size_t index)
{
    ENTER();
    NEED(list, arguments);
    if(index >= list->count)
        return fail(__func__, "Index out of range");
    *out = &list->items[index];
    return OK;
}

API status migraphx_program_parameters_create(program_parameters** out)
{
    ENTER();
    program_parameters map = {.count = 0};
    return GIVE(out, program_parameters, map);
}

API status migraphx_program_parameters_destroy(program_parameters* map)
{
    const status told = enter(__func__);
    if(map && live(map, KIND_program_parameters, __func__))
        for(size_t i = 0; i < map->count; i++)
            let_go(&map->items[i].value);
    destroy(map, KIND_program_parameters, sizeof(*map), __func__);
    return told;
}

/* Copies the argument, and replaces one of the same name. */
API status migraphx_program_parameters_add(program_parameters* map, const char* name, const argument* a)
{
    ENTER();
    NEED(map, program_parameters);
    NEED(a, argument);
    size_t at = 0;
    while(at < map->count && strcmp(map->items[at].name, name) != 0)
        at++;
    if(at == MAX_ITEMS)
        return fail(__func__, "too many");
    if(at == map->count)
        map->count++;
    else
        let_go(&map->items[at].value);
    snprintf(map->items[at].name, MAX_NAME, "%s", name);
    map->items[at].value = shared(a);
    return OK;
}
