package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

func ExampleSource() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			body(event("MODIFIED", "web", "12"))(w, r)
			return
		}
		body(podList("10", "", pod("web", "7"), pod("db", "9")))(w, r)
	}))
	defer server.Close()

	source, err := rest.New[*Pod](server.URL+"/api/v1/pods", rest.Options{Client: server.Client(), LabelSelector: "app=shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	meta, err := source.List(ctx, listwatch.ListOptions{}, func(pods ...*Pod) error {
		for _, p := range pods {
			fmt.Println("listed", p.Name, "on", p.Spec.NodeName)
		}
		return nil
	})
	fmt.Println("as of", meta.ResourceVersion, err)
	err = source.Watch(ctx, listwatch.WatchOptions{ResourceVersion: meta.ResourceVersion}, func(events ...listwatch.Event[*Pod]) error {
		for _, e := range events {
			fmt.Println(e.Type, e.Object.Name, "as of", e.ResourceVersion)
		}
		return nil
	})
	fmt.Println("the server has ended the stream:", err)
	// Output:
	// listed web on n1
	// listed db on n1
	// as of 10 <nil>
	// Modified web as of 12
	// the server has ended the stream: <nil>
}

func ExampleObject() {
	server := httptest.NewServer(body(`{"kind":"WidgetList","metadata":{"resourceVersion":"5"},"items":[` +
		`{"kind":"Widget","metadata":{"name":"alpha","resourceVersion":"3"},"spec":{"size":7}}]}`))
	defer server.Close()
	widgets, err := rest.New[rest.Object](server.URL+"/apis/example.com/v1/widgets", rest.Options{Client: server.Client()})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = widgets.List(context.Background(), listwatch.ListOptions{}, func(objects ...rest.Object) error {
		for _, o := range objects {
			size, err := rest.Field[int](o, "spec", "size")
			fmt.Println(o.GetName(), size, err)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// alpha 7 <nil>
	// <nil>
}

func ExampleConfig() {
	cluster, err := rest.InClusterAt("/no/such/directory", os.Getenv)
	if err != nil {
		fmt.Println("not in a pod")
		return
	}
	_, _ = rest.New[*Pod](cluster.URL("/api/v1/pods"), cluster.Options())
	// Output: not in a pod
}

func ExampleOptions() {
	_, err := rest.New[*Pod]("https://server:6443/api/v1/pods", rest.Options{Namespaces: []string{""}, Token: "t", TokenFile: "f"})
	fmt.Println(err)
	// Output:
	// rest "https://server:6443/api/v1/pods": Token and TokenFile are both set
	// Namespaces holds an empty name, which a server takes for all namespaces
}
