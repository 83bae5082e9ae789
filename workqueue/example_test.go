package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// A key that is added twice is handed out once; one that is added while in work comes again.
func ExampleQueue() {
	ctx := context.Background()
	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods"})
	queue.Add(listwatch.Key{Namespace: "default", Name: "a"})
	queue.Add(listwatch.Key{Namespace: "default", Name: "a"})
	queue.AddWith(listwatch.Key{Namespace: "default", Name: "b"}, workqueue.AddOptions{Priority: 1})

	first, _ := queue.Get(ctx)
	second, _ := queue.Get(ctx)
	fmt.Println(first, second, queue.Len())

	queue.Add(second)
	fmt.Println(queue.Len(), "while it is in work")
	queue.Done(second)
	fmt.Println(queue.Len(), "after that")
	// Output:
	// default/b default/a 0
	// 0 while it is in work
	// 1 after that
}

// Flows take turns.
func ExamplePolicy() {
	queue := workqueue.New(workqueue.Options{}, workqueue.Policy[listwatch.Key]{
		Flow: func(k listwatch.Key) string { return k.Namespace },
	})
	for _, name := range []string{"big/1", "big/2", "big/3", "small/1"} {
		key, _ := listwatch.ParseKey(name)
		queue.Add(key)
	}
	queue.Close()
	for {
		key, err := queue.Get(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(key)
		queue.Done(key)
	}
	// Output:
	// big/1
	// small/1
	// big/2
	// big/3
	// workqueue: stopped
}

// An error brings a key back, and Drain waits until the rest is worked off.
func ExampleProcess() {
	ctx := context.Background()
	queue := workqueue.New[string](workqueue.Options{Logger: slog.New(slog.DiscardHandler)})
	queue.Add("a")
	tries := 0
	enough, drained := make(chan struct{}), make(chan []string)
	go func() {
		<-enough
		left, _ := queue.Drain(ctx)
		drained <- left
	}()
	err := workqueue.Process(ctx, queue, 1, func(_ context.Context, key string) (workqueue.Result, error) {
		tries++
		if tries < 3 {
			return workqueue.Result{}, errors.New("not yet")
		}
		fmt.Println(key, "after", queue.Requeues(key), "failures")
		close(enough)
		return workqueue.Result{}, nil
	})
	fmt.Println("ended:", err)
	fmt.Println("left:", <-drained)
	// Output:
	// a after 2 failures
	// ended: <nil>
	// left: []
}

// A program that is told to stop drains its queue before it ends the context of its steps.
func ExampleQueue_Drain() {
	ctx, cancel := context.WithCancel(context.Background())
	queue := workqueue.New[string](workqueue.Options{Name: "pods"})
	queue.Add("now")
	queue.AddAfter("later", time.Hour)
	ended := make(chan error)
	go func() {
		ended <- workqueue.Process(ctx, queue, 4, func(ctx context.Context, key string) (workqueue.Result, error) {
			fmt.Println("step:", key, ctx.Err())
			return workqueue.Result{}, nil
		})
	}()
	// A real program waits here for the signal; ctx does not end with it.
	deadline, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	left, err := queue.Drain(deadline)
	fmt.Println("left:", left, err)
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// step: now <nil>
	// left: [later] <nil>
	// ended: <nil>
}

// A step waits for its own write to be seen without holding a worker: the signal is one that
// an informer's Reached returns.
func ExampleResult() {
	ctx := context.Background()
	queue := workqueue.New[string](workqueue.Options{})
	queue.Add("a")
	seen := new(listwatch.Signal)

	key, _ := queue.Get(ctx)
	queue.Finish(key, workqueue.Result{Await: seen, After: time.Minute}, nil)
	queue.Add(key)
	fmt.Println(queue.Items()[0].State, queue.Len())

	seen.Fire()
	fmt.Println(queue.Items()[0].State, queue.Len())
	// Output:
	// Parked 0
	// Ready 1
}

func ExampleQueue_Items() {
	queue := workqueue.New[string](workqueue.Options{})
	defer queue.Close()
	queue.AddAfter("a", time.Hour)
	for _, item := range queue.Items() {
		fmt.Println(item.Key, item.State, item.Due.Sub(item.Since))
	}
	fmt.Println(queue.Stats().Delayed)
	// Output:
	// a Delayed 1h0m0s
	// 1
}

func ExampleExponential() {
	limiter := &workqueue.Exponential[string]{Base: time.Second, Max: time.Minute}
	for range 3 {
		fmt.Println(limiter.When("a"))
	}
	limiter.Forget("a")
	fmt.Println(limiter.When("a"))
	// Output:
	// 1s
	// 2s
	// 4s
	// 1s
}

func ExampleBucket() {
	limiter := &workqueue.Bucket[string]{Rate: rate.NewLimiter(rate.Every(10*time.Minute), 2)}
	for _, key := range []string{"a", "b", "c"} {
		fmt.Println(limiter.When(key).Round(time.Minute))
	}
	// Output:
	// 0s
	// 0s
	// 10m0s
}

// The limiter that client-go has by default: by key, and ten retries a second for all.
func ExampleMax() {
	queue := workqueue.New(workqueue.Options{}, workqueue.Policy[string]{
		Limiter: workqueue.Max(
			&workqueue.Exponential[string]{},
			&workqueue.Bucket[string]{Rate: rate.NewLimiter(10, 100)},
		),
	})
	defer queue.Close()
	queue.AddRateLimited("a")
	fmt.Println(queue.Requeues("a"))
	// Output:
	// 1
}
