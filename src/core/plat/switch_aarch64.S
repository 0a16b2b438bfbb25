/* The C stack switch for 64-bit ARM, AAPCS64.
 *
 * x19-x28, the frame pointer, the link register and the low halves of v8-v15
 * survive a call and are saved: 160 bytes.  The contract is in plat.h.
 */
#if defined(__aarch64__)
        .text
        .macro  save_registers
        sub     sp, sp, #160
        stp     x19, x20, [sp, #0]
        stp     x21, x22, [sp, #16]
        stp     x23, x24, [sp, #32]
        stp     x25, x26, [sp, #48]
        stp     x27, x28, [sp, #64]
        stp     x29, x30, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [x0]
        .endm

        .p2align 4
        .globl  p_switch
        .hidden p_switch
        .type   p_switch, %function
p_switch:
        save_registers
        mov     sp, x1
        ldp     x19, x20, [sp, #0]
        ldp     x21, x22, [sp, #16]
        ldp     x23, x24, [sp, #32]
        ldp     x25, x26, [sp, #48]
        ldp     x27, x28, [sp, #64]
        ldp     x29, x30, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        add     sp, sp, #160
        br      x30
        .size   p_switch, .-p_switch

        .p2align 4
        .globl  p_start
        .hidden p_start
        .type   p_start, %function
p_start:
        save_registers
        mov     sp, x1
        mov     x29, xzr
        blr     x2
        brk     #1
        .size   p_start, .-p_start

        .p2align 4
        .globl  p_abandon
        .hidden p_abandon
        .type   p_abandon, %function
p_abandon:
        mov     sp, x0
        mov     x29, xzr
        blr     x1
        brk     #1
        .size   p_abandon, .-p_abandon
#endif

        .section .note.GNU-stack, "", %progbits
