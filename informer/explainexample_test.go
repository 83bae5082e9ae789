package informer_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

func ExampleInformer_Explain() {
	pods, stop := synced(informer.Options{Name: "pods"})
	defer stop()
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods"})
	reg, _ := informer.Enqueue(context.Background(), pods, queue)
	<-reg.Synced().Done()
	e := pods.Explain(pods.SomeKeys(1)[0], queue)
	for line := range strings.Lines(e.String()) {
		switch station, text, _ := strings.Cut(line, " "); station {
		case "reading", "handler": // the others have times in them
			fmt.Print(station, ": ", strings.TrimLeft(text, " "))
		}
	}
	fmt.Println(e.Queues[0].Name, e.Queues[0].State)
	// Output:
	// reading: nothing waits
	// handler: enqueue: told 2, up to date
	// pods Ready
}

func ExampleExplanation() {
	pods, stop := synced(informer.Options{Name: "pods"})
	defer stop()
	e := pods.Explain(listwatch.Key{Name: "nobody"})
	fmt.Println(e.Informer, e.Source.Synced, e.Source.Refused == nil, e.Reading.Queued, e.Store.Held, e.Object())
	// Output: pods true true 0 false <nil>
}

// owners is a queue of the names of owners, which owned objects carry in front of their own.
type owners struct{ *workqueue.Queue[string] }

func (o owners) Find(key any) (workqueue.Item[any], bool) {
	if k, ok := key.(listwatch.Key); ok {
		key, _, _ = strings.Cut(k.Name, "-")
	}
	return o.Queue.Find(key)
}

// A queue whose keys are not those of the objects is shown by a type that knows how to find them.
func ExampleQueue() {
	queue := workqueue.New[string](workqueue.Options{Name: "owners"})
	queue.Add("web")
	pods := informer.New[*fakes.Object](collection(), informer.Options{})
	e := pods.Explain(listwatch.Key{Name: "web-7"}, owners{queue})
	fmt.Println(e.Queues[0].Name, e.Queues[0].Held, e.Queues[0].State)
	// Output: owners true Ready
}

func ExampleInspected() {
	pods, stop := synced(informer.Options{Name: "pods"})
	defer stop()
	for _, i := range []informer.Inspected{pods} {
		h := i.Health()
		fmt.Println(h.Name, h.Synced, h.Objects, h.Queued, i.Stats().Changes, len(i.SomeKeys(1)))
	}
	// Output: pods true 2 0 2 1
}

func ExampleFactory_Informers() {
	var factory informer.Factory
	_, _ = informer.Of[*fakes.Object](&factory, "pods", collection())
	for _, i := range factory.Informers() {
		fmt.Println(i.Health().Name, i.Health().Running)
	}
	// Output: pods false
}
