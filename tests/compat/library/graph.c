/* Programs, modules, instructions and operations. */
#include "stand_in.h"

static const char* const operators[] = {"add", "relu", "identity", "contiguous", "allocate", "squeeze"};

typedef struct instruction { handle h; node* node; } instruction;
typedef struct instructions { handle h; size_t count; node* items[MAX_ITEMS]; } instructions;

/* ---- building ---- */

module* add_module(program* p, const char* name)
{
    module* m = calloc(1, sizeof(*m));
    m->h      = (handle)INSIDE(module);
    snprintf(m->name, MAX_NAME, "%s", name);
    p->modules[p->count++] = m;
    return m;
}

program empty_program(void)
{
    program p = {.count = 0};
    add_module(&p, "main");
    return p;
}

node* add_node(module* m, const char* op, const char* name, const shape* s)
{
    node* n = calloc(1, sizeof(*n));
    snprintf(n->op, MAX_NAME, "%s", op);
    if(name)
        snprintf(n->name, MAX_NAME, "%s", name);
    else
        snprintf(n->name, MAX_NAME, "@%zu", m->count);
    n->shape   = *s;
    n->shape.h = (handle)INSIDE(shape);
    n->home    = m;
    m->nodes[m->count++] = n;
    return n;
}

node* returned_by(const module* m)
{
    node* last = m->count ? m->nodes[m->count - 1] : NULL;
    return last && strcmp(last->op, "@return") == 0 ? last : NULL;
}

shape output_of(const node* returned, size_t index)
{
    shape s = returned->inputs[index]->shape;
    s.h     = (handle)INSIDE(shape);
    return s;
}

/* Objects go; memory is poisoned and kept, so that a later use is seen. */
void clear_program(program* p)
{
    for(size_t i = 0; i < p->count; i++)
    {
        module* m = p->modules[i];
        for(size_t k = 0; k < m->count; k++)
        {
            node* n = m->nodes[k];
            let_go(&n->literal);
            if(n->custom)
                drop_custom(n->custom);
            memset(n, 0xdd, sizeof(*n));
        }
        memset(m, 0xdd, sizeof(*m));
    }
    p->count = 0;
}

static node* same_node(const program* from, const program* to, const node* n)
{
    for(size_t i = 0; i < to->count; i++)
        for(size_t k = 0; k < to->modules[i]->count; k++)
            if(from->modules[i]->nodes[k] == n)
                return to->modules[i]->nodes[k];
    return NULL;
}

program copy_program(const program* p)
{
    program copy = {.count = 0};
    memcpy(copy.target, p->target, MAX_NAME);
    for(size_t i = 0; i < p->count; i++)
    {
        module* m = add_module(&copy, p->modules[i]->name);
        for(size_t k = 0; k < p->modules[i]->count; k++)
        {
            const node* old = p->modules[i]->nodes[k];
            node* n         = add_node(m, old->op, old->name, &old->shape);
            n->count        = old->count;
            n->literal      = shared(&old->literal);
            n->custom       = old->custom ? copy_custom(old->op) : NULL;
        }
    }
    for(size_t i = 0; i < p->count; i++)
    {
        for(size_t k = 0; k < p->modules[i]->count; k++)
        {
            const node* old = p->modules[i]->nodes[k];
            node* n         = copy.modules[i]->nodes[k];
            for(size_t in = 0; in < old->count; in++)
                n->inputs[in] = same_node(p, &copy, old->inputs[in]);
        }
    }
    return copy;
}

/* ---- C functions: programs and modules ---- */

API status migraphx_program_create(program** out)
{
    ENTER();
    program p = empty_program();
    *out      = own(KIND_program, &p, sizeof(p));
    return OK;
}

API status migraphx_program_destroy(program* p)
{
    const status told = enter(__func__);
    if(p && live(p, KIND_program, __func__))
        clear_program(p);
    destroy(p, KIND_program, sizeof(*p), __func__);
    return told;
}

API status migraphx_program_assign_to(program* out, const program* in)
{
    ENTER();
    NEED(out, program);
    NEED(in, program);
    const handle h = out->h;
    program next   = copy_program(in);
    clear_program(out);
    *out   = next;
    out->h = h;
    return OK;
}

API status migraphx_program_get_main_module(module** out, program* p)
{
    ENTER();
    NEED(p, program);
    *out = p->modules[0];
    return OK;
}

API status migraphx_program_sort(program* p)
{
    ENTER();
    NEED(p, program);
    return OK;
}

static void print_module(const module* m)
{
    print("module: \"%s\"\n", m->name);
    for(size_t k = 0; k < m->count; k++)
    {
        const node* n = m->nodes[k];
        char text[512];
        if(strcmp(n->op, "@param") == 0)
            print("%s = @param:%s", n->name, n->name);
        else
            print("%s = %s%s", n->name, n->op, strcmp(n->op, "@literal") == 0 ? "{ ... }" : "");
        for(size_t in = 0; in < n->count; in++)
            print("%s%s", in ? "," : "(", n->inputs[in]->name);
        print("%s", n->count ? ")" : "");
        describe(&n->shape, text, sizeof(text));
        if(strcmp(n->op, "@return") == 0)
            print("\n");
        else
            print(" -> %s\n", text);
    }
}

API status migraphx_module_print(const module* m)
{
    ENTER();
    NEED(m, module);
    print_module(m);
    return OK;
}

API status migraphx_program_print(const program* p)
{
    ENTER();
    NEED(p, program);
    for(size_t i = p->count; i-- > 0;)
        print_module(p->modules[i]);
    return OK;
}

API status migraphx_program_equal(bool* out, const program* a, const program* b)
{
    ENTER();
    NEED(a, program);
    NEED(b, program);
    *out = a->count == b->count;
    for(size_t i = 0; *out && i < a->count; i++)
    {
        const module *m = a->modules[i], *n = b->modules[i];
        *out = m->count == n->count;
        for(size_t k = 0; *out && k < m->count; k++)
            *out = strcmp(m->nodes[k]->op, n->nodes[k]->op) == 0 && same_shape(&m->nodes[k]->shape, &n->nodes[k]->shape);
    }
    return OK;
}

/* ---- what a program takes and gives ---- */

typedef struct program_parameter_shapes
{
    handle h;
    size_t count;
    char names[MAX_ITEMS][MAX_NAME];
    shape items[MAX_ITEMS];
} program_parameter_shapes;

DESTROY(program_parameter_shapes)
DESTROY(shapes)

API status migraphx_program_get_parameter_shapes(program_parameter_shapes** out, program* p)
{
    ENTER();
    NEED(p, program);
    program_parameter_shapes map = {.count = 0};
    const module* m              = p->modules[0];
    for(size_t k = m->count; k-- > 0;) /* no order that one could rely on */
    {
        if(strcmp(m->nodes[k]->op, "@param") != 0)
            continue;
        memcpy(map.names[map.count], m->nodes[k]->name, MAX_NAME);
        map.items[map.count++] = m->nodes[k]->shape;
    }
    return GIVE(out, program_parameter_shapes, map);
}

API status migraphx_program_parameter_shapes_size(size_t* out, program_parameter_shapes* map)
{
    ENTER();
    NEED(map, program_parameter_shapes);
    *out = map->count;
    return OK;
}

API status migraphx_program_parameter_shapes_names(const char** out, program_parameter_shapes* map)
{
    ENTER();
    NEED(map, program_parameter_shapes);
    for(size_t i = 0; i < map->count; i++)
        out[i] = map->names[i];
    return OK;
}

API status migraphx_program_parameter_shapes_get(const shape** out, program_parameter_shapes* map, const char* name)
{
    ENTER();
    NEED(map, program_parameter_shapes);
    for(size_t i = 0; i < map->count; i++)
    {
        if(strcmp(map->names[i], name) == 0)
        {
            *out = &map->items[i];
            return OK;
        }
    }
    return fail(__func__, "unordered_map::at");
}

API status migraphx_program_get_output_shapes(shapes** out, program* p)
{
    ENTER();
    NEED(p, program);
    shapes list          = {.count = 0};
    const node* returned = returned_by(p->modules[0]);
    for(size_t i = 0; returned && i < returned->count; i++)
        list.items[list.count++] = output_of(returned, i);
    return GIVE(out, shapes, list);
}

API status migraphx_shapes_size(size_t* out, shapes* list)
{
    ENTER();
    NEED(list, shapes);
    *out = list->count;
    return OK;
}

API status migraphx_shapes_get(const shape** out, shapes* list, size_t index)
{
    ENTER();
    NEED(list, shapes);
    if(index >= list->count)
        return fail(__func__, "Index out of range");
    *out = &list->items[index];
    return OK;
}

/* ---- operations ---- */

static bool is_operator(const char* name)
{
    for(size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
        if(strcmp(operators[i], name) == 0)
            return true;
    return is_custom(name);
}

/* {shape: {type: "float_type", lens: [2, 3], …}}, of which the real library makes a shape. */
static bool shape_in(const char* attributes, shape* out)
{
    const char* type = strstr(attributes, "type: \"");
    const char* lens = strstr(attributes, "lens: [");
    enum type found;
    if(!type || !lens || !type_named(type + 7, &found))
        return false;
    size_t rank = 0, sizes[MAX_RANK];
    char* end = (char*)lens + 7;
    while(rank < MAX_RANK && *end != ']')
    {
        sizes[rank++] = strtoul(end, &end, 10);
        end += strspn(end, ", ");
    }
    *out = packed(found, rank, sizes);
    return true;
}

API status migraphx_operation_create(operation** out, const char* name, const char* attributes, ...)
{
    ENTER();
    operation op = {.custom = NULL};
    if(!is_operator(name))
        return fail(__func__, "Unknown operator: %s", name);
    snprintf(op.name, MAX_NAME, "%s", name);
    if(attributes)
    {
        char text[512];
        va_list rest;
        va_start(rest, attributes);
        vsnprintf(text, sizeof(text), attributes, rest);
        va_end(rest);
        if(strcmp(name, "allocate") == 0 && !shape_in(text, &op.shape))
            return fail(__func__, "allocate has no shape: %s", text);
    }
    op.custom = is_custom(name) ? copy_custom(name) : NULL;
    return GIVE(out, operation, op);
}

API status migraphx_operation_destroy(operation* op)
{
    const status told = enter(__func__);
    if(op && live(op, KIND_operation, __func__) && op->custom)
        drop_custom(op->custom);
    destroy(op, KIND_operation, sizeof(*op), __func__);
    return told;
}

API status migraphx_operation_name(char* out, size_t size, operation* op)
{
    ENTER();
    NEED(op, operation);
    if(size == 0)
        violation(__func__, "no room, of which the real library writes without end");
    else
        snprintf(out, size, "%s", op->name);
    return OK;
}

/* ---- instructions ---- */

DESTROY(instruction)
DESTROY(instructions)

static status give_node(instruction** out, node* n)
{
    instruction i = {.node = n};
    return GIVE(out, instruction, i);
}

API status migraphx_instructions_create(instructions** out, const instruction* const* items, size_t count)
{
    ENTER();
    instructions list = {.count = count};
    if(count > MAX_ITEMS)
        return fail(__func__, "too many");
    for(size_t i = 0; i < count; i++)
    {
        NEED(items[i], instruction);
        list.items[i] = items[i]->node;
    }
    return GIVE(out, instructions, list);
}

API status migraphx_module_add_parameter(instruction** out, module* m, const char* name, const shape* s)
{
    ENTER();
    NEED(m, module);
    NEED(s, shape);
    return give_node(out, add_node(m, "@param", name, s));
}

API status migraphx_module_add_literal(instruction** out, module* m, const shape* s, const char* data)
{
    ENTER();
    NEED(m, module);
    NEED(s, shape);
    node* n    = add_node(m, "@literal", NULL, s);
    n->literal = fresh(s);
    memcpy(n->literal.data, data, bytes_of(s));
    return give_node(out, n);
}

API status migraphx_module_add_return(instruction** out, module* m, instructions* outputs)
{
    ENTER();
    NEED(m, module);
    NEED(outputs, instructions);
    const shape nothing = packed(FLOAT, 0, NULL);
    node* n             = add_node(m, "@return", NULL, &nothing);
    n->count            = outputs->count;
    memcpy(n->inputs, outputs->items, sizeof(n->inputs));
    return give_node(out, n);
}

/* The shape of an operation's result. */
static bool infer(const operation* op, const instructions* inputs, shape* out, char* problem)
{
    shape given[MAX_ITEMS];
    for(size_t i = 0; i < inputs->count; i++)
        given[i] = inputs->items[i]->shape;
    if(op->custom)
        return custom_shape(op->custom, inputs->count, given, out, problem);
    if(strcmp(op->name, "allocate") == 0)
    {
        *out = op->shape;
        return true;
    }
    if(inputs->count == 0)
        return snprintf(problem, MAX_TEXT, "%s: no inputs", op->name), false;
    if(strcmp(op->name, "add") == 0 && (inputs->count != 2 || !same_shape(&given[0], &given[1])))
        return snprintf(problem, MAX_TEXT, "add: shapes differ"), false;
    *out = given[0];
    return true;
}

static status add_instruction(instruction** out, module* m, const operation* op, const instructions* inputs, const char* function)
{
    shape s;
    char problem[MAX_TEXT];
    if(!infer(op, inputs, &s, problem))
        return fail(function, "%s", problem);
    node* n  = add_node(m, op->name, NULL, &s);
    n->count = inputs->count;
    memcpy(n->inputs, inputs->items, sizeof(n->inputs));
    n->custom = op->custom ? copy_custom(op->name) : NULL;
    return give_node(out, n);
}

API status migraphx_module_add_instruction(instruction** out, module* m, operation* op, instructions* inputs)
{
    ENTER();
    NEED(m, module);
    NEED(op, operation);
    NEED(inputs, instructions);
    return add_instruction(out, m, op, inputs, __func__);
}
