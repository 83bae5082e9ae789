package pair

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/e2e/churn"
)

// Truth returns what there is of a kind: read from etcd, decoded, and found equal to what a
// consistent list of the API server shows. Nobody may write meanwhile.
func Truth(ctx context.Context, client dynamic.Interface, etcd *clientv3.Client, k *churn.Kind) (map[listwatch.Key]Body, error) {
	stored, err := FromEtcd(ctx, etcd, k)
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(k.Resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	shown := map[listwatch.Key]Body{}
	for i := range list.Items {
		body, err := bodyOf(list.Items[i].Object)
		if err != nil {
			return nil, err
		}
		shown[listwatch.Key{Namespace: list.Items[i].GetNamespace(), Name: list.Items[i].GetName()}] = body
	}
	if err := Diff(stored, shown); err != nil {
		return nil, fmt.Errorf("etcd and the list of %s: %w", k.Resource.Resource, err)
	}
	return stored, nil
}

// FromEtcd reads the objects of a kind where the API server has put them. An object's version is
// the revision at which etcd got it; its body has none.
func FromEtcd(ctx context.Context, etcd *clientv3.Client, k *churn.Kind) (map[listwatch.Key]Body, error) {
	got, err := etcd.Get(ctx, k.Registry, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	out := map[listwatch.Key]Body{}
	for _, kv := range got.Kvs {
		data := kv.Value
		if !bytes.HasPrefix(data, []byte("{")) { // a built-in kind: protobuf
			object, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kv.Key, err)
			}
			if data, err = json.Marshal(object); err != nil {
				return nil, err
			}
		}
		body, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kv.Key, err)
		}
		body["metadata"].(map[string]any)["resourceVersion"] = strconv.FormatInt(kv.ModRevision, 10)
		key, err := listwatch.ParseKey(strings.TrimPrefix(string(kv.Key), k.Registry))
		if err != nil {
			return nil, err
		}
		out[key] = body
	}
	return out, nil
}

// Select returns what a pair should hold of the truth.
func (s *Spec) Select(truth map[listwatch.Key]Body) map[listwatch.Key]Body {
	out := map[listwatch.Key]Body{}
	for key, body := range truth {
		if !s.Matches(key, body) {
			continue
		}
		if s.Metadata {
			body = Body{"metadata": body["metadata"]}
		}
		out[key] = body
	}
	return out
}

// Diff returns nil when both are the same, and otherwise says where they differ: at most five
// keys.
func Diff(want, got map[listwatch.Key]Body) error {
	var errs []error
	for key, body := range want {
		other, ok := got[key]
		switch d := ""; {
		case !ok:
			errs = append(errs, fmt.Errorf("%s is missing", key))
		default:
			if d = cmp.Diff(body, other); d != "" {
				errs = append(errs, fmt.Errorf("%s is another (-want +got):\n%s", key, d))
			}
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			errs = append(errs, fmt.Errorf("%s should not be there", key))
		}
	}
	if n := len(errs); n > 5 {
		errs = append(errs[:5], fmt.Errorf("and %d more", n-5))
	}
	return errors.Join(errs...)
}
