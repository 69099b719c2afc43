<?php
/*
 * PHP's session handler of php-memcached, in text mode: two requests on one
 * session, the second sees what the first one wrote.
 *
 * Usage: php session.php <host> <port>. Prints "ok".
 */
ini_set('session.save_handler', 'memcached');
ini_set('session.save_path', "$argv[1]:$argv[2]");
ini_set('session.use_cookies', '0');
ini_set('session.cache_limiter', '');
ini_set('memcached.sess_binary_protocol', '0');
ini_set('memcached.sess_locking', '1');
ini_set('memcached.sess_lock_expire', '20');

session_id('abcdefghijklmnopqrstuvwxyz');
session_start();
$_SESSION['count'] = 1;
session_write_close();

session_id('abcdefghijklmnopqrstuvwxyz');
session_start();
$count = $_SESSION['count'] ?? null;
session_destroy();

session_id('abcdefghijklmnopqrstuvwxyz');
session_start();
$after = $_SESSION['count'] ?? null;
session_write_close();
echo $count === 1 && $after === null ? "ok\n" : "failed: $count, $after\n";
