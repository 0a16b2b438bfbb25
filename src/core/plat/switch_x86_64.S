/* The C stack switch for x86-64, System V calling convention.
 *
 * Six registers survive a call and are saved; the floating-point control words
 * are not (CPython and its libraries leave them alone).  The switch leaves by
 * an indirect jump instead of `ret`, because the return would be predicted to
 * the caller of the wrong stack.  It lies in one cache line.  The contract is in plat.h.
 */
#if defined(__x86_64__)
        .text
        .p2align 6
        .globl  p_switch
        .hidden p_switch
        .type   p_switch, @function
p_switch:
        pushq   %rbp
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        popq    %rbp
        popq    %rcx
        jmp     *%rcx
        .size   p_switch, .-p_switch

        .p2align 4
        .globl  p_start
        .hidden p_start
        .type   p_start, @function
p_start:
        pushq   %rbp
        pushq   %rbx
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        xorl    %ebp, %ebp
        call    *%rdx
        ud2
        .size   p_start, .-p_start

        .p2align 4
        .globl  p_abandon
        .hidden p_abandon
        .type   p_abandon, @function
p_abandon:
        movq    %rdi, %rsp
        xorl    %ebp, %ebp
        call    *%rsi
        ud2
        .size   p_abandon, .-p_abandon
#endif

        .section .note.GNU-stack, "", %progbits
