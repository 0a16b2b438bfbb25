/* Frames of a WebSocket (RFC 6455): which of those that a client sends are a whole message.
 *
 * There are two readers of what a client sends.  This one reads the usual frames: text or bytes,
 * not compressed, the whole message in one frame.  All others are handed on, byte for byte, to
 * another reader, who knows compression, control frames, messages in several frames, and what is
 * answered to a mistake.  So this one only has to find out where each frame begins and ends.
 *
 * Invariants.  The other reader gets whole frames, in the order and form in which the client sent
 * them, minus those that were read here.  While a message in several frames is incomplete, nothing
 * is read here.  After the first mistake, and after a frame that closes, everything is handed on.
 *
 * A frame that has come in part stays where it is until the rest has come, if it is short.  The
 * text in it is checked meanwhile, so that a wrong one is handed on as early as the other reader
 * would find it.
 *
 * Threads: no state but what the caller keeps.
 *
 * Rejected: handing on every frame that has come in part (a message of some kilobytes comes in
 * several segments); reading all kinds here (a second authority on what a mistake is).
 */
#ifndef LOOMLET_HTTP_FRAME_H
#define LOOMLET_HTTP_FRAME_H

#include "http/http.h"

enum { T_FRAME_PART, T_FRAME_TEXT, T_FRAME_BYTES, T_FRAME_OTHER };

typedef struct {
    uint64_t most;            /* bytes of a message that is read here */
    uint64_t passing;         /* bytes of the present frame that are still handed on */
    uint32_t checked;         /* bytes of a text that has come in part */
    unsigned char utf8;       /* ... and how they end (utf8.h) */
    unsigned char in_message; /* one in several frames is under way */
    unsigned char given_up;   /* everything is handed on */
} t_frames;

typedef struct {
    t_text payload; /* still masked */
    char mask[4];
} t_frame;

/* The next frame in these bytes, the first *used of which belong to it.
 *
 *   T_FRAME_PART   more bytes are needed; none are used: the caller keeps them
 *   T_FRAME_TEXT   a message of text, *frame; whether it is UTF-8 is for the caller to find out
 *   T_FRAME_BYTES  a message of bytes, *frame
 *   T_FRAME_OTHER  bytes to hand on */
int t_next_frame(t_frames *frames, const char *bytes, size_t size, size_t *used, t_frame *frame);
/* The payload as it was before it was masked. */
void t_unmask(char *to, const t_frame *frame);

/* The head of a whole message of a server: how many bytes it has. */
#define T_FRAME_HEAD 10
size_t t_write_frame_head(char to[T_FRAME_HEAD], int is_text, uint64_t size);

#endif
