/*
 * A plain socket and a TLS stream give the same answers to reads and writes.
 *
 * The peer is OpenSSL's client in the same process, on the other end of a pair
 * of sockets; nothing here waits: both ends are moved in turn.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/clock.h"
#include "server/transport.h"
#include "tests/unit/run_suite.h"

#define BEGIN 1000 /* monotonic seconds at which all begins */

struct rig {
	char dir[32], chain[48], key[48];
	struct options options;
	struct log log;
	struct counters counters;
	struct tls *tls;
	struct tls_shared *shared;
	struct transport ours;
	int theirs;
	SSL_CTX *client_context;
	SSL *client;
};

static struct rig *rig;

/* --- setting up ---------------------------------------------------------- */

/* Writes a key and a certificate that it signs itself. */
static void make_certificate(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509_NAME *name = X509_get_subject_name(cert);
	FILE *file;

	ck_assert_ptr_nonnull(key);
	ck_assert(ASN1_INTEGER_set(X509_get_serialNumber(cert), 1));
	ck_assert_ptr_nonnull(X509_gmtime_adj(X509_getm_notBefore(cert), 0));
	ck_assert_ptr_nonnull(X509_gmtime_adj(X509_getm_notAfter(cert), 86400));
	ck_assert(X509_set_pubkey(cert, key));
	ck_assert(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
					     (const unsigned char *)"unit", -1,
					     -1, 0));
	ck_assert(X509_set_issuer_name(cert, name));
	ck_assert(X509_sign(cert, key, EVP_sha256()));
	file = fopen(rig->chain, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert(PEM_write_X509(file, cert));
	ck_assert_int_eq(fclose(file), 0);
	file = fopen(rig->key, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL));
	ck_assert_int_eq(fclose(file), 0);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static void open_pair(enum options_tls mode)
{
	const int room = 100000; /* whatever the system's is */
	int pair[2];

	ck_assert_int_eq(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	ck_assert_int_eq(
		setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)),
		0);
	rig->theirs = pair[1];
	ck_assert(
		transport_open(&rig->ours, pair[0], rig->shared, mode, BEGIN));
}

static void set_up_plain(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	rig = calloc(1, sizeof(*rig));
	open_pair(OPTIONS_TLS_DEFAULT);
}

static void set_up_tls(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	rig = calloc(1, sizeof(*rig));
	memcpy(rig->dir, "/tmp/test_transportXXXXXX", 26);
	ck_assert_ptr_nonnull(mkdtemp(rig->dir));
	(void)snprintf(rig->chain, sizeof(rig->chain), "%s/c", rig->dir);
	(void)snprintf(rig->key, sizeof(rig->key), "%s/k", rig->dir);
	make_certificate();
	rig->options = (struct options){
		.tls_enabled = true,
		.tls_chain_file = rig->chain,
		.tls_key_file = rig->key,
		.tls_key_format = 1,
		.tls_min_version = OPTIONS_TLS_1_2,
	};
	log_init(&rig->log, open("/dev/null", O_WRONLY), 1);
	ck_assert_int_eq(tls_new(&rig->options, &rig->log, &rig->tls), 0);
	rig->shared =
		tls_shared_new(rig->tls, &rig->log, &rig->counters, 16384);
	ck_assert_ptr_nonnull(rig->shared);
	open_pair(OPTIONS_TLS_DEFAULT);
	rig->client_context = SSL_CTX_new(TLS_client_method());
	rig->client = SSL_new(rig->client_context);
	ck_assert(SSL_set_fd(rig->client, rig->theirs));
	SSL_set_connect_state(rig->client);
	(void)SSL_set_mode(rig->client,
			   SSL_MODE_ENABLE_PARTIAL_WRITE |
				   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

static void tear_down(void)
{
	transport_close(&rig->ours);
	SSL_free(rig->client);
	SSL_CTX_free(rig->client_context);
	close(rig->theirs);
	free(rig->shared);
	tls_free(rig->tls);
	if (rig->log.fd > 0)
		close(rig->log.fd);
	if (rig->dir[0] != '\0') {
		unlink(rig->chain);
		unlink(rig->key);
		rmdir(rig->dir);
	}
	free(rig);
}

static ssize_t read_ours(char *to, size_t room)
{
	struct iovec iov = {.iov_base = to, .iov_len = room};

	return transport_read(&rig->ours, &iov, 1);
}

static ssize_t send_ours(const char *data, size_t bytes)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data,
			    .iov_len = bytes};

	return transport_send(&rig->ours, &iov, 1);
}

/* Moves both ends until neither has anything to say any more. */
static void shake_hands(void)
{
	char byte;

	for (int i = 0; i < 10; i++) {
		(void)SSL_do_handshake(rig->client);
		ck_assert_int_eq(read_ours(&byte, 1), -1);
		ck_assert_int_eq(errno, EAGAIN);
	}
	ck_assert(SSL_is_init_finished(rig->client));
	ck_assert(rig->ours.tls->deadline == 0);
}

static void client_writes(const char *data, size_t bytes)
{
	ck_assert_int_eq(SSL_write(rig->client, data, (int)bytes), bytes);
}

/* What repeats itself only after a prime number of bytes. */
static char *pattern(size_t bytes)
{
	char *data = malloc(bytes);

	ck_assert_ptr_nonnull(data);
	for (size_t i = 0; i < bytes; i++)
		data[i] = (char)(i % 251);
	return data;
}

static uint64_t counted(enum counter which)
{
	return rig->counters.value[which];
}

/* --- plain --------------------------------------------------------------- */

START_TEST(test_plain_is_the_socket)
{
	char got[8] = "";

	ck_assert_ptr_null(rig->ours.tls);
	ck_assert_int_eq(read_ours(got, sizeof(got)), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(write(rig->theirs, "abc", 3), 3);
	ck_assert(transport_has_unread(&rig->ours));
	ck_assert_int_eq(read_ours(got, sizeof(got)), 3);
	ck_assert_mem_eq(got, "abc", 3);
	ck_assert(!transport_has_unread(&rig->ours));
	ck_assert(!transport_holds_input(&rig->ours));
	ck_assert(!transport_wants_write(&rig->ours));
	ck_assert(!transport_is_late(&rig->ours, BEGIN + 100000));
	ck_assert_int_eq(send_ours("xyz", 3), 3);
	ck_assert_int_eq(read(rig->theirs, got, sizeof(got)), 3);
	ck_assert_mem_eq(got, "xyz", 3);
}
END_TEST

START_TEST(test_plain_ends)
{
	char got[8];

	ck_assert_int_eq(write(rig->theirs, "abc", 3), 3);
	ck_assert(transport_drop_input(&rig->ours));
	ck_assert(transport_drop_input(&rig->ours)); /* nothing there: fine */
	transport_end_sending(&rig->ours);
	ck_assert_int_eq(read(rig->theirs, got, sizeof(got)), 0);
	shutdown(rig->theirs, SHUT_WR);
	ck_assert(!transport_drop_input(&rig->ours));
	ck_assert_int_eq(send_ours("x", 1), -1);
	ck_assert_int_eq(errno, EPIPE);
}
END_TEST

/* --- the handshake ------------------------------------------------------- */

START_TEST(test_handshake_is_part_of_reading)
{
	ck_assert(!transport_is_late(&rig->ours, BEGIN));
	ck_assert(transport_is_late(&rig->ours,
				    BEGIN + TLS_HANDSHAKE_SECONDS + 1));
	shake_hands();
	ck_assert(!transport_is_late(&rig->ours, BEGIN + 100000));
	ck_assert_uint_eq(counted(COUNTER_ssl_new_sessions), 1);
	ck_assert_uint_eq(counted(COUNTER_ssl_handshake_errors), 0);
}
END_TEST

START_TEST(test_handshake_of_something_else_fails_once)
{
	char byte;

	ck_assert_int_eq(write(rig->theirs, "version\r\n", 9), 9);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(read_ours(&byte, 1), -1);
		ck_assert_int_ne(errno, EAGAIN);
		ck_assert_int_eq(send_ours("x", 1), -1);
		ck_assert_int_eq(errno, EPIPE);
	}
	ck_assert_uint_eq(counted(COUNTER_ssl_handshake_errors), 1);
	ck_assert_uint_eq(ERR_peek_error(), 0);
}
END_TEST

START_TEST(test_handshake_that_nobody_goes_on_with)
{
	char byte;

	shutdown(rig->theirs, SHUT_WR);
	ck_assert_int_eq(read_ours(&byte, 1), -1);
	ck_assert_int_ne(errno, EAGAIN);
	ck_assert_uint_eq(counted(COUNTER_ssl_handshake_errors), 1);
}
END_TEST

/* An address without TLS is plain, even if the server has some. */
START_TEST(test_notls_is_plain)
{
	transport_close(&rig->ours);
	close(rig->theirs);
	open_pair(OPTIONS_TLS_OFF);
	ck_assert_ptr_null(rig->ours.tls);
	ck_assert_int_eq(send_ours("x", 1), 1);
}
END_TEST

/* --- reading ------------------------------------------------------------- */

START_TEST(test_read_what_no_event_announces)
{
	char *sent = pattern(1000), got[1000];
	size_t have = 0;

	shake_hands();
	client_writes(sent, 1000);
	ck_assert_int_eq(read_ours(got, 10), 10);
	ck_assert(!transport_has_unread(&rig->ours));
	for (have = 10; have < 1000; have += 10) {
		ck_assert(transport_holds_input(&rig->ours));
		ck_assert_int_eq(read_ours(got + have, 10), 10);
	}
	ck_assert(!transport_holds_input(&rig->ours));
	ck_assert_mem_eq(got, sent, 1000);
	ck_assert_int_eq(read_ours(got, 10), -1);
	ck_assert_int_eq(errno, EAGAIN);
	free(sent);
}
END_TEST

START_TEST(test_read_many_records_into_several_places)
{
	char first[37], second[5000];
	struct iovec iov[] = {{first, sizeof(first)}, {second, sizeof(second)}};
	char *sent = pattern(2000);

	shake_hands();
	for (int i = 0; i < 200; i++)
		client_writes(sent + 10 * i, 10);
	ck_assert_int_eq(transport_read(&rig->ours, iov, 2), 2000);
	ck_assert(!transport_holds_input(&rig->ours));
	ck_assert_mem_eq(first, sent, 37);
	ck_assert_mem_eq(second, sent + 37, 2000 - 37);
	free(sent);
}
END_TEST

/* Half a record is no input: waiting for the rest must not spin. */
START_TEST(test_read_half_a_record)
{
	BIO *memory = BIO_new(BIO_s_mem());
	char *record, got[100];
	long bytes;

	shake_hands();
	SSL_set0_wbio(rig->client, memory);
	client_writes("0123456789", 10);
	bytes = BIO_get_mem_data(memory, &record);
	ck_assert_int_gt(bytes, 10);
	for (long i = 0; i < bytes; i++) {
		ck_assert_int_eq(read_ours(got, sizeof(got)), -1);
		ck_assert_int_eq(errno, EAGAIN);
		ck_assert(!transport_holds_input(&rig->ours));
		ck_assert_int_eq(write(rig->theirs, record + i, 1), 1);
	}
	ck_assert_int_eq(read_ours(got, sizeof(got)), 10);
	ck_assert_mem_eq(got, "0123456789", 10);
}
END_TEST

/* The client's goodbye comes together with its last bytes. */
START_TEST(test_read_the_end_behind_data)
{
	char got[100];

	shake_hands();
	client_writes("abc", 3);
	(void)SSL_shutdown(rig->client);
	ck_assert_int_eq(read_ours(got, sizeof(got)), 3);
	ck_assert(transport_holds_input(&rig->ours));
	ck_assert_int_eq(read_ours(got, sizeof(got)), 0);
	ck_assert(!transport_holds_input(&rig->ours));
	/* It can still be answered. */
	ck_assert_int_eq(send_ours("x", 1), 1);
}
END_TEST

START_TEST(test_read_a_line_that_is_cut)
{
	char got[100];

	shake_hands();
	client_writes("abc", 3);
	shutdown(rig->theirs, SHUT_WR);
	ck_assert_int_eq(read_ours(got, sizeof(got)), 3);
	ck_assert_int_eq(read_ours(got, sizeof(got)), 0);
	ck_assert_uint_eq(counted(COUNTER_ssl_proto_errors), 0);
}
END_TEST

START_TEST(test_read_a_forged_record)
{
	char got[100];

	shake_hands();
	ck_assert_int_eq(write(rig->theirs, "\x17\x03\x03\x00\x20", 5), 5);
	ck_assert_int_eq(
		write(rig->theirs, "0123456789abcdef0123456789abcdef", 32), 32);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(read_ours(got, sizeof(got)), -1);
		ck_assert_int_eq(errno, EPROTO);
	}
	ck_assert_uint_eq(counted(COUNTER_ssl_proto_errors), 1);
	ck_assert_uint_eq(counted(COUNTER_ssl_handshake_errors), 0);
}
END_TEST

/* --- writing ------------------------------------------------------------- */

/* Takes what has arrived; returns how much there is now. */
static size_t client_takes(char *to, size_t have, size_t room)
{
	int got;

	do {
		got = SSL_read(rig->client, to + have, (int)(room - have));
		have += got > 0 ? (size_t)got : 0;
	} while (got > 0 && have < room);
	return have;
}

/* As the output does it: what was sent goes from the front, more may come. */
START_TEST(test_send_goes_on_where_it_was_blocked)
{
	size_t bytes = 8 * 1024 * 1024, sent = 0, have = 0, offered = 300000;
	char *data = pattern(bytes), *got = malloc(bytes);
	int blocked = 0;

	ck_assert_ptr_nonnull(got);
	shake_hands();
	while (sent < bytes) {
		ssize_t part = send_ours(data + sent, offered);

		if (part < 0)
			ck_assert_int_eq(errno, EAGAIN);
		else
			sent += (size_t)part;
		if (part < (ssize_t)offered) {
			blocked++;
			ck_assert_uint_gt(rig->ours.tls->offered, 0);
			/* Less than before is no offer, and does no harm. */
			ck_assert_int_eq(send_ours(data + sent, 1), -1);
			ck_assert_int_eq(errno, EAGAIN);
			have = client_takes(got, have, bytes);
		}
		offered = bytes - sent < 700001 ? bytes - sent : 700001;
	}
	have = client_takes(got, have, bytes);
	ck_assert_uint_eq(have, bytes);
	ck_assert_mem_eq(got, data, bytes);
	ck_assert_int_gt(blocked, 3);
	free(data);
	free(got);
}
END_TEST

/* Pieces of all sizes, cut into records wherever it falls. */
START_TEST(test_send_gathers_pieces)
{
	size_t bytes = 100000, at = 0, size = 1;
	char *data = pattern(bytes), *got = malloc(bytes);
	struct iovec iov[256];
	int count = 0;

	ck_assert_ptr_nonnull(got);
	shake_hands();
	while (at < bytes) {
		if (size > bytes - at)
			size = bytes - at;
		iov[count].iov_base = data + at;
		iov[count++].iov_len = size;
		at += size;
		size = size * 7 % 20011;
	}
	ck_assert_int_eq(transport_send(&rig->ours, iov, count), bytes);
	ck_assert_uint_eq(client_takes(got, 0, bytes), bytes);
	ck_assert_mem_eq(got, data, bytes);
	free(data);
	free(got);
}
END_TEST

START_TEST(test_send_to_nobody)
{
	shake_hands();
	shutdown(rig->theirs, SHUT_RDWR);
	ck_assert_int_eq(send_ours("x", 1), -1);
	ck_assert_int_ne(errno, EAGAIN);
}
END_TEST

START_TEST(test_end_sending_says_goodbye)
{
	char got[8];

	shake_hands();
	ck_assert_int_eq(send_ours("abc", 3), 3);
	transport_end_sending(&rig->ours);
	ck_assert_int_eq(SSL_read(rig->client, got, sizeof(got)), 3);
	ck_assert_int_eq(SSL_read(rig->client, got, sizeof(got)), 0);
	ck_assert_int_eq(SSL_get_error(rig->client, 0), SSL_ERROR_ZERO_RETURN);
	/* What still comes is dropped without a look at it. */
	ck_assert_int_eq(write(rig->theirs, "garbage", 7), 7);
	ck_assert(transport_drop_input(&rig->ours));
	shutdown(rig->theirs, SHUT_WR);
	ck_assert(!transport_drop_input(&rig->ours));
}
END_TEST

/* --- reading the files again --------------------------------------------- */

START_TEST(test_refresh_changes_new_sessions_only)
{
	int64_t before_us = clock_monotonic_us();

	shake_hands();
	ck_assert_int_eq(tls_refresh(rig->tls), 0);
	ck_assert_int_eq(send_ours("abc", 3), 3);
	ck_assert_int_eq(unlink(rig->key), 0);
	ck_assert_int_lt(tls_refresh(rig->tls), 0);
	/* Those of before are still good for new ones. */
	transport_close(&rig->ours);
	close(rig->theirs);
	open_pair(OPTIONS_TLS_DEFAULT);
	SSL_free(rig->client);
	rig->client = SSL_new(rig->client_context);
	ck_assert(SSL_set_fd(rig->client, rig->theirs));
	SSL_set_connect_state(rig->client);
	shake_hands();
	ck_assert_uint_le(tls_age_seconds(rig->tls),
			  (clock_monotonic_us() - before_us) / 1000000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("transport");
	TCase *plain = tcase_create("plain"), *tls = tcase_create("tls");

	tcase_add_checked_fixture(plain, set_up_plain, tear_down);
	tcase_add_test(plain, test_plain_is_the_socket);
	tcase_add_test(plain, test_plain_ends);
	suite_add_tcase(suite, plain);
	tcase_add_checked_fixture(tls, set_up_tls, tear_down);
	tcase_add_test(tls, test_handshake_is_part_of_reading);
	tcase_add_test(tls, test_handshake_of_something_else_fails_once);
	tcase_add_test(tls, test_handshake_that_nobody_goes_on_with);
	tcase_add_test(tls, test_notls_is_plain);
	tcase_add_test(tls, test_read_what_no_event_announces);
	tcase_add_test(tls, test_read_many_records_into_several_places);
	tcase_add_test(tls, test_read_half_a_record);
	tcase_add_test(tls, test_read_the_end_behind_data);
	tcase_add_test(tls, test_read_a_line_that_is_cut);
	tcase_add_test(tls, test_read_a_forged_record);
	tcase_add_test(tls, test_send_goes_on_where_it_was_blocked);
	tcase_add_test(tls, test_send_gathers_pieces);
	tcase_add_test(tls, test_send_to_nobody);
	tcase_add_test(tls, test_end_sending_says_goodbye);
	tcase_add_test(tls, test_refresh_changes_new_sessions_only);
	suite_add_tcase(suite, tls);
	return run_suite(suite);
}
