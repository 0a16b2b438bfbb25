/* The time that answers show.  See serve.h. */
#include "serve/serve.h"

const char *v_date(v_server *server)
{
    int64_t now = p_wall_seconds();
    if (now != server->clock) {
        server->clock = now;
        t_write_date(server->date, now);
    }
    return server->date;
}
