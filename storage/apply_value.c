/*
 * apply_value.c - values made of old ones: append, prepend, incr, decr.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/apply.h"

#define NUMBER_DIGITS_MAX 20

static int need_scratch(struct apply *apply, size_t bytes)
{
	unsigned char *bigger;

	if (bytes <= apply->scratch_bytes)
		return 0;
	/* Not realloc: there is nothing in it to be copied. */
	bigger = malloc(bytes);
	if (bigger == NULL)
		return ENOMEM;
	free(apply->scratch);
	apply->scratch = bigger;
	apply->scratch_bytes = bytes;
	return 0;
}

/*
 * The old record is read to where its value must lie; its head then lies in
 * the room for the new head, or where the new value's first bytes go.
 */
int apply_join(struct apply *apply, struct store_op *op, struct old *old)
{
	struct record record = old->peek.record;
	size_t old_bytes = old->peek.record_bytes - record.head_bytes;
	size_t bytes = old_bytes + op->value_bytes;
	unsigned char *value, *old_value, *added;
	int error;

	if (bytes > apply->value_max_bytes) {
		op->status = STORE_TOO_LARGE;
		return 0;
	}
	error = need_scratch(apply, STORE_RECORD_HEAD_MAX + bytes);
	if (error != 0)
		return error;
	value = apply->scratch + STORE_RECORD_HEAD_MAX;
	if (op->kind == STORE_APPEND) {
		old_value = value;
		added = value + old_bytes;
	} else {
		old_value = value + op->value_bytes;
		added = value;
	}
	error = apply_read_old(apply, old, old_value - record.head_bytes);
	if (error != 0)
		return error;
	memcpy(added, op->value, op->value_bytes);
	op->number = bytes;
	return apply_store(apply, op, old, &record, (char *)value, bytes);
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

bool apply_parse_number(const char *text, size_t bytes, bool more,
			uint64_t *ret)
{
	const char *end = text + bytes;
	uint64_t number = 0;
	const char *digits;

	while (text < end && is_blank(*text))
		text++;
	for (digits = text; text < end && *text >= '0' && *text <= '9';
	     text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (number > (UINT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	if (text == digits)
		return false;
	/* It ends with the value, or where a blank shows that it does. */
	if (text == end ? more : !is_blank(*text))
		return false;
	*ret = number;
	return true;
}

static uint64_t count(const struct store_op *op, uint64_t number)
{
	if (op->kind == STORE_INCR)
		return number + op->delta;
	return number > op->delta ? number - op->delta : 0;
}

/* Room for a record that is a number, and where its value begins. */
struct number_room {
	char bytes[STORE_RECORD_HEAD_MAX + NUMBER_DIGITS_MAX + 1];
};

static char *write_number(struct number_room *room, uint64_t number,
			  size_t *ret_bytes)
{
	char *value = room->bytes + STORE_RECORD_HEAD_MAX;

	*ret_bytes = (size_t)snprintf(value, NUMBER_DIGITS_MAX + 1, "%" PRIu64,
				      number);
	return value;
}

int apply_number(struct apply *apply, struct store_op *op, struct old *old)
{
	const struct peek *peek = &old->peek;
	const char *text = (const char *)peek->bytes + peek->record.head_bytes;
	struct record record = peek->record;
	struct number_room room;
	uint64_t number;
	size_t bytes;
	char *value;

	if (!apply_parse_number(text, peek->have - peek->record.head_bytes,
				peek->have < peek->record_bytes, &number)) {
		op->status = STORE_NOT_NUMBER;
		return 0;
	}
	record_show(&record, apply->state.start, &op->found);
	op->number = count(op, number);
	if (op->touch)
		record.expiry = op->expiry;
	value = write_number(&room, op->number, &bytes);
	return apply_put(apply, op, old, &record, value, bytes);
}

int apply_first_number(struct apply *apply, struct store_op *op,
		       struct old *old)
{
	struct record record = {.expiry = op->create_expiry,
				.key_base64 = op->key_base64};
	struct number_room room;
	size_t bytes;
	char *value = write_number(&room, op->initial, &bytes);
	int error = apply_make(apply, op, old, &record, value, bytes);

	op->number = op->initial;
	record_show(&record, apply->state.start, &op->found);
	return error;
}
