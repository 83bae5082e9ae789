package apiserver_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// A list in protobuf is, byte for byte, what the usual encoder makes of it: an empty one, one of a few objects, and one that
// several goroutines make.
func TestProtobufListIsTheUsualOne(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	for made, total := range []int{0, 3, 300} {
		for i := range total {
			a.do("POST", configMaps, fmt.Sprintf(`{"metadata":{"name":"c-%d-%d","labels":{"n":"%d"}},"data":{"k":"v"}}`, made, i, i))
		}
		for _, query := range []string{"", "?limit=2"} {
			got := a.do("GET", configMaps+query, "", "Accept", "application/vnd.kubernetes.protobuf")
			require.Equal(t, 200, got.code)
			require.Equal(t, "application/vnd.kubernetes.protobuf", got.header.Get("Content-Type"))
			list := &corev1.ConfigMapList{}
			_, _, err := codec.Decode([]byte(got.body), nil, list)
			require.NoError(t, err)
			require.Len(t, list.Items, len(a.must("GET", configMaps+query, "").Items))
			list.Kind, list.APIVersion = "ConfigMapList", "v1"
			var want bytes.Buffer
			require.NoError(t, codec.Encode(list, &want))
			require.Equal(t, want.String(), got.body)
		}
	}
}
