/* Plain threads that come back from the standard library's I/O go first: io_hooks.c. */
#ifndef LOOMLET_IO_HOOKS_H
#define LOOMLET_IO_HOOKS_H

/* From now on they do, in the extension module whose definition lies at `inside`, or they do not
 * any more: how many words were changed.  0: the module cannot be reached so. */
int patch_io_hooks(const void *inside, int on);
/* The same for the modules that are part of the interpreter. */
int patch_io_hooks_builtin(int on);

#endif
