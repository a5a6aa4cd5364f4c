// A libcuda that has no GPU: memory is the host's, calls are written to a log.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char log_text[1 << 16];
static size_t used;
static int fail_status;
static char failing[64];

#define LOG(...) (used += (size_t)snprintf(log_text + used, sizeof log_text - used, __VA_ARGS__))
#define CALL(...)                                                                                  \
  do {                                                                                             \
    LOG(__VA_ARGS__);                                                                              \
    LOG("\n");                                                                                     \
    if (failing[0] && !strcmp(failing, __func__)) return fail_status;                              \
  } while (0)

const char *fake_log(void) { return log_text; }
void fake_clear(void) { used = 0, log_text[0] = 0; }
void fake_fail(const char *function, int status) {
  snprintf(failing, sizeof failing, "%s", function), fail_status = status;
}

int cuInit(unsigned flags) { CALL("cuInit %u", flags); return 0; }
int cuDriverGetVersion(int *out) { *out = 12040; return 0; }
int cuDeviceGetCount(int *out) { *out = 1; return 0; }
int cuDeviceGet(int *out, int index) { *out = index; return 0; }
int cuDeviceGetName(char *out, int size, int device) { snprintf(out, (size_t)size, "Fake GPU"); return 0; }
int cuDeviceGetAttribute(int *out, int attribute, int device) {
  *out = attribute == 75 ? 9 : attribute == 76 ? 0 : 100 + attribute;
  return 0;
}
int cuDeviceTotalMem_v2(size_t *out, int device) { *out = 1u << 30; return 0; }
int cuDevicePrimaryCtxRetain(void **out, int device) { *out = (void *)0x1000; return 0; }
int cuCtxSetCurrent(void *context) { return context == (void *)0x1000 ? 0 : 201; }
int cuCtxSynchronize(void) { CALL("cuCtxSynchronize"); return 0; }
int cuMemGetInfo_v2(size_t *available, size_t *total) { *available = 7, *total = 8; return 0; }
int cuMemAlloc_v2(uint64_t *out, size_t size) {
  CALL("cuMemAlloc_v2 %zu", size);
  *out = (uint64_t)malloc(size);
  return 0;
}
int cuMemFree_v2(uint64_t data) { CALL("cuMemFree_v2"); free((void *)data); return 0; }
int cuMemAllocAsync(uint64_t *out, size_t size, void *stream) {
  CALL("cuMemAllocAsync %zu stream %p", size, stream);
  *out = (uint64_t)malloc(size);
  return 0;
}
int cuMemFreeAsync(uint64_t data, void *stream) {
  CALL("cuMemFreeAsync stream %p", stream);
  free((void *)data);
  return 0;
}
int cuDeviceGetDefaultMemPool(void **out, int device) { *out = (void *)0x2000; return 0; }
int cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
  CALL("cuMemPoolSetAttribute %d %llu", attribute, *(unsigned long long *)value);
  return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, void *from, size_t size, void *stream) {
  CALL("cuMemcpyHtoDAsync_v2 %zu stream %p", size, stream);
  memcpy((void *)to, from, size);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
  CALL("cuMemcpyDtoHAsync_v2 %zu stream %p", size, stream);
  memcpy(to, (void *)from, size);
  return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
  CALL("cuMemcpyDtoDAsync_v2 %zu stream %p", size, stream);
  memcpy((void *)to, (void *)from, size);
  return 0;
}
int cuModuleLoadDataEx(void **out, const char *source, unsigned count, int *options, void **values) {
  if (failing[0] && !strcmp(failing, __func__))
    snprintf(values[0], (size_t)values[1], "ptxas: line 3: no such instruction");
  CALL("cuModuleLoadDataEx %s", strstr(source, ".entry") ? "has an entry" : "has no entry");
  *out = (void *)0x3000;
  return 0;
}
int cuModuleGetFunction(void **out, void *module, const char *name) {
  static intptr_t next = 0x4000;
  CALL("cuModuleGetFunction %s", name);
  *out = (void *)next, next += 16;
  return 0;
}
int cuModuleUnload(void *module) { return 0; }
int cuFuncSetAttribute(void *kernel, int attribute, int value) {
  CALL("cuFuncSetAttribute %d %d", attribute, value);
  return 0;
}
// The one kernel there is here: c[i] = a[i] + b[i], arguments in pairs of pointer and size.
int cuLaunchKernel(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **args, void **extra) {
  CALL("cuLaunchKernel (%u, %u, %u) (%u, %u, %u) shared %u stream %p", gx, gy, gz, bx, by, bz,
       shared, stream);
  float *a = *(float **)args[0], *b = *(float **)args[2], *c = *(float **)args[4];
  for (int64_t i = 0; i < *(int64_t *)args[1]; i++) c[i] = a[i] + b[i];
  return extra ? 1 : 0;
}
int cuStreamCreate(void **out, unsigned flags) { CALL("cuStreamCreate"); *out = (void *)0x5000; return 0; }
int cuStreamDestroy_v2(void *stream) { CALL("cuStreamDestroy_v2 %p", stream); return 0; }
int cuStreamSynchronize(void *stream) { CALL("cuStreamSynchronize %p", stream); return 0; }
int cuEventCreate(void **out, unsigned flags) { *out = (void *)0x6000; return 0; }
int cuEventDestroy_v2(void *event) { return 0; }
int cuEventRecord(void *event, void *stream) { CALL("cuEventRecord stream %p", stream); return 0; }
int cuEventSynchronize(void *event) { CALL("cuEventSynchronize"); return 0; }
int cuEventElapsedTime(float *out, void *start, void *end) { *out = 2.5f; return 0; }
int cuStreamBeginCapture_v2(void *stream, int mode) { CALL("cuStreamBeginCapture_v2 %p", stream); return 0; }
int cuStreamEndCapture(void *stream, void **out) {
  CALL("cuStreamEndCapture %p", stream);
  *out = (void *)0x7000;
  return 0;
}
int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) {
  CALL("cuGraphInstantiateWithFlags");
  *out = (void *)0x8000;
  return 0;
}
int cuGraphLaunch(void *graph, void *stream) { CALL("cuGraphLaunch stream %p", stream); return 0; }
int cuGraphExecDestroy(void *graph) { CALL("cuGraphExecDestroy"); return 0; }
int cuGraphDestroy(void *graph) { CALL("cuGraphDestroy"); return 0; }
int cuGetErrorName(int status, const char **out) {
  *out = status == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_INVALID_VALUE";
  return 0;
}
int cuGetErrorString(int status, const char **out) {
  *out = status == 2 ? "out of memory" : "invalid argument";
  return 0;
}
