// Package admission is the rules that a cluster has for writes, beside who may do what: which namespaces take
// something, what pods run as, what nodes may say of themselves, and how much a namespace may use.
//
// # Usage
//
//	rules := admission.Rules{ServiceAccounts: true}
//	r := registry.New(store, registry.Options{Admit: rules.Admit, Reserve: rules.Reserve})
//
// # Guarantees
//
//  1. Nothing is created in a namespace that is not there or on its way out, and what the cluster cannot do without is not
//     deleted. (TestNamespaces)
//  2. With ServiceAccounts every pod has an account that is there and, unless the pod or the account says no, a token
//     in every container. (TestServiceAccounts)
//  3. A node writes itself, its lease and the pods that it runs, and nothing else of those kinds. (TestNodes)
//  4. However many writes come at once, a quota is not passed, and a write that was not stored uses nothing.
//     (TestParallelCreations, TestRefusedWritesUseNothing)
//  5. A quota is asked about what the API's quotas know: counts of objects, and what containers ask for.
//     (TestUsage, TestQuotas)
//
// A quota is charged from its creation on: the first write that it bounds counts what is there, where the real server
// waits for a controller. What is deleted is given back by who counts anew. Left out are quotas of affinity between
// namespaces, the tokens that nodes ask for, and the list of the secrets that an account may mount.
//
// # Concurrency
//
// [Rules] never change and may be used by many goroutines.
//
// # Testing
//
// The tests have a registry on an etcd of their own, without HTTP.
package admission
