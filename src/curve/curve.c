#include "curve/curve.h"

const char *zk_point_verdict_text(zk_point_verdict verdict) {
    switch (verdict) {
    case ZK_POINT_OK:
        return "ok";
    case ZK_POINT_BAD_FLAGS:
        return "flag bits that this form does not allow";
    case ZK_POINT_NOT_CANONICAL:
        return "coordinate not below the field modulus, or stray bits in an infinity";
    case ZK_POINT_NOT_ON_CURVE:
        return "not on the curve";
    case ZK_POINT_NOT_IN_SUBGROUP:
        return "not in the subgroup of order r";
    }
    return "unknown verdict";
}
