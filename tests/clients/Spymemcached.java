/*
 * One round of spymemcached: java Spymemcached HOST PORT text|binary.
 *
 * What it prints and leaves behind is described in conftest.py.
 */
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.logging.Level;
import java.util.logging.Logger;

import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.internal.OperationFuture;
import net.spy.memcached.transcoders.SerializingTranscoder;

class Spymemcached {
	private static final int LARGE_BYTES = 500_000;
	private static final int LIMIT_BYTES = 1 << 20;

	private final InetSocketAddress server;
	private final boolean binary;
	private final MemcachedClient client;
	private int failures;

	Spymemcached(InetSocketAddress server, boolean binary) throws Exception {
		this.server = server;
		this.binary = binary;
		client = connect();
	}

	private MemcachedClient connect() throws Exception {
		SerializingTranscoder plain = new SerializingTranscoder(2 << 20);
		int patience = Integer.parseInt(System.getenv("PATIENCE_S"));

		plain.setCompressionThreshold(Integer.MAX_VALUE);
		return new MemcachedClient(new ConnectionFactoryBuilder()
			.setProtocol(binary ? Protocol.BINARY : Protocol.TEXT)
			.setOpTimeout(patience * 1000).setTranscoder(plain).build(),
			List.of(server));
	}

	private void check(String what, Object got, Object wanted) {
		if (Objects.equals(got, wanted))
			return;
		failures++;
		System.out.println(what + ": got " + got + ", wanted " + wanted);
	}

	private void done(String what, Future<Boolean> answer) throws Exception {
		check(what, answer.get(), true);
	}

	private void refused(String what, Future<Boolean> answer)
			throws Exception {
		check(what, answer.get(), false);
	}

	void store() throws Exception {
		done("set", client.set("k", 0, "value"));
		check("get", client.get("k"), "value");
		check("get none", client.get("none"), null);
		done("object", client.set("list", 0, List.of(1, "two")));
		check("object back", client.get("list"), List.of(1, "two"));
		refused("add", client.add("k", 0, "x"));
		done("add new", client.add("new", 0, "b"));
		refused("replace none", client.replace("none", 0, "x"));
		done("replace", client.replace("new", 0, "bb"));
		done("append", client.append("new", "c"));
		done("prepend", client.prepend("new", "a"));
		check("appended", client.get("new"), "abbc");
		refused("append to nothing", client.append("none", "x"));
		done("dead on arrival", client.set("dead", 2592001, "1"));
		check("dead", client.get("dead"), null);
	}

	void count() throws Exception {
		done("number", client.set("n", 0, "70"));
		check("incr", client.incr("n", 31), 101L);
		check("decr", client.decr("n", 1), 100L);
		check("as text", client.get("n"), "100");
		check("incr none", client.incr("none", 1), -1L);
		check("incr with default", client.incr("fresh", 1, 70L, 0), 70L);
		check("and again", client.incr("fresh", 1, 70L, 0), 71L);
	}

	void compareAndSwap() throws Exception {
		CASValue<Object> found = client.gets("k");

		check("cas", client.cas("k", found.getCas(), "other"),
			CASResponse.OK);
		check("cas again", client.cas("k", found.getCas(), "late"),
			CASResponse.EXISTS);
		check("cas none", client.cas("none", found.getCas(), "late"),
			CASResponse.NOT_FOUND);
		check("cas kept", client.get("k"), "other");
	}

	void touchAndDelete() throws Exception {
		done("touch", client.touch("k", 1000));
		refused("touch none", client.touch("none", 1000));
		if (binary) // it knows gat in binary only
			check("gat", client.getAndTouch("k", 1000).getValue(),
				"other");
		done("delete", client.delete("list"));
		refused("delete again", client.delete("list"));
	}

	/* It sends as many as it can at once, and turns gets into one multi-get. */
	void many() throws Exception {
		Map<String, Object> items = new HashMap<>();
		OperationFuture<Boolean> last = null;

		for (int i = 0; i < 300; i++) {
			items.put("key" + i, "v".repeat(i));
			last = client.set("key" + i, 0, "v".repeat(i));
		}
		done("many", last);
		check("getBulk", client.getBulk(items.keySet()), items);
		Future<Object> one = client.asyncGet("key1");
		Future<Object> none = client.asyncGet("none");
		Future<Object> two = client.asyncGet("key2");
		check("asyncGet", Arrays.asList(one.get(), none.get(), two.get()),
			Arrays.asList("v", null, "vv"));
	}

	void server() throws Exception {
		String version = client.getVersions().get(server);

		check("version " + version,
			version != null && version.matches("\\d+\\.\\d+\\.\\d+"), true);
		check("stats", client.getStats().get(server).get("version"),
			version);
		check("settings", client.getStats("settings").get(server)
			.get("item_size_max"), String.valueOf(LIMIT_BYTES));
		done("flush", client.flush());
		check("flushed", client.get("k"), null);
	}

	/* After a SERVER_ERROR it connects anew, and takes its time. */
	boolean storesTooLarge() throws Exception {
		try {
			return connect().set("large", 0, "x".repeat(LIMIT_BYTES + 1))
				.get();
		} catch (ExecutionException refusal) {
			return false;
		}
	}

	void leaveBehind() throws Exception {
		String large = "x".repeat(LARGE_BYTES);

		done("large", client.set("large", 0, large));
		check("large back", client.get("large"), large);
		check("too large", storesTooLarge(), false);
		done("brief", client.set("brief", 1, "1"));
		done("lasting", client.set("lasting", 1000, "1"));
	}

	public static void main(String[] words) throws Exception {
		System.setProperty("net.spy.log.LoggerImpl",
			"net.spy.memcached.compat.log.SunLogger");
		Logger.getLogger("net.spy").setLevel(Level.OFF);
		InetSocketAddress server = new InetSocketAddress(words[0],
			Integer.parseInt(words[1]));
		Spymemcached round = new Spymemcached(server,
			words[2].equals("binary"));

		round.store();
		round.count();
		round.compareAndSwap();
		round.touchAndDelete();
		round.many();
		round.server();
		round.leaveBehind();
		if (round.failures == 0)
			System.out.println("ok");
		System.exit(round.failures == 0 ? 0 : 1);
	}
}
