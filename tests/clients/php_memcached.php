<?php
/*
 * One round of php-memcached: php_memcached.php HOST PORT text|binary.
 *
 * What it prints and leaves behind is described in conftest.py.
 */
$failures = 0;

function check($what, $got, $wanted)
{
	global $failures;
	if ($got !== $wanted) {
		$failures++;
		echo "$what: got ", var_export($got, true), ", wanted ",
			var_export($wanted, true), "\n";
	}
}

[, $host, $port, $dialect] = $argv;
$binary = $dialect == 'binary';
$m = new Memcached();
$m->setOption(Memcached::OPT_BINARY_PROTOCOL, $binary);
$patience = getenv('PATIENCE_S') * 1000;
$m->setOption(Memcached::OPT_POLL_TIMEOUT, $patience);
$m->setOption(Memcached::OPT_CONNECT_TIMEOUT, $patience);
$m->addServer($host, (int)$port);

check('set', $m->set('k', 'value'), true);
check('get', $m->get('k'), 'value');
check('get none', $m->get('none'), false);
check('not found', $m->getResultCode(), Memcached::RES_NOTFOUND);
check('setMulti', $m->setMulti(['a' => 1, 'b' => [2], 'c' => 3.5]), true);
check('getMulti', $m->getMulti(['a', 'b', 'c', 'none']),
	['a' => 1, 'b' => [2], 'c' => 3.5]);
check('add', $m->add('a', 2), false);
check('not stored', $m->getResultCode(),
	$binary ? Memcached::RES_DATA_EXISTS : Memcached::RES_NOTSTORED);
check('replace', $m->replace('none', 2), false);
check('increment', $m->increment('a', 41), 42);
check('decrement', $m->decrement('a', 33), 9);
check('number without blanks', $m->get('a'), 9);
if ($binary) {
	check('initial', $m->increment('fresh', 1, 70), 70);
	check('not below 0', $m->decrement('fresh', 100, 70), 0);
} else {
	check('increment none', $m->increment('none'), false);
}

$m->setOption(Memcached::OPT_COMPRESSION, false);
$m->set('text', 'b');
check('append', $m->append('text', 'c'), true);
check('prepend', $m->prepend('text', 'a'), true);
check('appended', $m->get('text'), 'abc');
$m->setOption(Memcached::OPT_COMPRESSION, true);

$got = $m->get('a', null, Memcached::GET_EXTENDED);
check('cas', $m->cas($got['cas'], 'a', 10), true);
check('cas again', $m->cas($got['cas'], 'a', 11), false);
check('exists', $m->getResultCode(), Memcached::RES_DATA_EXISTS);

check('touch', $m->touch('a', 1000), true);
check('touch none', $m->touch('none', 1000), false);
check('delete', $m->delete('a'), true);
check('delete again', $m->delete('a'), false);
check('deleteMulti', $m->deleteMulti(['b', 'c']), ['b' => true, 'c' => true]);
check('dead on arrival', $m->set('dead', 1, 2592001), true);
check('dead', $m->get('dead'), false);

$server = "$host:$port";
$version = $m->getVersion()[$server];
check('version', preg_match('/^\d+\.\d+\.\d+$/', $version), 1);
$stats = $m->getStats()[$server];
check('stats version', $stats['version'], $version);
check('stats pid', (int)$stats['pid'] > 0, true);

$keys = [];
for ($i = 0; $i < 300; $i++)
	$keys["key$i"] = str_repeat('v', $i);
check('many', $m->setMulti($keys), true);
check('many back', $m->getMulti(array_keys($keys)) == $keys, true);

check('getDelayed', $m->getDelayed(['key1', 'none', 'key2'], true), true);
$delayed = [];
foreach ($m->fetchAll() as $each)
	$delayed[$each['key']] = $each['value'];
check('fetchAll', $delayed, ['key1' => 'v', 'key2' => 'vv']);

$m->setOption(Memcached::OPT_BUFFER_WRITES, true);
check('many, buffered', $m->setMulti($keys), true);
check('many, buffered, back', $m->getMulti(array_keys($keys)) == $keys, true);
$m->setOption(Memcached::OPT_BUFFER_WRITES, false);

check('flush', $m->flush(), true);
check('flushed', $m->get('k'), false);

$m->setOption(Memcached::OPT_COMPRESSION, false);
$large = str_repeat(md5('x') . "\r\nEND\r\n", 12000);
check('large', $m->set('large', $large), true);
check('large back', $m->get('large') === $large, true);
check('too large', $m->set('large', str_repeat('x', 1048577)), false);
check('brief', $m->set('brief', 1, 1), true);
check('lasting', $m->set('lasting', 1, 1000), true);

$m->quit();
if ($failures == 0)
	echo "ok\n";
exit($failures ? 1 : 0);
