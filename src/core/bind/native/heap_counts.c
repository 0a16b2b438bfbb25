/* _heap_stats() and _heap_trim(), behind loomlet.heap. */
#include "heap/heap.h"

#include "bind/native/native.h"
#include "plat/plat.h"

/* {size: how many chunks of that size are in use}; NULL with an exception. */
static PyObject *chunks_by_size(const h_chunk_counts *counts, size_t *bytes)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < H_CLASSES; i++) {
        PyObject *size = PyLong_FromLong(h_class_sizes[i]);
        PyObject *count = PyLong_FromSize_t(counts->in_use[i]);
        if (size == NULL || count == NULL || PyDict_SetItem(dict, size, count) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(size);
        Py_XDECREF(count);
        *bytes += h_class_sizes[i] * counts->in_use[i];
    }
    return dict;
}

static PyObject *heap_stats(PyObject *module, PyObject *unused)
{
    h_chunk_counts chunks;
    h_block_counts blocks;
    size_t bytes = 0;
    (void)module, (void)unused;
    h_chunks_count(&chunks);
    h_blocks_count(&blocks);
    PyObject *by_size = chunks_by_size(&chunks, &bytes);
    if (by_size == NULL)
        return NULL;
    return Py_BuildValue("{s:N,s:n,s:n,s:n,s:n,s:n,s:n,s:l,s:l,s:l,s:n}", "chunks", by_size,
                         "chunk_bytes", bytes, "slab_bytes", chunks.resident_bytes, "large_chunks",
                         chunks.large, "large_chunk_bytes", chunks.large_bytes, "blocks",
                         blocks.in_use, "spare_blocks", blocks.warm, "stacks", p_stacks_live(),
                         "spare_stacks", s_spare_stacks(), "stacks_made", p_stacks_made(),
                         "tasklet_size", sizeof(s_tasklet));
}

static PyObject *heap_trim(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    s_sched *s = s_self();
    if (s == NULL)
        return NULL;
    s_free_spare_stacks(s);
    h_chunks_trim();
    h_blocks_trim();
    Py_BEGIN_ALLOW_THREADS p_trim_library();
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

PyMethodDef bind_heap_functions[] = {
    {"_heap_stats", heap_stats, METH_NOARGS, NULL},
    {"_heap_trim", heap_trim, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
