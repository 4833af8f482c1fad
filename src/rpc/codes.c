#include "rpc/codes.h"

grpc_status_code zk_rpc_code_of(cuzk_status status) {
    if (status == CUZK_NOT_FOUND) return GRPC_STATUS_NOT_FOUND;
    switch (cuzk_status_classify(status)) {
    case CUZK_CLASS_NONE:
        return GRPC_STATUS_OK;
    case CUZK_CLASS_USAGE:
    case CUZK_CLASS_INPUT:
        return GRPC_STATUS_INVALID_ARGUMENT;
    case CUZK_CLASS_CHECK:
        return GRPC_STATUS_FAILED_PRECONDITION;
    case CUZK_CLASS_RESOURCE:
        return GRPC_STATUS_RESOURCE_EXHAUSTED;
    case CUZK_CLASS_DEVICE:
    case CUZK_CLASS_IO: /* a full disk, a lost device: the same call may succeed later */
        return GRPC_STATUS_UNAVAILABLE;
    case CUZK_CLASS_CANCELLED:
        return GRPC_STATUS_CANCELLED;
    case CUZK_CLASS_INTERNAL:
        break;
    }
    return GRPC_STATUS_INTERNAL;
}

cuzk_status zk_rpc_status_of(grpc_status_code code) {
    switch (code) {
    case GRPC_STATUS_OK:
        return CUZK_OK;
    case GRPC_STATUS_CANCELLED:
        return CUZK_CANCELLED;
    case GRPC_STATUS_INVALID_ARGUMENT:
    case GRPC_STATUS_OUT_OF_RANGE:
        return CUZK_BAD_INPUT;
    case GRPC_STATUS_NOT_FOUND:
        return CUZK_NOT_FOUND;
    case GRPC_STATUS_UNIMPLEMENTED:
        return CUZK_UNSUPPORTED;
    case GRPC_STATUS_FAILED_PRECONDITION:
        return CUZK_CHECK_FAILED;
    case GRPC_STATUS_RESOURCE_EXHAUSTED:
    case GRPC_STATUS_DEADLINE_EXCEEDED:
        return CUZK_EXHAUSTED;
    case GRPC_STATUS_UNAVAILABLE:
        return CUZK_IO;
    default:
        return CUZK_INTERNAL;
    }
}

const char *zk_rpc_code_name(grpc_status_code code) {
    static const char *const names[] = {
        "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
        "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
        "DATA_LOSS", "UNAUTHENTICATED"};
    return (unsigned)code < sizeof names / sizeof names[0] ? names[code] : "?";
}
