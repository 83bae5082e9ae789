//go:build !race

package apiserver_test

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

var (
	soakWrites = flag.Int("apiserver.soak", 15, "how many writes each of the 20 writers of TestSoak makes")
	soakSeed   = flag.Uint64("apiserver.seed", rand.Uint64(), "what TestSoak's writers choose by")
)

// soakWrite makes one write; what is cut off, or comes too late or too early, is no failure.
func soakWrite(t *testing.T, a *api, random *rand.Rand, n int) {
	name := fmt.Sprintf("s-%d", random.IntN(50))
	body := configMap(name, fmt.Sprintf(`,"labels":{"n":"%d"}`, n))
	method, path := "POST", configMaps
	switch random.IntN(4) {
	case 0, 1:
		method, path = "PUT", path+"/"+name
	case 2:
		method, path, body = "DELETE", path+"/"+name, ""
	}
	response, err := a.send(t.Context(), method, path, body)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.StatusCode >= 500 {
		t.Errorf("%s %s: %d", method, path, response.StatusCode)
	}
}

// soak writes from many clients, while connections are cut and history is dropped.
func soak(t *testing.T, a *api) {
	var done atomic.Int64
	var writing sync.WaitGroup
	for w := range 20 {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(*soakSeed, uint64(w)))
			for n := range *soakWrites {
				soakWrite(t, a, random, n)
				switch i := done.Add(1); {
				case i%70 == 0:
					a.server.CutConnections()
				case i%50 == 0:
					if err := a.server.Compact(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	writing.Wait()
}

// The informer of client-go, that of this library and etcd agree once the writers rest.
func TestSoak(t *testing.T) {
	t.Logf("seed %d", *soakSeed)
	a := newAPI(t, apiserver.Options{})
	_, untyped := clientsOf(t, a)
	theirs := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0).ForResource(
		schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Informer()
	changed := make(chan struct{}, 1)
	change := func(any) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	_, err := theirs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: change, UpdateFunc: func(any, any) { change(nil) }, DeleteFunc: change,
	})
	require.NoError(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	source, err := rest.New[*corev1.ConfigMap](a.server.URL()+"/api/v1/configmaps", rest.Options{Client: &http.Client{Transport: transport}})
	require.NoError(t, err)
	ours := informer.New(source, informer.Options{Name: "configmaps", Logger: slog.New(slog.DiscardHandler)})
	group(t, func() { theirs.RunWithContext(t.Context()) })
	group(t, func() {
		if err := ours.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), theirs.HasSynced))
	require.NoError(t, ours.WaitForSync(t.Context()))

	soak(t, a)
	// What may have been cut off with the last connections is sent again.
	var last object
	for last.Metadata.Name == "" {
		if response, err := a.send(t.Context(), "POST", configMaps, configMap("last", "")); err == nil {
			require.NoError(t, response.Body.Close())
			last = a.must("GET", configMaps+"/last", "")
		}
	}
	version := last.Metadata.ResourceVersion
	want := map[string]string{}
	for _, o := range a.must("GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+version, "").Items {
		want[o.Metadata.Name] = o.Metadata.ResourceVersion
	}
	<-ours.Reached(version).Done()
	got := map[string]string{}
	for _, o := range ours.Indexer().List() {
		got[o.Name] = o.ResourceVersion
	}
	require.Equal(t, want, got)
	for {
		got := map[string]string{}
		for _, o := range theirs.GetStore().List() {
			m := o.(metav1.Object)
			got[m.GetName()] = m.GetResourceVersion()
		}
		if maps.Equal(want, got) {
			return
		}
		select {
		case <-changed: // a state on the way to what is wanted
		case <-t.Context().Done():
			require.Equal(t, want, got)
		}
	}
}
