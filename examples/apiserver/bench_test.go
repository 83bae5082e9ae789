package apiserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// paddedPod is a pod of about 4 KB.
func paddedPod(name string, n int) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{"n":"%d","padding":%q}},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
		name, n, strings.Repeat("x", 3500))
}

func send(b *testing.B, a *api, method, path, body string) {
	response, err := a.send(b.Context(), method, path, body)
	if err != nil {
		b.Error(err)
		return
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode >= 300 {
		b.Errorf("%s %s: %d %v", method, path, response.StatusCode, err)
	}
}

// BenchmarkWrites makes pods from eight clients; etcd syncs nothing to the disk.
func BenchmarkWrites(b *testing.B) {
	a := newAPI(b, apiserver.Options{})
	a.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 8
	var next atomic.Int64
	b.ResetTimer()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				send(b, a, "POST", pods, paddedPod(fmt.Sprintf("p-%d", n), 0))
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkList lists 10,000 pods of 4 KB.
func BenchmarkList(b *testing.B) {
	const count = 10_000
	a := newAPI(b, apiserver.Options{})
	a.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 8
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for i := range count / 8 {
				send(b, a, "POST", pods, paddedPod(fmt.Sprintf("p-%d-%d", w, i), 0))
			}
		})
	}
	group.Wait()
	for name, query := range map[string]string{"latest": "", "any": "?resourceVersion=0", "selected": "?fieldSelector=spec.nodeName%3Dn"} {
		b.Run(name, func(b *testing.B) {
			before := heapAllocated()
			for b.Loop() {
				send(b, a, "GET", pods+query, "")
			}
			b.ReportMetric(float64(heapAllocated()-before)/float64(b.N)/(1<<20), "MiB/list")
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/list")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func heapAllocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// BenchmarkFanOut has one pod of 4 KB changed while many watch it. The clients read without looking.
func BenchmarkFanOut(b *testing.B) {
	for _, watchers := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(watchers), func(b *testing.B) {
			a := newAPI(b, apiserver.Options{})
			a.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 8
			start := a.must("POST", pods, paddedPod("a", 0)).Metadata.ResourceVersion
			var group sync.WaitGroup
			for range watchers {
				w := a.watch(pods + "?watch=true&resourceVersion=" + start)
				group.Go(func() {
					lines := bufio.NewReaderSize(w.response.Body, 8<<10)
					for seen := 0; seen < b.N; {
						_, err := lines.ReadSlice('\n')
						if err == nil {
							seen++
						} else if err != bufio.ErrBufferFull {
							b.Error(err)
							return
						}
					}
				})
			}
			b.ResetTimer()
			for i := range b.N {
				send(b, a, "PUT", pods+"/a", paddedPod("a", i+1))
			}
			group.Wait()
			b.ReportMetric(float64(b.N*watchers)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkInitialEvents streams 1,000 pods to a client that decodes nothing.
func BenchmarkInitialEvents(b *testing.B) {
	a := newAPI(b, apiserver.Options{})
	for i := range 1000 {
		send(b, a, "POST", pods, paddedPod(fmt.Sprintf("p-%d", i), 0))
	}
	b.ResetTimer()
	for range b.N {
		w := a.watch(pods + "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
		for range 1000 {
			_, err := w.lines.ReadBytes('\n')
			require.NoError(b, err)
		}
		line, err := w.lines.ReadBytes('\n')
		require.NoError(b, err)
		var e event
		require.NoError(b, json.Unmarshal(line, &e))
		require.Equal(b, "BOOKMARK", e.Type)
		require.NoError(b, w.response.Body.Close())
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(0, "ns/op")
}
