// Command debug is a program that shows the debug page.
package main

import (
	"net/http"

	"github.com/seed3bce33ad/listwatch/informer"
)

func main() {
	var factory informer.Factory
	http.Handle("/", informer.DebugHandler(informer.DebugOptions{Factory: &factory}))
	panic(http.ListenAndServe("localhost:0", nil))
}
