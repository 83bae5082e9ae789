// Package simulation runs a controller, or a part of one, under random writes, faults and
// restarts, in virtual time, and looks whether what must hold holds. It is for tests: what takes
// hours on a cluster takes milliseconds here, and what breaks comes as a short script.
//
// # Usage
//
// A test says what a scenario consists of: servers, what is started, and promises.
//
//	func TestController(t *testing.T) {
//		simulation.Run(t, func(w *simulation.World) {
//			sets := simulation.Serve(w, "sets", stampSet, simulation.ServeOptions[*Set]{Mutate: mutateSet})
//			pods := simulation.Serve(w, "pods", stampPod, simulation.ServeOptions[*Pod]{})
//			w.Start(func(ctx context.Context) error { return controller.Run(ctx, sets, pods) })
//			w.Always("never more than ten pods", func() error { return atMost(10, pods.Objects()) })
//			w.AtRest("as many pods as wanted", func() error { return differs(sets.Objects(), pods.Objects()) })
//		}, simulation.Options{Faults: fakes.HonestFaults()})
//	}
//
// Give what is started a logger that discards (slog.DiscardHandler), or thousands of warnings hide
// what was found. A promise that is looked at always is looked at right after a foreign client's
// write, too, before any controller can know: so it bounds what the controller does, and what it
// must bring about stands under AtRest.
//
// The function runs once for each scenario, in a bubble of testing/synctest with the time of its
// own. [Serve] makes a [fakes.Source]: the controller watches it and writes to it, foreign clients
// write to it, too, and faults happen to it. What is given to [World.Start] is ended and started
// again at random, as when a process is replaced. [World.Operate] adds operations of a test's
// own, [World.Target] other things that faults can be injected into, such as those of package
// wire.
//
// A scenario is a script, one operation a line:
//
//	with seed=77
//	with sets.history=20
//	put-sets ns/k1 77
//	fault pods hang watch for=30s
//	delete-pods 3 &
//	sleep 1.5s
//	rest
//
// After each line everything happens that follows without time passing, unless it ends with "&".
// The fault is a [fakes.Fault], "with" states what [World.Choose] returns and the seed of
// [World.Rand], and "rest" ends all faults, waits for Options.Rest and looks at what must hold at
// rest; there is one at the end.
//
// When a promise is broken, lines are left out for as long as it still breaks, and the rest is
// printed as a test that calls [Replay]. In what order goroutines run is not part of a script, so
// a controller with a race in it may need several runs of one.
//
// # Guarantees
//
//  1. A script is parsed to what was printed, and a seed makes one script as long as the scenario
//     makes the same choices (TestScriptIsWhatWasDone, TestSeedMakesOneScript).
//  2. A scenario has as many operations as Options say, and three kinds of fault
//     (TestScenariosAreLargeEnough).
//  3. What is printed breaks the promise, and no line of it can be missed unless time was up
//     (TestShortestScript).
//  4. What does not end with its context, leaves a goroutine behind or waits for ever is found
//     (TestFindsWhatDoesNotEnd, TestFindsWhatIsLeftBehind, TestFindsWhatWaitsForEver).
//  5. What was started and fails is started again (TestStartsAgain); one that panics, or still fails
//     at rest, is told with its error (TestFindsWhatPanics, TestFindsWhatFailsForEver).
//  6. Promises are looked at after each write of the controller, too (TestLooksAfterEachWrite).
//
// # The simulation of this library
//
// The tests of this package let it loose on the library: `make sim`, which TestSimulation is in
// short. Clients with informers, handlers, indexes, readers, queues and workers run on one server,
// in memory or over HTTP. The model is a line of states for each key, kept by those who write.
// These are the guarantees of the library and what is checked of each:
//
//	 1 convergence     at rest the store is the server's collection, each index is one built anew
//	 2 no time travel  what readers and handlers see of a key goes forward on its line; versions grow
//	 3 cache first     in a handler, the store and each index are at that place of the line, or later
//	 4 one voice       calls never overlap; add, updates, delete; Old is what was told last
//	 5 no lost delete  a free handler holds what the store holds; deletes stand on the line
//	 6 identities      no update from one identity to another
//	 7 quiet relist    no update without a change, no new pointer for an old state, nothing vanishes, no drift
//	 8 synced          no initial add is told by a synced handler; at rest all are synced
//	 9 bounded         what waits is bounded by the number of keys, or by the backlog
//	10 own faults      nothing waits for a handler that is free, whatever the others do
//	11 position kept   no list without need, unless one is due each 2 m; few requests at one moment
//	12 never frozen    watches, lists and retries have an age
//	13 nothing left    Run returns; then there is no call, no request, no goroutine
//	14 one worker      a key is in one step at a time, none without reason, early, or late with a free worker
//	15 own writes      a fired signal is believed, one that must fire has fired, a parked key comes then
//	16 untrusted       what was refused is taken at rest; until then 1 to 7 hold for what is held
//
// After a restore of the server, 15, the lists of 11, and deletes that nobody saw are not looked at
// before the next rest: versions mean nothing then. Versions without order are tried with faults
// that don't need it.
//
// # Concurrency
//
// Several scenarios run at once, each in its bubble. Within one, operations and checks are done by
// one goroutine, while those of the controller run; see [World.Still].
//
// # Testing
//
// Flags of TestSimulation: -sim.for, -sim.count, -sim.seed, -sim.first. Scripts that failed once
// stand in testdata and are run by TestReplays.
package simulation
