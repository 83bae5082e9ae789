// Command plain is a program with an informer of a Kubernetes collection that does not show the
// debug page.
package main

import (
	"context"
	"fmt"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

func main() {
	source, err := rest.New[*listwatch.Meta]("http://localhost/api/v1/pods", rest.Options{})
	if err != nil {
		panic(err)
	}
	pods := informer.New(source, informer.Options{})
	fmt.Println(pods.Run(context.Background()), pods.Explain(listwatch.Key{Name: "a"}))
}
