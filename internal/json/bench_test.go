package json_test

import (
	stdjson "encoding/json"
	"os"
	"testing"
	"time"

	"github.com/seed3bce33ad/listwatch/internal/json"
)

type unmarshal func([]byte, any) error

var implementations = []struct {
	name string
	call unmarshal
}{
	{"ours", json.Unmarshal},
	{"std", stdjson.Unmarshal},
}

// bench reports MB/s and allocations of decoding data into new Ts.
func bench[T any](b *testing.B, data []byte) {
	for _, implementation := range implementations {
		b.Run(implementation.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				var v T
				if err := implementation.call(data, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func fixture(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func BenchmarkPod(b *testing.B)        { bench[pod](b, fixture(b, "get-pod.json")) }
func BenchmarkPodUntyped(b *testing.B) { bench[map[string]any](b, fixture(b, "get-pod.json")) }
func BenchmarkPodList(b *testing.B)    { bench[podList](b, fixture(b, "list-pods.json")) }
func BenchmarkConfigMaps(b *testing.B) { bench[configMapList](b, fixture(b, "list-configmaps.json")) }

// BenchmarkAgainstStd decodes by both in turn, so that a noisy machine disturbs both alike, and
// reports how many times as fast this package is.
func BenchmarkAgainstStd(b *testing.B) {
	data := fixture(b, "get-pod.json")
	for name, fresh := range map[string]func() any{
		"pod":     func() any { return new(pod) },
		"untyped": func() any { return new(map[string]any) },
	} {
		b.Run(name, func(b *testing.B) {
			spent := make([]time.Duration, len(implementations))
			for b.Loop() {
				for i, implementation := range implementations {
					start := b.Elapsed()
					if err := implementation.call(data, fresh()); err != nil {
						b.Fatal(err)
					}
					spent[i] += b.Elapsed() - start
				}
			}
			b.ReportMetric(float64(spent[1])/float64(spent[0]), "times-std")
		})
	}
}

func BenchmarkPodSkip(b *testing.B) {
	data := fixture(b, "get-pod.json")
	d, err := json.New(json.Options{Skip: []string{"metadata.managedFields"}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		var v pod
		if err := d.Unmarshal(data, &v); err != nil {
			b.Fatal(err)
		}
	}
}
