/*
 * base64.h - how meta commands write keys that hold any byte.
 *
 * Private to protocol/; proto_base64_encode() is public. The alphabet is the
 * standard one, and padding is required.
 */
#ifndef PROTOCOL_BASE64_H
#define PROTOCOL_BASE64_H

#include "protocol/protocol.h"

/* Bytes that the encoding of so many bytes takes. */
#define BASE64_BYTES(bytes) (((bytes) + 2) / 3 * 4)

/*
 * Decodes to `to`, which has 3 bytes for every 4 of the text. Returns false,
 * with *ret_len as it was, if the text is empty or no base64. Bits that
 * padding leaves over are not looked at.
 */
bool base64_decode(struct proto_slice text, char *to, size_t *ret_len);

#endif
