# Logs in by SASL: login.rb HOST PORT USER PASSWORD, without a user not at all.
# Says "ok" or "refused", as described in test_login.py.
require "dalli"

host, port, user, password = ARGV
Dalli.logger.level = Logger::FATAL
options = user.empty? ? {} : { username: user, password: password }
d = Dalli::Client.new("#{host}:#{port}", **options,
                       socket_timeout: ENV["PATIENCE_S"].to_i)
items = (0...50).to_h { |i| ["key#{i}", i] }
begin
  d.set("key0", 0) # in a batch it would swallow the refusal
  d.multi { items.each { |key, value| d.set(key, value) } }
  right = d.get_multi(items.keys) == items && d.get("none").nil?
  puts right ? "ok" : "wrong"
rescue Dalli::DalliError
  puts "refused"
end
