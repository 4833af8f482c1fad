#include "base/progress.h"

static zk_progress unwatched;
zk_progress *zk_progress_process = &unwatched;
_Thread_local zk_progress *zk_progress_thread;
