package wire_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/wire"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// outcome is what a request led to, in one line.
func outcome(status int, header http.Header, body string, err error) string {
	if err != nil && status == 0 {
		return "no answer"
	}
	text := fmt.Sprint(status)
	if wait := header.Get("Retry-After"); wait != "" {
		text += " after " + wait
	}
	if err != nil {
		return text + " broken " + body
	}
	return text + " " + body
}

// A fault of the source is on the wire what a real server would make of it.
func TestSourceFaultsOnTheWire(t *testing.T) {
	const (
		object = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"ns","name":"a","uid":"uid-1","resourceVersion":"2"},"created":"2000-01-01T00:00:00Z","value":"1"}`
		added  = `{"type":"ADDED","object":` + object + "}\n"
		watch  = "?watch=1&resourceVersion=1&timeoutSeconds=5"
	)
	status := func(code int, reason, message string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
	}
	for _, row := range []struct{ fault, query, want string }{
		{"fail", "", "no answer"},
		{"fail", watch, "no answer"},
		{"fail 403", "", "403 " + status(403, "Forbidden", "fail") + "\n"},
		{"fail 410", watch, "410 " + status(410, "Expired", "fail") + "\n"},
		{"fail 410 event", watch, `200 {"type":"ERROR","object":` + status(410, "Expired", "fail") + "}\n"},
		{"fail 429 for=1500ms", "", "429 after 2 Too many requests, please try again later.\n"},
		{"fail 429", watch, "429 Too many requests, please try again later.\n"},
		{"fail 503 for=9s", watch, `503 after 9 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"fail","details":{"retryAfterSeconds":9},"code":503}` + "\n"},
		{"error", watch, "200 broken "},
		{"error n=1", watch, "200 broken " + added},
		{"error 500 n=1", watch, "200 " + added + `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"error","code":500}}` + "\n"},
		{"cut", watch, "200 "},
		{"cut n=1", watch, "200 " + added},
		{"down 504", "", "504 " + status(504, "Timeout", "down") + "\n"},
		{"slow for=2s", watch, "200 " + added},
		{"drop", watch, "200 " + added}, // the change was before
		{"garbage", watch, `200 {"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"2","uid":[1]}}}` + "\n"},
		{"nameless", watch, `200 {"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"2","uid":""}}}` + "\n"},
		{"wrong-kind", watch, `200 {"type":"MODIFIED","object":{"kind":"AnotherPod","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"2","uid":"uid-1"}}}` + "\n"},
		{"oversize", watch, `200 {"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"2","uid":"uid-1"},"padding":"xxxxx"}}` + "\n"},
		{"unknown-event", watch, `200 {"type":"UNKNOWN","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"2","uid":"uid-1"}}}` + "\n"},
		{"partial-list", "", "no answer"},
		{"partial-list 500", "", "500 " + `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"partial-list","code":500}` + "\n"},
		{"partial-list n=1", "", `200 broken {"apiVersion":"v1","items":[` + object},
		{"partial-list 500 n=1", "", `200 broken {"apiVersion":"v1","items":[` + object},
		{"repeat-page", "", `200 {"apiVersion":"v1","items":[` + object + "," + object + `],"kind":"PodList","metadata":{"continue":"","resourceVersion":"2"}}` + "\n"},
		{"late-bookmark n=1", watch + "&allowWatchBookmarks=true", "200 " + added + `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"}}}` + "\n"},
	} {
		t.Run(row.fault, func(t *testing.T) {
			o := wire.Options[*fakes.Object]{Kind: "Pod", APIVersion: "v1", OversizeBytes: 5}
			bubble(t, fakes.Options[*fakes.Object]{BookmarkEvery: -1}, o, func(t *testing.T, r *rig) {
				r.put(t, obj("a", "1"))
				_, _, _, err := r.get(t, "/objects") // the connection is used again
				require.NoError(t, err)
				inject(t, r.server, row.fault)
				require.Equal(t, row.want, outcome(r.get(t, "/objects"+row.query)))
			})
		})
	}
}

// What the client of the library makes of objects that cannot be taken.
func TestSpoiledObjectsAreRefused(t *testing.T) {
	for fault, class := range map[string]error{
		"garbage": listwatch.ErrDecode, "nameless": listwatch.ErrProtocol,
		"wrong-kind": listwatch.ErrWrongKind, "oversize": listwatch.ErrTooLarge,
	} {
		for _, builtIn := range []bool{false, true} {
			t.Run(fmt.Sprint(fault, builtIn), func(t *testing.T) {
				bubble(t, fakes.Options[object]{}, wire.Options[object]{BuiltIn: builtIn, OversizeBytes: 5000}, func(t *testing.T, r *rig) {
					r.put(t, obj("a", "1"), obj("b", "1"), obj("c", "1"))
					s := r.source(t, rest.Options{MaxObjectBytes: 3000, Kind: "Object"})
					inject(t, r.server, fault+" n=2", fault+" watch")
					var refused []error
					o := listwatch.ListOptions{Refused: func(_ listwatch.Head, err error) error {
						refused = append(refused, err)
						return nil
					}}
					names, meta, err := list(t.Context(), s, o)
					require.NoError(t, err)
					require.Equal(t, []string{"c"}, names)
					require.Equal(t, "4", meta.ResourceVersion)
					names = nil
					err = s.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1", Timeout: time.Second, Refused: o.Refused}, func(events ...listwatch.Event[object]) error {
						for _, e := range events {
							names = append(names, e.Object.Name)
						}
						return nil
					})
					require.NoError(t, err)
					require.Equal(t, []string{"b", "c"}, names)
					require.Len(t, refused, 3)
					for _, err := range refused {
						require.ErrorIs(t, err, class)
					}
				})
			})
		}
	}
}

func TestCutBytes(t *testing.T) {
	bubble(t, fakes.Options[object]{}, wire.Options[object]{}, func(t *testing.T, r *rig) {
		r.put(t, obj("a", strings.Repeat("x", 6000)))
		s := r.source(t, rest.Options{})
		for _, path := range []string{"/objects", "/objects?watch=1&resourceVersion=1&timeoutSeconds=1"} {
			_, _, whole, err := r.get(t, path)
			require.NoError(t, err)
			for _, n := range []int{0, 1, 100, 4095, 4096, 4097, len(whole) - 1, len(whole), len(whole) + 1} {
				inject(t, r.server, fmt.Sprint("cut-bytes n=", n))
				_, _, body, err := r.get(t, path)
				require.Error(t, err, n)
				require.Equal(t, whole[:min(n, len(whole))], body, n)
				inject(t, r.server, fmt.Sprint("cut-bytes list n=", n))
				_, _, err = list(t.Context(), s, listwatch.ListOptions{})
				require.ErrorIs(t, err, listwatch.ErrUnavailable, n)
			}
			r.server.Heal()
		}
	})
}

func TestGarbageBytes(t *testing.T) {
	const garbage = "\x00}]\xff{garbage"
	bubble(t, fakes.Options[object]{}, wire.Options[object]{}, func(t *testing.T, r *rig) {
		r.put(t, obj("a", strings.Repeat("x", 6000)))
		s := r.source(t, rest.Options{})
		_, _, whole, err := r.get(t, "/objects")
		require.NoError(t, err)
		for _, n := range []int{0, 50, 4096, 5000, len(whole), len(whole) + 9} {
			inject(t, r.server, fmt.Sprint("garbage-bytes n=", n))
			_, _, body, err := r.get(t, "/objects")
			require.NoError(t, err)
			at := min(n, len(whole))
			require.Equal(t, whole[:at]+garbage+whole[at:], body)
			inject(t, r.server, fmt.Sprint("garbage-bytes watch n=", n))
			err = s.Watch(t.Context(), listwatch.WatchOptions{ResourceVersion: "1", Timeout: time.Second}, func(...listwatch.Event[object]) error { return nil })
			require.ErrorIs(t, err, listwatch.ErrDecode)
			r.server.Heal()
		}
	})
}

func TestLateHeaders(t *testing.T) {
	bubble(t, fakes.Options[object]{}, wire.Options[object]{}, func(t *testing.T, r *rig) {
		inject(t, r.server, "late-headers for=3s n=2")
		for range 2 {
			start := time.Now()
			_, _, _, err := r.get(t, "/objects?watch=1&resourceVersion=1&timeoutSeconds=5")
			require.NoError(t, err)
			require.Equal(t, 5*time.Second, time.Since(start))
		}
		headers := func() (after time.Duration) {
			start := time.Now()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://fake/objects?watch=1&resourceVersion=1&timeoutSeconds=9", nil)
			require.NoError(t, err)
			response, err := r.client.Do(request)
			require.NoError(t, err)
			after = time.Since(start)
			_, err = io.Copy(io.Discard, response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			return after
		}
		inject(t, r.server, "late-headers watch for=3s", "late-headers", "hang for=2s")
		require.Equal(t, 5*time.Second, headers())
		require.Equal(t, 9*time.Second, headers(), "with the end")
		require.Zero(t, headers())
	})
}

func TestGoAway(t *testing.T) {
	bubble(t, fakes.Options[object]{}, wire.Options[object]{}, func(t *testing.T, r *rig) {
		request := func() {
			_, _, _, err := r.get(t, "/objects")
			require.NoError(t, err)
			synctest.Wait()
		}
		request()
		require.Equal(t, 1, r.proxy.Links())
		request()
		inject(t, r.server, "goaway n=2")
		request()
		time.Sleep(2 * time.Second) // net/http takes a moment to say it, and to hear it
		synctest.Wait()
		require.Zero(t, r.proxy.Links())
		request()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Zero(t, r.proxy.Links())
		request()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, r.proxy.Links())
	})
}

func TestInjectElsewhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(seedOf(t), 1))
	bubble(t, fakes.Options[object]{}, wire.Options[object]{}, func(t *testing.T, r *rig) {
		for _, k := range fakes.FaultKinds() {
			f := fakes.RandomFault(rng, k)
			onServer, onProxy := r.server.Inject(f), r.proxy.Inject(f)
			switch k {
			case fakes.FaultBlackHole, fakes.FaultReset, fakes.FaultRefuse, fakes.FaultThrottle:
				require.ErrorIs(t, onServer, listwatch.ErrUnsupported, k)
				require.NoError(t, onProxy, k)
			case fakes.FaultJump:
				require.ErrorIs(t, onServer, listwatch.ErrUnsupported)
				require.ErrorIs(t, onProxy, listwatch.ErrUnsupported)
			default:
				require.NoError(t, onServer, k)
				require.ErrorIs(t, onProxy, listwatch.ErrUnsupported, k)
			}
			f.Verb = 99
			for _, err := range []error{r.server.Inject(f), r.proxy.Inject(f)} {
				require.ErrorContains(t, err, "no such verb: 99")
				require.False(t, errors.Is(err, listwatch.ErrUnsupported))
			}
		}
		r.server.Heal()
		r.proxy.Heal()
	})
}
