/* A small model of MIGraphX's C library for tests: programs of a few operators,
 * handles that are counted, calls that are counted and can be made to fail.
 *
 * One source for all releases. The compiler is told
 *   ROCM          the release: 502, 600, 701 (7.1), 713
 *   NUMBERING     of data types: 0 up to 7.0, 1 from 7.1 on, 2 for one that never was
 *   FUTURE_TYPE   if there is a type after those that are known, and inputs have it
 *   STRANGE_STATUS if errors have numbers that no header lists
 * and the linker which functions that release lacks. */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define MAX_RANK 8
#define MAX_ITEMS 8
#define MAX_NAME 256
#define MAX_TEXT 512 /* of a problem; more is cut */

typedef unsigned status;
enum { OK = 0, BAD_PARAM = 1, UNKNOWN_ERROR = 4 };

/* ---- control.c: handles, counts, faults, text ---- */

#define KINDS(X)                                                                          \
    X(optimals) X(dynamic_dimension) X(dynamic_dimensions) X(shape) X(argument) X(target) \
    X(program_parameter_shapes) X(program_parameters) X(arguments) X(shapes)              \
    X(instruction) X(instructions) X(module) X(program) X(operation)           \
    X(onnx_options) X(file_options) X(compile_options) X(tf_options)                      \
    X(quantize_op_names) X(quantize_int8_options) X(quantize_fp8_options) X(context)      \
    X(experimental_custom_op) X(trace_info)

#define KIND(name) KIND_##name,
enum kind { KINDS(KIND) KIND_COUNT };
#undef KIND

/* Every object begins with one. Those inside of others are not owned by the caller. */
typedef struct handle
{
    unsigned magic;
    enum kind kind;
    bool owned;
} handle;

#define INSIDE(name) {0x4d494752u, KIND_##name, false}

/* Counts the call, and gives the status that it was told to fail with. */
status enter(const char* function);
/* Copies an object to the heap, where the caller owns it. */
void* own(enum kind kind, const void* object, size_t size);
/* Whether it is a live object of the kind; a violation if it is a dead one. */
bool live(const void* object, enum kind kind, const char* function);
status destroy(void* object, enum kind kind, size_t size, const char* function);
void violation(const char* function, const char* what);
/* Prints the reason as this release does, and gives its status. */
status fail(const char* function, const char* format, ...);
void print(const char* format, ...);

#define ENTER()                             \
    do                                      \
    {                                       \
        const status told = enter(__func__); \
        if(told != OK)                      \
            return told;                    \
    } while(0)

#define NEED(object, kind)                             \
    do                                                 \
    {                                                  \
        if(!live(object, KIND_##kind, __func__))       \
            return BAD_PARAM;                          \
    } while(0)

#define GIVE(out, kind, object) (*(out) = own(KIND_##kind, &(object), sizeof(object)), OK)

#define DESTROY(kind)                                                          \
    API status migraphx_##kind##_destroy(kind* object)                         \
    {                                                                          \
        const status told   = enter(__func__);                                 \
        const status result = destroy(object, KIND_##kind, sizeof(*object), __func__); \
        return told != OK ? told : result;                                     \
    }

/* ---- shape.c ---- */

enum type { TUPLE, FP4X2, BOOL, HALF, FLOAT, DOUBLE, UINT8, INT8, UINT16, INT16, INT32,
            INT64, UINT32, UINT64, FP8E4M3FNUZ, FP8E4M3FN, FP8E5M2, BF16, FP8E5M2FNUZ, FUTURE,
            TYPE_COUNT };

typedef struct optimals { handle h; size_t count, items[MAX_ITEMS]; } optimals;
typedef struct dynamic_dimension { handle h; size_t min, max, count, items[MAX_ITEMS]; } dynamic_dimension;
typedef struct dynamic_dimensions { handle h; size_t count; dynamic_dimension items[MAX_RANK]; } dynamic_dimensions;
typedef struct shape
{
    handle h;
    enum type type;
    bool dynamic;
    size_t rank, lens[MAX_RANK], strides[MAX_RANK];
    dynamic_dimension ranges[MAX_RANK];
} shape;
typedef struct shapes { handle h; size_t count; shape items[MAX_ITEMS]; } shapes;

shape packed(enum type type, size_t rank, const size_t* lens);
size_t elements_of(const shape* s);
size_t bytes_of(const shape* s);
bool same_shape(const shape* a, const shape* b);
bool type_named(const char* text, enum type* out);
void describe(const shape* s, char* out, size_t size);

/* ---- argument.c ---- */

typedef struct storage { size_t users, size; char data[]; } storage;
typedef struct argument { handle h; shape shape; char* data; storage* owned; } argument;
typedef struct arguments { handle h; size_t count; argument items[MAX_ITEMS]; } arguments;
typedef struct parameter { char name[MAX_NAME]; argument value; } parameter;
typedef struct program_parameters { handle h; size_t count; parameter items[MAX_ITEMS]; } program_parameters;

argument fresh(const shape* s);
argument shared(const argument* a);
void let_go(argument* a);
program_parameters shared_map(const program_parameters* map);

/* ---- custom_op.c ---- */

typedef struct custom custom; /* one copy of a registered operator's object */
bool is_custom(const char* name);
custom* copy_custom(const char* name);
void drop_custom(custom* c);
bool custom_shape(custom* c, size_t count, const shape* inputs, shape* out, char* problem);
bool custom_compute(custom* c, const shape* output, size_t count, const argument* inputs,
                    argument* out, char* problem);

/* ---- graph.c ---- */

struct module;
typedef struct node
{
    char op[MAX_NAME], name[MAX_NAME]; /* the name of a parameter, or @number */
    shape shape;
    size_t count;
    struct node* inputs[MAX_ITEMS];
    argument literal, value;
    bool ready;
    custom* custom;
    struct module* home;
} node;
typedef struct module { handle h; char name[MAX_NAME]; size_t count; node* nodes[64]; } module;
typedef struct program
{
    handle h;
    size_t count;
    module* modules[1]; /* the main module: submodules are not modelled */
    char target[MAX_NAME]; /* empty while it is not compiled */
} program;
typedef struct operation { handle h; char name[MAX_NAME]; shape shape; custom* custom; } operation;
typedef struct target { handle h; char name[MAX_NAME]; } target;

program empty_program(void);
module* add_module(program* p, const char* name);
node* add_node(module* m, const char* op, const char* name, const shape* s);
shape output_of(const node* returned, size_t index);
node* returned_by(const module* m);
void clear_program(program* p);
/* An owned copy. */
program copy_program(const program* p);

/* ---- run.c ---- */

bool run_program(program* p, const program_parameters* map, arguments* out, char* problem);

/* ---- quantize.c and parse.c share lists of names ---- */

typedef struct names { size_t count; char items[MAX_ITEMS][MAX_NAME]; } names;
bool put_name(names* list, const char* name);

#endif
