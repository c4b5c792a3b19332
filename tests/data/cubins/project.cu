/* Device code of the cubins beside this: calls inlined one and two deep, a loop, a kernel with
 * shared memory. test_cubin.c knows its lines. */
__device__ __forceinline__ float weight(float x, float width)
{
    float inside = 1.0f - fabsf(x) / width;
    return inside > 0.0f ? inside : 0.0f;
}

__device__ __forceinline__ float sample(const float *row, int n, float at)
{
    int i = (int)floorf(at);
    float sum = 0.0f;
    for (int k = i; k <= i + 1; k++)
        if (k >= 0 && k < n)
            sum += row[k] * weight(at - (float)k, 1.0f);
    return sum;
}

__global__ void project(float *out, const float *in, int n)
{
    int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (t >= n)
        return;
    float at = 0.5f * (float)t;
    float first = sample(in, n, at);
    out[t] = first + sample(in, n, at + 0.25f);
}

__global__ void backproject(float *out, const float *in, int n)
{
    __shared__ float part[256];
    int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    part[threadIdx.x] = t < n ? in[t] : 0.0f;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if ((int)threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = sqrtf(part[0]);
}
