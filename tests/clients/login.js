/*
 * Logs in by SASL: login.js HOST PORT USER PASSWORD, without a user not at
 * all. Says "ok" or "refused", as described in test_login.py.
 */
"use strict";
const memjs = require("memjs");

const [host, port, username, password] = process.argv.slice(2);
const client = memjs.Client.create(`${host}:${port}`, {
	username, password, timeout: Number(process.env.PATIENCE_S), retries: 0,
	logger: { log() {} } });
const keys = Array.from({ length: 50 }, (_, i) => `key${i}`);

async function round() {
	await Promise.all(keys.map((key) => client.set(key, key, {})));
	const found = await Promise.all(keys.map((key) => client.get(key)));
	const none = await client.get("none");
	return none.value === null &&
		found.every((each, i) => each.value.toString() === keys[i]);
}

round().then((right) => right ? "ok" : "wrong", () => "refused").then((said) => {
	console.log(said);
	process.exit(0);
});
