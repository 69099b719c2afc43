<?php
/*
 * PHP's session handlers: php_session.php HOST PORT HANDLER [TEXT OPTION].
 *
 * Three requests on one session: the second sees what the first one wrote, the
 * third that the second one destroyed it. Handlers are taken with their
 * defaults, locks included; with an option named, that one is turned off.
 * Prints "ok".
 */
[, $host, $port, $handler] = $argv;
$scheme = $handler == 'memcache' ? 'tcp://' : '';
ini_set('session.save_handler', $handler);
$patience = $handler == 'memcache' ? '?timeout=' . getenv('PATIENCE_S') : '';
ini_set('session.save_path', "$scheme$host:$port$patience");
ini_set('session.use_cookies', '0');
ini_set('session.cache_limiter', '');
if (isset($argv[4]))
	ini_set($argv[4], '0');

function request($change)
{
	session_id('abcdefghijklmnopqrstuvwxyz');
	if (!session_start())
		echo "session_start failed\n";
	$seen = $_SESSION['count'] ?? null;
	$change();
	return $seen;
}

$first = request(function () {
	$_SESSION['count'] = 1;
	session_write_close();
});
$second = request('session_destroy');
$third = request('session_write_close');
echo [$first, $second, $third] === [null, 1, null] ? "ok\n"
	: "saw " . json_encode([$first, $second, $third]) . "\n";
