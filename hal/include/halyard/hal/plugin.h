/* The stable C interface between Halyard and a backend (a loadable module or a statically linked library).
 *
 * A backend implements devices of one vendor's interface: memory, queues, modules of code, command graphs. It
 * knows nothing of tensors or fusion. In-tree and out-of-tree backends use this same door.
 *
 * GROWTH. Every struct that crosses the border begins with `size`, which its writer sets to sizeof(struct) as
 * the writer knows it. The reader treats fields beyond that size as zero, and zero always means "as before".
 * Functions are only ever appended to HyBackend. HY_ABI_VERSION changes only if that rule must be broken.
 *
 * ERRORS. A fallible function returns a HyStatus and, where the last argument is a HyError*, fills it (it may
 * be NULL). Nothing may abort, throw across this border, print, or change process-wide state.
 *
 * OWNERSHIP. What `*_create`, `*_open`, `*_import` returns belongs to the caller until the matching
 * `*_destroy` or
 * `*_close`. Children must be destroyed before their device; the caller guarantees that no pending work uses
 * an object which it destroys. Descriptions and the arrays that they point to are read during the call only.
 *
 * THREADS. Unless a comment says otherwise a function may be called from any thread at any time. "Externally
 * synchronized" means that the caller never makes two such calls on the same object at once.
 *
 * FUNCTIONS. Those marked [optional] may be NULL; Halyard then answers "unsupported" or does the work itself.
 */
#ifndef HALYARD_HAL_PLUGIN_H
#define HALYARD_HAL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(modernize-use-using): this header is C */
#ifdef __cplusplus
extern "C" {
#endif

#define HY_ABI_VERSION 1u

typedef struct HyDevice HyDevice;     /* an opened device */
typedef struct HyQueue HyQueue;       /* an in-order stream of work on a device */
typedef struct HyBuffer HyBuffer;     /* a range of memory that kernels of a device can read and write */
typedef struct HyModule HyModule;     /* loaded code: one or more kernels */
typedef struct HyGraph HyGraph;       /* an instantiated command graph */
typedef struct HyTimeline HyTimeline; /* a 64-bit counter that only grows; every queue has one of its own */
typedef struct HyTimeStamps HyTimeStamps;

/* The numbers of halyard::ErrorCode; 0 is success. */
typedef int32_t HyStatus;
enum {
  HY_OK = 0,
  HY_INVALID_ARGUMENT = 1,
  HY_NOT_FOUND = 2,
  HY_UNSUPPORTED = 3,
  HY_OUT_OF_MEMORY = 4,
  HY_DEVICE_LOST = 5,
  HY_TIMEOUT = 6,
  HY_CORRUPT_DATA = 7,
  HY_IO_ERROR = 8,
  HY_COMPILE_ERROR = 9,
  HY_INTERNAL = 10
};

/* Filled by a failing call. The message names the call, the vendor's code by name and the remedy; it is cut,
 * never overrun, and always ends in a zero byte. */
typedef struct HyError {
  uint32_t size;
  HyStatus status;
  int64_t vendor_code; /* the vendor's own number, 0 if none */
  uint32_t node;       /* of a command graph or submission: which command failed; UINT32_MAX if not known */
  uint32_t reserved;
  char message[2032];
} HyError;

/* ------------------------------------------------------------------------------------------------ the host
 */

enum { HY_LOG_DEBUG = 0, HY_LOG_INFO = 1, HY_LOG_WARNING = 2, HY_LOG_ERROR = 3 };

/* What the host offers a backend. Lives as long as the process; all callbacks may be called from any thread.
 * A backend writes nothing to stdout or stderr itself. */
typedef struct HyHost {
  uint32_t size;
  uint32_t abi_version;
  void* user_data;
  /* Host memory of at least `bytes`, aligned to `alignment` (a power of two); NULL when there is none. */
  void* (*allocate)(void* user_data, size_t bytes, size_t alignment);
  void (*release)(void* user_data, void* memory, size_t bytes, size_t alignment);
  void (*log)(void* user_data, int32_t level, const char* backend, const char* message);
  /* A folder for a backend's own caches (a vendor's pipeline cache …), or NULL if caching is off or
   * impossible. The string lives as long as the process. Files there may vanish or be damaged at any time. */
  const char* (*cache_folder)(void* user_data);
} HyHost;

/* ------------------------------------------------------------------------------------------------ devices */

enum {
  HY_DEVICE_OTHER = 0,
  HY_DEVICE_CPU = 1,
  HY_DEVICE_INTEGRATED = 2,
  HY_DEVICE_DISCRETE = 3,
  HY_DEVICE_VIRTUAL = 4
};

enum {
  HY_DEVICE_FLAG_EMULATED =
      1u << 0, /* a stand-in for hardware: excluded from `auto` and from performance results */
  HY_DEVICE_FLAG_SOFTWARE = 1u << 1 /* a real driver that computes on the CPU (lavapipe, SwiftShader) */
};

/* One device as it can be told without opening it. */
typedef struct HyDeviceSummary {
  uint32_t size;
  uint32_t type;  /* HY_DEVICE_… */
  uint32_t flags; /* HY_DEVICE_FLAG_… */
  int32_t score;  /* for `auto`: higher is better; discrete ~ 1000, integrated ~ 500, cpu ~ 100, software
                     driver ~ 50 */
  uint8_t uuid[16];
  char name[256];  /* as the vendor writes it */
  char alias[64];  /* a short name for URIs, lower case, e.g. "llvmpipe"; empty if none */
  char driver[64]; /* e.g. "llvmpipe", "nvidia" */
  char driver_version[64];
} HyDeviceSummary;

/* A bit per element type: 1u << (unsigned)halyard::ElementType. */
typedef uint32_t HyElementTypes;

enum {
  HY_SUBGROUP_BASIC = 1u << 0,
  HY_SUBGROUP_VOTE = 1u << 1,
  HY_SUBGROUP_ARITHMETIC = 1u << 2,
  HY_SUBGROUP_BALLOT = 1u << 3,
  HY_SUBGROUP_SHUFFLE = 1u << 4,
  HY_SUBGROUP_SHUFFLE_RELATIVE = 1u << 5,
  HY_SUBGROUP_QUAD = 1u << 6
};

enum {
  HY_EXECUTION_ONE_LANE_PER_WORKGROUP =
      1u << 0, /* cpu: a workgroup is one invocation, a subgroup one lane, no barriers */
  HY_EXECUTION_SUBGROUP_SIZE_CONTROL = 1u << 1,      /* a kernel may require a subgroup size in [min, max] */
  HY_EXECUTION_DEVICE_ADDRESS = 1u << 2,             /* binding model HY_BINDING_DEVICE_ADDRESS is accepted */
  HY_EXECUTION_HOST_VISIBLE_DEVICE_MEMORY = 1u << 3, /* HY_MEMORY_DEVICE buffers can be mapped */
  HY_EXECUTION_TIME_STAMPS = 1u << 4,
  HY_EXECUTION_DIRECT_PARAMETERS =
      1u << 5, /* scalar blocks beyond max_scalar_bytes are passed by the backend itself */
  HY_EXECUTION_MEMORY_MODEL = 1u << 6 /* spirv: the Vulkan memory model is enabled on this device */
};

/* Multiplies m x k by k x n, adding to m x n, by one subgroup at once. Types are halyard::ElementType
 * numbers. */
typedef struct HyMatrixShape {
  uint32_t m, n, k;
  uint8_t operand_type, accumulator_type, result_type, reserved;
} HyMatrixShape;

/* A named fact about this device or driver version that generated code must respect. Names are listed in
 * halyard/hal/quirks.h; `value` is the number that the name calls for. */
typedef struct HyQuirk {
  const char* name;
  int64_t value;
  const char* reason;
} HyQuirk;

/* What schedules and emitters need to know. All pointers live as long as the device. Zero means "not known".
 */
typedef struct HyDeviceInfo {
  uint32_t size;
  uint32_t type;
  uint32_t flags;           /* HY_DEVICE_FLAG_… */
  uint32_t execution_flags; /* HY_EXECUTION_… */
  uint8_t uuid[16];
  const char* name;
  const char* vendor;
  const char* driver;
  const char* driver_version;
  const char* architecture; /* "sm_80", "gfx90a", "znver3", … */

  uint32_t compute_units; /* multiprocessors, or hardware threads of a cpu */
  uint32_t subgroup_size; /* the natural number of lanes; 1 on a cpu */
  uint32_t subgroup_size_min, subgroup_size_max;
  uint32_t subgroup_operations; /* HY_SUBGROUP_… */
  uint32_t max_workgroup_invocations;
  uint32_t max_workgroup_size[3];
  uint32_t max_grid[3];
  uint32_t shared_bytes;            /* static shared memory of a workgroup; on a cpu: advisable scratch */
  uint32_t shared_bytes_optin;      /* with opt-in dynamic shared memory; 0 if the same */
  uint32_t registers_per_workgroup; /* 32-bit registers */
  uint32_t registers_per_lane;
  uint32_t
      max_scalar_bytes; /* of a scalar block passed directly (push constants); larger ones go by buffer */
  uint32_t max_buffers_per_kernel;
  uint32_t vector_register_bytes; /* of a cpu: 16, 32, 64 */
  uint32_t reserved0;

  uint64_t memory_bytes;
  uint64_t max_allocation_bytes;
  uint64_t max_storage_range; /* bytes that one buffer slice of a kernel may span */
  uint64_t storage_alignment; /* of a slice's byte offset; a power of two */
  uint32_t cache_line_bytes;
  uint32_t l1_bytes;
  uint64_t l2_bytes, l3_bytes;

  HyElementTypes storage_types;    /* may be loaded from and stored to buffers */
  HyElementTypes arithmetic_types; /* may be computed in */
  HyElementTypes shared_types;     /* may be held in shared memory */
  /* What the driver declares, per type; a probe decides what is true. */
  HyElementTypes declares_keeps_subnormals, declares_flushes_subnormals, declares_rounds_to_even,
      declares_keeps_nan;

  const char* const* isa_features; /* "avx2", "fma", "avx512f", … */
  uint32_t isa_feature_count;
  uint32_t module_format_count;
  const char* const* module_formats; /* accepted, best first; see HyModuleDesc */
  const HyMatrixShape* matrix_shapes;
  uint32_t matrix_shape_count;
  uint32_t quirk_count;
  const HyQuirk* quirks;
  uint32_t
      spirv_version; /* highest accepted, as in a SPIR-V header (0x00010500); 0 if spirv is not accepted */
  uint32_t reserved1;
} HyDeviceInfo;

/* A context that the host program made; the backend uses it and never destroys it. It must outlive the
 * device. */
enum { HY_FOREIGN_NONE = 0, HY_FOREIGN_CUDA = 1, HY_FOREIGN_HIP = 2, HY_FOREIGN_VULKAN = 3 };
typedef struct HyForeignContext {
  uint32_t size;
  uint32_t kind;          /* HY_FOREIGN_… */
  void* context;          /* CUcontext, hipCtx_t, VkDevice */
  void* instance;         /* VkInstance */
  void* physical_device;  /* VkPhysicalDevice */
  uint32_t queue_family;  /* on which buffers will be used and queues made */
  uint32_t api_version;   /* the VkApplicationInfo::apiVersion with which the instance was made */
  void* get_proc_address; /* PFN_vkGetInstanceProcAddr, cuGetProcAddress …; NULL: the backend opens its own
                             library */
  const char* const* extensions; /* enabled device extensions */
  uint32_t extension_count;
  uint32_t reserved;
  const void* features; /* const VkPhysicalDeviceFeatures2* with the chain given to vkCreateDevice; NULL: none
                           enabled */
} HyForeignContext;

typedef struct HyDeviceDesc {
  uint32_t size;
  uint32_t ordinal;                /* an index of `enumerate`; ignored with a foreign context */
  const HyForeignContext* foreign; /* NULL: the backend makes its own context */
  uint32_t worker_threads;         /* cpu: 0 means one per hardware thread */
  uint32_t debug;                  /* 1: vendor validation where present, modules checked (spirv-val …) */
} HyDeviceDesc;

/* ------------------------------------------------------------------------------------------------- memory */

enum {
  HY_MEMORY_DEVICE = 0, /* fastest for kernels; mappable only where the execution flag says so */
  HY_MEMORY_UPLOAD = 1, /* host writes, device reads: pinned, mapped, coherent */
  HY_MEMORY_READBACK =
      2 /* device writes, host reads: pinned, mapped, coherent, cached if there is such memory */
};

typedef struct HyBufferDesc {
  uint32_t size;
  uint32_t memory; /* HY_MEMORY_… */
  uint64_t bytes;  /* > 0 */
  /* Handles beyond the ordinary for which buffer_export will be called: bits 1u << HY_HANDLE_…. Descriptors
   * must be announced here, since memory that can be given out may be slower; HY_UNSUPPORTED if it cannot be
   * had. */
  uint32_t export_kinds;
  uint32_t reserved;
} HyBufferDesc;

enum {
  HY_HANDLE_HOST_POINTER = 1,   /* pointer, aligned to a page for import; stays the caller's */
  HY_HANDLE_DEVICE_POINTER = 2, /* CUdeviceptr, hipDeviceptr_t, VkDeviceAddress (export only) */
  HY_HANDLE_OPAQUE_FD = 3,  /* import takes the descriptor over on success; export gives one to the caller */
  HY_HANDLE_DMA_BUF_FD = 4, /* the same */
  HY_HANDLE_VENDOR_OBJECT = 5 /* VkBuffer, VkSemaphore (timeline), CUevent, hipEvent_t; stays its maker's */
};

typedef struct HyHandle {
  uint32_t size;
  uint32_t kind; /* HY_HANDLE_… */
  int32_t fd;
  uint32_t reserved;
  uint64_t value;  /* the pointer or object */
  uint64_t bytes;  /* memory: its extent */
  uint64_t offset; /* memory: where the buffer begins in it */
} HyHandle;

/* ------------------------------------------------------------------------------------- modules of code */

enum {
  HY_BINDING_DEFAULT = 0,       /* spirv: descriptors of set 0; others: see the format's contract */
  HY_BINDING_DEVICE_ADDRESS = 1 /* spirv: 64-bit addresses at the front of the push constants */
};

/* A kernel takes an ordered list of buffer slices followed by one block of scalar bytes. Scalars are packed
 * in declaration order, each at its natural alignment; the block's size is a multiple of 8 (the tail is
 * zero). */
typedef struct HyKernelDesc {
  uint32_t size;
  uint32_t binding_model; /* HY_BINDING_… */
  const char* entry;      /* the name in the module */
  uint32_t workgroup_size[3];
  uint32_t required_subgroup_size; /* 0: any */
  uint32_t buffer_count;
  uint32_t scalar_bytes;
  uint32_t static_shared_bytes; /* gpu: declared by the code itself */
  uint32_t opaque_count;        /* 128-byte opaque parameters (tensor maps …) after the scalars */
  uint64_t scratch_bytes;       /* cpu: per task, 64-byte aligned */
  uint64_t written_buffers;     /* bit i: the kernel writes buffer i (i < 64); for hazards and barriers */
  uint64_t read_buffers;        /* bit i: the kernel reads buffer i */
} HyKernelDesc;

/* Formats: "cubin", "ptx", "cuda-c++", "code-object", "hip-c++", "spirv", "llvm-ir" (text; see
 * cpu_kernel_abi.h), "elf-object" (the cpu's native code), "vulkan-pipelines" (SPIR-V with the driver's
 * compiled form), "thread-program" (serialized, see halyard/program). */
typedef struct HyModuleDesc {
  uint32_t size;
  uint32_t kernel_count;
  const char* format;
  const void* bytes;
  size_t byte_count;
  const HyKernelDesc* kernels;
  const char* label;   /* for profilers and messages; may be NULL */
  const char* options; /* compiler options of the format, or NULL */
} HyModuleDesc;

/* ------------------------------------------------------------------------------------------------ commands
 */

/* A range of a buffer. In a command graph `buffer` may be NULL: then `slot` names an argument of each replay,
 * and `offset` counts from the start of the slice given for it. */
typedef struct HySlice {
  HyBuffer* buffer;
  uint64_t offset; /* bytes; for kernels a multiple of the device's storage_alignment */
  uint64_t bytes;  /* may be 0: nothing of it is touched, but it still takes its place among the arguments */
  uint32_t slot;
  uint32_t reserved;
} HySlice;

typedef struct HyOpaqueParameter {
  uint8_t bytes[128];
} HyOpaqueParameter;

#define HY_NO_SLOT UINT32_MAX

/* Runs one kernel. A slice that the kernel writes must overlap no other slice of the same dispatch. */
typedef struct HyDispatch {
  uint32_t size;
  uint32_t kernel; /* index among the module's kernels */
  HyModule* module;
  uint32_t grid[3];    /* workgroups; a zero means nothing to do */
  uint32_t block[3];   /* zeros: the kernel's workgroup size */
  uint32_t cluster[3]; /* zeros: none */
  uint32_t dynamic_shared_bytes;
  const HySlice* buffers;
  uint32_t buffer_count;
  uint32_t scalar_bytes;
  const void* scalars; /* copied during the call */
  uint32_t
      scalar_slot; /* command graphs: which scalar block of a replay replaces `scalars`; else HY_NO_SLOT */
  uint32_t opaque_count;
  const HyOpaqueParameter* opaque;
} HyDispatch;

/* Source and destination must not overlap. Either may live on a peer device (see device_enable_peer). */
typedef struct HyCopy {
  HySlice source, destination; /* equal `bytes` */
} HyCopy;

/* Repeats a pattern of 1, 2 or 4 bytes; offset and length are multiples of it. */
typedef struct HyFill {
  HySlice destination;
  uint32_t pattern;
  uint32_t pattern_bytes;
} HyFill;

enum { HY_COMMAND_DISPATCH = 1, HY_COMMAND_COPY = 2, HY_COMMAND_FILL = 3 };

/* Within one submission commands take effect in order: each sees the writes of those before it. */
typedef struct HyCommand {
  uint32_t size;
  uint32_t kind;              /* HY_COMMAND_… */
  const HyDispatch* dispatch; /* the one that `kind` names */
  const HyCopy* copy;
  const HyFill* fill;
  /* Command graphs only: indices of earlier nodes that must be complete before this one. With
   * HY_GRAPH_SEQUENTIAL they are ignored and nodes run in order. */
  const uint32_t* dependencies;
  uint32_t dependency_count;
  uint32_t reserved;
} HyCommand;

/* A value of a timeline: reached once the counter is at least `value`. */
typedef struct HySyncPoint {
  HyTimeline* timeline;
  uint64_t value;
} HySyncPoint;

/* Work for a queue. It begins when all waits are reached and after the queue's earlier submissions; at its
 * end the queue's own timeline takes its next value and the signals are raised. A wait that fails (device
 * lost, failed submission) fails this submission with that error. Nothing ever stays unsignaled for good. */
typedef struct HySubmission {
  uint32_t size;
  uint32_t wait_count;
  const HySyncPoint* waits;
  const HySyncPoint* signals; /* on timelines made by timeline_create or timeline_import */
  uint32_t signal_count;
  uint32_t command_count;
  const HyCommand* commands; /* submit only; may be empty */
  HyTimeStamps* time_stamps; /* NULL, or at least as long as the commands (nodes) */
} HySubmission;

typedef struct HyQueueDesc {
  uint32_t size;
  uint32_t priority; /* 0 normal, 1 high */
  /* A caller's own queue: CUstream, hipStream_t, VkQueue; NULL: the backend makes one. It stays the caller's.
   */
  void* foreign_queue;
  uint32_t foreign_queue_family;
  uint32_t reserved;
  /* Called around every use of a foreign queue, if not NULL: a VkQueue takes one thread at a time. `lock` is
   * called before each vendor call that names the queue (submit, wait idle) and `unlock` right after it, on
   * the same thread, never twice in a row; destroying the queue object waits for the queue under the lock.
   * Neither may call back into the backend. Without them the caller keeps other
   * threads off the queue for as long as this object lives. */
  void (*lock)(void* user_data);
  void (*unlock)(void* user_data);
  void* user_data;
} HyQueueDesc;

/* ------------------------------------------------------------------------------------------- command graphs
 */

enum { HY_GRAPH_SEQUENTIAL = 1u << 0 };

typedef struct HyGraphDesc {
  uint32_t size;
  uint32_t flags; /* HY_GRAPH_… */
  const HyCommand* nodes;
  uint32_t node_count;
  uint32_t buffer_slot_count;
  uint32_t scalar_slot_count;
  uint32_t reserved;
} HyGraphDesc;

typedef struct HyBytes {
  const void* data;
  uint64_t bytes;
} HyBytes;

typedef struct HyReplay {
  uint32_t size;
  uint32_t buffer_count;
  const HySlice* buffers; /* one per buffer slot, each with a buffer */
  const HyBytes* scalars; /* one per scalar slot */
  uint32_t scalar_count;
  uint32_t reserved;
} HyReplay;

/* ---------------------------------------------------------------------------------------------- properties
 */

enum { HY_PROPERTY_INTEGER = 1, HY_PROPERTY_REAL = 2, HY_PROPERTY_TEXT = 3 };

typedef struct HyProperty {
  uint32_t size;
  uint32_t kind; /* HY_PROPERTY_… */
  int64_t integer;
  double real;
  const char* text; /* lives as long as the device */
} HyProperty;

typedef struct HyTimeSpan {
  uint64_t begin_ns, end_ns; /* of the device's clock */
} HyTimeSpan;

/* ------------------------------------------------------------------------------------- the backend's
 * functions */

typedef struct HyBackend {
  uint32_t size;
  uint32_t abi_version;
  const char* name;    /* the URI's scheme: lower case letters and digits */
  const char* version; /* of the backend itself; takes part in cache keys */

  /* Devices present. Writes at most `capacity` summaries (the caller set `size` in each) and the number that
   * exist to `count`. A missing vendor library or driver is HY_NOT_FOUND with a remedy in the message. Cheap
   * when repeated. */
  HyStatus (*enumerate)(HyDeviceSummary* summaries, uint32_t capacity, uint32_t* count, HyError* error);

  /* Opens a device. The same device may be opened more than once; each is independent. */
  HyStatus (*device_open)(const HyDeviceDesc* desc, HyDevice** device, HyError* error);
  /* Waits for nothing: the caller has destroyed all children. Externally synchronized. */
  void (*device_close)(HyDevice* device);
  /* Fills `info`, whose `size` the caller set. Immutable while the device is open. */
  HyStatus (*device_info)(HyDevice* device, HyDeviceInfo* info, HyError* error);
  /* [optional] One named property ("vulkan.device", "cuda.context", "memory.free_bytes" …); HY_NOT_FOUND if
   * unknown. Handles of the vendor are HY_PROPERTY_INTEGER. */
  HyStatus (*device_property)(HyDevice* device, const char* key, HyProperty* property, HyError* error);
  /* HY_OK, or HY_DEVICE_LOST with the reason. Never blocks. */
  HyStatus (*device_status)(HyDevice* device, HyError* error);
  /* [optional] Lets `device` reach the memory of `peer` (same backend) in copies and kernels. */
  HyStatus (*device_enable_peer)(HyDevice* device, HyDevice* peer, HyError* error);

  /* Memory is not cleared. HY_OUT_OF_MEMORY leaves the device usable. */
  HyStatus (*buffer_create)(HyDevice* device, const HyBufferDesc* desc, HyBuffer** buffer, HyError* error);
  void (*buffer_destroy)(HyBuffer* buffer);
  /* The address of the buffer's first byte for the host; valid, coherent and unchanging until the buffer is
   * destroyed. HY_UNSUPPORTED if this memory cannot be mapped. */
  HyStatus (*buffer_map)(HyBuffer* buffer, void** pointer, HyError* error);
  /* [optional] Uses memory made elsewhere. A host or device pointer must stay valid until the buffer is
   * destroyed. */
  HyStatus (*buffer_import)(HyDevice* device, const HyHandle* handle, HyBuffer** buffer, HyError* error);
  /* [optional] The caller sets handle->size and ->kind; a descriptor given out is the caller's to close. */
  HyStatus (*buffer_export)(HyBuffer* buffer, HyHandle* handle, HyError* error);

  HyStatus (*queue_create)(HyDevice* device, const HyQueueDesc* desc, HyQueue** queue, HyError* error);
  /* Waits for the queue's work to end or fail. */
  void (*queue_destroy)(HyQueue* queue);
  /* The queue's own timeline; belongs to the queue and dies with it. Starts at 0. */
  HyTimeline* (*queue_timeline)(HyQueue* queue);
  /* Enqueues and returns at once with the value that the queue's timeline will reach at the end. If the call
   * itself fails nothing was enqueued. Externally synchronized per queue. */
  HyStatus (*queue_submit)(HyQueue* queue, const HySubmission* submission, uint64_t* value, HyError* error);

  /* [optional, with the next two] A timeline signaled by submissions or by the host. */
  HyStatus (*timeline_create)(HyDevice* device, uint64_t initial, HyTimeline** timeline, HyError* error);
  void (*timeline_destroy)(HyTimeline* timeline); /* never a queue's own */
  HyStatus (*timeline_signal)(HyTimeline* timeline, uint64_t value, HyError* error);
  /* Blocks until the value is reached (HY_OK), until the work that would have reached it failed (its error),
   * or until `timeout_ns` went by (HY_TIMEOUT; 0 only asks, UINT64_MAX waits for good). Safe beside
   * submissions. */
  HyStatus (*timeline_wait)(HyTimeline* timeline, uint64_t value, uint64_t timeout_ns, HyError* error);
  /* The highest value reached, in order; failed work counts as reached (timeline_error tells). Never blocks.
   */
  HyStatus (*timeline_query)(HyTimeline* timeline, uint64_t* value, HyError* error);
  /* HY_OK if the work that reached this value succeeded, else why it failed. Never blocks. */
  HyStatus (*timeline_error)(HyTimeline* timeline, uint64_t value, HyError* error);
  /* [optional] */
  HyStatus (*timeline_import)(HyDevice* device, const HyHandle* handle, HyTimeline** timeline,
                              HyError* error);
  HyStatus (*timeline_export)(HyTimeline* timeline, HyHandle* handle, HyError* error);

  /* Compiles or loads. May take long; runs beside everything else. HY_COMPILE_ERROR carries the compiler's
   * words. */
  HyStatus (*module_create)(HyDevice* device, const HyModuleDesc* desc, HyModule** module, HyError* error);
  void (*module_destroy)(HyModule* module);
  /* [optional] The compiled form, loadable with no compiler: its format and bytes belong to the module.
   * Loading it takes the same kernel descriptions. HY_UNSUPPORTED if there is none. */
  HyStatus (*module_get_native)(HyModule* module, const char** format, const void** bytes, size_t* byte_count,
                                HyError* error);

  /* [optional, all of graph_*; Halyard otherwise replays by submitting the recorded commands.]
   * Records and instantiates at once. Modules and buffers named by nodes must outlive the graph. */
  HyStatus (*graph_create)(HyDevice* device, const HyGraphDesc* desc, HyGraph** graph, HyError* error);
  void (*graph_destroy)(HyGraph* graph);
  /* Replaces one node's command by another of the same kind and dependencies, for replays from now on.
   * Externally synchronized with replays of this graph; pending replays keep what they had. */
  HyStatus (*graph_update)(HyGraph* graph, uint32_t node, const HyCommand* command, HyError* error);
  /* Like queue_submit, with the graph as the commands (submission->commands is empty). May be called while
   * earlier replays of the same graph still run. Externally synchronized per queue and per graph. */
  HyStatus (*graph_replay)(HyQueue* queue, HyGraph* graph, const HyReplay* replay,
                           const HySubmission* submission, uint64_t* value, HyError* error);

  /* [optional, all of time_stamps_*] Room for `capacity` commands' begin and end. */
  HyStatus (*time_stamps_create)(HyDevice* device, uint32_t capacity, HyTimeStamps** stamps, HyError* error);
  void (*time_stamps_destroy)(HyTimeStamps* stamps);
  /* After the submission that wrote them was reached. */
  HyStatus (*time_stamps_read)(HyTimeStamps* stamps, uint32_t first, uint32_t count, HyTimeSpan* spans,
                               HyError* error);

  /* [optional] A struct of functions beyond this interface, or NULL: see HY_EXTENSION_… below. */
  const void* (*get_extension)(const char* name);
} HyBackend;

/* The one exported function of a backend. Returns NULL if it cannot work with a host of `abi_version`. `host`
 * and the result live as long as the process. May be called more than once. */
typedef const HyBackend* (*HyBackendEntry)(uint32_t abi_version, const HyHost* host);

/* Defines the entry: `HY_BACKEND_ENTRY(fake)(uint32_t abi_version, const HyHost* host) { … }`. A loadable
 * module exports halyard_backend_entry; with HALYARD_STATIC_BACKEND it is halyard_backend_entry_<name>, so
 * that several can be linked into one program (register them with halyard::hal::Registry::add_static). */
#ifdef __cplusplus
#define HY_EXTERN_C extern "C"
#else
#define HY_EXTERN_C extern
#endif
#ifdef HALYARD_STATIC_BACKEND
#define HY_BACKEND_ENTRY(name) HY_EXTERN_C const HyBackend* halyard_backend_entry_##name
#else
#define HY_BACKEND_ENTRY(name) \
  HY_EXTERN_C __attribute__((visibility("default"))) const HyBackend* halyard_backend_entry
#endif

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-use-using) */

#endif
