/* Traced runs, new in 7.13: the callback sees each instruction that computes. */
#include "stand_in.h"
#include <time.h>

typedef struct trace_info { handle h; size_t index; char name[MAX_NAME]; const argument* result; } trace_info;
typedef status (*callback)(trace_info* info, void* data);

API status migraphx_trace_info_get_index(size_t* out, const trace_info* info)
{
    ENTER();
    NEED(info, trace_info);
    *out = info->index;
    return OK;
}

API status migraphx_trace_info_get_name(const char** out, const trace_info* info)
{
    ENTER();
    NEED(info, trace_info);
    *out = info->name;
    return OK;
}

API status migraphx_trace_info_get_result(const argument** out, const trace_info* info)
{
    ENTER();
    NEED(info, trace_info);
    *out = info->result;
    return OK;
}

API status migraphx_program_run_trace(arguments** out, program* p, program_parameters* map, callback f, void* data)
{
    ENTER();
    NEED(p, program);
    NEED(map, program_parameters);
    arguments results;
    char problem[MAX_TEXT] = "an empty program";
    if(!run_program(p, map, &results, problem))
        return fail(__func__, "%s", problem);
    const module* m = p->modules[0];
    for(size_t k = 0; k < m->count; k++)
    {
        if(m->nodes[k]->op[0] == '@')
            continue;
        const struct timespec pause = {0, 1000000};
        trace_info info             = {INSIDE(trace_info), k, "", &results.items[0]};
        snprintf(info.name, MAX_NAME, "ref::%s", m->nodes[k]->op);
        nanosleep(&pause, NULL);
        const status told = f(&info, data); /* is passed on as it is */
        if(told != OK)
        {
            for(size_t i = 0; i < results.count; i++)
                let_go(&results.items[i]);
            return told;
        }
    }
    return GIVE(out, arguments, results);
}
