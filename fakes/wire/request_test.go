package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/wire"
)

// bubble runs a test with a rig, over both protocols, in virtual time.
func bubble(t *testing.T, o fakes.Options[object], w wire.Options[object], test func(t *testing.T, r *rig)) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%t", http2), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(o, w, http2)
				defer r.close()
				test(t, r)
			})
		})
	}
}

var asPods = wire.Options[object]{Kind: "Pod", APIVersion: "v1", Resource: "pods", BuiltIn: true}

const (
	podA  = `{"metadata":{"namespace":"ns","name":"a","uid":"uid-1","resourceVersion":"2"},"created":"2000-01-01T00:00:00Z","value":"1"}`
	podB  = `{"metadata":{"namespace":"other","name":"b","uid":"uid-2","resourceVersion":"3"},"created":"2000-01-01T00:00:00Z","value":"2"}`
	typed = `{"kind":"Pod","apiVersion":"v1",`
)

// Lists as a Kubernetes API server was seen to answer them.
func TestListAnswers(t *testing.T) {
	bubble(t, fakes.Options[object]{FreshWait: 3 * time.Second}, asPods, func(t *testing.T, r *rig) {
		status, header, body, err := r.get(t, "/api/v1/pods")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "application/json", header.Get("Content-Type"))
		require.Equal(t, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`+"\n", body)
		_, err = r.Put(&fakes.Object{Meta: listwatch.Meta{Namespace: "ns", Name: "a"}, Value: "1"})
		require.NoError(t, err)
		_, err = r.Put(&fakes.Object{Meta: listwatch.Meta{Namespace: "other", Name: "b"}, Value: "2"})
		require.NoError(t, err)
		all := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"3"},"items":[` + podA + "," + podB + "]}\n"
		for query, want := range map[string]string{
			"": all, "?resourceVersion=0&limit=1": all, "?resourceVersion=2": all, "?limit=2": all, "?bogus=1": all, "?watch=0": all,
			"?resourceVersion=3&resourceVersionMatch=NotOlderThan": all,
			"?resourceVersion=2&resourceVersionMatch=Exact":        `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"2"},"items":[` + podA + "]}\n",
			"?resourceVersion=2&limit=5":                           `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"2"},"items":[` + podA + "]}\n",
		} {
			_, _, body, err := r.get(t, "/api/v1/pods"+query)
			require.NoError(t, err)
			require.Equal(t, want, body, query)
		}
		_, _, body, err = r.get(t, "/api/v1/namespaces/other/pods")
		require.NoError(t, err)
		require.Equal(t, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"3"},"items":[`+podB+"]}\n", body)

		var page struct {
			Metadata struct {
				Continue           string
				RemainingItemCount int
			}
			Items []object
		}
		_, _, body, err = r.get(t, "/api/v1/pods?limit=1")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(body), &page))
		require.Equal(t, 1, page.Metadata.RemainingItemCount)
		token := page.Metadata.Continue
		for _, more := range []string{"&limit=1", "&limit=1&resourceVersion=0", ""} {
			_, _, body, err = r.get(t, "/api/v1/pods?continue="+token+more)
			require.NoError(t, err)
			require.Equal(t, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"3"},"items":[`+podB+"]}\n", body)
		}
	})
}

func TestListOfCustomResources(t *testing.T) {
	bubble(t, fakes.Options[object]{}, wire.Options[object]{Kind: "Pod", APIVersion: "v1"}, func(t *testing.T, r *rig) {
		_, _, body, err := r.get(t, "/objects")
		require.NoError(t, err)
		require.Equal(t, `{"apiVersion":"v1","items":[],"kind":"PodList","metadata":{"continue":"","resourceVersion":"1"}}`+"\n", body)
		r.put(t, obj("a", "1"))
		_, _, body, err = r.get(t, "/objects/")
		require.NoError(t, err)
		require.Equal(t, `{"apiVersion":"v1","items":[`+typed+podA[1:]+`],"kind":"PodList","metadata":{"continue":"","resourceVersion":"2"}}`+"\n", body)
		_, _, body, err = r.get(t, "/objects", "Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		require.NoError(t, err)
		require.Equal(t, `{"apiVersion":"meta.k8s.io/v1","items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"namespace":"ns","name":"a","uid":"uid-1","resourceVersion":"2"}}],"kind":"PartialObjectMetadataList","metadata":{"continue":"","resourceVersion":"2"}}`+"\n", body)
	})
}

func TestRefusals(t *testing.T) {
	bubble(t, fakes.Options[object]{FreshWait: 3 * time.Second}, asPods, func(t *testing.T, r *rig) {
		r.put(t, obj("a", "1"), obj("b", "1"))
		require.NoError(t, r.Compact("2"))
		start := time.Now()
		for query, want := range map[string]string{
			"limit=abc":                    `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"strconv.ParseInt: parsing \"abc\": invalid syntax","reason":"BadRequest","code":400}`,
			"continue=%21":                 `400 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"invalid continue token","reason":"BadRequest","code":400}`,
			"continue=x&resourceVersion=5": "400 ", "resourceVersion=abc": "400 ", "labelSelector=a": "400 ", "watch=1&timeoutSeconds=x": "400 ",
			"resourceVersionMatch=Exact":            `422 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch is forbidden unless resourceVersion is provided","reason":"Invalid","code":422}`,
			"continue=x&resourceVersionMatch=Exact": "422 ", "sendInitialEvents=true": "422 ", "resourceVersion=1&resourceVersionMatch=Bogus": "422 ",
			"resourceVersion=0&resourceVersionMatch=Exact": "422 ", "watch=1&sendInitialEvents=true": "422 ", "watch=1&resourceVersionMatch=NotOlderThan": "422 ",
			"resourceVersion=1&resourceVersionMatch=Exact": `410 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}`,
			"resourceVersion=9":                            `504 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 9, current: 3","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}`,
			"watch=1&resourceVersion=abc":                  "500 ",
		} {
			status, header, body, err := r.get(t, "/api/v1/pods?"+query)
			require.NoError(t, err, query)
			require.True(t, strings.HasPrefix(fmt.Sprintf("%d %s", status, body), want), "%s: %d %s", query, status, body)
			require.Equal(t, "application/json", header.Get("Content-Type"))
			if status == http.StatusGatewayTimeout {
				require.Equal(t, "1", header.Get("Retry-After"))
			}
		}
		require.Equal(t, 3*time.Second, time.Since(start), "it waits for a version from the future")
		status, header, body, err := r.get(t, "/api/v1/nodes")
		require.NoError(t, err)
		require.Equal(t, "404 text/plain; charset=utf-8 404 page not found\n", fmt.Sprint(status, " ", header.Get("Content-Type"), " ", body))
		status, _, _, err = r.get(t, "/api/v1/pods", "Accept", "text/html, application/json;as=Table")
		require.NoError(t, err)
		require.Equal(t, http.StatusNotAcceptable, status)
		status, _, _, err = r.get(t, "/api/v1/pods", "Accept", "text/html, application/json; charset=utf-8")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		response, err := r.client.Post("http://fake/api/v1/pods", "application/json", nil)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
	})
}

// Watches as a Kubernetes API server was seen to answer them.
func TestWatchAnswers(t *testing.T) {
	bubble(t, fakes.Options[object]{FreshWait: 3 * time.Second}, asPods, func(t *testing.T, r *rig) {
		r.put(t, obj("a", "1"))
		added := `{"type":"ADDED","object":` + typed + podA[1:] + "}\n"
		mark := `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"2"`
		end := mark + `,"annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
		initial := "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
		for query, want := range map[string]string{
			"resourceVersion=1&timeoutSeconds=1":         added,
			"resourceVersion=2&timeoutSeconds=1&limit=3": "",
			"resourceVersion=2&timeoutSeconds=-1":        "",
			"resourceVersion=99&timeoutSeconds=1":        "",
			"timeoutSeconds=1":                           added,
			"timeoutSeconds=1&allowWatchBookmarks=true":  added + end,
			initial:                               added,
			initial + "&allowWatchBookmarks=true": added + end,
			strings.Replace(initial, "true", "false", 1):                   "",
			"resourceVersion=2&timeoutSeconds=62&allowWatchBookmarks=true": mark + "}}}\n",
		} {
			status, header, body, err := r.get(t, "/api/v1/pods?watch=true&"+query)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, "application/json", header.Get("Content-Type"))
			require.Equal(t, want, body, query)
		}
		require.NoError(t, r.Compact("2"))
		_, _, body, err := r.get(t, "/api/v1/pods?watch&resourceVersion=1")
		require.NoError(t, err)
		require.Equal(t, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}}`+"\n", body)
		_, _, body, err = r.get(t, "/api/v1/pods?watch&resourceVersion=9&"+initial)
		require.NoError(t, err)
		require.Equal(t, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 9, current: 2","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}}`+"\n", body)
		_, _, body, err = r.get(t, "/api/v1/pods?watch&timeoutSeconds=1", "Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
		require.NoError(t, err)
		require.Equal(t, `{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"namespace":"ns","name":"a","uid":"uid-1","resourceVersion":"2"}}}`+"\n", body)
	})
}

// The headers of a watch come at once, and each event as soon as it happens.
func TestWatchIsNotHeldBack(t *testing.T) {
	bubble(t, fakes.Options[object]{}, asPods, func(t *testing.T, r *rig) {
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://fake/api/v1/pods?watch=1&resourceVersion=1", nil)
		require.NoError(t, err)
		response, err := r.client.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		r.put(t, obj("a", "1"))
		require.True(t, lines.Scan())
		require.Contains(t, lines.Text(), `"ADDED"`)
		_, err = r.Delete(listwatch.Key{Namespace: "ns", Name: "a"}, fakes.Preconditions{})
		require.NoError(t, err)
		require.True(t, lines.Scan())
		require.Contains(t, lines.Text(), `{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"ns","name":"a","uid":"uid-1","resourceVersion":"3"}`)
		require.Zero(t, time.Since(start))
		require.Equal(t, 1, r.Watches())
		cancel()
		require.False(t, lines.Scan())
		synctest.Wait()
		require.Zero(t, r.Watches())
	})
}

func TestSelectors(t *testing.T) {
	o := asPods
	o.Select = func(labels, fields string) (func(object) bool, error) {
		if labels != "" {
			return nil, errors.New("unable to parse requirement: " + labels)
		}
		return func(o object) bool { return "value="+o.Value == fields }, nil
	}
	bubble(t, fakes.Options[object]{}, o, func(t *testing.T, r *rig) {
		r.put(t, obj("a", "1"), obj("b", "2"))
		_, _, body, err := r.get(t, "/api/v1/namespaces/ns/pods?fieldSelector=value%3D2")
		require.NoError(t, err)
		require.Contains(t, body, `"b"`)
		require.NotContains(t, body, `"a"`)
		status, _, body, err := r.get(t, "/api/v1/pods?watch=1&labelSelector=b")
		require.NoError(t, err)
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, body, "unable to parse requirement: b")
	})
}

// What cannot be encoded answers with the reason, or breaks a list that has begun.
func TestEncodeFails(t *testing.T) {
	o := asPods
	o.Encode = func(o object) ([]byte, error) {
		if o.Value == "bad" {
			return nil, errors.New("no")
		}
		return []byte(o.Value), nil
	}
	s := fakes.New(fakes.StampObject, fakes.Options[object]{})
	h := wire.NewServer(s, o)
	ask := func(query string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/pods"+query, nil))
		return w
	}
	for value, want := range map[string]string{
		"bad":                            `encode ns/a: no`,
		"7":                              `encode ns/a: json: cannot unmarshal number into Go value of type wire.typed in "7"`,
		`{"kind":"Pod"}`:                 `encode ns/a: no object "metadata" in "{\"kind\":\"Pod\"}"`,
		`{"kind":"Pod","metadata":null}`: `encode ns/a: no object "metadata" in "{\"kind\":\"Pod\",\"metadata\":null}"`,
	} {
		_, err := s.Put(obj("a", value))
		require.NoError(t, err)
		message, err := json.Marshal(want)
		require.NoError(t, err)
		status := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":` + string(message) + `,"reason":"InternalError","code":500}`
		w := ask("")
		require.Equal(t, http.StatusInternalServerError, w.Code)
		require.Equal(t, status+"\n", w.Body.String())
		require.Equal(t, `{"type":"ERROR","object":`+status+"}\n", ask("?watch=1").Body.String())
	}
	_, err := s.Put(obj("a", `{"kind":"Own","metadata":{}}`))
	require.NoError(t, err)
	w := ask("")
	_, err = s.Put(obj("b", "bad"))
	require.NoError(t, err)
	require.PanicsWithError(t, http.ErrAbortHandler.Error(), func() { ask("") })
	require.Contains(t, w.Body.String(), `[{"kind":"Own","metadata":{}}]`)
	require.PanicsWithValue(t, "wire: Options.OversizeBytes is -1, less than 0", func() {
		wire.NewServer(s, wire.Options[object]{OversizeBytes: -1})
	})
}
