// Package workqueue hands out the keys of what is to be worked on: to one worker at a time,
// once however often a key was added, later when it failed, and in the order of priorities.
//
// # Usage
//
//	queue := workqueue.New[listwatch.Key](workqueue.Options{Name: "pods"})
//	... // handlers of an informer call queue.Add
//	err := workqueue.Process(ctx, queue, 4, func(ctx context.Context, k listwatch.Key) (workqueue.Result, error) {
//		... // bring the world in line with what the cache says about k
//		return workqueue.Result{}, nil
//	})
//
// A key says that there is something to look at, not what has happened: a step looks at the
// current state, so it doesn't matter that several changes come as one key, or that a retry
// comes late.
//
// A loop of one's own calls [Queue.Get], and then [Queue.Finish], which does what [Process]
// does after a step, or [Queue.Done]. The name of a queue and its times stand in [Options],
// what depends on the type of key in [Policy].
//
// To stop in good order, give Process and the informers a context that the signal to stop does
// not end. When the signal comes, call [Queue.Drain] with a deadline, then end that context.
//
// A key is in one state at a time; rows are states, columns what happens:
//
//	           Add           AddAfter d         with Replace     Get       due     signal
//	(absent)   Ready         Delayed            Delayed          -         -       -
//	Ready      Ready         Ready              Delayed          Working   -       -
//	Delayed    Ready         Delayed, sooner    Delayed, d       -         Ready   -
//	Working    again         again, sooner      again, d         -         -       -
//	Parked     Parked        Parked             Parked           -         Ready   Ready
//
// Done and Finish lead from Working to where Result, error and "again" say, the earliest of
// them. After an error with [Result.Await] a signal leads from Parked to Delayed until the
// limiter's delay is over, and nothing that was added meanwhile brings the key back sooner.
//
// # Guarantees
//
//  1. A key is in work in one place at a time. (TestReAddWhileWorking)
//  2. A key that is added while in work is handed out again after it. (TestStress)
//  3. A key has one due time: the earliest, or the one given with Replace; an add without delay
//     takes the place of a delayed one. A clock that is set back delays nothing by more than the time
//     since the queue looked at it before. (TestOneDueTime, TestClockIsSet,
//     TestClockIsSetBackAmongShorterDelays)
//  4. The states are those of the table, in any sequence of calls. (TestModel)
//  5. Within one priority and flow, keys come in the order in which they became ready.
//     (TestFIFOWithinPriority)
//  6. A higher priority comes first, but one level is gained per Options.Aging of waiting, so
//     nothing starves. (TestNothingStarves)
//  7. A key that comes back by itself keeps its priority. (TestRequeueKeepsPriority)
//  8. Flows of one priority take turns, key by key. (TestFairFlows)
//  9. A parked key is not handed out before its signal or its deadline, whoever adds it.
//     (TestAddsToParkedAreKeptNotRun)
//  10. After an error a parked key is not handed out before the limiter's delay either.
//     (TestSignalAfterError)
//  11. Nothing runs while nothing is due: no goroutine for a queue, nor for a delayed or parked
//     key; one timer for all of them. (TestNoGoroutineOfItsOwn, TestParkedCostsNoGoroutine,
//     TestLateTimer)
//  12. A queue keeps no key alive that it has handed out and got back, and a signal none that
//     has left. (TestKeepsNothingDelivered, TestSignalRetainsNothing)
//  13. Memory made for a crowd of keys, whatever it did, is given back if no such crowd comes
//     again. (TestShrinks, TestBoundsByKey, TestBoundsByVisits, TestBoundsOfParkedInVain)
//  14. Drain returns when what was ready or in work is done, and tells what it left.
//     (TestDrainWaitsForAll, TestDrainTellsWhatItLeaves)
//  15. Close ends everything at once, a waiting Drain too, and no retry brings a key back behind it.
//     (TestCloseEndsDrain, TestNothingComesBackAfterTheEnd)
//  16. Once its context is done, Process begins no step, and returns when the last has returned.
//     (TestProcessEndsWithContext)
//  17. A step, limiter or flow that panics is logged, and loses neither key nor worker.
//     (TestProcessPanics, TestFaultyPolicy)
//  18. A key can be looked at by itself, and keys of each state in a number that is bounded.
//     (TestItemTellsWhereAKeyStands, TestSomeTakesAFewOfEachState)
//
// # Concurrency
//
// All methods may be called from any goroutine, also from steps and from user code that the
// queue calls. User code (steps, limiters, flows) is never called under a lock. Get waits for a
// key and Drain for the end; nothing else blocks. Process starts as many goroutines as it is
// given workers and waits for them.
//
// When very many keys come due at once they are made ready 1,024 at a time, so that nobody
// waits long for the lock. Until the rest follows, a key of high priority may be among it.
//
// # Testing
//
// Time goes by Options.Clock. In a bubble of testing/synctest the default is right, and delays
// pass at once. The queue looks at the clock in every call, so a test with a clock of its own
// needs not wait for timers.
package workqueue
