// Package rest lists and watches a collection of a Kubernetes API server over HTTP and JSON. It
// needs no module of Kubernetes'.
//
// # Usage
//
// In a pod:
//
//	cluster, err := rest.InCluster()
//	...
//	source, err := rest.New[*corev1.Pod](cluster.URL("/api/v1/pods"), cluster.Options())
//
// With a kubeconfig, client-go makes the HTTP client, certificates and exec plugins included:
//
//	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
//	client, err := clientgorest.HTTPClientFor(config)
//	base, _, err := clientgorest.DefaultServerUrlFor(config) // config.Host may lack the scheme
//	source, err := rest.New[*corev1.Pod](base.JoinPath("api/v1/pods").String(), rest.Options{Client: client})
//
// T is a Kubernetes type by pointer, a struct of your own that names the fields which are
// needed and no others, or [Object] for any kind, which is kept as JSON and read by [Field].
// The fields metadata.namespace, name and
// resourceVersion are those of the wire: T's getters must say the same, or each object is
// refused. So the tag in such a struct matters:
//
//	type Pod struct {
//		listwatch.Meta `json:"metadata"`
//		Spec           struct{ NodeName string }
//	}
//
// A source is asked by a reflector. What it does not know is time: a request has no deadline
// but that of its context. A list at version "0" may be old, even older than what the same
// program saw before it was restarted; who must not act on old state lists the latest.
//
// # Guarantees
//
//  1. A list is complete or an error: no cut, in whatever place, makes it short.
//     (TestTruncatedListIsAnError)
//  2. The members of a list may come in any order, with whatever inside of the objects looks
//     like them. (TestListAnswers)
//  3. The body of a list is never in memory as a whole, nor are its objects twice. (TestListHeap)
//  4. What has come is handed on before the source waits for more. (TestListDeliversBeforeItWaits)
//  5. An event as well, and events that came together in one batch. (TestWatchDeliversBeforeItWaits)
//  6. What is held already is not decoded. (TestKnownObjectsAreNotDecoded)
//  7. An object that cannot be taken is refused by itself, with its name as far as it can be
//     read; the others go on. (TestWatchAnswers)
//  8. An object over the limit is refused with its size, without being held in memory.
//     (TestTooLargeEventHeap, TestTooLargeObjectThatIsNoJSON)
//  9. Decoding that panics refuses the object. (TestPanicOfDecodingRefusesTheObject)
//  10. Tables, Status objects, other kinds and other encodings are never taken for objects; all
//     recorded answers of a real server are read as encoding/json reads them, or refused.
//     (TestRecordedBodies, TestRecordedListsFeedAnInformer, TestRecordedWatchesFeedAnInformer)
//  11. The kind that the first sound answer with an object had is the one expected afterwards.
//     (TestKindIsLearnt)
//  12. Versions of the initial state are no positions; only "true" is the end mark.
//     (TestWatchAnswers)
//  13. A version that is too new is told from every other failure, in all its forms.
//     (TestTooLargeVersion)
//  14. A failure has a class, and the larger one of the hints when to come back. (TestRetryAfter)
//  15. What ends well leaves its connection for the next request. (TestConnectionIsUsedAgain)
//  16. A dead HTTP/2 connection is found by a ping. (TestDeadHTTP2Connection)
//  17. A call returns when its context is done, with its cause. (TestContextEndsAWatch,
//     TestConformance)
//  18. A token file is read again when it is old, and when the server refuses it. (TestTokenFile)
//  19. With several namespaces pages of two states are never joined. (TestPagesOfNamespaces)
//  20. A list of several namespaces shows them all at one version, so that what is deleted while it
//     is taken is no drift. (TestDeletionBetweenNamespacesIsNoDrift)
//  21. A server that does not give that version is listed all the same.
//     (TestListOfNamespacesWithoutExactVersions)
//  22. A watch of several namespaces goes on in each from where it was. (TestWatchOfNamespaces)
//  23. So each change comes once, wherever watches break. (TestChangesOfNamespacesComeOnce,
//     TestListBesideAWatchOfNamespaces)
//  24. An Object has the fields that encoding/json finds in its JSON, but for those that are skipped.
//     Where a key of its head comes twice, it says of itself what a typed object says.
//     (TestObjectField, TestObjectSkip, FuzzObject, TestKeysThatComeTwice)
//  25. Objects are handed on in the order of the wire, also those that two goroutines decode.
//     (TestManyAtOnceKeepTheirOrder)
//  26. That an event is taken for a line shows in nothing but its cost. (TestLinesThatAreNoEvents)
//  27. It keeps what every source promises, shown by the suite of fakes/conformance over HTTP.
//     (TestConformance)
//
// # Concurrency
//
// A [Source] is safe for concurrent use. It starts no goroutine but for a watch of several
// namespaces, which has one for each and ends them with the call, and one to decode beside the
// caller while there are many objects at once, as in a list. each and Refused are called by
// the goroutine that has called List or Watch; Known by the others too, several at once.
//
// # Namespaces
//
// A list of several namespaces reads the first as it was asked to, and the others with a
// resourceVersionMatch of Exact at the first one's version. A server may have dropped that
// version, not have reached it, or refuse or ignore the match: then each namespace is at a
// version of its own, and a list that compares beside a watch may delete, and count as drift,
// what the watch is about to delete. In pages, a version that was dropped is an expired list.
//
// A source with several namespaces has one version for all of them, the oldest of theirs, and
// remembers what the version that it gave last stands for, so that no event comes twice. That
// is the position of one consumer: give each informer a source of its own. When two watches
// are seen to run at once, the source stops to remember, and then a watch may repeat changes.
// Versions must be decimal numbers then.
//
// # Testing
//
// testdata/wire holds answers of a real server. FuzzList, FuzzWatch and FuzzStatus compare
// with encoding/json. Long lists are tested with 20 MB, with -bounds.full with 400 MB.
package rest
