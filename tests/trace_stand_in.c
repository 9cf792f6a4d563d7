/* A stand-in for what MIGraphX has since ROCm 7.2 (the operator list) and 7.13
 * (traces). It is linked to the real library, so that all other functions are
 * found through it. Its trace has three steps, whose result is that of the run. */
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

typedef int status;
typedef struct program* program;
typedef struct parameters* parameters;
typedef struct arguments* arguments;
typedef const struct argument* argument;
typedef struct trace_info { size_t index; const char* name; argument result; } trace_info;
typedef status (*callback)(trace_info*, void*);

status migraphx_program_run(arguments*, program, parameters);
status migraphx_arguments_get(argument*, arguments, size_t);
status migraphx_arguments_destroy(arguments);

status migraphx_trace_info_get_index(size_t* out, const trace_info* info) { *out = info->index; return 0; }
status migraphx_trace_info_get_name(const char** out, const trace_info* info) { *out = info->name; return 0; }
status migraphx_trace_info_get_result(argument* out, const trace_info* info) { *out = info->result; return 0; }

status migraphx_program_run_trace(arguments* out, program p, parameters in, callback f, void* data)
{
    static const char* const names[] = {"ref::add[axis=1]", "gpu::code_object[x={1, 2}]", "load"};
    const struct timespec pause = {0, 5000000};
    status failed = migraphx_program_run(out, p, in);
    for(size_t i = 0; i < 3 && !failed; i++)
    {
        trace_info info = {i + 2, names[i], NULL};
        nanosleep(&pause, NULL);
        failed = migraphx_arguments_get(&info.result, *out, 0);
        if(!failed)
            failed = f(&info, data);
        if(failed)
        {
            migraphx_arguments_destroy(*out);
            *out = NULL;
        }
    }
    return failed;
}

status migraphx_get_onnx_operators_size(size_t* out) { *out = 3; return 0; }
status migraphx_get_onnx_operator_name_at_index(char** out, size_t index)
{
    static char* names[] = {"Relu", "Conv", "Add"};
    if(index > 2)
        return 4;
    *out = names[index];
    return 0;
}
