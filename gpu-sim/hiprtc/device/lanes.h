// What the lanes of a wave show each other: shuffles, swizzles, DPP moves.
#pragma once

namespace gpusim {

// The value that item `source` shows in this round; of a lane that is not here, one's own.
inline uint32_t exchange(uint32_t value, unsigned source)
{
    scheduler* s = here;
    unsigned row = s->round & 1;
    uint64_t round = s->round;
    s->shown[row][s->thread.x] = value;
    s->stamp[row][s->thread.x] = round;
    wave_barrier();
    return source < s->items && s->stamp[row][source] == round ? s->shown[row][source] : value;
}

// A value of any size, word by word.
template <class T>
inline T exchange_all(T value, unsigned source)
{
    uint32_t words[(sizeof(T) + 3) / 4] = {};
    memcpy(words, &value, sizeof(T));
    for(auto& word : words)
        word = exchange(word, source);
    memcpy(&value, words, sizeof(T));
    return value;
}

inline unsigned lane() { return here->thread.x % wave_size; }
inline unsigned wave_start() { return here->thread.x - lane(); }

// row_shr:n and row_bcast:15/31 for lanes that have a source; the others keep their own value, which is
// as good as any: hardware leaves it undefined where MIGraphX uses these.
inline uint32_t move_dpp(uint32_t value, unsigned control)
{
    unsigned l = lane(), source = l;
    if((control & 0xff0) == 0x110) {
        unsigned n = control & 15;
        if(l % 16 >= n)
            source = l - n;
    } else if(control == 0x142) {
        if(l >= 16)
            source = l / 16 * 16 - 1;
    } else if(control == 0x143) {
        if(l >= 32)
            source = 31;
    } else {
        fail("a DPP control that is not written yet");
    }
    return exchange(value, wave_start() + source);
}

// Masks within 32 lanes: ((lane & and) | or) ^ xor.
inline uint32_t swizzle(uint32_t value, unsigned pattern)
{
    unsigned l = lane() & 31, half = here->thread.x - l;
    unsigned source = ((l & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
    return exchange(value, half + source);
}

} // namespace gpusim

#define __hip_move_dpp(value, control, row_mask, bank_mask, bound) ::gpusim::move_dpp(value, control)
#define __hip_ds_swizzle(value, pattern) ::gpusim::swizzle(value, pattern)

template <class T>
inline T __shfl(T value, int source, int width = MIGRAPHX_WAVEFRONTSIZE)
{
    unsigned item = ::gpusim::here->thread.x;
    return ::gpusim::exchange_all(value, item / width * width + unsigned(source) % width);
}
template <class T>
inline T __shfl_xor(T value, int mask, int width = MIGRAPHX_WAVEFRONTSIZE)
{
    return __shfl(value, int(::gpusim::here->thread.x % width ^ unsigned(mask)), width);
}
