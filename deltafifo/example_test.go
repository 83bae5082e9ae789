package deltafifo_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

func ExampleDeltaFIFO() {
	ctx := context.Background()
	store := newMemory()
	queue := deltafifo.New[*pod](store, deltafifo.Options{})

	// The first list, then what the watch reports.
	snapshot := queue.Begin(listwatch.Rebuild)
	_ = snapshot.Put(ctx, newPod("web", "U1", "3"), newPod("db", "U2", "5"))
	_ = snapshot.Commit("7")
	_ = queue.Apply(ctx,
		listwatch.Event[*pod]{Type: listwatch.Modified, Object: newPod("web", "U1", "8"), ResourceVersion: "8"},
		listwatch.Event[*pod]{Type: listwatch.Deleted, Object: newPod("db", "U2", "5"), ResourceVersion: "9"},
	)
	queue.Close()
	for {
		err := queue.Pop(ctx, 0, func(batch deltafifo.Batch[*pod]) error {
			for _, item := range batch.Items {
				for _, delta := range item.Deltas {
					fmt.Println(item.Key, delta.Type, delta.Head.ResourceVersion)
				}
				store.apply(item.Deltas)
			}
			fmt.Println("at", batch.Version, "exact:", batch.Exact, "synced:", batch.Synced)
			return nil
		})
		if errors.Is(err, listwatch.ErrStopped) {
			return
		}
	}
	// Output:
	// web Replaced 3
	// web Updated 8
	// db Replaced 5
	// db Deleted 9
	// at 9 exact: true synced: true
}

func ExampleDeltaFIFO_Begin() {
	ctx := context.Background()
	queue := deltafifo.New[*pod](nil, deltafifo.Options{})
	_ = queue.Add(ctx, newPod("web", "U1", "3"))

	// A list without web: it was deleted, and nobody saw it.
	snapshot := queue.Begin(listwatch.Rebuild)
	_ = snapshot.Commit("7")
	_ = queue.Pop(ctx, 0, func(batch deltafifo.Batch[*pod]) error {
		for _, delta := range batch.Items[0].Deltas {
			fmt.Println(delta.Type, delta.Head.ResourceVersion, "last seen at", delta.Object.ResourceVersion, "unknown:", delta.Unknown)
		}
		return nil
	})
	// Output:
	// Added 3 last seen at 3 unknown: false
	// Deleted 7 last seen at 3 unknown: true
}

func ExampleType() {
	fmt.Println(deltafifo.Replaced)
	// Output: Replaced
}

func ExampleDeltas() {
	queue := deltafifo.New[*pod](nil, deltafifo.Options{})
	_ = queue.Add(context.Background(), newPod("web", "", "3"))
	_ = queue.Update(context.Background(), newPod("web", "", "4"))
	_ = queue.Pop(context.Background(), 1, func(batch deltafifo.Batch[*pod]) error {
		var item deltafifo.Deltas[*pod] = batch.Items[0]
		var newest deltafifo.Delta[*pod] = item.Deltas[len(item.Deltas)-1]
		fmt.Println(item.Key, len(item.Deltas), newest.Head.ResourceVersion)
		return nil
	})
	// Output: web 2 4
}

func ExampleOptions() {
	queue := deltafifo.New[*pod](nil, deltafifo.Options{Limit: 1000})
	fmt.Println(queue.Len())
	// Output: 0
}

func ExampleStats() {
	queue := deltafifo.New[*pod](nil, deltafifo.Options{})
	_ = queue.Add(context.Background(), newPod("web", "", "3"))
	_ = queue.Update(context.Background(), newPod("web", "", "4"))
	var s deltafifo.Stats = queue.Stats()
	fmt.Println(s.Keys, s.Deltas)
	// Output: 1 2
}

func ExampleStore() {
	// Anything with these three methods can stand behind the queue.
	var store deltafifo.Store[*pod] = newMemory()
	queue := deltafifo.New(store, deltafifo.Options{})
	_ = queue.Replace(context.Background(), "1", newPod("web", "", "1"))
	_ = queue.Pop(context.Background(), 0, func(batch deltafifo.Batch[*pod]) error {
		fmt.Println(len(batch.Items), batch.Items[0].Deltas[0].Initial)
		return nil
	})
	// Output: 1 true
}
