/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * User space has the structs of these programs as they stand here: build.rs makes its types of what BTF says of an object. BTF knows
 * what maps and variables are made of, and nothing of what goes through a ring buffer: that is named with SENT.
 */
#ifndef FATHOM_TYPES_H
#define FATHOM_TYPES_H

#define SENT(type) const struct type *const sent_##type = 0

#endif
