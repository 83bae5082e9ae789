package kinds_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// What is stamped is what would have been encoded.
func TestStamp(t *testing.T) {
	for _, k := range append(kinds.Table(), widgets(t)) {
		for _, uid := range []string{"u-1", ""} {
			o := k.Empty(false)
			o.SetName("a")
			o.SetUID("u-1")
			o.SetGeneration(3)
			o.SetOwnerReferences([]metav1.OwnerReference{{Name: "o", UID: "other"}})
			o.SetAnnotations(map[string]string{"uid": `"uid":"no"`, "resourceVersion": "no"})
			if uid == "" {
				o.SetUID("")
			}
			stored, err := k.EncodeStored(o)
			require.NoError(t, err)
			for _, version := range []int64{7, 123456} {
				o.SetResourceVersion(map[int64]string{7: "7", 123456: "123456"}[version])
				want, err := k.EncodeItem(o)
				require.NoError(t, err)
				stored, err = k.Stamp(stored, version) // of what was stamped, the second time
				require.NoError(t, err)
				require.Equal(t, string(want), string(stored))
				named, err := k.Encode(o)
				require.NoError(t, err)
				require.Equal(t, string(named), k.Head()+string(stored[1:]))
			}
		}
	}
}

func TestStampOfWhatIsNoObject(t *testing.T) {
	for _, data := range []string{"", "no JSON", `{"metadata":5}`, `{"metadata":`, "5"} {
		_, err := kinds.Pods().Stamp([]byte(data), 5)
		require.ErrorContains(t, err, "stored pods", data)
	}
}
