/* Descriptors: created, closed, found again by an event.
 *
 * They lie in blocks that are never moved or freed, so that an event may look at one at any time; a
 * free list reuses them.  `generation` changes when a use ends.  WAKEUP of the poller is the one
 * tag that no descriptor can have: indexes stay far below 2^32 - 1.
 */
#include "io/internal.h"

#define BLOCK 256
#define BLOCKS 65536

static p_lock list_lock; /* guards the free list and how many there are */
static i_desc *blocks[BLOCKS];
static i_desc *unused;
static uint32_t count;

/* A descriptor that was never used; NULL without memory.  Under list_lock. */
static i_desc *new_desc(void)
{
    uint32_t block = count / BLOCK;
    if (block == BLOCKS)
        return NULL;
    if (blocks[block] == NULL) {
        i_desc *made = PyMem_RawCalloc(BLOCK, sizeof(*made));
        __atomic_store_n(&blocks[block], made, __ATOMIC_RELEASE);
    }
    if (blocks[block] == NULL)
        return NULL;
    i_desc *d = &blocks[block][count % BLOCK];
    d->index = count++;
    b_list_init(&d->readers);
    b_list_init(&d->writers);
    return d;
}

i_desc *i_desc_open(int fd, int tcp, PyObject *owner)
{
    if (c_out_of_memory())
        return NULL;
    p_lock_take(&list_lock);
    i_desc *d = unused;
    if (d != NULL)
        unused = d->next;
    else
        d = new_desc();
    p_lock_give(&list_lock);
    if (d == NULL)
        return NULL;
    d->where = 0;
    d->registered = d->dry = d->ended = d->bulk = 0;
    d->tcp = (unsigned char)tcp;
    d->owner = owner;
    d->ready = NULL;
    c_lock_take(&d->lock);
    d->fd = fd;
    c_lock_give(&d->lock);
    return d;
}

/* The number, which no operation uses from now on; -1 if it was closed before. */
static int take_fd(i_desc *d)
{
    c_lock_take(&d->lock);
    int fd = d->fd;
    d->fd = -1;
    d->generation++;
    c_lock_give(&d->lock);
    return fd;
}

int i_desc_follow(s_sched *s, int fd, int tcp, void (*ready)(s_sched *, i_desc *, unsigned),
                  void *follower, i_desc **opened)
{
    int code = s_poll_begin(s);
    i_desc *d = code == S_OK ? i_desc_open(fd, tcp, NULL) : NULL;
    if (d == NULL)
        return code < 0 ? code : S_E_MEMORY;
    d->ready = ready;
    d->follower = follower;
    d->where = s->polls;
    d->registered = P_READ | P_WRITE;
    if (p_poller_add(&s->poller, fd, d->registered, i_desc_tag(d)) == 0) {
        *opened = d;
        return S_OK;
    }
    code = S_E_SYSTEM - errno;
    take_fd(d);
    i_desc_free(d);
    return code;
}

i_desc *i_desc_of_tag(uint64_t tag)
{
    uint32_t index = (uint32_t)tag;
    i_desc *block = __atomic_load_n(&blocks[index / BLOCK], __ATOMIC_ACQUIRE);
    return &block[index % BLOCK];
}

static s_tasklet *claim_first_waiter(i_desc *d)
{
    c_lock_take(&d->lock);
    b_link *at = b_first(&d->readers);
    if (at == NULL)
        at = b_first(&d->writers);
    s_tasklet *t = at != NULL ? s_dequeue(at) : NULL;
    c_lock_give(&d->lock);
    return t;
}

static void fail_waiters(s_sched *s, i_desc *d)
{
    s_tasklet *t;
    while ((t = claim_first_waiter(d)) != NULL)
        i_op_finish(s, t, S_E_DESCRIPTOR);
}

void i_desc_close(s_sched *s, i_desc *d)
{
    int fd = take_fd(d);
    if (fd < 0)
        return;
    p_close(fd);
    fail_waiters(s, d);
}

int i_desc_detach(s_sched *s, i_desc *d)
{
    int fd = take_fd(d);
    if (fd < 0)
        return -1;
    if (s->polls && d->where == s->polls)
        p_poller_remove(&s->poller, fd);
    fail_waiters(s, d);
    return fd;
}

void i_desc_free(i_desc *d)
{
    int fd = take_fd(d);
    if (fd >= 0)
        p_close(fd);
    d->owner = NULL;
    if (!b_list_empty(&d->readers) || !b_list_empty(&d->writers))
        return; /* of a thread that has ended: not reused */
    p_lock_take(&list_lock);
    d->next = unused;
    unused = d;
    p_lock_give(&list_lock);
}

void i_desc_for_each(s_sched *s, void (*each)(s_sched *s, i_desc *d))
{
    for (uint32_t i = 0; i < count; i++)
        each(s, &blocks[i / BLOCK][i % BLOCK]);
}

void i_descs_after_fork(void)
{
    list_lock.word = 0;
}
