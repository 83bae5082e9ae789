package apiserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

func ExampleServer() {
	server, err := apiserver.Start(context.Background(), apiserver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(server.URL() + "/readyz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	fmt.Println(string(body), err)
	// Output: ok <nil>
}
