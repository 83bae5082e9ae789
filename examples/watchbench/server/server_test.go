package server_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/seed3bce33ad/listwatch/examples/watchbench/pod"
	"github.com/seed3bce33ad/listwatch/examples/watchbench/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	objects  = 23
	seed     = 20260301
	protobuf = "application/vnd.kubernetes.protobuf"
)

// forms runs f with a client of each form on the wire.
func forms(t *testing.T, spec server.Spec, f func(t *testing.T, c *kubernetes.Clientset, s *server.Session)) {
	for _, accept := range []string{"application/json", protobuf} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %v", accept, secure), func(t *testing.T) {
				s, err := server.Start()
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				session, err := s.Address.Open(t.Context(), spec)
				require.NoError(t, err)
				config := &rest.Config{Host: s.Address.HTTP + session.Path}
				if secure {
					config.Host = s.Address.HTTPS + session.Path
					config.CAData = []byte(s.Address.CA)
				}
				config.ContentType = accept
				client, err := rest.HTTPClientFor(config)
				require.NoError(t, err)
				t.Cleanup(client.CloseIdleConnections)
				c, err := kubernetes.NewForConfigAndClient(config, client)
				require.NoError(t, err)
				f(t, c, session)
			})
		}
	}
}

// clean returns a pod without what only frames have.
func clean(p corev1.Pod) corev1.Pod {
	p.TypeMeta = metav1.TypeMeta{}
	return p
}

func requireMade(t *testing.T, pods []corev1.Pod) {
	t.Helper()
	require.Len(t, pods, objects)
	for n, p := range pods {
		require.Empty(t, cmp.Diff(*pod.Make(seed, n), clean(p)))
	}
}

func TestList(t *testing.T) {
	forms(t, server.Spec{Objects: objects}, func(t *testing.T, c *kubernetes.Clientset, s *server.Session) {
		list, err := c.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 10})
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(server.ListVersion), list.ResourceVersion)
		requireMade(t, list.Items)
		require.NoError(t, s.Close(t.Context()))
		_, err = c.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	})
}

func TestPages(t *testing.T) {
	forms(t, server.Spec{Objects: objects}, func(t *testing.T, c *kubernetes.Clientset, _ *server.Session) {
		var all []corev1.Pod
		o := metav1.ListOptions{Limit: 10}
		for _, remaining := range []int64{13, 3, 0} {
			list, err := c.CoreV1().Pods("").List(t.Context(), o)
			require.NoError(t, err)
			all = append(all, list.Items...)
			o.Continue = list.Continue
			if remaining > 0 {
				require.Equal(t, remaining, *list.RemainingItemCount)
			}
		}
		require.Empty(t, o.Continue)
		requireMade(t, all)
	})
}

func initial() metav1.ListOptions {
	return metav1.ListOptions{
		SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
	}
}

func TestStreamingListIsRefused(t *testing.T) {
	forms(t, server.Spec{Objects: 1}, func(t *testing.T, c *kubernetes.Clientset, _ *server.Session) {
		_, err := c.CoreV1().Pods("").Watch(t.Context(), initial())
		require.True(t, apierrors.IsInvalid(err), "%v", err)
	})
}

func TestWatch(t *testing.T) {
	forms(t, server.Spec{Objects: objects, Stream: true}, func(t *testing.T, c *kubernetes.Clientset, s *server.Session) {
		w, err := c.CoreV1().Pods("").Watch(t.Context(), initial())
		require.NoError(t, err)
		defer w.Stop()
		next := func(kind watch.EventType) *corev1.Pod {
			e, ok := <-w.ResultChan()
			require.True(t, ok)
			require.Equal(t, kind, e.Type)
			return e.Object.(*corev1.Pod)
		}
		var pods []corev1.Pod
		for range objects {
			pods = append(pods, *next(watch.Added))
		}
		requireMade(t, pods)
		mark := next(watch.Bookmark)
		require.Equal(t, map[string]string{metav1.InitialEventsAnnotationKey: "true"}, mark.Annotations)
		require.Equal(t, strconv.Itoa(server.ListVersion), mark.ResourceVersion)

		require.NoError(t, s.Do(t.Context(), server.Command{Events: objects}))
		require.NoError(t, s.Do(t.Context(), server.Command{Events: 1, PerSecond: 1000}))
		for n := range objects + 1 {
			got, want := next(watch.Modified), pod.Make(seed, n%objects)
			require.Equal(t, strconv.Itoa(server.ListVersion+1+n), got.ResourceVersion)
			sent := got.Annotations[pod.SentAnnotation]
			require.Regexp(t, `^1[0-9]{18}$`, sent)
			want.ResourceVersion, want.Annotations[pod.SentAnnotation] = got.ResourceVersion, sent
			require.Empty(t, cmp.Diff(*want, clean(*got)))
		}
		require.NoError(t, s.Do(t.Context(), server.Command{Expire: true}))
		e := <-w.ResultChan()
		require.Equal(t, watch.Error, e.Type)
		require.True(t, apierrors.IsResourceExpired(apierrors.FromObject(e.Object)), "%+v", e.Object)
		_, open := <-w.ResultChan()
		require.False(t, open)
		cpu, err := s.CPU(t.Context())
		require.NoError(t, err)
		require.Positive(t, cpu)
	})
}

// Its list would be older than what was told.
func TestNoListAfterEvents(t *testing.T) {
	forms(t, server.Spec{Objects: 1}, func(t *testing.T, c *kubernetes.Clientset, s *server.Session) {
		w, err := c.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: strconv.Itoa(server.ListVersion)})
		require.NoError(t, err)
		defer w.Stop()
		require.NoError(t, s.Do(t.Context(), server.Command{Events: 1}))
		<-w.ResultChan()
		_, err = c.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsInternalError(err), "%v", err)
	})
}

func TestBadRequests(t *testing.T) {
	s, err := server.Start()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	_, err = server.Address{HTTP: s.Address.HTTP + "/nowhere"}.Open(t.Context(), server.Spec{})
	require.ErrorContains(t, err, "404")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/session", "/s/0/do"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Address.HTTP+path, http.NoBody)
		require.NoError(t, err)
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.GreaterOrEqual(t, answer.StatusCode, 400)
	}
}
