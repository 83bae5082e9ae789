// Package listwatch is the vocabulary of a list-watch library: what an object, a key, a version, an
// event and a source of them are. The parts that do the work are in the packages below it.
//
// Such a library keeps a local, indexed, always-current copy of a collection that lives on a
// server. A list is a short request for everything, a watch a long one for the changes; a
// periodic list makes up for what a watch missed. Data goes one way:
//
//	ListerWatcher → Reflector → DeltaFIFO → Informer → Indexer, and
//	Informer → handlers → Workqueue → Process, your code, which reads the Indexer
//
// # Usage
//
// Most programs need informer, indexer, workqueue, and a source: reflector/rest for a
// Kubernetes API server, or a [ListerWatcher] of their own, perhaps made with [Funcs].
//
//	source, err := rest.New[*corev1.Pod](server+"/api/v1/pods", rest.Options{})
//	pods := informer.New(source, informer.Options{Name: "pods"})
//	byNode, err := indexer.AddIndex(pods.Indexer(), "node", indexer.One(func(p *corev1.Pod) string { return p.Spec.NodeName }))
//	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods"})
//	_, err = informer.Enqueue(ctx, pods, queue)
//	go pods.Run(ctx)
//	err = pods.WaitForSync(ctx)
//	err = workqueue.Process(ctx, queue, 4, reconcile)
//
// Any type with the three methods of [Object] will do; types of your own may embed [Meta].
//
// # Guarantees
//
// What the parts promise stands in their own documentation; informer has the ones that a
// controller builds on. This package promises:
//
//  1. Versions that are decimal numbers of any length are ordered as numbers, all others are
//     equal or not (TestVersionsCompareAsNumbers, TestOtherVersionsAreOpaque).
//  2. A key is what String writes and ParseKey reads; what is no key is refused
//     (TestParseKeyRefusesWhatIsNoKey).
//  3. A signal fires once, and calls each function once unless it was taken back
//     (TestSignalFiresOnce, TestSignalCallsEachFuncOnceUnderRace).
//  4. A transform sees each received object once; what it cannot take is refused and stops
//     nothing else (TestTransformSeesEachObjectOnce, TestTransformFaultsAreRefused).
//  5. A server's answer is recognised by errors.Is, whatever wraps it (TestStatusErrorIsItsClass).
//
// # Concurrency
//
// This package starts no goroutine. Its types are values, but for [Signal], which may be used
// from any goroutine.
//
// # Testing
//
// Package fakes has a versioned server in memory as a [ListerWatcher], with faults; package
// fakes/conformance a suite that any ListerWatcher should pass.
package listwatch
