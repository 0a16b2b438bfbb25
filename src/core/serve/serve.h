/* HTTP on sockets: who has a connection, and who answers its requests.
 *
 * A server belongs to one scheduler.  Its connections are served by callbacks of the reactor, not
 * by tasklets: one that waits for its next request is a descriptor, a few words and a place in a
 * list ("parked"), and costs nothing else.  When bytes have come the head is read where they lie.
 * A request that a route answers (a fixed answer, a file) is answered at once, without Python;
 * every other one is handed to the application (v_hook.request), which runs in a tasklet of its
 * own, and the connection is busy until that has ended (v_done).
 *
 * Order.  Requests of one connection are answered one after the other.  While it is busy nothing is
 * read from it but by the application, so a client that sends without end fills the system's
 * buffer, not ours.  What has come behind the present request is kept and read next.
 *
 * One send.  The answers to all requests that one receive has brought leave in one send, head and
 * body together, up to V_AT_ONCE bytes; the rest is read when those have gone.
 *
 *   parked     waits for the first byte of a request
 *   reading    a part of a head has come
 *   queued     its request waits until the application has ended another one
 *   busy       the application answers; it may read and send by the descriptor (io.h)
 *   gathered   the answer is there, and leaves together with those of others (gather.c)
 *   sending    the rest of an answer waits until the client reads
 *   draining   refused: what the client still sends is dropped, so that it can read why
 *
 * Overload.  `most_busy` requests are with the application.  More of them queue, `most_queued` at
 * most and each for a limited time; the others are refused with 503, at once, and their connections
 * stay: nine of ten requests may be refused then, and a new connection for each would take half of
 * the processor from those that are answered.  What routes answer, and the handlers of routes,
 * never queue.
 *
 * Deadlines.  Each state but gathered has one, the same for all connections, so each has a list in
 * the order in which they entered it, and the deadline of its first one is that of the list: a tick
 * of the server looks at six connections however many there are, and at those that are busy.  A
 * head has its time from its first byte: more bytes do not extend it.  Sending has it from the last
 * byte that went out.  What the application waits for from a client has a limit of its own
 * (`waits`).
 *
 * Limits.  Beyond `most_connections` the connection that has been parked for the longest is closed
 * for a new one, but none that has just come or has sent something: else a burst of clients would
 * push each other out.  If there is none, nothing is accepted until one ends: the system's queue
 * holds them.  Without descriptors (EMFILE) it is the same.  A connection that the application has
 * taken over counts among them until the application says that it has ended (v_end_taken).
 *
 * Threads.  All on the scheduler's own thread, under its GIL or, without one, its attached thread
 * state.  The application may end a request on no other.
 *
 * Rejected: a tasklet for each connection (3 KB instead of 300 bytes while it is parked, and a
 * switch per request for nothing); a timer for each connection (a heap of ten thousand).
 */
#ifndef LOOMLET_SERVE_H
#define LOOMLET_SERVE_H

#include "http/answer.h"
#include "http/date.h"
#include "io/io.h"

#define V_AT_ONCE 131072 /* bytes of answers that are put together */

typedef enum {
    V_PARKED,
    V_READING,
    V_QUEUED,
    V_BUSY,
    V_SENDING,
    V_DRAINING,
    V_GATHERED,
    V_STATES
} v_state;

typedef struct v_server v_server;

typedef struct v_connection {
    b_link link; /* in the list of its state */
    v_server *server;
    i_desc *desc;
    int64_t since; /* when it entered its state, or sent its last byte */
    int64_t waits; /* busy: the application waits for the client until then; 0: it does not */
    t_head *head;  /* of a request that has come in part, or is queued; or NULL */
    t_buffer in;   /* what has come and was not used */
    t_buffer out;  /* what is still to be sent, from `sent` on */
    size_t sent;
    struct v_file *file; /* of which so much is still to be sent, from there on; or NULL */
    int64_t file_at, file_left;
    struct v_pieces *pieces; /* what follows that; or NULL */
    void *request;           /* of the application, while busy */
    void *tls;               /* of the room above; NULL: bytes go as they are (wire.h) */
    p_peer peer;
    PyObject *peer_text; /* its address, once somebody has asked; or NULL */
    unsigned char state;
    unsigned char readable; /* something has come while it was not read from */
    unsigned char fresh;    /* nothing was received since it was readable */
    unsigned char ended;    /* the client sends nothing more */
    unsigned char closes;   /* behind what is to be sent */
    unsigned char told;     /* of a request that takes long (connection.c) */
    unsigned char too_slow; /* the client has not done its part in time */
} v_connection;

/* The room above. */
typedef struct {
    /* A request for the application, or for the handler of a route, whose head lies in `bytes`: 0,
     * and the connection is busy; or minus a status, with which it is refused.  With the handler of
     * HTTP/2 the head is empty, and c->in begins with its preface. */
    int (*request)(v_connection *c, const t_head *head, const char *bytes, void *handler);
    /* The client of a busy connection sends nothing more; `broken`: nothing can be sent either. */
    void (*gone)(v_connection *c, int broken);
    /* A busy connection ends here and now, because its server does. */
    void (*dropped)(v_connection *c);
    /* A request takes longer than limits.slow, or than a request may.  Called once each. */
    void (*slow)(v_connection *c);
    void (*late)(v_connection *c);
    /* A request was answered by us, with so many bytes of a body; called if server->notes. */
    void (*note)(v_connection *c, const t_head *head, const char *bytes, int status, int64_t size);
} v_hooks;
extern v_hooks v_hook;

typedef struct {
    int64_t seconds[V_STATES]; /* how long a connection may stay in a state; 0: for ever */
    int64_t slow;              /* the same for what is reported; 0: nothing is */
    uint32_t most_connections, most_busy, most_queued;
} v_limits;

typedef struct v_route v_route;

struct v_server {
    s_sched *s;
    void *owner; /* the application's */
    void *http2; /* the handler of connections that begin as HTTP/2 does; or NULL */
    v_limits limits;
    b_link lists[V_STATES];
    uint32_t counts[V_STATES];
    uint32_t connections;
    uint32_t taken; /* that the application has taken over and still has open; atomic */
    uint64_t requests, answered, refused; /* by the application, by routes, by us */
    i_desc *listening;
    void (*accept_more)(v_server *server); /* what could not be accepted (server.c) */
    unsigned char has_tls;
    unsigned char compresses;   /* files of folders (compressed.c) */
    unsigned char notes;        /* the room above is told of answers */
    unsigned char accepts;      /* the listening descriptor has more */
    unsigned char accepts_soon; /* `soon` is armed */
    unsigned char is_accepting; /* just now */
    unsigned char gathers;      /* a batch is being answered */
    unsigned char stops; /* nothing new is accepted, and no answer keeps its connection open */
    s_timer each_second, soon;
    s_timer too_late;      /* armed while answers are gathered */
    int64_t gathers_until; /* deadline for sending them; 0: none are kept */
    int64_t clock;         /* the second that `date` shows */
    char date[T_DATE];
    t_head head;      /* of the request that is read just now */
    t_buffer out;     /* what goes out behind one receive */
    v_route **routes; /* a table of `places`, by the path */
    uint32_t buckets, route_count;
    struct v_folder *folders;
    struct v_type *types;
    const char *bytes; /* of the head that is answered just now */
};

/* ---- server.c ------------------------------------------------------------------------------ */

/* Before all else; a server that is zero. */
void v_init(v_server *server);
/* Takes over a listening socket that does not block.  0 or S_E_. */
int v_start(v_server *server, s_sched *s, int fd, const v_limits *limits);
/* Accepts what the system has, and nothing more; each connection ends with its next answer, or when
 * it has been parked for `seconds`. */
void v_stop(v_server *server, int64_t seconds);
/* Closes everything, also below requests that the application has not ended. */
void v_close_all(v_server *server);
/* A connection that the application serves counts as open from here on. */
void v_begin_taken(v_server *server);
/* Until here; on any thread.  On the server's own, a connection that waits for its place is
 * accepted by the next turn of the timers; on another one, within a second. */
void v_end_taken(v_server *server);
uint32_t v_count_taken(const v_server *server);

/* ---- clock.c ------------------------------------------------------------------------------- */

/* What belongs to this second: T_DATE bytes. */
const char *v_date(v_server *server);

/* ---- state.c ------------------------------------------------------------------------------- */

/* Out of the list of its state: into none, or into another one. */
void v_leave_state(v_connection *c);
void v_enter_state(v_connection *c, v_state state);
void v_close(v_connection *c);
/* The connection ends, but for its descriptor and what has come and was not used. */
i_desc *v_give_up(v_connection *c, t_buffer *unused);
/* Drops what a client sends that was refused: 0 when the connection is gone. */
int v_drain(v_connection *c);

/* ---- connection.c -------------------------------------------------------------------------- */

/* A connection that was accepted; 0, or -1 without memory: then `fd` is closed. */
int v_connect(v_server *server, int fd, const p_peer *peer);
/* The application has answered (or not: then `keep` is 0), and reads and sends nothing more.  An
 * answer that was kept (gather.c) leaves when others do. */
void v_done(v_connection *c, int keep);
/* Gives the connection up: its descriptor, and what has come but was not used, are the caller's,
 * for whom it counts as taken already (v_begin_taken). */
i_desc *v_take_over(v_connection *c, t_buffer *unused);
/* Time has passed. */
void v_close_late(v_server *server, int64_t now);

/* ---- requests.c ---------------------------------------------------------------------------- */

/* Reads what was kept and what has come, until nothing is left, the connection is busy or it is
 * gone. */
void v_read_on(v_connection *c);
/* Requests that are queued, as far as the application may have them. */
void v_begin_queued(v_server *server);
/* An answer by us, to the request whose head was kept, or is read just now; the connection closes
 * behind it. */
void v_refuse(v_connection *c, int status);
/* The first bytes of what has come were used. */
void v_drop_first(v_connection *c, size_t used);

/* ---- sending.c ----------------------------------------------------------------------------- */

/* The answers in server->out go out; what does not is kept.  0 when the connection is gone. */
int v_send_answers(v_connection *c);
/* The client may have read.  1 when all has been sent, and the connection is parked. */
int v_go_on_sending(v_connection *c);
/* All has been sent.  0 when the connection is gone. */
int v_end_sending(v_connection *c);

/* ---- gather.c ------------------------------------------------------------------------------ */

/* A batch of answers begins or is over; then those that were gathered leave. */
void v_gather(v_server *server, int gathers);
void v_send_gathered(v_server *server);
/* More answers are at hand, and the one in server->out is kept, to leave with them: 1; 0 when it
 * shall leave at once. */
int v_keep_answer(v_connection *c);
/* The application has done with a connection whose answer was kept; it may be gone then. */
void v_enter_gathered(v_connection *c);

/* ---- route.c ------------------------------------------------------------------------------- */

/* An answer that never changes, for GET and HEAD of this path; 0, or -1 without memory. */
int v_add_fixed(v_server *server, t_text path, int status, t_text type, t_text body);
/* Requests of this path are for that handler, whatever their method. */
int v_add_handler(v_server *server, t_text path, void *handler);
void v_free_routes(v_server *server);
/* Puts the answer to a request into `out`: 1; 0 when no route answers it, with the handler that
 * does, or NULL for the application; -1 without memory. */
int v_answer(v_connection *c, const t_head *head, const char *bytes, t_buffer *out, void **handler);

#endif
