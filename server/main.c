/*
 * main.c - command line in, exit status out. The only file that ends the
 * process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "server/daemon.h"
#include "server/options.h"
#include "server/server.h"

static int run(const struct options *options)
{
	struct daemon daemon = DAEMON_FOREGROUND;
	bool abandoned = false;
	int status;

	if (options->daemonize) {
		switch (daemon_detach(&daemon, &status)) {
		case DAEMON_CHILD:
			break;
		case DAEMON_LEAVE:
			if (status == DAEMON_DIED)
				fputs("memcachedb: died while starting\n",
				      stderr);
			_exit(status);
		case DAEMON_ERROR:
			perror("memcachedb: cannot go to the background");
			return EX_OSERR;
		}
	}
	status = server_run(options, &daemon, &abandoned);
	daemon_failed(&daemon, status);
	if (abandoned)
		_exit(status);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	int status;

	switch (options_parse(argc, argv, stdout, stderr, &options)) {
	case OPTIONS_RUN:
		break;
	case OPTIONS_DONE:
		return fflush(stdout) == 0 ? EXIT_SUCCESS : EX_IOERR;
	case OPTIONS_REFUSED:
		return EX_USAGE;
	}
	status = run(&options);
	options_free(&options);
	return status;
}
