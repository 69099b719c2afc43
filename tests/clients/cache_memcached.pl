# One round of Perl's Cache::Memcached or Cache::Memcached::Fast:
# cache_memcached.pl HOST PORT [Fast].
#
# What both can do, then what only Fast can. What it prints and leaves behind
# is described in conftest.py.
use strict;
use warnings;
use Data::Dumper;

my ($host, $port, $fast) = @ARGV;
my $patience = $ENV{PATIENCE_S};
my $module = $fast ? 'Cache::Memcached::Fast' : 'Cache::Memcached';
eval "require $module" or die $@;
my $m = $module->new({
	servers => ["$host:$port"], connect_timeout => $patience,
	($fast ? 'io_timeout' : 'select_timeout') => $patience});
my $failures = 0;

sub check {
	my ($what, $got, $wanted) = @_;
	local ($Data::Dumper::Terse, $Data::Dumper::Indent,
		$Data::Dumper::Sortkeys, $Data::Dumper::Useqq) = (1, 0, 1, 1);
	# a number and its digits are the same to Perl, and to us
	my ($is, $should) = map { my $text = Dumper($_); $text =~ s/"(\d+)"/$1/g;
		$text } $got, $wanted;
	return if $is eq $should;
	$failures++;
	print "$what: got ", substr($is, 0, 200), ", wanted ",
		substr($should, 0, 200), "\n";
}

sub check_true {
	my ($what, $got) = @_;
	check($what, $got ? 1 : 0, 1);
}

check_true('set', $m->set('k', 'value'));
check('get', $m->get('k'), 'value');
check('get none', $m->get('none'), undef);
check_true('structure', $m->set('list', [1, {two => 2}]));
check('get_multi', $m->get_multi('k', 'list', 'none'),
	{k => 'value', list => [1, {two => 2}]});
check_true('add', !$m->add('k', 'x'));
check_true('add new', $m->add('new', 'b'));
check_true('replace none', !$m->replace('none', 'x'));
check_true('replace', $m->replace('new', 'bb'));
check_true('append', $m->append('new', 'c'));
check_true('prepend', $m->prepend('new', 'a'));
check('appended', $m->get('new'), 'abbc');
check_true('number', $m->set('n', 70));
check('incr', $m->incr('n', 31), 101);
check('decr', $m->decr('n'), 100);
check_true('incr none', !$m->incr('none'));
check_true('dead on arrival', $m->set('dead', 1, 2592001));
check('dead', $m->get('dead'), undef);
check_true('delete', $m->delete('list'));
check_true('delete again', !$m->delete('list'));

my %many = map { ("key$_" => 'v' x $_) } 1 .. 300;
$m->set($_, $many{$_}) for keys %many;
check('many', $m->get_multi(keys %many), \%many);

if ($fast) {
	my $pair = $m->gets('k');
	check('gets', $pair->[1], 'value');
	check_true('cas', $m->cas('k', $pair->[0], 'other'));
	check_true('cas again', !$m->cas('k', $pair->[0], 'late'));
	check_true('touch', $m->touch('k', 1000));
	check_true('touch none', !$m->touch('none', 1000));
	check('gat', $m->gat(1000, 'k'), 'other');
	check('gats', $m->gats(1000, 'k')->[1], 'other');
	check('gat_multi', $m->gat_multi(1000, 'key1', 'none', 'key2'),
		{key1 => 'v', key2 => 'vv'});
	check('set_multi', [$m->set_multi(['a', 1], ['b', 2])], [1, 1]);
	check('incr_multi', scalar $m->incr_multi('a', 'b'), {a => 2, b => 3});
	$m->set('quiet', 1);    # in void context without a reply
	$m->add('quiet', 2);
	$m->incr('quiet', 6);
	$m->delete('a');
	$m->nowait_push;
	check('without a reply', $m->get_multi('quiet', 'a'), {quiet => 7});
	my ($version) = values %{$m->server_versions};
	check_true('version', $version =~ /^\d+\.\d+\.\d+$/);
} else {
	my $stats = $m->stats(['misc', 'malloc', 'items', 'slabs']);
	check_true('stats', $stats->{hosts}{"$host:$port"}{misc}{pid} > 1);
}

check_true('flush_all', $m->flush_all);
check('flushed', $m->get('k'), undef);

my $large = 'x' x 500_000;
check_true('large', $m->set('large', $large));
check_true('large back', $m->get('large') eq $large);
check_true('too large', !$m->set('large', 'x' x ((1 << 20) + 1)));
check('in step', $m->get('none'), undef);
check_true('brief', $m->set('brief', 1, 1));
check_true('lasting', $m->set('lasting', 1, 1000));
$m->disconnect_all;

print "ok\n" if $failures == 0;
exit($failures ? 1 : 0);
