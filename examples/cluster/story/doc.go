// Package story plays the demonstration of a cluster: it does what users do, waits until the cluster has followed, and says
// what it waited for. What the parts do meanwhile they tell themselves, by their loggers.
//
// # Usage
//
//	err := story.Play(ctx, story.Options{Cluster: cluster, Factory: &factory, Crew: crew, Narrator: narrator})
//
// # Guarantees
//
//  1. It returns nil only when everything was seen that it tells of. (TestDemo in the package above)
//
// # Concurrency
//
// Play blocks, and leaves no goroutine. The factory of its informers runs until Play's context is done: they can be looked at
// meanwhile.
package story
