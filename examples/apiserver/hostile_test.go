package apiserver_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// hostile is a request that means no good.
type hostile struct {
	method, path, body, form string
	code                     int
}

func deep(open, inside, end string, depth int) string {
	return strings.Repeat(open, depth) + inside + strings.Repeat(end, depth)
}

// laughs is YAML of which each alias is ten of the one before.
func laughs() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return b.String()
}

// hostileBodies are sent to create something.
func hostileBodies() map[string]hostile {
	const yaml, pb = "application/yaml", "application/vnd.kubernetes.protobuf"
	send := func(body, form string, code int) hostile { return hostile{"POST", configMaps, body, form, code} }
	return map[string]hostile{
		"nothing":                   send("", "", 400),
		"half":                      send(`{"metadata":`, "", 400),
		"an array":                  send(`[]`, "", 400),
		"null":                      send(`null`, "", 422),
		"two documents":             send(`{"metadata":{"name":"x"}}{"metadata":{"name":"y"}}`, "", 400),
		"deep object":               send(`{"data":`+deep(`{"a":`, "1", "}", 400_000)+`}`, "", 400),
		"deep array":                send(`{"data":`+deep("[", "", "]", 1_000_000)+`}`, "", 400),
		"deep unclosed":             send(strings.Repeat(`{"a":`, 500_000), "", 400),
		"huge number":               send(`{"metadata":{"name":"x","generation":1e999999999}}`, "", 400),
		"long number":               send(`{"metadata":{"name":"x","generation":`+strings.Repeat("9", 1_000_000)+`}}`, "", 400),
		"a number for a text":       send(`{"metadata":{"name":7}}`, "", 400),
		"no text":                   send("{\"metadata\":{\"name\":\"\xff\xfe\"}}", "", 422),
		"a zero byte":               send(`{"metadata":{"name":"a\u0000b"}}`, "", 422),
		"a path for a name":         send(`{"metadata":{"name":"../../pods/x"}}`, "", 422),
		"a key with a path":         send(`{"metadata":{"name":"x"},"data":{"../x":"y"}}`, "", 422),
		"too large":                 send(`{"data":{"a":"`+strings.Repeat("x", 3<<20)+`"}}`, "", 413),
		"yaml laughs":               send(laughs(), yaml, 400),
		"yaml, two documents":       send("metadata: {name: victim}\n---\nmetadata: {name: y}\n", yaml, 409),
		"yaml, deep":                send("a: "+deep("[", "", "]", 100_000), yaml, 400),
		"yaml, an alias of itself":  send("a: &a [*a]\n", yaml, 400),
		"yaml, bytes":               send("\x00\x01\x02", yaml, 400),
		"protobuf, nothing":         send("", pb, 400),
		"protobuf, the prefix":      send("k8s\x00", pb, 400),
		"protobuf, a long length":   send("k8s\x00\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", pb, 400),
		"protobuf, groups":          send("k8s\x00"+strings.Repeat("\x0b", 1_000_000), pb, 400),
		"protobuf, no object":       send("k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x7f", pb, 400),
		"another form":              send("{}", "application/cbor", 415),
		"options of a delete, deep": {"DELETE", configMaps + "/victim", strings.Repeat(`{"preconditions":`, 100_000), "", 400},
		"update of another":         {"PUT", configMaps + "/victim", configMap("other", ""), "", 400},
	}
}

// hostilePatches are sent to change something.
func hostilePatches() map[string]hostile {
	send := func(body, form string, code int) hostile {
		return hostile{"PATCH", configMaps + "/victim?fieldManager=f", body, "application/" + form, code}
	}
	operation := `{"op":"copy","from":"/data","path":"/data/x"}`
	double := `[{"op":"add","path":"/data/a","value":"` + strings.Repeat("x", 100_000) + `"}` +
		strings.Repeat(`,{"op":"copy","from":"/data","path":"/data/b"},{"op":"copy","from":"/data","path":"/data/c"}`, 30) + `]`
	return map[string]hostile{
		"copies of copies":         send(double, "json-patch+json", 422),
		"too many operations":      send("["+strings.Repeat(operation+",", 10_000)+operation+"]", "json-patch+json", 413),
		"no operations":            send(`{"op":"add"}`, "json-patch+json", 400),
		"no path":                  send(`[{"op":"add"}]`, "json-patch+json", 422),
		"a null operation":         send(`[null]`, "json-patch+json", 422),
		"an index":                 send(`[{"op":"add","path":"/metadata/finalizers/99999999999999999999","value":"a"}]`, "json-patch+json", 422),
		"a large index":            send(`[{"op":"add","path":"/metadata/finalizers","value":["a/b"]},{"op":"replace","path":"/metadata/finalizers/2147483647","value":"a"}]`, "json-patch+json", 422),
		"the whole":                send(`[{"op":"replace","path":"","value":7}]`, "json-patch+json", 422),
		"deep operations":          send(`[{"op":"add","path":"/data","value":`+deep("[", "", "]", 1_000_000)+`}]`, "json-patch+json", 400),
		"merge of null":            send(`null`, "merge-patch+json", 400),
		"merge of an array":        send(`[]`, "merge-patch+json", 422),
		"merge of nulls":           send(`{"metadata":null,"data":null,"kind":null,"apiVersion":null}`, "merge-patch+json", 400),
		"deep merge":               send(`{"data":`+deep(`{"a":`, "null", "}", 400_000)+`}`, "merge-patch+json", 400),
		"strategic deep":           send(`{"data":`+deep(`{"a":`, "null", "}", 400_000)+`}`, "strategic-merge-patch+json", 400),
		"strategic, no directive":  send(`{"metadata":{"$patch":"explode"}}`, "strategic-merge-patch+json", 500),
		"apply of laughs":          send(laughs(), "apply-patch+yaml", 400),
		"apply of nothing":         send("", "apply-patch+yaml", 400),
		"apply of a list":          send("[]", "apply-patch+yaml", 400),
		"patch in no form of ours": send("{}", "json", 415),
	}
}

func forged(contents string) string { return base64.RawURLEncoding.EncodeToString([]byte(contents)) }

// hostileQueries are lists.
func hostileQueries() map[string]hostile {
	list := func(name, value string, code int) hostile {
		return hostile{"GET", configMaps + "?" + name + "=" + url.QueryEscape(value), "", "", code}
	}
	next := func(contents string, code int) hostile { return list("continue", forged(contents), code) }
	return map[string]hostile{
		"a long selector":           list("labelSelector", strings.TrimSuffix(strings.Repeat("a=b,", 10_000), ","), 200),
		"a long set":                list("labelSelector", "a in ("+strings.TrimSuffix(strings.Repeat("b,", 10_000), ",")+")", 200),
		"deep parentheses":          list("labelSelector", strings.Repeat("(", 10_000), 400),
		"a selector of bytes":       list("labelSelector", "\xff=\x00", 400),
		"many fields":               list("fieldSelector", strings.TrimSuffix(strings.Repeat("metadata.name!=b,", 10_000), ","), 200),
		"a field of bytes":          list("fieldSelector", "\\", 400),
		"an unknown field":          list("fieldSelector", "spec.password=x", 400),
		"no token":                  list("continue", "!!!", 400),
		"a token of another form":   next(`{"v":"v0","rv":1,"start":"x"}`, 400),
		"a token of nothing":        next(`{}`, 400),
		"a token of null":           next(`null`, 400),
		"a token from below 0":      next(`{"v":"meta.k8s.io/v1","rv":-7,"start":"x"}`, 400),
		"a token from the future":   next(`{"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"x"}`, 410),
		"a token that climbs":       next(`{"v":"meta.k8s.io/v1","rv":-1,"start":"../../secrets/default/s"}`, 400),
		"a token of the whole tree": next(`{"v":"meta.k8s.io/v1","rv":-1,"start":"/../../../"}`, 400),
		"no limit":                  list("limit", "-1", 200),
		"a huge limit":              list("limit", "9223372036854775807", 200),
		"a limit beyond":            list("limit", "9223372036854775808", 400),
		"a version below 0":         list("resourceVersion", "-1", 400),
		"a version beyond":          list("resourceVersion", "18446744073709551616", 400),
		"a version of words":        list("resourceVersion", "1 OR 1=1", 400),
		"timeoutSeconds beyond":     list("timeoutSeconds", "9223372036854775808", 400),
		"a timeout of words":        list("timeout", "soon", 400),
		"a timeout below 0":         list("timeout", "-1h", 400),
	}
}

// hostilePaths are tricks with the path.
func hostilePaths() map[string]hostile {
	get := func(path string, code int) hostile { return hostile{"GET", path, "", "", code} }
	return map[string]hostile{
		"up":                    get(configMaps+"/../secrets/s", 404),
		"up, escaped":           get(configMaps+"/%2e%2e/%2e%2e/kube-system/secrets/s", 404),
		"up, escaped slashes":   get(configMaps+"/..%2f..%2fsecrets%2fdefault%2fs", 404),
		"another namespace":     get("/api/v1/namespaces/default%2f..%2fother/configmaps/c", 404),
		"a namespace that ends": get("/api/v1/namespaces/oth/configmaps/er%2fc", 404),
		"a zero byte":           get(configMaps+"/a%00b", 404),
		"dots":                  get(configMaps+"/..", 404),
		"empty parts":           get("/api//v1//namespaces/default/configmaps", 404),
		"a long name":           get(configMaps+"/"+strings.Repeat("a", 100_000), 404),
		"put over another":      {"PUT", "/api/v1/namespaces/default/leases%2fx", "{}", "", 404},
		"claims":                get("/claims/serviceips/10.96.0.1", 404),
	}
}

// Each gets the right answer, in bounded memory, and nothing of what is there is changed or shown that was not asked for.
func TestHostileRequests(t *testing.T) {
	a := newAPI(t, apiserver.Options{FutureWait: 1, Namespaces: []string{"default", "other"}})
	a.must("POST", configMaps, `{"metadata":{"name":"victim"},"data":{"k":"v"}}`)
	a.must("POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"},"stringData":{"password":"hush"}}`)
	a.must("POST", "/api/v1/namespaces/other/configmaps", `{"metadata":{"name":"c"},"data":{"password":"hush"}}`)
	before := a.do("GET", "/api/v1/configmaps", "").object(t).Items
	for _, all := range []map[string]hostile{hostileBodies(), hostilePatches(), hostileQueries(), hostilePaths()} {
		for name, h := range all {
			t.Run(name, func(t *testing.T) {
				a := &api{t: t, server: a.server, client: a.client}
				var memory, after runtime.MemStats
				runtime.ReadMemStats(&memory)
				var header []string
				if h.form != "" {
					header = []string{"Content-Type", h.form}
				}
				got := a.do(h.method, h.path, h.body, header...)
				require.Equal(t, h.code, got.code, "%.300s", got.body)
				require.NotContains(t, got.body, "hush")
				require.NotContains(t, got.body, base64.StdEncoding.EncodeToString([]byte("hush")))
				runtime.ReadMemStats(&after)
				require.Less(t, after.TotalAlloc-memory.TotalAlloc, uint64(1)<<30)
			})
		}
	}
	require.Equal(t, before, a.do("GET", "/api/v1/configmaps", "").object(t).Items)
}
