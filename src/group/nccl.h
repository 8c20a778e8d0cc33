/* A transport that moves device memory by NCCL, and delegates all else to another transport. */
#ifndef TAMIS_GROUP_NCCL_H
#define TAMIS_GROUP_NCCL_H

#include <tamis/group.h>

/* Wraps `transport`: takes ownership (`close` closes it; NULL: the caller does) and replaces the table. After an error
   `transport` is unchanged. */
tamis_status tamis_nccl_wrap(tamis_device *device, void (*close)(void *context), tamis_transport *transport);
void tamis_nccl_unwrap(void *context);

#endif
