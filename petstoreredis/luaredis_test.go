package petstoreredis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
)

// luaRedis runs the script without a network, a hundred times as fast as a Redis in memory: it has
// the commands that the script uses, on data that can be copied.
type luaRedis struct {
	t      *testing.T
	lua    *lua.LState
	script *lua.LFunction
	now    time.Time
	data   luaData
}

// luaData is the keys of one budget.
type luaData struct {
	state         string
	leases, queue map[string]float64
	held          map[string]string
}

func (d luaData) clone() luaData {
	return luaData{d.state, maps.Clone(d.leases), maps.Clone(d.queue), maps.Clone(d.held)}
}

func newLuaRedis(t *testing.T) *luaRedis {
	t.Helper()
	l := lua.NewState()
	t.Cleanup(l.Close)
	r := &luaRedis{t: t, lua: l, data: luaData{leases: map[string]float64{}, queue: map[string]float64{}, held: map[string]string{}}}
	luajson.Loader(l)
	l.SetGlobal("cjson", l.Get(-1))
	l.SetTop(0)
	module := l.NewTable()
	l.SetFuncs(module, map[string]lua.LGFunction{"call": r.call})
	l.SetGlobal("redis", module)
	keys := l.NewTable()
	for _, name := range []string{"state", "leases", "held", "queue"} {
		keys.Append(lua.LString(name))
	}
	l.SetGlobal("KEYS", keys)
	f, err := l.LoadString(source())
	require.NoError(t, err)
	r.script = f
	return r
}

// exchange runs the script.
func (r *luaRedis) exchange(c command) (out reply) {
	r.t.Helper()
	text, err := json.Marshal(c)
	require.NoError(r.t, err)
	args := r.lua.NewTable()
	args.Append(lua.LString(text))
	r.lua.SetGlobal("ARGV", args)
	require.NoError(r.t, r.lua.CallByParam(lua.P{Fn: r.script, NRet: 1, Protect: true}))
	require.NoError(r.t, json.Unmarshal([]byte(r.lua.ToString(-1)), &out), "%s", r.lua.ToString(-1))
	r.lua.Pop(1)
	return out
}

// sorted returns a sorted set by score.
func (r *luaRedis) sorted(name string) map[string]float64 {
	if name == "leases" {
		return r.data.leases
	}
	return r.data.queue
}

// call implements redis.call.
func (r *luaRedis) call(l *lua.LState) int {
	var args []string
	for i := 2; i <= l.GetTop(); i++ {
		args = append(args, l.ToString(i))
	}
	d := &r.data
	switch name := l.CheckString(1); name {
	case "TIME":
		t := l.NewTable()
		t.Append(lua.LString(strconv.FormatInt(r.now.Unix(), 10)))
		t.Append(lua.LString(strconv.Itoa(r.now.Nanosecond() / 1000)))
		l.Push(t)
	case "GET":
		l.Push(luaText(d.state, d.state != ""))
	case "SET":
		d.state = args[1]
		l.Push(lua.LTrue)
	case "DEL":
		*d = luaData{"", map[string]float64{}, map[string]float64{}, map[string]string{}}
		l.Push(lua.LTrue)
	case "PEXPIRE":
		l.Push(lua.LTrue)
	case "HGET":
		value, ok := d.held[args[1]]
		l.Push(luaText(value, ok))
	case "HSET":
		d.held[args[1]] = args[2]
		l.Push(lua.LTrue)
	case "HDEL":
		delete(d.held, args[1])
		l.Push(lua.LTrue)
	case "HLEN":
		l.Push(lua.LNumber(len(d.held)))
	case "HVALS":
		l.Push(luaList(l, slices.Sorted(maps.Values(d.held))))
	default:
		l.Push(r.callSorted(name, args))
	}
	return 1
}

// callSorted implements the commands of sorted sets.
func (r *luaRedis) callSorted(name string, args []string) lua.LValue {
	set := r.sorted(args[0])
	members := slices.SortedFunc(maps.Keys(set), func(a, b string) int {
		return cmp.Or(cmp.Compare(set[a], set[b]), strings.Compare(a, b))
	})
	switch name {
	case "ZCARD":
		return lua.LNumber(len(set))
	case "ZADD":
		_, there := set[args[len(args)-1]]
		if score, _ := strconv.ParseFloat(args[len(args)-2], 64); args[1] != "NX" || !there {
			set[args[len(args)-1]] = score
		}
		return lua.LTrue
	case "ZREM":
		delete(set, args[1])
		return lua.LTrue
	case "ZRANK":
		if i := slices.Index(members, args[1]); i >= 0 {
			return lua.LNumber(i)
		}
		return lua.LFalse
	case "ZRANGEBYSCORE":
		limit, _ := strconv.ParseFloat(args[2], 64)
		var found []string
		for _, m := range members {
			if set[m] <= limit {
				found = append(found, m, fmt.Sprint(int64(set[m])))
			}
		}
		return luaList(r.lua, found)
	}
	panic("the script calls " + name)
}

func luaList(l *lua.LState, values []string) *lua.LTable {
	t := l.NewTable()
	for _, v := range values {
		t.Append(lua.LString(v))
	}
	return t
}

func luaText(s string, ok bool) lua.LValue {
	if !ok {
		return lua.LFalse
	}
	return lua.LString(s)
}
