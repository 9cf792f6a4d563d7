// What a plain copy from pinned memory reaches: one stream, nothing beside it, on
// each card alone and on all at once. `plain BYTES` prints a JSON line each.
//
//   nvcc -O2 -o plain plain.cu

#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static void check(cudaError_t status, const char *what) {
    if (status != cudaSuccess) {
        fprintf(stderr, "plain: %s: %s\n", what, cudaGetErrorString(status));
        exit(1);
    }
}

// 10^9 bytes a second, from events around many copies.
static double rate(int card, size_t bytes, cudaMemcpyKind kind) {
    const int copies = 40;
    void *host, *device;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    check(cudaSetDevice(card), "cudaSetDevice");
    check(cudaHostAlloc(&host, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    check(cudaMalloc(&device, bytes), "cudaMalloc");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreate(&start), "cudaEventCreate");
    check(cudaEventCreate(&stop), "cudaEventCreate");
    float ms = 0;
    for (int turn = 0; turn < 2; turn++) { // the first is to warm up
        check(cudaEventRecord(start, stream), "cudaEventRecord");
        for (int i = 0; i < copies; i++)
            check(kind == cudaMemcpyHostToDevice
                      ? cudaMemcpyAsync(device, host, bytes, kind, stream)
                      : cudaMemcpyAsync(host, device, bytes, kind, stream),
                  "cudaMemcpyAsync");
        check(cudaEventRecord(stop, stream), "cudaEventRecord");
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        check(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
    }
    cudaFree(device);
    cudaFreeHost(host);
    cudaStreamDestroy(stream);
    return double(bytes) * copies / 1e6 / ms;
}

int main(int count, char **words) {
    size_t bytes = count > 1 ? strtoull(words[1], nullptr, 10) : 0;
    if (bytes == 0) {
        fprintf(stderr, "usage: plain BYTES\n");
        return 2;
    }
    int cards = 0;
    check(cudaGetDeviceCount(&cards), "cudaGetDeviceCount");
    for (cudaMemcpyKind kind : {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost}) {
        const char *name = kind == cudaMemcpyHostToDevice ? "upload" : "download";
        for (int card = 0; card < cards; card++)
            printf("{\"%s_gb_per_s\": %.2f, \"bytes\": %zu, \"card\": %d}\n", name,
                   rate(card, bytes, kind), bytes, card);
        if (cards > 1) {
            std::vector<double> rates(cards);
            std::vector<std::thread> threads;
            for (int card = 0; card < cards; card++)
                threads.emplace_back([&, card] { rates[card] = rate(card, bytes, kind); });
            for (auto &thread : threads)
                thread.join();
            for (int card = 0; card < cards; card++)
                printf("{\"%s_gb_per_s\": %.2f, \"bytes\": %zu, \"card\": %d, \"beside\": %d}\n",
                       name, rates[card], bytes, card, cards - 1);
        }
    }
    return 0;
}
