// Atomics: groups of one launch run on several threads.
#pragma once

#define __HIP_MEMORY_SCOPE_AGENT 0
#define __hip_atomic_load(address, order, scope) __atomic_load_n(address, order)
#define __hip_atomic_compare_exchange_strong(address, expected, desired, success, failure, scope) \
    __atomic_compare_exchange_n(address, expected, desired, false, success, failure)

namespace gpusim {
template <class Word, class T, class F>
inline T update(T* address, F change)
{
    Word* word = reinterpret_cast<Word*>(address);
    Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
    for(;;) {
        T before, after;
        memcpy(&before, &old, sizeof(T));
        after = change(before);
        Word wanted;
        memcpy(&wanted, &after, sizeof(T));
        if(__atomic_compare_exchange_n(word, &old, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return before;
    }
}
template <unsigned Size> struct word;
template <> struct word<4> { using type = uint32_t; };
template <> struct word<8> { using type = uint64_t; };
}

template <class T, class Word = typename gpusim::word<sizeof(T)>::type>
inline T atomicAdd(T* address, T value)
{
    return gpusim::update<Word>(address, [=](T old) { return T(old + value); });
}
template <class T, class Word = typename gpusim::word<sizeof(T)>::type>
inline T unsafeAtomicAdd(T* address, T value)
{
    return atomicAdd(address, value);
}
inline void gpusim_add_half2(void* address, __half2 value)
{
    gpusim::update<uint32_t>(static_cast<__half2*>(address), [=](__half2 old) { return old + value; });
}
#define __builtin_amdgcn_global_atomic_fadd_v2f16(address, ...) gpusim_add_half2((void*)(address), __VA_ARGS__)
