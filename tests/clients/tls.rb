# Dalli by TLS: tls.rb HOST PORT CERTIFICATE. Says "ok" or "refused", as
# described in test_tls.py. Its get_multi cannot do TLS in this version.
require "dalli"

host, port, certificate = ARGV
Dalli.logger.level = Logger::FATAL
context = OpenSSL::SSL::SSLContext.new
context.ca_file = certificate
context.verify_mode = OpenSSL::SSL::VERIFY_PEER
d = Dalli::Client.new("#{host}:#{port}", ssl_context: context, compress: false,
                                         socket_timeout: ENV["PATIENCE_S"].to_i)
items = (0...50).to_h { |i| ["key#{i}", "v" * i * 1000] }
begin
  d.set("key0", "") # in a batch it would swallow the refusal
  d.multi { items.each { |key, value| d.set(key, value) } }
  right = items.all? { |key, value| d.get(key) == value } && d.get("none").nil?
  puts right ? "ok" : "wrong"
rescue Dalli::DalliError, OpenSSL::SSL::SSLError
  puts "refused"
end
