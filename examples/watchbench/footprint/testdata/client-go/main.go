// Command client-go is the smallest program that does something for each pod, with a REST client
// for the group of pods alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func client() (*rest.RESTClient, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config.APIPath = "/api"
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}

func run(ctx context.Context) error {
	c, err := client()
	if err != nil {
		return err
	}
	pods := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(c, "pods", "", nil), &corev1.Pod{}, 0, cache.Indexers{})
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(o any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
			queue.Add(key)
		}
	}
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, o any) { add(o) }, DeleteFunc: add}); err != nil {
		return err
	}
	go pods.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
		return errors.New("not synced")
	}
	context.AfterFunc(ctx, queue.ShutDown)
	for {
		key, quit := queue.Get()
		if quit {
			return nil
		}
		if o, ok, err := pods.GetIndexer().GetByKey(key); err == nil && ok {
			fmt.Println(key, o.(*corev1.Pod).Spec.NodeName)
		}
		queue.Forget(key)
		queue.Done(key)
	}
}
