/*
 * login_thread.c - see login_thread.h.
 */
#include "server/login_thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/spawn.h"
#include "server/worker.h"

/* How long login_thread_stop() waits, and how often it looks. */
#define STOP_ROUNDS   500
#define STOP_ROUND_NS 2000000

struct login_thread {
	pthread_t thread;
	pthread_mutex_t lock; /* protects what follows, up to `finished` */
	pthread_cond_t more;
	struct checked_list queue;
	struct authfile *next_file; /* to be used from now on, or NULL */
	bool stopping;
	bool finished;

	/* The thread's own. */
	struct authfile *file;
	struct authfile_checker *checker;
	struct login_sasl *sasl;
};

/* --- attempts ----------------------------------------------------------- */

struct login_attempt *login_attempt_new(size_t room)
{
	struct login_attempt *attempt = calloc(1, sizeof(*attempt) + room);

	if (attempt != NULL)
		attempt->bytes = room;
	return attempt;
}

/* Wipes what may be a password. */
static void wipe(struct login_attempt *attempt)
{
	explicit_bzero(attempt->data, attempt->bytes);
	attempt->bytes = 0;
}

static void attempt_free(struct login_attempt *attempt)
{
	login_sasl_free(attempt->exchange);
	wipe(attempt);
	free(attempt->answer);
	free(attempt);
}

/* --- the checks --------------------------------------------------------- */

static void deny(struct login_attempt *attempt, const char *why)
{
	attempt->verdict = LOGIN_DENIED;
	(void)snprintf(attempt->why, sizeof(attempt->why), "%s", why);
}

static void check_password(struct login_thread *thread,
			   struct login_attempt *attempt)
{
	const char *blank = memchr(attempt->data, ' ', attempt->bytes);
	struct proto_slice user = {attempt->data,
				   (size_t)(blank - attempt->data)};
	struct proto_slice password = {blank + 1,
				       attempt->bytes - user.len - 1};

	/* A longer one is in no file. */
	static_assert(AUTHFILE_NAME_MAX <= LOGIN_USER_MAX, "names must fit");
	if (user.len <= LOGIN_USER_MAX)
		memcpy(attempt->user, user.data, user.len);
	if (authfile_check(thread->file, thread->checker, user, password))
		attempt->verdict = LOGIN_GRANTED;
	else
		deny(attempt, "no such user and password");
}

/* Keeps what the client is to be sent: the library's memory does not last. */
static void keep_answer(struct login_attempt *attempt,
			struct proto_slice answer)
{
	attempt->verdict = LOGIN_MORE;
	attempt->answer = malloc(answer.len + 1);
	if (attempt->answer == NULL) {
		deny(attempt, "out of memory");
		return;
	}
	if (answer.len > 0)
		memcpy(attempt->answer, answer.data, answer.len);
	attempt->answer_bytes = answer.len;
}

/* Of PLAIN, for the log: what is between the first NUL and the second. */
static void note_user(struct login_attempt *attempt)
{
	const char *end = attempt->data + attempt->bytes;
	const char *start = memchr(attempt->data, '\0', attempt->bytes);
	const char *stop = NULL;

	if (strcmp(attempt->mechanism, "PLAIN") != 0 || start == NULL)
		return;
	start++;
	stop = memchr(start, '\0', (size_t)(end - start));
	if (stop != NULL && (size_t)(stop - start) < sizeof(attempt->user))
		memcpy(attempt->user, start, (size_t)(stop - start));
}

static void check_sasl(struct login_thread *thread,
		       struct login_attempt *attempt)
{
	struct proto_slice message = {attempt->data, attempt->bytes};
	struct login_sasl_said said;
	enum login_sasl_state state;

	if (attempt->kind == LOGIN_STEP && attempt->exchange == NULL) {
		deny(attempt, "it was not begun");
		return;
	}
	note_user(attempt);
	if (attempt->kind == LOGIN_BEGIN)
		state = login_sasl_begin(thread->sasl, attempt->mechanism,
					 message, &attempt->exchange, &said);
	else
		state = login_sasl_go_on(attempt->exchange, message, &said);
	switch (state) {
	case LOGIN_SASL_DONE:
		attempt->verdict = LOGIN_GRANTED;
		if (!login_sasl_user(attempt->exchange, attempt->user))
			deny(attempt, "the name is too long");
		break;
	case LOGIN_SASL_MORE:
		keep_answer(attempt, said.answer);
		break;
	case LOGIN_SASL_FAILED:
		deny(attempt, said.why);
		break;
	}
	if (attempt->verdict != LOGIN_MORE) {
		login_sasl_free(attempt->exchange);
		attempt->exchange = NULL;
	}
}

static void check(struct login_thread *thread, struct login_attempt *attempt)
{
	switch (attempt->kind) {
	case LOGIN_PASSWORD:
		check_password(thread, attempt);
		break;
	case LOGIN_BEGIN:
	case LOGIN_STEP:
		check_sasl(thread, attempt);
		break;
	case LOGIN_FORGET:
		break;
	}
	wipe(attempt);
}

/* --- the loop ----------------------------------------------------------- */

/* Waits for an attempt. NULL: it is time to end. The lock is held. */
static struct login_attempt *take_next(struct login_thread *thread)
{
	struct login_attempt *attempt;

	while (STAILQ_EMPTY(&thread->queue) && !thread->stopping)
		(void)pthread_cond_wait(&thread->more, &thread->lock);
	if (thread->next_file != NULL) {
		authfile_free(thread->file);
		thread->file = thread->next_file;
		thread->next_file = NULL;
	}
	if (thread->stopping)
		return NULL;
	attempt = STAILQ_FIRST(&thread->queue);
	STAILQ_REMOVE_HEAD(&thread->queue, link);
	return attempt;
}

static void *thread_main(void *arg)
{
	struct login_thread *thread = arg;
	struct login_attempt *attempt;

	(void)pthread_mutex_lock(&thread->lock);
	while ((attempt = take_next(thread)) != NULL) {
		bool forget = attempt->kind == LOGIN_FORGET;

		(void)pthread_mutex_unlock(&thread->lock);
		check(thread, attempt);
		(void)pthread_mutex_lock(&thread->lock);
		/* Under the lock: later on the workers are gone. */
		if (forget || thread->stopping)
			attempt_free(attempt);
		else
			worker_post_login(attempt->worker, attempt);
	}
	thread->finished = true;
	(void)pthread_mutex_unlock(&thread->lock);
	return NULL;
}

/* --- what others call --------------------------------------------------- */

void login_thread_submit(struct login_thread *thread,
			 struct login_attempt *attempt)
{
	(void)pthread_mutex_lock(&thread->lock);
	STAILQ_INSERT_TAIL(&thread->queue, attempt, link);
	(void)pthread_cond_signal(&thread->more);
	(void)pthread_mutex_unlock(&thread->lock);
}

void login_thread_drop(struct login_thread *thread,
		       struct login_attempt *attempt)
{
	if (attempt == NULL)
		return;
	if (attempt->exchange == NULL) {
		attempt_free(attempt);
		return;
	}
	/* Only the thread may call the library, also to free something. */
	attempt->kind = LOGIN_FORGET;
	login_thread_submit(thread, attempt);
}

void login_thread_set_file(struct login_thread *thread, struct authfile *file)
{
	struct authfile *unused;

	(void)pthread_mutex_lock(&thread->lock);
	unused = thread->next_file;
	thread->next_file = file;
	(void)pthread_mutex_unlock(&thread->lock);
	authfile_free(unused);
}

const struct login_sasl *login_thread_sasl(const struct login_thread *thread)
{
	return thread->sasl;
}

int login_thread_start(struct authfile *file, struct login_sasl *sasl,
		       struct login_thread **ret)
{
	struct login_thread *thread = calloc(1, sizeof(*thread));
	int err = -ENOMEM;

	if (thread == NULL)
		goto out;
	thread->checker = authfile_checker_new();
	if (thread->checker == NULL)
		goto out_free;
	STAILQ_INIT(&thread->queue);
	thread->file = file;
	thread->sasl = sasl;
	(void)pthread_mutex_init(&thread->lock, NULL);
	(void)pthread_cond_init(&thread->more, NULL);
	err = spawn_thread(&thread->thread, "login", thread_main, thread);
	if (err == 0) {
		*ret = thread;
		return 0;
	}
	(void)pthread_cond_destroy(&thread->more);
	(void)pthread_mutex_destroy(&thread->lock);
	authfile_checker_free(thread->checker);
out_free:
	free(thread);
out:
	authfile_free(file);
	login_sasl_close(sasl);
	return err;
}

static bool is_finished(struct login_thread *thread)
{
	bool finished;

	(void)pthread_mutex_lock(&thread->lock);
	finished = thread->finished;
	(void)pthread_mutex_unlock(&thread->lock);
	return finished;
}

bool login_thread_stop(struct login_thread *thread)
{
	const struct timespec pause = {.tv_nsec = STOP_ROUND_NS};

	if (thread == NULL)
		return true;
	(void)pthread_mutex_lock(&thread->lock);
	thread->stopping = true;
	(void)pthread_cond_signal(&thread->more);
	(void)pthread_mutex_unlock(&thread->lock);
	for (int i = 0; i < STOP_ROUNDS && !is_finished(thread); i++)
		(void)nanosleep(&pause, NULL);
	if (!is_finished(thread)) {
		(void)pthread_detach(thread->thread);
		return false;
	}
	(void)pthread_join(thread->thread, NULL);
	return true;
}

void login_thread_free(struct login_thread *thread)
{
	struct login_attempt *attempt;

	if (thread == NULL)
		return;
	while ((attempt = STAILQ_FIRST(&thread->queue)) != NULL) {
		STAILQ_REMOVE_HEAD(&thread->queue, link);
		attempt_free(attempt);
	}
	(void)pthread_cond_destroy(&thread->more);
	(void)pthread_mutex_destroy(&thread->lock);
	authfile_free(thread->next_file);
	authfile_free(thread->file);
	authfile_checker_free(thread->checker);
	login_sasl_close(thread->sasl);
	free(thread);
}
