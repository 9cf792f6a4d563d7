/* The loops of the benches as a C program writes them: parameter maps and
 * arguments made once, then run, read, destroy. Every status is checked.
 *
 * The library is opened at run time, so that no build needs it. It is the copy
 * that the process uses already.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int status; /* 0 is success */

#define FUNCTIONS(X)                                                                   \
    X(onnx_options_create, (void **))                                                  \
    X(onnx_options_destroy, (void *))                                                  \
    X(parse_onnx_buffer, (void **, const void *, size_t, void *))                      \
    X(target_create, (void **, const char *))                                          \
    X(target_destroy, (void *))                                                        \
    X(compile_options_create, (void **))                                               \
    X(compile_options_destroy, (void *))                                               \
    X(program_compile, (void *, void *, void *))                                       \
    X(program_destroy, (void *))                                                       \
    X(program_get_parameter_shapes, (void **, void *))                                 \
    X(program_parameter_shapes_size, (size_t *, void *))                               \
    X(program_parameter_shapes_names, (const char **, void *))                         \
    X(program_parameter_shapes_get, (const void **, void *, const char *))             \
    X(program_parameter_shapes_destroy, (void *))                                      \
    X(program_parameters_create, (void **))                                            \
    X(program_parameters_add, (void *, const char *, const void *))                    \
    X(program_parameters_destroy, (void *))                                            \
    X(argument_create, (void **, const void *, void *))                                \
    X(argument_destroy, (void *))                                                      \
    X(argument_shape, (const void **, const void *))                                   \
    X(argument_buffer, (char **, const void *))                                        \
    X(shape_bytes, (size_t *, const void *))                                           \
    X(program_run, (void **, void *, void *))                                          \
    X(arguments_get, (const void **, void *, size_t))                                  \
    X(arguments_destroy, (void *))

static struct {
#define X(name, arguments) status(*name) arguments;
    FUNCTIONS(X)
#undef X
} c;

#define MAX_INPUTS 8
#define SETS 2
#define PAGE 4096

#define TRY(call)                                                                      \
    do {                                                                               \
        status try_status = (call);                                                    \
        if (try_status != 0)                                                           \
            return try_status;                                                         \
    } while (0)

struct baseline {
    void *program;
    void *shapes;
    size_t inputs;   /* how many */
    size_t elements; /* floats of each input and of the output */
    const char *names[MAX_INPUTS];
    const void *shape[MAX_INPUTS];
    void *map[SETS];
    float *buffer[SETS][MAX_INPUTS];
};

static status open_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    /* POSIX has dlsym give functions as data pointers. */
#define X(name, arguments)                                                             \
    {                                                                                  \
        void *found = dlsym(library, "migraphx_" #name);                               \
        if (found == NULL)                                                             \
            return -2;                                                                 \
        memcpy(&c.name, &found, sizeof found);                                         \
    }
    FUNCTIONS(X)
#undef X
    return 0;
}

static status parse_and_compile(struct baseline *b, const void *model, size_t size) {
    void *onnx, *target, *options;
    TRY(c.onnx_options_create(&onnx));
    TRY(c.parse_onnx_buffer(&b->program, model, size, onnx));
    TRY(c.onnx_options_destroy(onnx));
    TRY(c.target_create(&target, "ref"));
    TRY(c.compile_options_create(&options));
    TRY(c.program_compile(b->program, target, options));
    TRY(c.compile_options_destroy(options));
    return c.target_destroy(target);
}

/* Has `map` read input `i` from `data`. */
static status add(struct baseline *b, void *map, size_t i, float *data) {
    void *argument;
    TRY(c.argument_create(&argument, b->shape[i], data));
    TRY(c.program_parameters_add(map, b->names[i], argument));
    return c.argument_destroy(argument);
}

static status make_sets(struct baseline *b) {
    for (size_t set = 0; set < SETS; set++) {
        TRY(c.program_parameters_create(&b->map[set]));
        for (size_t i = 0; i < b->inputs; i++) {
            size_t bytes = b->elements * sizeof(float);
            bytes = (bytes + PAGE - 1) / PAGE * PAGE;
            b->buffer[set][i] = aligned_alloc(PAGE, bytes);
            if (b->buffer[set][i] == NULL)
                return -3;
            memset(b->buffer[set][i], 0, bytes);
            TRY(add(b, b->map[set], i, b->buffer[set][i]));
        }
    }
    return 0;
}

static status make(struct baseline *b, const char *library, const void *model, size_t size) {
    TRY(open_library(library));
    TRY(parse_and_compile(b, model, size));
    TRY(c.program_get_parameter_shapes(&b->shapes, b->program));
    TRY(c.program_parameter_shapes_size(&b->inputs, b->shapes));
    if (b->inputs > MAX_INPUTS)
        return -4;
    TRY(c.program_parameter_shapes_names(b->names, b->shapes));
    for (size_t i = 0; i < b->inputs; i++)
        TRY(c.program_parameter_shapes_get(&b->shape[i], b->shapes, b->names[i]));
    return make_sets(b);
}

void baseline_destroy(struct baseline *b) {
    for (size_t set = 0; set < SETS; set++) {
        if (b->map[set] != NULL)
            c.program_parameters_destroy(b->map[set]);
        for (size_t i = 0; i < MAX_INPUTS; i++)
            free(b->buffer[set][i]);
    }
    if (b->shapes != NULL)
        c.program_parameter_shapes_destroy(b->shapes);
    if (b->program != NULL)
        c.program_destroy(b->program);
    free(b);
}

status baseline_create(struct baseline **out, const char *library, const void *model,
                       size_t size, size_t elements) {
    struct baseline *b = calloc(1, sizeof *b);
    if (b == NULL)
        return -3;
    b->elements = elements;
    status made = make(b, library, model, size);
    if (made != 0) {
        baseline_destroy(b);
        return made;
    }
    *out = b;
    return 0;
}

/* Runs once and adds the last element of the output to `sum`. How large the
 * output is, the library says, as it does for a slice in Rust. */
static status run(struct baseline *b, void *map, double *sum) {
    void *outputs;
    const void *output, *shape;
    char *data;
    size_t bytes;
    TRY(c.program_run(&outputs, b->program, map));
    TRY(c.arguments_get(&output, outputs, 0));
    TRY(c.argument_shape(&shape, output));
    TRY(c.shape_bytes(&bytes, shape));
    TRY(c.argument_buffer(&data, output));
    if (bytes < sizeof(float))
        return -6;
    *sum += ((const float *)data)[bytes / sizeof(float) - 1];
    return c.arguments_destroy(outputs);
}

/* The same, but nothing is asked about the output. */
static status run_unasked(struct baseline *b, void *map, double *sum) {
    void *outputs;
    const void *output;
    char *data;
    TRY(c.program_run(&outputs, b->program, map));
    TRY(c.arguments_get(&output, outputs, 0));
    TRY(c.argument_buffer(&data, output));
    *sum += ((const float *)data)[b->elements - 1];
    return c.arguments_destroy(outputs);
}

static void fill(struct baseline *b, size_t set, const float *row) {
    for (size_t i = 0; i < b->inputs; i++)
        memcpy(b->buffer[set][i], row, b->elements * sizeof(float));
}

/* The loops. Run `n` reads row n % count of `rows`, in every input; `sum` takes
 * the last element of each output. */

/* Inputs stay as they are: row 0. */
static status kept(struct baseline *b, const float *rows, size_t count, size_t runs,
                   double *sum) {
    (void)count;
    fill(b, 0, rows);
    for (size_t n = 0; n < runs; n++)
        TRY(run(b, b->map[0], sum));
    return 0;
}

/* As `kept`, by a program that trusts the output's shape. */
static status unasked(struct baseline *b, const float *rows, size_t count, size_t runs,
                      double *sum) {
    (void)count;
    fill(b, 0, rows);
    for (size_t n = 0; n < runs; n++)
        TRY(run_unasked(b, b->map[0], sum));
    return 0;
}

/* Inputs are copied into the same buffers. */
static status refill(struct baseline *b, const float *rows, size_t count, size_t runs,
                     double *sum) {
    for (size_t n = 0; n < runs; n++) {
        fill(b, 0, rows + n % count * b->elements);
        TRY(run(b, b->map[0], sum));
    }
    return 0;
}

/* Two sets take turns. */
static status turns(struct baseline *b, const float *rows, size_t count, size_t runs,
                    double *sum) {
    for (size_t n = 0; n < runs; n++) {
        fill(b, n % SETS, rows + n % count * b->elements);
        TRY(run(b, b->map[n % SETS], sum));
    }
    return 0;
}

/* Inputs are read where they lie, elsewhere in each run. */
static status rebind(struct baseline *b, const float *rows, size_t count, size_t runs,
                     double *sum) {
    for (size_t n = 0; n < runs; n++) {
        float *row = (float *)(uintptr_t)(rows + n % count * b->elements);
        for (size_t i = 0; i < b->inputs; i++)
            TRY(add(b, b->map[0], i, row));
        TRY(run(b, b->map[0], sum));
    }
    /* The map must not keep what the caller may free. */
    for (size_t i = 0; i < b->inputs; i++)
        TRY(add(b, b->map[0], i, b->buffer[0][i]));
    return 0;
}

/* Shapes, map and arguments are made for each run. */
static status anew(struct baseline *b, const float *rows, size_t count, size_t runs,
                   double *sum) {
    for (size_t n = 0; n < runs; n++) {
        float *row = (float *)(uintptr_t)(rows + n % count * b->elements);
        void *shapes, *map;
        TRY(c.program_get_parameter_shapes(&shapes, b->program));
        TRY(c.program_parameters_create(&map));
        for (size_t i = 0; i < b->inputs; i++) {
            const void *shape;
            void *argument;
            TRY(c.program_parameter_shapes_get(&shape, shapes, b->names[i]));
            TRY(c.argument_create(&argument, shape, row));
            TRY(c.program_parameters_add(map, b->names[i], argument));
            TRY(c.argument_destroy(argument));
        }
        TRY(run(b, map, sum));
        TRY(c.program_parameters_destroy(map));
        TRY(c.program_parameter_shapes_destroy(shapes));
    }
    return 0;
}

status baseline_run(struct baseline *b, unsigned which, const float *rows, size_t count,
                    size_t runs, double *sum) {
    /* In the order of `Loop` in lib.rs. */
    static status (*const loops[])(struct baseline *, const float *, size_t, size_t,
                                   double *) = {kept, unasked, refill, turns, rebind, anew};
    return loops[which](b, rows, count, runs, sum);
}
