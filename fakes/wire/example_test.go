package wire_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/wire"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

func ExampleServer() {
	pods := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	_, _ = pods.Create(&fakes.Object{Meta: listwatch.Meta{Namespace: "shop", Name: "web"}})
	server := wire.NewServer(pods, wire.Options[*fakes.Object]{Kind: "Pod", APIVersion: "v1", Resource: "pods"})

	endpoint := wire.Memory() // or wire.Loopback()
	host := wire.Serve(endpoint, server)
	defer host.Close()
	client := endpoint.Client(true)
	defer client.CloseIdleConnections()
	source, _ := rest.New[*fakes.Object]("http://fake/api/v1/pods", rest.Options{Client: client})

	list := func() {
		_, err := source.List(context.Background(), listwatch.ListOptions{}, func(pods ...*fakes.Object) error {
			fmt.Println(listwatch.KeyOf(pods[0]))
			return nil
		})
		fmt.Println(err)
	}
	list()
	_ = server.Inject(fakes.Fault{Kind: fakes.FaultFail, Code: 403})
	list()
	// Output:
	// shop/web
	// <nil>
	// list /api/v1/pods: status 403 Forbidden: fail
}

func ExampleProxy() {
	pods := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	back, front := wire.Memory(), wire.Memory()
	host := wire.Serve(back, wire.NewServer(pods, wire.Options[*fakes.Object]{}))
	defer host.Close()
	proxy := wire.NewProxy(front, back, wire.ProxyOptions{})
	defer proxy.Close()
	client := front.Client(false)
	defer client.CloseIdleConnections()

	fmt.Println(proxy.Links())
	response, _ := client.Get("http://fake/objects?watch=true&resourceVersion=1")
	fmt.Println(response.Status, proxy.Links())
	_ = proxy.Inject(fakes.Fault{Kind: fakes.FaultReset})
	_, err := io.ReadAll(response.Body)
	fmt.Println(err)
	_ = response.Body.Close()
	// Output:
	// 0
	// 200 OK 1
	// connection reset by peer
}

func ExampleOptions() {
	o := wire.Options[*fakes.Object]{
		Kind: "Pod", APIVersion: "v1", Resource: "pods", BuiltIn: true,
		Select: func(labels, _ string) (func(*fakes.Object) bool, error) {
			name, value, _ := strings.Cut(labels, "=")
			return func(o *fakes.Object) bool { return o.Labels[name] == value }, nil
		},
	}
	pods := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	answer := httptest.NewRecorder()
	wire.NewServer(pods, o).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/v1/pods?labelSelector=app%3Dweb", nil))
	fmt.Print(answer.Body)
	// Output: {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}
}

func ExampleHost() {
	endpoint, _ := wire.Loopback()
	host := wire.Serve(endpoint, http.NotFoundHandler())
	client := endpoint.Client(true)
	response, _ := client.Get("http://" + endpoint.Addr().String())
	fmt.Println(response.Proto, response.Status)
	_ = response.Body.Close()
	client.CloseIdleConnections()
	host.Close()
	// Output: HTTP/2.0 404 Not Found
}

func ExampleEndpoint() {
	endpoint := wire.Memory()
	_ = endpoint.Close()
	_, err := endpoint.Dial(context.Background())
	fmt.Println(endpoint.Addr(), err)
	// Output: memory wire: use of closed network connection
}

func ExampleProxyOptions() {
	clock := clock.NewMock() // faults that last end by it
	proxy := wire.NewProxy(wire.Memory(), wire.Memory(), wire.ProxyOptions{Clock: clock})
	_ = proxy.Inject(fakes.Fault{Kind: fakes.FaultRefuse, For: time.Minute})
	clock.Add(time.Minute)
	proxy.Close()
	// Output:
}
