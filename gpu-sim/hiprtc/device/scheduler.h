// Work-items of one workgroup on one thread. Items start one after the other on the same stack; an item
// that reaches a barrier is left on its stack (a fiber) and the next ones get another. So a kernel
// without barriers costs no switch an item, and nobody has to say beforehand which kind a kernel is.
#pragma once

extern "C" {
// Saves the caller's registers and stack pointer, and goes on where `to` was saved.
void gpusim_switch(void** save, void* to);
// fn(words[0], words[1], …): the first six in registers, the others on the stack. words has room for six.
void gpusim_call(void* fn, const uint64_t* words, size_t count);
}
asm(R"(
    .text
    .globl gpusim_switch
    .hidden gpusim_switch
    .type gpusim_switch, @function
gpusim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .globl gpusim_call
    .hidden gpusim_call
    .type gpusim_call, @function
gpusim_call:
    pushq %rbp
    movq %rsp, %rbp
    movq %rdi, %rax
    movq %rsi, %r10
    movq %rdx, %r11
    subq $6, %r11
    jle 2f
    leaq 1(%r11), %rcx
    andq $-2, %rcx
    shlq $3, %rcx
    subq %rcx, %rsp
    xorl %ecx, %ecx
1:  movq 48(%r10,%rcx,8), %rdx
    movq %rdx, (%rsp,%rcx,8)
    incq %rcx
    cmpq %r11, %rcx
    jb 1b
2:  movq (%r10), %rdi
    movq 8(%r10), %rsi
    movq 16(%r10), %rdx
    movq 24(%r10), %rcx
    movq 32(%r10), %r8
    movq 40(%r10), %r9
    callq *%rax
    leave
    ret
)");

namespace gpusim {

constexpr unsigned wave_size = MIGRAPHX_WAVEFRONTSIZE;
constexpr unsigned max_items = 1024;
constexpr size_t stack_size = 128 << 10;

struct dim {
    unsigned x, y, z;
};

[[noreturn]] inline void fail(const char* what)
{
    fprintf(stderr, "gpu-sim: a kernel built for the CPU: %s\n", what);
    abort();
}

struct fiber {
    void* stack_pointer;
    unsigned item;
};

// What a thread that runs workgroups needs. Barriers of a wave (what shuffles are made of) and of the
// group are told apart: waves that wait for the group stay there while another wave shuffles.
struct scheduler {
    void* kernel;
    const uint64_t* words;
    size_t word_count;

    dim thread, block, block_size, grid_size;
    unsigned items;      // of this group: the last one may be smaller
    unsigned next, end;  // items of the current wave that have not started

    void* home;          // where resume() was called
    fiber* running;
    fiber fibers[max_items];
    unsigned made;
    char* stacks;
    fiber* idle[max_items];
    unsigned idle_count;
    fiber* at_wave[wave_size];
    unsigned at_wave_count;
    fiber* at_group[max_items];
    unsigned at_group_count;

    // Values that lanes show each other, by turns in one of two rows: when a row is written again, all
    // have read it. A lane's stamp says in which round it wrote.
    uint32_t shown[2][max_items];
    uint64_t stamp[2][max_items];
    uint64_t round;

    void start_items()
    {
        while(next < end) {
            running->item = thread.x = next++;
            gpusim_call(kernel, words, word_count);
        }
    }
    void resume(fiber* f)
    {
        running = f;
        thread.x = f->item;
        gpusim_switch(&home, f->stack_pointer);
    }
    void park() { gpusim_switch(&running->stack_pointer, home); }
    fiber* take();
    void finish_wave()
    {
        while(at_wave_count > 0) {
            fiber* ready[wave_size];
            unsigned n = at_wave_count;
            memcpy(ready, at_wave, n * sizeof *ready);
            at_wave_count = 0;
            round++;
            for(unsigned i = 0; i < n; i++)
                resume(ready[i]);
        }
    }
    void run_group()
    {
        for(unsigned first = 0; first < items; first += wave_size) {
            next = first;
            end = first + wave_size < items ? first + wave_size : items;
            while(next < end)
                resume(take());
            finish_wave();
        }
        while(at_group_count > 0) {
            static thread_local fiber* ready[max_items];
            unsigned n = at_group_count;
            memcpy(ready, at_group, n * sizeof *ready);
            at_group_count = 0;
            for(unsigned i = 0; i < n;) {
                unsigned wave = ready[i]->item / wave_size;
                for(; i < n && ready[i]->item / wave_size == wave; i++)
                    resume(ready[i]);
                finish_wave();
            }
        }
    }
};

inline thread_local scheduler* here;

// A fiber runs items until the wave has none left, then waits to be taken for the next wave.
inline void fiber_main()
{
    for(;;) {
        here->start_items();
        here->idle[here->idle_count++] = here->running;
        here->park();
    }
}

inline fiber* scheduler::take()
{
    if(idle_count > 0)
        return idle[--idle_count];
    fiber* f = &fibers[made];
    if(stacks == nullptr) {
        // Pages come as they are touched.
        void* p = mmap(nullptr, max_items * stack_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if(p == MAP_FAILED)
            fail("no memory for the work-items' stacks");
        stacks = static_cast<char*>(p);
    }
    made++;
    // As gpusim_switch leaves a stack: six registers and the address to go on at, here the start.
    void** top = reinterpret_cast<void**>(stacks + made * stack_size);
    top[-2] = reinterpret_cast<void*>(fiber_main);
    f->stack_pointer = top - 8;
    return f;
}

// All lanes of a wave that come here go on together.
inline void wave_barrier()
{
    here->at_wave[here->at_wave_count++] = here->running;
    here->park();
}

// All items of the group that are not done go on together.
inline void group_barrier()
{
    here->at_group[here->at_group_count++] = here->running;
    here->park();
}

// Shares a launch's groups among threads.
struct launch {
    void* kernel;
    const uint64_t* words;
    size_t word_count;
    unsigned global, local, groups;
    unsigned next_group;
};

inline void* run_groups(void* data)
{
    launch* l = static_cast<launch*>(data);
    scheduler* s = static_cast<scheduler*>(calloc(1, sizeof(scheduler)));
    if(s == nullptr)
        fail("no memory");
    s->kernel = l->kernel;
    s->words = l->words;
    s->word_count = l->word_count;
    s->block_size = {l->local, 1, 1};
    s->grid_size = {l->groups, 1, 1};
    s->round = 1;
    here = s;
    for(;;) {
        unsigned group = __atomic_fetch_add(&l->next_group, 1, __ATOMIC_RELAXED);
        if(group >= l->groups)
            break;
        s->block = {group, 0, 0};
        unsigned left = l->global - group * l->local;
        s->items = left < l->local ? left : l->local;
        s->run_group();
    }
    here = nullptr;
    if(s->stacks != nullptr)
        munmap(s->stacks, max_items * stack_size);
    free(s);
    return nullptr;
}

inline void run(void* kernel, const unsigned* global, const unsigned* local, const void* args, size_t bytes)
{
    if(global[1] != 1 || global[2] != 1 || local[1] != 1 || local[2] != 1)
        fail("only grids of one dimension");
    if(local[0] == 0 || local[0] > max_items)
        fail("a workgroup's size is out of range");
    size_t count = (bytes + 7) / 8;
    uint64_t* words = static_cast<uint64_t*>(calloc(count + 6, sizeof *words));
    if(words == nullptr)
        fail("no memory");
    memcpy(words, args, bytes);
    launch l = {kernel, words, count, global[0], local[0], (global[0] + local[0] - 1) / local[0], 0};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = cores > 1 && global[0] >= 4096 ? unsigned(cores) : 1;
    if(threads > l.groups)
        threads = l.groups;
    constexpr unsigned most = 256;
    pthread_t others[most];
    unsigned started = 0;
    while(started + 1 < threads && started < most && pthread_create(&others[started], nullptr, run_groups, &l) == 0)
        started++;
    run_groups(&l);
    for(unsigned i = 0; i < started; i++)
        pthread_join(others[i], nullptr);
    free(words);
}

} // namespace gpusim

#define threadIdx (::gpusim::here->thread)
#define blockIdx (::gpusim::here->block)
#define blockDim (::gpusim::here->block_size)
#define gridDim (::gpusim::here->grid_size)
inline void __syncthreads() { ::gpusim::group_barrier(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() {}
// Size of a full group, and of this one.
extern "C" inline size_t __ockl_get_enqueued_local_size(uint) { return ::gpusim::here->block_size.x; }
extern "C" inline size_t __ockl_get_local_size(uint) { return ::gpusim::here->items; }
