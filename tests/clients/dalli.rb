# One round of Dalli: dalli.rb HOST PORT.
#
# Dalli 3.0 speaks nothing but binary. What it prints and leaves behind is
# described in conftest.py.
require "dalli"

$failures = 0

def check(what, got, wanted)
  return if got == wanted
  $failures += 1
  puts "#{what}: got #{got.inspect[0, 200]}, wanted #{wanted.inspect[0, 200]}"
end

def raises?(error)
  yield
  false
rescue error
  true
end

Dalli.logger.level = Logger::FATAL
server = ARGV[0, 2].join(":")
d = Dalli::Client.new(server, compress: false,
                                socket_timeout: ENV["PATIENCE_S"].to_i,
                                value_max_bytes: 2 << 20)

check "set", d.set("k", "value").is_a?(Integer), true
check "get", d.get("k"), "value"
check "get none", d.get("none"), nil
check "objects", d.set("list", [1, :two, nil]).is_a?(Integer), true
check "objects back", d.get("list"), [1, :two, nil]
check "add", d.add("k", "x"), false
check "add new", d.add("new", "b", 0, raw: true).is_a?(Integer), true
check "replace none", d.replace("none", "x"), 0
check "replace", d.replace("new", "bb", 0, raw: true).is_a?(Integer), true
check "append", d.append("new", "c"), true
check "prepend", d.prepend("new", "a"), true
check "appended", d.get("new", raw: true), "abbc"
check "append none", d.append("none", "c"), false

check "incr none", d.incr("none"), nil
check "incr with default", d.incr("n", 1, 0, 70), 70
check "incr", d.incr("n", 31), 101
check "decr", d.decr("n"), 100
check "as text", d.get("n", raw: true), "100"
check "not below 0", d.decr("n", 1000), 0

check "cas", d.cas("k") { |value| value + "!" }.is_a?(Integer), true
check "cas kept", d.get("k"), "value!"
check "cas none", d.cas("none") { |_| 1 }, nil
conflict = d.cas("k") do |_|
  d.set("k", "between")
  "late"
end
check "cas conflict", conflict, false
value, cas = d.get_cas("k")
check "get_cas", value, "between"
check "set_cas", d.set_cas("k", "cas", cas).is_a?(Integer), true
check "set_cas again", d.set_cas("k", "late", cas), false
check "delete_cas", d.delete_cas("k", cas), false
check "delete_cas, right", d.delete_cas("k", d.get_cas("k")[1]), true

check "touch", d.touch("n", 1000), true
check "touch none", d.touch("none", 1000), nil
check "gat", d.gat("list", 1000), [1, :two, nil]
check "gat none", d.gat("none", 1000), nil
check "delete", d.delete("list"), true
check "delete again", d.delete("list"), nil
check "fetch", d.fetch("fetched") { 7 }, 7
check "fetch again", d.fetch("fetched") { 8 }, 7

many = (1..500).to_h { |i| ["key#{i}", "v" * i] }
d.multi { many.each { |key, each| d.set(key, each) } }
check "get_multi", d.get_multi(many.keys + ["none"]), many
d.multi do
  d.delete("key1")
  d.incr("n", 1, 0, 0)
end
check "quiet delete", d.get("key1"), nil

check "version", d.version[server].match?(/\A\d+\.\d+\.\d+\z/), true
check "stats", d.stats[server]["pid"].to_i > 1, true
check "stats settings", d.stats(:settings)[server].key?("maxconns"), true
check "flush", d.flush, [true]
check "flushed", d.get("k"), nil

large = "x" * 500_000
check "large", d.set("large", large, 0, raw: true).is_a?(Integer), true
check "large back", d.get("large", raw: true) == large, true
check "too large", raises?(Dalli::DalliError) {
  d.set("large", "x" * ((1 << 20) + 1), 0, raw: true)
}, true
check "in step", d.get("none"), nil
check "brief", d.set("brief", 1, 1).is_a?(Integer), true
check "lasting", d.set("lasting", 1, 1000).is_a?(Integer), true
d.close

puts "ok" if $failures.zero?
exit $failures.zero?
