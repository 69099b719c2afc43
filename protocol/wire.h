/*
 * wire.h - whole numbers in network order, at any address.
 *
 * Private to protocol/: what packets and datagrams are made of. Each reads or
 * writes exactly the bytes its name says.
 */
#ifndef PROTOCOL_WIRE_H
#define PROTOCOL_WIRE_H

#include <stdint.h>

static inline uint16_t wire_get_u16(const char *at)
{
	const unsigned char *bytes = (const unsigned char *)at;

	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t wire_get_u32(const char *at)
{
	return (uint32_t)wire_get_u16(at) << 16 | wire_get_u16(at + 2);
}

static inline uint64_t wire_get_u64(const char *at)
{
	return (uint64_t)wire_get_u32(at) << 32 | wire_get_u32(at + 4);
}

static inline void wire_put_u16(char *at, uint16_t number)
{
	at[0] = (char)(number >> 8);
	at[1] = (char)number;
}

static inline void wire_put_u32(char *at, uint32_t number)
{
	wire_put_u16(at, (uint16_t)(number >> 16));
	wire_put_u16(at + 2, (uint16_t)number);
}

static inline void wire_put_u64(char *at, uint64_t number)
{
	wire_put_u32(at, (uint32_t)(number >> 32));
	wire_put_u32(at + 4, (uint32_t)number);
}

#endif
