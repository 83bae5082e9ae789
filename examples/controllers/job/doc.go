// Package job is the controller that runs pods until enough of them have succeeded, or too many failed.
//
// # Usage
//
//	c, err := job.New(env)
//	...
//	err = c.Run(ctx)
//
// Each pod has a finalizer, so it can't go uncounted. A finished pod is first noted in the job's status by its UID, then
// loses its finalizer, and then moves from the notes to the count: each of these can fail, and be done again, without a
// pod being counted twice or never.
//
// # Guarantees
//
//  1. As many pods as asked for succeed, no more than parallelism at a time, and then the job is complete.
//     (TestComplete, TestIndexed)
//  2. A pod is counted once, also when it is deleted as soon as it has finished, and whatever was cut off meanwhile.
//     (TestCountsWhatIsDeleted, TestChurn)
//  3. Too many failures, or too much time, end the job and its pods. (TestBackoffLimit, TestDeadline)
//  4. A failed pod is followed by another after a while that doubles with each failure. (TestBackoffLimit)
//  5. A suspended job has no pods, and its time does not run. (TestSuspend)
//  6. A finished job goes when its time to live is over, and a job that is gone leaves no pod that can't go.
//     (TestTimeToLive, TestJobIsDeleted)
//  7. However late the informer is, no pod is made twice. (TestInformerIsLate)
//
// # Concurrency
//
// What New returns runs once. Several keys are worked on at a time.
//
// # Testing
//
// The tests run against the reference API server in the same process, with a stand-in for kubelets.
package job
