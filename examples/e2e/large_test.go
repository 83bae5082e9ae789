package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
	"github.com/seed3bce33ad/listwatch/examples/e2e/pair"
)

// large fills the server with config maps and lets each side sync in a process of its own, so
// that memory can be told apart. What both hold at the end must be what etcd has.
func (r *rig) large(t *testing.T) {
	t.Run("large list", func(t *testing.T) {
		r.fill(t)
		stored, err := pair.FromEtcd(r.ctx, r.cluster.EtcdClient(), churn.ConfigMaps)
		require.NoError(t, err)
		digests := map[bool]string{}
		for _, metadata := range []bool{false, true} {
			digests[metadata] = digest(t, (&pair.Spec{Metadata: metadata}).Select(stored))
		}
		access := r.access
		access.Address = r.cluster.Address()
		for _, job := range []job{
			{Form: pair.Typed}, {Form: pair.Typed, Page: 500}, {Form: pair.Untyped}, {Form: pair.Metadata},
		} {
			for _, ours := range []bool{true, false} {
				job.Access, job.Ours = access, ours
				got := r.run(t, job)
				require.Equal(t, digests[job.Form == pair.Metadata], got.Digest)
				require.Equal(t, len(stored), got.Objects)
				line := fmt.Sprintf("| %s | %s | %s | %.0f MB | %.0f MB |", job.name(), got.Synced.Round(10*time.Millisecond),
					got.CPU.Round(10*time.Millisecond), float64(got.Heap)/1e6, float64(got.Peak)/1e6)
				t.Log(line)
				r.report.large = append(r.report.large, line)
			}
		}
		r.report.head = append(r.report.head, fmt.Sprintf("the large list has %d config maps", len(stored)))
	})
}

// fill writes the config maps straight into etcd, as the API server would have written them.
func (r *rig) fill(t *testing.T) {
	encoder := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	client := r.cluster.EtcdClient()
	var puts []clientv3.Op
	for i := range *objectsFlag {
		name := fmt.Sprintf("large-%06d", i)
		var data bytes.Buffer
		require.NoError(t, encoder.Encode(&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: home, UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)),
				CreationTimestamp: metav1.Unix(1_700_000_000, 0), Labels: map[string]string{"app": "large", "number": fmt.Sprint(i % 100)},
			},
			Data: map[string]string{"key": fmt.Sprintf("a small value, number %d", i), "other": "0123456789"},
		}, &data))
		puts = append(puts, clientv3.OpPut(churn.ConfigMaps.Registry+home+"/"+name, data.String()))
		if len(puts) == 100 || i == *objectsFlag-1 {
			_, err := client.Txn(r.ctx).Then(puts...).Commit()
			require.NoError(t, err)
			puts = puts[:0]
		}
	}
}

// digest is a hash of all bodies, by which two processes compare what they hold.
func digest(t require.TestingT, all map[listwatch.Key]pair.Body) string {
	keys := make([]listwatch.Key, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, listwatch.Key.Compare)
	h := sha256.New()
	for _, k := range keys {
		data, err := json.Marshal(all[k])
		require.NoError(t, err)
		h.Write(data)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// run runs this test program once more, with one job.
func (r *rig) run(t *testing.T, j job) result {
	data, err := json.Marshal(j)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.CommandContext(r.ctx, self)
	c.Env = append(os.Environ(), childEnv+"="+string(data))
	c.Stderr = t.Output()
	out, err := c.Output()
	require.NoError(t, err)
	var got result
	require.NoError(t, json.Unmarshal(out, &got))
	return got
}
