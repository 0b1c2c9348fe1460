/* An extension of the interface of plugin.h: faults on demand, for tests. Every in-tree backend offers it. */
#ifndef HALYARD_HAL_FAULT_INJECTION_H
#define HALYARD_HAL_FAULT_INJECTION_H

#include "halyard/hal/plugin.h"

/* NOLINTBEGIN(modernize-use-using): this header is C */

#ifdef __cplusplus
extern "C" {
#endif

#define HY_EXTENSION_FAULT_INJECTION "halyard.fault_injection.1"
enum {
  HY_FAULT_DEVICE_LOST = 1,   /* the `after`-th next submission fails and the device is lost for good */
  HY_FAULT_OUT_OF_MEMORY = 2, /* the `after`-th next buffer_create fails once */
  HY_FAULT_SUBMISSION_FAILS =
      3 /* the `after`-th next submission fails with HY_INTERNAL; the device lives on */
};
typedef struct HyFaultInjection {
  uint32_t size;
  uint32_t reserved;
  /* `after` = 0: the very next call. */
  HyStatus (*arm)(HyDevice* device, uint32_t fault, uint32_t after);
} HyFaultInjection;

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-use-using) */

#endif
