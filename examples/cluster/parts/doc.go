// Package parts runs each component of a cluster by its name, so that they can live in one process or in one each.
//
// # Usage
//
//	s, err := parts.Prepare(parts.Settings{Dir: dir, Nodes: 2})
//	...
//	defer parts.Clean(s)
//	err = parts.Run(ctx, s, parts.Scheduler, parts.Observer{Logger: logger})
//
// The API server comes first: the others find it by the kubeconfigs that it writes.
//
// # Guarantees
//
//  1. Parts that agree on the settings find each other, whoever is started anew, and when: pods become processes, and
//     services lead to them. (TestKubectl, TestServe and TestChaos in the package above)
//  2. What pods were is gone after Clean: processes, links, cgroups. (TestDemo in the package above)
//  3. Settings that make no sense are refused. (TestPrepare)
//
// # Concurrency
//
// Run may be called for all parts at once, but for one part only once at a time.
package parts
