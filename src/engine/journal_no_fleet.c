/* In place of the fleet's journal where the build found no library for its database. */
#include "engine/journal.h"

cuzk_status zk_journal_open_fleet(zk_journal **journal, const zk_journal_fleet *fleet, cuzk_err *err) {
    (void)journal, (void)fleet;
    return ZK_FAIL(err, CUZK_UNSUPPORTED,
                   "fleet.dsn is set, but this build has no libpq (on Debian: libpq-dev when it is configured)");
}
