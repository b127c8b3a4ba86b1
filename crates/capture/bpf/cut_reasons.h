/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Why the walk of a stack ended. One line a reason, in the order of their numbers;
 * src/unwind/reasons.rs reads this file, so that programs and users have one list. The
 * text is what users see.
 */
CUT(WHOLE, "whole")
CUT(NO_USER_STACK, "kernel thread")
CUT(PROCESS_NOT_KNOWN, "process not read yet")
CUT(NO_MAPPING, "no mapping holds the address")
CUT(ANONYMOUS_CODE, "code of no file and no JVM")
CUT(NO_ROW, "no unwind row")
CUT(UNSUPPORTED_ROW, "unwind rule not supported")
CUT(STACK_UNREADABLE, "stack memory not readable")
CUT(NO_PROGRESS, "stack does not grow")
CUT(DEPTH, "depth")
CUT(JVM_NOT_READ, "code cache of a JVM not read")
CUT(NO_BLOB, "code cache: nothing at the address")
CUT(BLOB_UNREADABLE, "code cache: not readable")
CUT(BLOB_WITHOUT_FRAME, "code cache: no frame at the address")
CUT(INTERPRETED_FRAME, "interpreted frame damaged")
CUT(COMPILED_CALLER, "caller of compiled code not found")
CUT(STUB_CALLER, "caller of stub not found")
CUT(ADAPTER_CALLER, "caller of adapter not found")
CUT(DEOPTIMISED, "pc of deoptimised frame not found")
CUT(ROW_TABLE, "unwind table damaged")
