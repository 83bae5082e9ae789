package rest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// answering answers every request with one status, content type and body.
type answering struct {
	code int
	kind string
	body func() io.Reader
}

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.code, Header: http.Header{"Content-Type": {a.kind}}, Body: io.NopCloser(a.body())}, nil
}

// FuzzAnswer: whatever a server answers with whatever status, a list and a watch end, with a class
// when they fail; and of an answer that breaks off nothing is handed on that the whole one does
// not begin with.
func FuzzAnswer(f *testing.F) {
	list := []byte(podList("9", "", pod("a", "1"), pod("b", "2"), `{"kind":"Node"}`))
	events := []byte(event("ADDED", "a", "10") + bookmark("11", "true") + event("DELETED", "a", "12") + event("ODD", "b", "13"))
	f.Add(list, uint16(0), "application/json", uint16(40)) // a status is 200 and so much
	f.Add(events, uint16(0), "application/json;stream=watch", uint16(90))
	f.Add([]byte(`{"kind":"Status","code":410,"reason":"Expired"}`), uint16(210), "", uint16(9))
	f.Add(list, uint16(0), "application/vnd.kubernetes.protobuf", uint16(0))
	f.Add(list, uint16(104), "text/html", uint16(7))
	f.Fuzz(func(t *testing.T, data []byte, code uint16, kind string, cut uint16) {
		ask := func(body []byte, broken error) (listed, watched *record[*Pod]) {
			end := io.Reader(iotest.ErrReader(broken))
			source, err := rest.New[*Pod]("http://server/api/v1/pods", rest.Options{MaxObjectBytes: 300, Client: &http.Client{Transport: answering{
				code: 200 + int(code)%400, kind: kind, body: func() io.Reader { return io.MultiReader(iotest.HalfReader(bytes.NewReader(body)), end) },
			}}})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			listed, watched = new(record[*Pod]), new(record[*Pod])
			_, err = source.List(ctx, listwatch.ListOptions{Refused: listed.refuse}, listed.each)
			requireTyped(t, err)
			if broken != io.EOF {
				require.Error(t, err, "a list that breaks off")
			}
			requireTyped(t, source.Watch(ctx, listwatch.WatchOptions{ResourceVersion: "1", Refused: watched.refuse}, watched.watch))
			require.NoError(t, ctx.Err(), "a call hangs")
			return listed, watched
		}
		listed, watched := ask(data, io.EOF)
		partList, partWatch := ask(data[:int(cut)%(len(data)+1)], io.ErrUnexpectedEOF)
		require.LessOrEqual(t, len(partList.objects), len(listed.objects))
		require.Empty(t, cmp.Diff(listed.objects[:len(partList.objects)], partList.objects, cmpopts.EquateEmpty()))
		require.LessOrEqual(t, len(partWatch.full), len(watched.full))
		require.Empty(t, cmp.Diff(watched.full[:len(partWatch.full)], partWatch.full, cmpopts.EquateEmpty()))
	})
}

// requireTyped checks that an error is one of the classes.
func requireTyped(t *testing.T, err error) {
	t.Helper()
	var status *listwatch.StatusError
	if err == nil || errors.As(err, &status) && status.Kind != nil {
		return
	}
	requireClass(t, err)
}
