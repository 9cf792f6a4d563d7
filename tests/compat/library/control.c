/* Handles that are counted, faults that are asked for, and text on C++ streams. */
#include "stand_in.h"
#include <pthread.h>

#define ALIVE 0x4d494752u
#define DEAD 0xdeadbeefu
#define MAX_FUNCTIONS 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define NAME(name) #name,
static const char* const kind_names[] = {KINDS(NAME)};
#undef NAME
static long counts[KIND_COUNT];
static char violations[4096];

static struct { const char* name; long calls; } functions[MAX_FUNCTIONS];
static char failing[MAX_NAME];
static long failing_at;
static status failing_with;

/* ---- what tests call ---- */

/* The nth call of this function from now on fails; nth 0: none. */
API void stand_in_fail(const char* name, long nth, status with)
{
    pthread_mutex_lock(&lock);
    snprintf(failing, sizeof(failing), "%s", name);
    failing_at   = nth;
    failing_with = with;
    pthread_mutex_unlock(&lock);
}

/* Whether the failure that was asked for has come. */
API bool stand_in_failed(void) { return failing_at < 0; }

/* Forgets calls; what lives goes on. */
API void stand_in_reset(void)
{
    pthread_mutex_lock(&lock);
    for(size_t i = 0; i < MAX_FUNCTIONS; i++)
        functions[i].calls = 0;
    violations[0] = '\0';
    failing_at    = 0;
    pthread_mutex_unlock(&lock);
}

/* "function calls" lines, into a text that lives until the next call. */
API const char* stand_in_calls(void)
{
    static char text[MAX_FUNCTIONS * 80];
    size_t at = 0;
    pthread_mutex_lock(&lock);
    text[0] = '\0';
    for(size_t i = 0; i < MAX_FUNCTIONS && functions[i].name; i++)
        if(functions[i].calls > 0)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s %ld\n", functions[i].name, functions[i].calls);
    pthread_mutex_unlock(&lock);
    return text;
}

/* Violations, and how many handles of each kind live. Empty if all is well. */
API const char* stand_in_report(void)
{
    static char text[8192];
    pthread_mutex_lock(&lock);
    size_t at = (size_t)snprintf(text, sizeof(text), "%s", violations);
    for(size_t kind = 0; kind < KIND_COUNT; kind++)
        if(counts[kind] != 0)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%ld %s not destroyed\n", counts[kind], kind_names[kind]);
    pthread_mutex_unlock(&lock);
    return text;
}

/* ---- what the model calls ---- */

status enter(const char* function)
{
    pthread_mutex_lock(&lock);
    size_t at = 0;
    while(functions[at].name && strcmp(functions[at].name, function) != 0)
        at++;
    functions[at].name = function;
    functions[at].calls++;
    status with = OK;
    if(failing_at > 0 && strcmp(failing, function) == 0 && --failing_at == 0)
    {
        failing_at = -1;
        with       = failing_with;
    }
    pthread_mutex_unlock(&lock);
    if(with != OK)
        fail(function, "told to fail");
    return with;
}

void violation(const char* function, const char* what)
{
    pthread_mutex_lock(&lock);
    const size_t at = strlen(violations);
    snprintf(violations + at, sizeof(violations) - at, "%s: %s\n", function, what);
    pthread_mutex_unlock(&lock);
}

void* own(enum kind kind, const void* object, size_t size)
{
    handle* made = malloc(size);
    memcpy(made, object, size);
    *made = (handle){ALIVE, kind, true};
    pthread_mutex_lock(&lock);
    counts[kind]++;
    pthread_mutex_unlock(&lock);
    return made;
}

bool live(const void* object, enum kind kind, const char* function)
{
    const handle* h = object;
    if(!h)
        return false; /* the real library answers so too */
    if(h->magic == ALIVE && h->kind == kind)
        return true;
    violation(function, h->magic == DEAD ? "used after it was destroyed" : "not an object of this kind");
    return false;
}

/* Memory is poisoned and kept, so that a later use is seen. */
status destroy(void* object, enum kind kind, size_t size, const char* function)
{
    handle* h = object;
    if(!h)
        return OK;
    if(!live(object, kind, function))
        return OK;
    if(!h->owned)
    {
        violation(function, "destroyed by one who does not own it");
        return OK;
    }
    memset(object, 0xdd, size);
    h->magic = DEAD;
    pthread_mutex_lock(&lock);
    counts[kind]--;
    pthread_mutex_unlock(&lock);
    return OK;
}

/* std::cout, std::cerr, operator<<(std::ostream&, const char*), std::flush and
 * std::ios_base::Init, which has to be made before the streams are used. */
extern char _ZSt4cout[], _ZSt4cerr[];
void* _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc(void*, const char*);
void _ZNSt8ios_base4InitC1Ev(void*);

__attribute__((constructor)) static void make_streams(void)
{
    static char init[16];
    _ZNSt8ios_base4InitC1Ev(init);
}

void print(const char* format, ...)
{
    char text[1024];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof(text), format, rest);
    va_end(rest);
    _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc(_ZSt4cout, text);
}

status fail(const char* function, const char* format, ...)
{
    char reason[512], text[1024];
    va_list rest;
    va_start(rest, format);
    vsnprintf(reason, sizeof(reason), format, rest);
    va_end(rest);
    if(ROCM >= 701)
        snprintf(text, sizeof(text), "%s: Error: %s\n", function, reason);
    else
        snprintf(text, sizeof(text), "MIGraphX Error: %s\n", reason);
    _ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc(_ZSt4cerr, text);
#ifdef STRANGE_STATUS
    static const status strange[] = {7, 255, 0x80000000u};
    static unsigned next;
    return strange[next++ % 3];
#else
    return UNKNOWN_ERROR;
#endif
}
