<?php
/*
 * One round of php-memcache, the older of PHP's two clients:
 * php_memcache.php HOST PORT text|binary.
 *
 * It drops a server after an answer it did not expect, so each failure is
 * followed by proof that the next command works. What it prints and leaves
 * behind is described in conftest.py.
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
ini_set('memcache.protocol', $dialect == 'binary' ? 'binary' : 'ascii');
ini_set('memcache.compress_threshold', '0');
$m = new MemcachePool();
// no UDP, persistent, of weight 1, and patient: else its timeout is 1 s
$patience = (int)getenv('PATIENCE_S');
check('connect', $m->connect($host, (int)$port, 0, true, 1, $patience), true);

check('set', $m->set('k', 'value'), true);
check('get', $m->get('k'), 'value');
check('get none', $m->get('none'), false);
check('types', $m->set('list', [1, 'two']), true);
check('types back', $m->get(['k', 'list', 'none']),
	['k' => 'value', 'list' => [1, 'two']]);
check('add', $m->add('k', 'x'), false);
check('add new', $m->add('new', 'b'), true);
check('replace', $m->replace('new', 'bb'), true);
check('append', $m->append('new', 'c'), true);
check('prepend', $m->prepend('new', 'a'), true);
check('appended', $m->get('new'), 'abbc');
check('number', $m->set('n', 41), true);
check('increment', $m->increment('n', 60), 101);
check('decrement', $m->decrement('n'), 100);
check('delete', $m->delete('n'), true);
check('delete again', $m->delete('n'), false);
check('still there', $m->get('k'), 'value');

$flags = $cas = null;
check('get for cas', $m->get('k', $flags, $cas), 'value');
check('cas', $m->cas('k', 'other', 0, 0, $cas), true);
check('cas again', $m->cas('k', 'third', 0, 0, $cas), false);
check('cas kept', $m->get('k'), 'other');
check('dead on arrival', $m->set('dead', 1, 0, 2592001), true);
check('dead', $m->get('dead'), false);

$keys = [];
for ($i = 0; $i < 100; $i++) {
	$keys["key$i"] = str_repeat('v', $i);
	$m->set("key$i", $keys["key$i"]);
}
check('many back', $m->get(array_keys($keys)) == $keys, true);

check('version', preg_match('/^\d+\.\d+\.\d+/', $m->getVersion()), 1);
if ($dialect == 'text') // it knows no binary stats
	check('stats pid', (int)$m->getStats()['pid'] > 0, true);
check('flush', $m->flush(), true);
check('flushed', $m->get('k'), false);

$large = str_repeat(md5('x') . "\r\nEND\r\n", 12000);
check('large', $m->set('large', $large), true);
check('large back', $m->get('large') === $large, true);
check('too large', @$m->set('large', str_repeat('x', 1048577)), false);
check('brief', $m->set('brief', 1, 0, 1), true);
check('lasting', $m->set('lasting', 1, 0, 1000), true);

$m->close();
if ($failures == 0)
	echo "ok\n";
exit($failures ? 1 : 0);
