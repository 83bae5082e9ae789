package apiserver_test

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// nextMessage reads one event of a watch in protobuf; at the end there is none.
func nextMessage(t *testing.T, from io.Reader) (metav1.WatchEvent, bool) {
	t.Helper()
	var size uint32
	if err := binary.Read(from, binary.BigEndian, &size); err != nil {
		require.ErrorIs(t, err, io.EOF)
		return metav1.WatchEvent{}, false
	}
	data := make([]byte, size)
	_, err := io.ReadFull(from, data)
	require.NoError(t, err)
	var e metav1.WatchEvent
	require.NoError(t, e.Unmarshal(data))
	return e, true
}

func TestProtobufWatch(t *testing.T) {
	a := newAPI(t, apiserver.Options{FutureWait: 1})
	start := a.must("POST", configMaps, `{"metadata":{"name":"a","labels":{"x":"1"}},"data":{"k":"v"}}`).Metadata.ResourceVersion
	open := func(query string) io.Reader {
		response, err := a.send(t.Context(), "GET", configMaps+"?watch=true&labelSelector=x%3D1"+query, "", "Accept", kinds.Protobuf+","+kinds.JSON)
		require.NoError(t, err)
		t.Cleanup(func() { response.Body.Close() })
		require.Equal(t, kinds.Protobuf+";stream=watch", response.Header.Get("Content-Type"))
		return response.Body
	}
	w := open("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	next := func(kind string) *corev1.ConfigMap {
		t.Helper()
		e, ok := nextMessage(t, w)
		require.True(t, ok)
		require.Equal(t, kind, e.Type)
		return fromProtobuf(t, string(e.Object.Raw)).(*corev1.ConfigMap)
	}
	added := next("ADDED")
	require.Equal(t, map[string]string{"k": "v"}, added.Data)
	require.Equal(t, start, added.ResourceVersion)
	mark := next("BOOKMARK")
	require.Equal(t, "true", mark.Annotations[metav1.InitialEventsAnnotationKey])
	require.Equal(t, start, mark.ResourceVersion)
	a.must("PUT", configMaps+"/a", `{"metadata":{"name":"a","labels":{"x":"1"}},"data":{"k":"w"}}`)
	changed := next("MODIFIED")
	require.Equal(t, map[string]string{"k": "w"}, changed.Data)
	require.Equal(t, older(t, start, -1), changed.ResourceVersion)
	a.must("PUT", configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"x"}}`)
	left := next("DELETED")
	require.Equal(t, "w", left.Data["k"], "as it was when it was last seen")
	require.Equal(t, older(t, start, -2), left.ResourceVersion)
	// Who selects all sees a change in the same event.
	all, err := a.send(t.Context(), "GET", configMaps+"?watch=true&timeoutSeconds=1&resourceVersion="+changed.ResourceVersion, "", "Accept", kinds.Protobuf)
	require.NoError(t, err)
	defer all.Body.Close()
	e, ok := nextMessage(t, all.Body)
	require.True(t, ok)
	require.Equal(t, "MODIFIED x", e.Type+" "+fromProtobuf(t, string(e.Object.Raw)).(*corev1.ConfigMap).Data["k"])
	_, ok = nextMessage(t, all.Body)
	require.False(t, ok, "the end is a clean one")

	require.NoError(t, a.server.Compact(t.Context()))
	late := open("&resourceVersion=" + start)
	e, ok = nextMessage(t, late)
	require.True(t, ok)
	require.Equal(t, "ERROR", e.Type)
	status := fromProtobuf(t, string(e.Object.Raw)).(*metav1.Status)
	require.Equal(t, int32(410), status.Code)
	require.Equal(t, metav1.StatusReasonExpired, status.Reason)
	_, ok = nextMessage(t, late)
	require.False(t, ok)
	require.Equal(t, 406, a.do("GET", widgets+"?watch=true", "", "Accept", kinds.Protobuf).code)
}

// The recorded events, read and written by this server's means, are what was recorded, byte by byte.
func TestRecordedProtobufWatch(t *testing.T) {
	a := newAPI(t, apiserver.Options{Namespaces: []string{"default", "wire"}})
	body := recorded(t, "watch-configmaps.pb")
	var want []*corev1.ConfigMap
	for from := strings.NewReader(body); ; {
		e, ok := nextMessage(t, from)
		if !ok {
			break
		}
		require.Equal(t, "ADDED", e.Type)
		o := fromProtobuf(t, string(e.Object.Raw)).(*corev1.ConfigMap)
		require.Equal(t, string(e.Object.Raw), protobufOf(t, o))
		want = append(want, o)
	}
	require.NotEmpty(t, want)
	for _, o := range want {
		sent := o.DeepCopy()
		sent.ResourceVersion = ""
		require.Equal(t, 201, a.do("POST", "/api/v1/namespaces/wire/configmaps", protobufOf(t, sent), "Content-Type", kinds.Protobuf).code)
	}
	response, err := a.send(t.Context(), "GET", "/api/v1/namespaces/wire/configmaps?watch=true&timeoutSeconds=1", "", "Accept", kinds.Protobuf)
	require.NoError(t, err)
	defer response.Body.Close()
	for _, o := range want {
		e, ok := nextMessage(t, response.Body)
		require.True(t, ok)
		got := fromProtobuf(t, string(e.Object.Raw)).(*corev1.ConfigMap)
		require.Equal(t, o.Name, got.Name)
		require.Equal(t, o.Data, got.Data)
		require.Equal(t, o.BinaryData, got.BinaryData)
		require.Equal(t, o.Labels, got.Labels)
	}
}
