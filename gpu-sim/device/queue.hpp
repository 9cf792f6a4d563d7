// Work on a stream of the virtual GPU.
#pragma once
#include <hip/hip_runtime_api.h>
#include <migraphx/argument.hpp>
#include <migraphx/errors.hpp>
#include <migraphx/shape.hpp>
#include <functional>
#include <string>
#include <vector>

extern "C" {
// Of the HIP stand-in (gpu-sim/hip): see gpu-sim/work for the same in Rust.
struct hipsim_use
{
    const void* pointer;
    std::size_t bytes;
    unsigned write;
};
int hipsim_enqueue(void* stream, const char* name, void (*run)(void*), void* data, void (*drop)(void*), const hipsim_use* uses, std::size_t count);
void* hipsim_host(const void* pointer);
}

namespace gpu_sim {

using migraphx::argument;
using migraphx::shape;

// The tensor as the host may touch it; inside queued work only.
inline argument on_host(const argument& a) { return argument{a.get_shape(), hipsim_host(a.data())}; }

// The tensor at the address it has now, which is what a kernel takes when it is launched. (MIGraphX asks HIP for the address of
// registered memory each time, and throws where HIP fails.)
inline argument now(const argument& a) { return argument{a.get_shape(), a.data()}; }

inline void add_uses(std::vector<hipsim_use>& uses, const argument& a, bool write)
{
    if(a.get_shape().type() == shape::tuple_type) {
        for(const auto& part : a.get_sub_objects())
            add_uses(uses, part, write);
    } else {
        uses.push_back({a.data(), a.get_shape().bytes(), write});
    }
}

// Queues `work`, which writes and reads the given tensors, as kernel `name`.
inline void queue(hipStream_t stream, const std::string& name, const std::vector<argument>& written, const std::vector<argument>& read, std::function<void()> work)
{
    std::vector<hipsim_use> uses;
    for(const auto& a : written)
        add_uses(uses, a, true);
    for(const auto& a : read)
        add_uses(uses, a, false);
    using job = std::function<void()>;
    auto run = [](void* data) { (*static_cast<job*>(data))(); };
    auto drop = [](void* data) { delete static_cast<job*>(data); };
    int status = hipsim_enqueue(stream, ("device::" + name).c_str(), run, new job(std::move(work)), drop, uses.data(), uses.size());
    if(status != 0)
        MIGRAPHX_THROW("gpu-sim: device::" + name + ": the stream refused the work (hipError_t " + std::to_string(status) + ")");
}

// Lengths with one of them set to 1: the start of every line along that axis.
inline shape lines(const shape& s, std::size_t axis)
{
    auto lens = s.lens();
    lens[axis] = 1;
    return shape{s.type(), lens};
}

} // namespace gpu_sim
