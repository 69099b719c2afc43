// One round of gomemcache: gomemcache HOST PORT, described in conftest.py; it
// reads with "gets" only (U22). Or a login: gomemcache HOST PORT USER PASSWORD,
// described in test_login.py.
package main

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

var failures int

func check(what string, got, wanted interface{}) {
	if got != wanted {
		failures++
		fmt.Printf("%s: got %v, wanted %v\n", what, got, wanted)
	}
}

func item(key, value string) *memcache.Item {
	return &memcache.Item{Key: key, Value: []byte(value)}
}

// It knows nothing of logins: the application sends a set.
func login(m *memcache.Client, user, password string) {
	if m.Set(item("login", user+" "+password)) != nil {
		fmt.Println("refused")
		return
	}
	check("set", m.Set(item("k", "value")), nil)
	found, err := m.Get("k")
	check("get", err == nil && string(found.Value) == "value", true)
	_, err = m.Get("login")
	check("get none", err, memcache.ErrCacheMiss)
	if failures == 0 {
		fmt.Println("ok")
	}
}

func main() {
	m := memcache.New(os.Args[1] + ":" + os.Args[2])
	patience, err := time.ParseDuration(os.Getenv("PATIENCE_S") + "s")
	check("patience", err, nil)
	m.Timeout = patience
	if len(os.Args) == 5 {
		login(m, os.Args[3], os.Args[4])
		return
	}
	get := func(key string) string {
		found, err := m.Get(key)
		if err != nil {
			return err.Error()
		}
		return string(found.Value)
	}

	check("flush", m.FlushAll(), nil)
	check("set", m.Set(&memcache.Item{Key: "k", Value: []byte("value"),
		Flags: 4294967295}), nil)
	found, err := m.Get("k")
	check("get", err, nil)
	check("value", string(found.Value), "value")
	check("flags", found.Flags, uint32(4294967295))
	check("get none", get("none"), memcache.ErrCacheMiss.Error())
	check("add", m.Add(item("k", "x")), memcache.ErrNotStored)
	check("add new", m.Add(item("new", "1")), nil)
	check("replace none", m.Replace(item("none", "x")), memcache.ErrNotStored)
	check("replace", m.Replace(item("new", "70")), nil)

	first, second := *found, *found
	first.Value = []byte("first")
	check("cas", m.CompareAndSwap(&first), nil)
	check("cas again", m.CompareAndSwap(&second), memcache.ErrCASConflict)
	check("cas kept", get("k"), "first")
	check("delete for cas", m.Delete("k"), nil)
	check("cas none", m.CompareAndSwap(&second), memcache.ErrCacheMiss)

	number, err := m.Increment("new", 31)
	check("incr", err, nil)
	check("sum", number, uint64(101))
	number, err = m.Decrement("new", 1000)
	check("decr", err, nil)
	check("not below 0", number, uint64(0))
	_, err = m.Increment("none", 1)
	check("incr none", err, memcache.ErrCacheMiss)
	check("touch", m.Touch("new", 1000), nil)
	check("touch none", m.Touch("none", 1000), memcache.ErrCacheMiss)
	check("delete", m.Delete("new"), nil)
	check("delete again", m.Delete("new"), memcache.ErrCacheMiss)
	check("dead on arrival", m.Set(&memcache.Item{Key: "dead",
		Value: []byte("1"), Expiration: 2592001}), nil)
	check("dead", get("dead"), memcache.ErrCacheMiss.Error())

	var keys []string
	for i := 0; i < 300; i++ {
		keys = append(keys, fmt.Sprintf("key%d", i))
		check("many", m.Set(item(keys[i], keys[i])), nil)
	}
	all, err := m.GetMulti(append(keys, "none"))
	check("GetMulti", err, nil)
	check("its size", len(all), 300)
	for _, key := range keys {
		check(key, string(all[key].Value), key)
	}
	check("delete all", m.DeleteAll(), nil)
	check("deleted", get("key1"), memcache.ErrCacheMiss.Error())

	large := bytes.Repeat([]byte("x"), 500000)
	check("large", m.Set(&memcache.Item{Key: "large", Value: large}), nil)
	found, err = m.Get("large")
	check("large back", err == nil && bytes.Equal(found.Value, large), true)
	err = m.Set(&memcache.Item{Key: "large", Value: make([]byte, 1<<20+1)})
	check("too large", err != nil, true)
	check("in step", get("none"), memcache.ErrCacheMiss.Error())
	check("brief", m.Set(&memcache.Item{Key: "brief", Value: []byte("1"),
		Expiration: 1}), nil)
	check("lasting", m.Set(&memcache.Item{Key: "lasting",
		Value: []byte("1"), Expiration: 1000}), nil)

	if failures > 0 {
		os.Exit(1)
	}
	fmt.Println("ok")
}
