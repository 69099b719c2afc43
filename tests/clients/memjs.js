/*
 * One round of npm's memjs: memjs.js HOST PORT.
 *
 * It speaks nothing but binary. What it prints and leaves behind is described
 * in conftest.py.
 */
"use strict";
const assert = require("assert");
const memjs = require("memjs");

const [host, port] = process.argv.slice(2);
const client = memjs.Client.create(`${host}:${port}`,
	{ timeout: Number(process.env.PATIENCE_S), retries: 0,
		logger: { log() {} } });
let failures = 0;

async function check(what, promise, wanted) {
	let got;
	try {
		got = await promise;
	} catch (error) {
		got = error;
	}
	if (got && got.value instanceof Buffer)
		got = got.value.toString("latin1");
	try {
		assert.deepStrictEqual(got, wanted);
	} catch (error) {
		failures++;
		console.log(`${what}: got`, got, "wanted", wanted);
	}
}

const nothing = { value: null, flags: null };

async function round() {
	await check("set", client.set("k", "value", {}), true);
	await check("get", client.get("k"), "value");
	await check("get none", client.get("none"), nothing);
	const bytes = Buffer.from([...Array(256).keys()]);
	await check("bytes", client.set("bytes", bytes, {}), true);
	await check("bytes back", client.get("bytes"), bytes.toString("latin1"));
	await check("odd key", client.set("a key\r\nwith \u00e9", "1", {}), true);
	await check("odd key back", client.get("a key\r\nwith \u00e9"), "1");
	await check("add", client.add("k", "x", {}), false);
	await check("add new", client.add("new", "b", {}), true);
	await check("replace none", client.replace("none", "x", {}), false);
	await check("replace", client.replace("new", "bb", {}), true);
	await check("append", client.append("new", "c"), true);
	await check("appended", client.get("new"), "bbc");
	await check("initial", client.increment("n", 1, { initial: 70 }),
		{ success: true, value: 70 });
	await check("increment", client.increment("n", 31, {}),
		{ success: true, value: 101 });
	await check("decrement", client.decrement("n", 1, {}),
		{ success: true, value: 100 });
	await check("as text", client.get("n"), "100");
	await check("touch", client.touch("k", 1000), true);
	await check("touch none", client.touch("none", 1000), false);
	await check("delete", client.delete("k"), true);
	await check("delete again", client.delete("k"), false);

	const keys = Array.from({ length: 300 }, (_, i) => `key${i}`);
	await Promise.all(keys.map((key) => client.set(key, key, {})));
	const values = await Promise.all(keys.map((key) => client.get(key)));
	await check("many", values.map((each) => each.value.toString()), keys);

	const stats = await new Promise((resolve, reject) =>
		client.stats((error, server, found) =>
			error ? reject(error) : resolve(found)));
	await check("stats", /^\d+\.\d+\.\d+$/.test(stats.version), true);
	await check("flush", client.flush(), { [`${host}:${port}`]: true });
	await check("flushed", client.get("key1"), nothing);

	const large = "x".repeat(500000);
	await check("large", client.set("large", large, {}), true);
	await check("large back", client.get("large"), large);
	const tooLarge = client.set("large", "x".repeat((1 << 20) + 1), {});
	await check("too large", tooLarge.then(() => "stored", () => "refused"),
		"refused");
	await check("in step", client.get("none"), nothing);
	await check("brief", client.set("brief", "1", { expires: 1 }), true);
	await check("lasting", client.set("lasting", "1", { expires: 1000 }), true);
	client.quit();
}

round().then(() => {
	if (failures === 0)
		console.log("ok");
	process.exitCode = failures ? 1 : 0;
});
