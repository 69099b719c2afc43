<?php
/*
 * Logs in by SASL: login.php HOST PORT USER PASSWORD, without a user not at
 * all. Says "ok" or "refused", as described in test_login.py.
 */
[, $host, $port, $user, $password] = $argv;
$m = new Memcached();
$m->setOption(Memcached::OPT_BINARY_PROTOCOL, true);
$patience = getenv('PATIENCE_S') * 1000;
$m->setOption(Memcached::OPT_POLL_TIMEOUT, $patience);
$m->setOption(Memcached::OPT_CONNECT_TIMEOUT, $patience);
if ($user != '')
	$m->setSaslAuthData($user, $password);
$m->addServer($host, (int)$port);
$items = [];
for ($i = 0; $i < 50; $i++)
	$items["key$i"] = $i;
$stored = $m->setMulti($items) && $m->getMulti(array_keys($items)) == $items
	&& $m->get('none') === false
	&& $m->getResultCode() == Memcached::RES_NOTFOUND;
echo $stored ? "ok\n" : "refused\n";
