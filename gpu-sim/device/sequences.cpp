// Kernels of recurrent networks with sequences of different lengths, and sampling.
// Hidden states are (time, direction, batch, …), sequences (time, batch, …).
#include "queue.hpp"
#include <migraphx/gpu/device/multinomial.hpp>
#include <migraphx/gpu/device/rnn_variable_seq_lens.hpp>
#include <algorithm>

namespace {

using gpu_sim::now;
using gpu_sim::on_host;
using gpu_sim::queue;
using migraphx::argument;
using migraphx::shape;

std::vector<int64_t> lengths(const argument& arg)
{
    std::vector<int64_t> result;
    on_host(arg).visit([&](auto view) { result.assign(view.begin(), view.end()); });
    return result;
}

// result[index] = input[source(index)], or 0 where source says there is none.
template <class Source>
void gather(const argument& result, const argument& arg, Source source)
{
    on_host(result).visit([&](auto output) {
        using type = std::decay_t<decltype(output[0])>;
        auto input = on_host(arg).get<type>();
        shape order{result.get_shape().type(), result.get_shape().lens()};
        for(std::size_t i = 0; i < order.elements(); i++) {
            auto index = order.multi(i);
            auto from  = index;
            bool there = source(from);
            output(index.begin(), index.end()) = there ? input(from.begin(), from.end()) : type(0);
        }
    });
}

} // namespace

namespace migraphx {
inline namespace MIGRAPHX_INLINE_NS {
namespace gpu {
namespace device {

void rnn_var_sl_shift_sequence(hipStream_t stream, const argument& result, const argument& arg_hs, const argument& arg_sl)
{
    queue(stream, "rnn_var_sl_shift_sequence", {result}, {arg_hs, arg_sl}, [=, result = now(result), arg_hs = now(arg_hs), arg_sl = now(arg_sl)] {
        auto length  = lengths(arg_sl);
        auto longest = int64_t(result.get_shape().lens()[0]);
        // Sequences end together: zeros in front.
        gather(result, arg_hs, [&](auto& index) {
            auto gap = longest - length[index[1]];
            if(int64_t(index[0]) < gap)
                return false;
            index[0] -= gap;
            return true;
        });
    });
}

void rnn_var_sl_shift_output(hipStream_t stream, const argument& result, const argument& arg_hs, const argument& arg_sl, bool is_reverse)
{
    queue(stream, "rnn_var_sl_shift_output", {result}, {arg_hs, arg_sl}, [=, result = now(result), arg_hs = now(arg_hs), arg_sl = now(arg_sl)] {
        auto length  = lengths(arg_sl);
        auto longest = int64_t(result.get_shape().lens()[0]);
        // What a backward pass left at the end comes to the front.
        gather(result, arg_hs, [&](auto& index) {
            auto own = length[index[2]];
            if(int64_t(index[0]) >= own)
                return false;
            if(is_reverse or index[1] == 1)
                index[0] += longest - own;
            return true;
        });
    });
}

void rnn_var_sl_last_output(hipStream_t stream, const argument& result, const argument& arg_hs, const argument& arg_sl, bool is_reverse)
{
    queue(stream, "rnn_var_sl_last_output", {result}, {arg_hs, arg_sl}, [=, result = now(result), arg_hs = now(arg_hs), arg_sl = now(arg_sl)] {
        auto length = lengths(arg_sl);
        auto states = on_host(arg_hs);
        // The result has the states' order without the time.
        auto lens = arg_hs.get_shape().lens();
        lens[0]   = 1;
        shape order{arg_hs.get_shape().type(), lens};
        on_host(result).visit([&](auto output) {
            using type = std::decay_t<decltype(output[0])>;
            auto input = states.template get<type>();
            for(std::size_t i = 0; i < order.elements(); i++) {
                auto index = order.multi(i);
                index[0]   = is_reverse or index[1] == 1 ? 0 : length[index[2]] - 1;
                output[i]  = input(index.begin(), index.end());
            }
        });
    });
}

void multinomial(hipStream_t stream, const argument& result, const argument& arg0, const argument& arg1)
{
    queue(stream, "multinomial", {result}, {arg0, arg1}, [=, result = now(result), arg0 = now(arg0), arg1 = now(arg1)] {
        auto classes = arg0.get_shape().lens().back();
        auto samples = result.get_shape().lens().back();
        on_host(arg0).visit([&](auto sums) {
            using type   = std::decay_t<decltype(sums[0])>;
            auto uniform = on_host(arg1).get<type>();
            on_host(result).visit([&](auto output) {
                using out = std::decay_t<decltype(output[0])>;
                for(std::size_t i = 0; i < result.get_shape().elements(); i++) {
                    auto first  = sums.begin() + (i / samples) * classes;
                    auto last   = first + classes;
                    auto wanted = uniform[i] * *(last - 1);
                    output[i]   = out(std::distance(first, std::upper_bound(first, last, wanted)));
                }
            });
        });
    });
}

} // namespace device
} // namespace gpu
} // namespace MIGRAPHX_INLINE_NS
} // namespace migraphx
