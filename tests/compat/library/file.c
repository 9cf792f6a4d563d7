/* .mxr files: the header and modules as MIGraphX writes them, and one more key
 * with the program as this model has it, which is what loading reads. */
#include "stand_in.h"

#define FORMAT_VERSION (ROCM >= 713 ? 8 : ROCM >= 600 ? 7 : ROCM >= 507 ? 6 : 5)
#define SAYS_VERSION (ROCM >= 507)
#define OWN_KEY "\xa8stand_in\xc6"

typedef struct file_options { handle h; } file_options;

DESTROY(file_options)

API status migraphx_file_options_create(file_options** out)
{
    ENTER();
    file_options options = {.h = INSIDE(file_options)};
    return GIVE(out, file_options, options);
}

API status migraphx_file_options_set_file_format(file_options* options, const char* format)
{
    ENTER();
    NEED(options, file_options);
    return strcmp(format, "msgpack") == 0 ? OK : fail(__func__, "Unknown format: %s", format);
}

/* ---- MessagePack ---- */

static void put_text(FILE* out, const char* text)
{
    const size_t length = strlen(text);
    fputc(0xd9, out);
    fputc((int)length, out);
    fwrite(text, 1, length, out);
}

/* Short keys, in the form that headers begin with. */
static void put_key(FILE* out, const char* key)
{
    fputc(0xa0 | (int)strlen(key), out);
    fputs(key, out);
}

static void put_long(FILE* out, int head, size_t number)
{
    fputc(head, out);
    for(int shift = 24; shift >= 0; shift -= 8)
        fputc((int)(number >> shift) & 0xff, out);
}

static void put_map(FILE* out, size_t count) { put_long(out, 0xdf, count); }
static void put_list(FILE* out, size_t count) { put_long(out, 0xdd, count); }
static void put_number(FILE* out, size_t number) { put_long(out, 0xce, number); }

static void put_numbers(FILE* out, const char* key, size_t count, const size_t* numbers)
{
    put_key(out, key);
    put_list(out, count);
    for(size_t i = 0; i < count; i++)
        put_number(out, numbers[i]);
}

static void put_shape(FILE* out, const shape* s)
{
    char text[512];
    describe(s, text, sizeof(text));
    char* type                          = strncmp(text, "dynamic, ", 9) == 0 ? text + 9 : text;
    *strchr(type, ',')                  = '\0';
    put_map(out, 4);
    put_key(out, "type");
    put_text(out, type);
    put_numbers(out, "lens", s->dynamic ? 0 : s->rank, s->lens);
    put_numbers(out, "strides", s->dynamic ? 0 : s->rank, s->strides);
    put_key(out, "dynamic_dimensions");
    put_list(out, s->dynamic ? s->rank : 0);
    for(size_t i = 0; s->dynamic && i < s->rank; i++)
    {
        put_map(out, 3);
        put_key(out, "min");
        put_number(out, s->ranges[i].min);
        put_key(out, "max");
        put_number(out, s->ranges[i].max);
        put_numbers(out, "optimals", s->ranges[i].count, s->ranges[i].items);
    }
}

static void put_node(FILE* out, const node* n)
{
    put_map(out, 4);
    put_key(out, "output");
    put_text(out, n->name);
    put_key(out, "name");
    put_text(out, n->op);
    put_key(out, "shape");
    put_shape(out, &n->shape);
    put_key(out, "inputs");
    put_list(out, n->count);
    for(size_t i = 0; i < n->count; i++)
        put_text(out, n->inputs[i]->name);
}

static void put_modules(FILE* out, const program* p)
{
    put_key(out, "modules");
    put_map(out, p->count);
    for(size_t i = 0; i < p->count; i++)
    {
        const module* m = p->modules[i];
        put_text(out, m->name);
        put_map(out, 2);
        put_key(out, "name");
        put_text(out, m->name);
        put_key(out, "nodes");
        put_list(out, m->count);
        for(size_t k = 0; k < m->count; k++)
            put_node(out, m->nodes[k]);
    }
}

/* ---- the program as this model has it ---- */

static size_t place_of(const module* m, const node* n)
{
    size_t k = 0;
    while(m->nodes[k] != n)
        k++;
    return k;
}

static void put_own(FILE* out, const program* p)
{
    fwrite(p->target, 1, MAX_NAME, out);
    fwrite(&p->count, sizeof(size_t), 1, out);
    for(size_t i = 0; i < p->count; i++)
    {
        fwrite(p->modules[i]->name, 1, MAX_NAME, out);
        fwrite(&p->modules[i]->count, sizeof(size_t), 1, out);
    }
    for(size_t i = 0; i < p->count; i++)
    {
        for(size_t k = 0; k < p->modules[i]->count; k++)
        {
            const node* n = p->modules[i]->nodes[k];
            fwrite(n, sizeof(*n), 1, out);
            for(size_t in = 0; in < n->count; in++)
            {
                const size_t at = place_of(n->home, n->inputs[in]);
                fwrite(&at, sizeof(at), 1, out);
            }
            if(n->literal.data)
                fwrite(n->literal.data, 1, bytes_of(&n->shape), out);
        }
    }
}

/* Takes so many bytes; past the end it gives zeros and says so. */
typedef struct reader { const char *at, *end; bool cut; } reader;

static void take(reader* r, void* out, size_t size)
{
    memset(out, 0, size);
    r->cut = r->cut || (size_t)(r->end - r->at) < size;
    if(r->cut)
        return;
    memcpy(out, r->at, size);
    r->at += size;
}

static bool take_own(reader* r, program* out)
{
    size_t count, nodes;
    char name[MAX_NAME];
    *out = (program){.count = 0};
    take(r, out->target, MAX_NAME);
    take(r, &count, sizeof(count));
    for(size_t i = 0; i < count && i < 1; i++)
    {
        take(r, name, MAX_NAME);
        take(r, &nodes, sizeof(nodes));
        add_module(out, name);
        const shape nothing = packed(FLOAT, 0, NULL);
        for(size_t k = 0; k < nodes && k < 64; k++)
            add_node(out->modules[i], "", NULL, &nothing);
    }
    for(size_t i = 0; i < out->count; i++)
    {
        for(size_t k = 0; k < out->modules[i]->count; k++)
        {
            node* n = out->modules[i]->nodes[k];
            node old;
            take(r, &old, sizeof(old));
            memcpy(n->op, old.op, MAX_NAME);
            memcpy(n->name, old.name, MAX_NAME);
            n->shape        = old.shape;
            n->count        = old.count;
            for(size_t in = 0; in < n->count; in++)
            {
                size_t at;
                take(r, &at, sizeof(at));
                n->inputs[in] = n->home->nodes[at];
            }
            if(old.literal.data)
            {
                n->literal = fresh(&n->shape);
                take(r, n->literal.data, bytes_of(&n->shape));
            }
            n->custom = is_custom(n->op) ? copy_custom(n->op) : NULL;
        }
    }
    return !r->cut && out->count > 0;
}

/* ---- C functions ---- */

API status migraphx_save(program* p, const char* path, file_options* options)
{
    ENTER();
    NEED(p, program);
    NEED(options, file_options);
    char* own_bytes = NULL;
    size_t own_size = 0;
    FILE* memory    = open_memstream(&own_bytes, &own_size);
    put_own(memory, p);
    fclose(memory);
    FILE* out = fopen(path, "wb");
    if(!out)
        return fail(__func__, "Failure opening file: %s", path);
    char version[32];
    snprintf(version, sizeof(version), "2.%d.0", ROCM >= 713 ? 16 : ROCM >= 700 ? ROCM - 687 : ROCM - 592);
    fputc(SAYS_VERSION ? 0x86 : 0x85, out);
    put_key(out, "version");
    fputc(FORMAT_VERSION, out);
    if(SAYS_VERSION)
    {
        put_key(out, "migraphx_version");
        put_key(out, version);
    }
    put_key(out, "targets");
    fputc(p->target[0] ? 0x91 : 0x90, out);
    if(p->target[0])
    {
        fputc(0x81, out);
        put_key(out, "name");
        put_key(out, p->target);
    }
    put_key(out, "contexts");
    fputc(0x90, out);
    put_modules(out, p);
    fputs(OWN_KEY, out);
    for(int shift = 24; shift >= 0; shift -= 8)
        fputc((int)(own_size >> shift) & 0xff, out);
    fwrite(own_bytes, 1, own_size, out);
    fclose(out);
    free(own_bytes);
    return OK;
}

static char* whole(const char* path, size_t* size)
{
    FILE* in = fopen(path, "rb");
    if(!in)
        return NULL;
    fseek(in, 0, SEEK_END);
    *size = (size_t)ftell(in);
    rewind(in);
    char* bytes = malloc(*size + 1);
    *size       = fread(bytes, 1, *size, in);
    fclose(in);
    return bytes;
}

API status migraphx_load(program** out, const char* path, file_options* options)
{
    ENTER();
    NEED(options, file_options);
    size_t size = 0;
    char* bytes = whole(path, &size);
    if(!bytes)
        return fail(__func__, "Failure opening file: %s", path);
    program p;
    const size_t key_size = sizeof(OWN_KEY) - 1;
    bool read             = false;
    if(size > 10 && bytes[9] != FORMAT_VERSION)
    {
        free(bytes);
        return fail(__func__, "Program version mismatch");
    }
    for(char* at = bytes; !read && at + key_size + 4 < bytes + size; at++)
    {
        if(memcmp(at, OWN_KEY, key_size) != 0)
            continue;
        reader r = {at + key_size + 4, bytes + size, false};
        read     = take_own(&r, &p);
    }
    free(bytes);
    if(!read)
        return fail(__func__, "not a program");
    *out = own(KIND_program, &p, sizeof(p));
    return OK;
}
