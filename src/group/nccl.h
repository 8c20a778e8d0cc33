/* A transport that moves device memory by NCCL, and has all the rest done by another one. */
#ifndef TAMIS_GROUP_NCCL_H
#define TAMIS_GROUP_NCCL_H

#include <tamis/group.h>

/* Takes over `transport`, which `close` closes (NULL: the caller does), and puts itself in its place. After an error it
   is as it was. */
tamis_status tamis_nccl_wrap(tamis_device *device, void (*close)(void *context), tamis_transport *transport);
void tamis_nccl_unwrap(void *context);

#endif
