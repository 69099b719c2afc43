/*
 * spymemcached logs in by SASL: java Login HOST PORT USER PASSWORD PATIENCE_MS,
 * without a user not at all. Says "ok" or "refused", as described in
 * test_login.py.
 */
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;

import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.auth.AuthDescriptor;
import net.spy.memcached.auth.PlainCallbackHandler;

class Login {
	private static boolean round(MemcachedClient client) throws Exception {
		Map<String, Object> items = new HashMap<>();

		for (int i = 0; i < 50; i++) {
			items.put("key" + i, i);
			if (!client.set("key" + i, 0, i).get())
				return false;
		}
		return client.getBulk(items.keySet()).equals(items)
			&& client.get("none") == null;
	}

	private static boolean tryRound(MemcachedClient client) {
		try {
			return round(client);
		} catch (Exception refusal) {
			return false;
		}
	}

	public static void main(String[] words) throws Exception {
		ConnectionFactoryBuilder how = new ConnectionFactoryBuilder()
			.setProtocol(Protocol.BINARY)
			.setOpTimeout(Integer.parseInt(words[4]));

		System.setProperty("net.spy.log.LoggerImpl",
			"net.spy.memcached.compat.log.SunLogger");
		Logger.getLogger("net.spy").setLevel(Level.OFF);
		if (!words[2].isEmpty())
			how.setAuthDescriptor(new AuthDescriptor(
				new String[] {"PLAIN"},
				new PlainCallbackHandler(words[2], words[3])));
		MemcachedClient client = new MemcachedClient(how.build(), List.of(
			new InetSocketAddress(words[0], Integer.parseInt(words[1]))));

		System.out.println(tryRound(client) ? "ok" : "refused");
		System.exit(0);
	}
}
