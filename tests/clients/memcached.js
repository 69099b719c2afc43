/*
 * One round of npm's memcached: memcached.js HOST PORT.
 *
 * What it prints and leaves behind is described in conftest.py.
 */
"use strict";
const assert = require("assert");
const Memcached = require("memcached");

const [host, port] = process.argv.slice(2);
const patience = process.env.PATIENCE_S * 1000;
const connect = () => new Memcached(`${host}:${port}`,
	{ timeout: patience, idle: patience, retries: 0, maxValue: 2 << 20 });
const client = connect();
let failures = 0;

function askOf(someClient, method, ...words) {
	return new Promise((resolve) => someClient[method](...words,
		(error, result) => resolve(error ? "refused" : result)));
}

const ask = (...words) => askOf(client, ...words);

async function check(what, promise, wanted) {
	const got = await promise;
	try {
		assert.deepStrictEqual(got, wanted);
	} catch (error) {
		failures++;
		console.log(`${what}: got`, got, "wanted", wanted);
	}
}

async function round() {
	await check("set", ask("set", "k", "value", 0), true);
	await check("get", ask("get", "k"), "value");
	await check("get none", ask("get", "none"), undefined);
	await check("object", ask("set", "list", [1, "two"], 0), true);
	await check("getMulti", ask("getMulti", ["k", "list", "none"]),
		{ k: "value", list: [1, "two"] });
	const bytes = Buffer.from([...Array(256).keys()]);
	await check("bytes", ask("set", "bytes", bytes, 0), true);
	await check("bytes back", ask("get", "bytes"), bytes);
	await check("add", ask("add", "k", "x", 0), "refused");
	await check("add new", ask("add", "new", "b", 0), true);
	await check("replace none", ask("replace", "none", "x", 0), "refused");
	await check("replace", ask("replace", "new", "bb", 0), true);
	await check("append", ask("append", "new", "c"), true);
	await check("prepend", ask("prepend", "new", "a"), true);
	await check("appended", ask("get", "new"), "abbc");
	await check("number", ask("set", "n", 70, 0), true);
	await check("incr", ask("incr", "n", 31), 101);
	await check("decr", ask("decr", "n", 1), 100);
	await check("incr none", ask("incr", "none", 1), false);

	const found = await ask("gets", "k");
	await check("gets", found.k, "value");
	await check("cas", ask("cas", "k", "other", found.cas, 0), true);
	await check("cas again", ask("cas", "k", "late", found.cas, 0), false);
	await check("touch", ask("touch", "k", 1000), true);
	await check("touch none", ask("touch", "none", 1000), false);
	await check("delete", ask("del", "k"), true);
	await check("delete again", ask("del", "k"), false);
	await check("dead on arrival", ask("set", "dead", "1", 2592001), true);
	await check("dead", ask("get", "dead"), undefined);

	const keys = Array.from({ length: 300 }, (_, i) => `key${i}`);
	await Promise.all(keys.map((key) => ask("set", key, key, 0)));
	await check("many", ask("getMulti", keys),
		Object.fromEntries(keys.map((key) => [key, key])));

	const [version] = await ask("version");
	await check("version", /^\d+\.\d+\.\d+$/.test(version.version), true);
	const [stats] = await ask("stats");
	await check("stats", Number(stats.pid) > 1, true);
	const [settings] = await ask("settings");
	await check("settings", Number(settings.maxconns) > 0, true);
	await check("items", Array.isArray(await ask("items")), true);
	await check("slabs", Array.isArray(await ask("slabs")), true);
	await check("flush", ask("flush"), [true]);
	await check("flushed", ask("get", "key1"), undefined);

	const large = "x".repeat(500000);
	await check("large", ask("set", "large", large, 0), true);
	await check("large back", ask("get", "large"), large);
	// It tells a SERVER_ERROR as false, and gives up the server.
	await check("too large", askOf(connect(), "set", "large",
		"x".repeat((1 << 20) + 1), 0), false);
	await check("brief", ask("set", "brief", "1", 1), true);
	await check("lasting", ask("set", "lasting", "1", 1000), true);
}

round().then(() => {
	if (failures === 0)
		console.log("ok");
	process.exit(failures ? 1 : 0);
});
