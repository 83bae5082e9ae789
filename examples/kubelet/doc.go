// Package kubelet runs the pods of a node: it follows those that are bound to it, has a container runtime bring them to
// where they should be, and tells the API how they are.
//
// # Usage
//
//	err := kubelet.Run(ctx, kubelet.Options{Cluster: cluster, Node: "n1", Runtime: service, Images: service, Dir: dir})
//
// Pods also come from files: see Options.ManifestDir and package manifest.
//
// Not here yet: volumes that follow their config maps, secrets and tokens while a container runs: they are written when one is
// started.
//
// # Guarantees
//
//  1. Init containers run one after the other, then the others with the variables they ask for; a deleted pod is let go in
//     the API when nothing of it runs. (TestPodRunsAndEnds)
//  2. A container has the grace of its pod's deletion to end, or less when that is made shorter. (TestGrace)
//  3. What ends is started again as the restart policy says, after a backoff; so is an init container that fails, or the pod
//     has failed with it. (TestRestartPolicy, TestInitFails) An image that is not there is asked for again.
//     (TestImageIsNotThere) A pod that has run for as long as it may is ended. (TestDeadline)
//  4. Probes decide whether a container has started, is ready, and is started again. (TestProbes, TestStartupProbe) Hooks are
//     run after its start and before its end. (TestHooks)
//  5. The next run of a kubelet goes on with containers that run. (TestRestartAdopts)
//  6. A pod's status is written only when it has changed. (TestWritesOnlyChanges)
//  7. It is never written onto another pod of that name. (TestStatusOfTheDead)
//  8. Nothing is ended before the pods were read; what belongs to no pod then goes. (TestNothingEndsBeforeTheList)
//  9. The lease and the node are made anew when they are gone, and conditions that others have set wrongly are set right.
//     (TestNodeComesBack)
//  10. [Host] has what those need who answer for it: pods, containers, logs' paths, usage. (TestHost)
//  11. With a runtime of processes and the rights of a node, no more are needed: containers of a pod speak by localhost,
//     others have the same ports, and nothing is left of pods that are gone. (TestProcesses)
//  12. A static pod runs and ends without the API server. (TestStaticPodsAlone) What shows it there is made anew when it is
//     deleted or altered, and has its status. (TestStaticPods, TestOrphanedMirror)
//  13. A file that has changed is another pod, whose containers start when the last of the one before has ended; one that is
//     bad ends nothing. (TestStaticPodChanges)
//  14. A pod that the node has no place for beside those that it has admitted, in CPU, memory, number or ports, has failed.
//     (TestRefused) Those of files come first. (TestStaticPodsComeFirst)
//  15. No container is made twice, however late the runtime's answers are. (TestListIsLate)
//
// # Concurrency
//
// Run blocks and leaves no goroutine. Many kubelets may run in one process. One pod has one step at a time; starts, ends and
// probes go on beside it.
//
// # Testing
//
// Give it a runtime of examples/runtime/hollow, which pretends, and the API server of examples/apiserver.
package kubelet
