package reflector

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
)

var (
	epoch = time.Unix(1_000_000, 0)
	base  = 800 * time.Millisecond

	firstPages = plan{mode: listwatch.Rebuild, match: listwatch.MatchLatest, limit: 500}
	firstAny   = plan{mode: listwatch.Rebuild, match: listwatch.MatchNotOlder, version: "0"}
	stream     = plan{mode: listwatch.Rebuild}
	notOlder   = plan{mode: listwatch.Rebuild, match: listwatch.MatchNotOlder, version: "20"}
	latest     = plan{mode: listwatch.Rebuild, match: listwatch.MatchLatest}
	reset      = plan{mode: listwatch.Reset, match: listwatch.MatchLatest}
)

func paged(p plan, token, listed string) plan {
	p.token, p.listed, p.pages, p.seen = token, listed, 1, token
	return p
}

func limited(p plan, limit int64) plan {
	p.limit = limit
	return p
}

// row is a line of the table: a machine, what it is told, and what it must answer. Then is what
// must follow when the answer is a pause of delay.
type row struct {
	name  string
	m     machine
	in    input
	do    action
	list  plan
	delay time.Duration
	then  effect
	// reported: the input counts as a failure.
	reported bool
	version  string
}

func started(phase phase, p plan) machine {
	o := Options{}.withDefaults()
	m := machine{o: &o, phase: phase, plan: &p}
	return m
}

// at gives an input the position 20, as after a first list.
func at(in input) input {
	in.position, in.floor = "20", "20"
	return in
}

// ahead adds to an input that states up to version 22 were brought.
func ahead(in input) input {
	in.floor = "22"
	return in
}

func because(c class) failure { return failure{class: c} }

func page(version, token string, f failure) input {
	return input{kind: inPage, failure: f, meta: listwatch.ListMeta{ResourceVersion: version, Continue: token}}
}

func watchEnd(c class, lived time.Duration) input {
	return input{kind: inEnded, failure: because(c), elapsed: lived}
}

// The TestStep tests have the rows of the table of states and answers.
func TestStepListing(t *testing.T) {
	pages := started(phaseListing, firstPages)
	relist := started(phaseListing, notOlder)
	refused := started(phaseStreaming, stream)
	refused.noStream = true
	any := started(phaseNone, plan{})
	any.o.FirstList = FirstAny
	listing := started(phaseNone, plan{})
	listing.o.FirstList = FirstPages
	own := started(phaseNone, plan{})
	own.o.FirstList, own.o.PageSize = FirstPages, 7
	ownStream := started(phaseNone, plan{})
	ownStream.o.PageSize = 7
	secondPage := started(phaseListing, paged(firstPages, "C1", "20"))
	third := paged(firstPages, "C1", "20")
	third.token, third.pages = "C2", 3
	thirdPage := started(phaseListing, third)
	wholePage := started(phaseListing, paged(limited(firstPages, 0), "C1", "20"))
	again := effect{do: doStream, list: stream}
	relistAgain := effect{do: doList, list: notOlder}
	runRows(t, []row{
		{name: "first read streams", m: started(phaseNone, plan{}), in: input{kind: inStart}, do: doStream, list: stream},
		{name: "first read by pages", m: listing, in: input{kind: inStart}, do: doList, list: firstPages},
		{name: "first read by pages of the user", m: own, in: input{kind: inStart}, do: doList, list: limited(firstPages, 7)},
		{name: "first read of any state", m: any, in: input{kind: inStart}, do: doList, list: firstAny},
		{name: "refusal to stream is remembered", m: refused, in: input{kind: inStart}, do: doList, list: firstPages},
		{name: "page with a token", m: pages, in: page("20", "C1", failure{}), do: doList, list: paged(firstPages, "C1", "20")},
		{name: "last page", m: secondPage, in: page("20", "", failure{}), do: doCommit, version: "20"},
		{name: "complete", m: pages, in: page("20", "", failure{}), do: doCommit, version: "20"},
		{name: "committed", m: pages, in: input{kind: inCommitted}, do: doWatch},
		{name: "committed stream", m: started(phaseStreaming, stream), in: input{kind: inCommitted}, do: doResume},
		{name: "end mark", m: started(phaseStreaming, stream), in: input{kind: inSynced, meta: listwatch.ListMeta{ResourceVersion: "20"}}, do: doCommit, version: "20"},
		{name: "commit failed", m: pages, in: input{kind: inCommitted, failure: because(classBad)}, do: doSleep, delay: base, then: again, reported: true},
		{name: "expired token", m: secondPage, in: page("", "", because(classExpired)), do: doList, list: limited(firstPages, 0), reported: true},
		{name: "expired token of a whole list", m: wholePage, in: page("", "", because(classExpired)), do: doSleep, delay: base, then: again, reported: true},
		{name: "pages of two snapshots", m: secondPage, in: page("21", "", failure{}), do: doList, list: limited(firstPages, 0), reported: true},
		{name: "page that names itself", m: secondPage, in: page("20", "C1", failure{}), do: doList, list: limited(firstPages, 0), reported: true},
		{name: "page that names an earlier one", m: thirdPage, in: page("20", "C1", failure{}), do: doList, list: limited(firstPages, 0), reported: true},
		{name: "token was stripped", m: pages, in: input{kind: inPage, meta: listwatch.ListMeta{ResourceVersion: "20", Remaining: 3}}, do: doList, list: limited(firstPages, 0), reported: true},
		{name: "no version", m: pages, in: page("", "", failure{}), do: doSleep, delay: base, then: again, reported: true},
		{name: "version expired", m: relist, in: at(page("", "", because(classExpired))), do: doList, list: latest, reported: true},
		{name: "version too large", m: relist, in: at(page("", "", failure{class: classTooNew, hint: time.Second})), do: doList, list: latest, reported: true},
		{name: "not older is not offered", m: relist, in: at(page("", "", because(classUnsupported))), do: doList, list: latest, reported: true},
		{name: "latest expired", m: started(phaseListing, latest), in: at(page("", "", because(classExpired))), do: doSleep, delay: base, then: relistAgain, reported: true},
		{name: "after the latest failed", m: started(phaseListing, latest), in: at(page("", "", because(classNetwork))), do: doSleep, delay: base, then: relistAgain, reported: true},
		{name: "relist older than asked", m: relist, in: at(page("19", "", failure{})), do: doList, list: latest, reported: true},
		{name: "latest older: restored server", m: started(phaseListing, latest), in: at(page("19", "C1", failure{})), do: doList, list: reset, reported: true},
		{name: "restored server believed", m: started(phaseListing, reset), in: at(page("19", "", failure{})), do: doCommit, version: "19"},
		{name: "restored server's pages", m: started(phaseListing, reset), in: at(page("19", "C1", failure{})), do: doList, list: paged(reset, "C1", "19")},
		{name: "not restored", m: started(phaseListing, reset), in: at(page("20", "", failure{})), do: doSleep, delay: base, then: effect{do: doList, list: latest}, reported: true},
		{name: "latest older than what a list brought that was given up", m: started(phaseListing, latest), in: ahead(page("19", "", failure{})), do: doList, list: reset, reported: true},
		{name: "restored server believed after such a list", m: started(phaseListing, reset), in: ahead(page("19", "", failure{})), do: doCommit, version: "19"},
		{name: "relist older than what such a list brought", m: relist, in: ahead(at(page("21", "", failure{}))), do: doList, list: latest, reported: true},
		{name: "opaque version is not older", m: started(phaseListing, latest), in: at(page("x", "", failure{})), do: doCommit, version: "x"},
		{name: "denied", m: pages, in: page("", "", because(classDenied)), do: doSleep, delay: base, then: again, reported: true},
		{name: "busy", m: relist, in: at(page("", "", failure{class: classBusy, hint: 2 * time.Second})), do: doSleep, delay: 2 * time.Second, then: relistAgain, reported: true},
		{name: "no progress", m: relist, in: at(page("", "", because(classIdle))), do: doSleep, delay: base, then: relistAgain, reported: true},
		{name: "server error", m: relist, in: at(page("", "", because(classServer))), do: doSleep, delay: base, then: relistAgain, reported: true},
		{name: "context done", m: relist, in: input{kind: inQuit}, do: doStop},
	})
}

func TestStepStreaming(t *testing.T) {
	m := started(phaseStreaming, stream)
	third := m
	third.unmarked, third.unmarkedSince = 2, epoch.Add(-5*time.Second)
	late := m
	late.unmarked, late.unmarkedSince = 1, epoch.Add(-30*time.Second)
	again := effect{do: doStream, list: stream}
	dropped := heard(watchEnd(classNetwork, 0))
	dropped.position = ""
	runRows(t, []row{
		{name: "refused", m: m, in: watchEnd(classUnsupported, 0), do: doList, list: firstPages},
		{name: "no end mark in time", m: m, in: watchEnd(classIdle, 10*time.Second), do: doList, list: firstPages, reported: true},
		{name: "ended before the mark", m: m, in: watchEnd(classClean, time.Second), do: doSleep, delay: base, then: again, reported: true},
		{name: "dropped before the mark", m: m, in: dropped, do: doSleep, delay: base, then: again, reported: true},
		{name: "ended before the mark thrice", m: third, in: watchEnd(classClean, time.Second), do: doList, list: firstPages, reported: true},
		{name: "dropped before the mark thrice", m: third, in: dropped, do: doList, list: firstPages, reported: true},
		{name: "without the mark for long", m: late, in: watchEnd(classServer, time.Second), do: doList, list: firstPages, reported: true},
		{name: "not reached is no refusal", m: third, in: watchEnd(classNetwork, time.Second), do: doSleep, delay: base, then: again, reported: true},
		{name: "denied is no refusal", m: third, in: watchEnd(classDenied, 0), do: doSleep, delay: base, then: again, reported: true},
		{name: "busy is no refusal", m: third, in: watchEnd(classBusy, 0), do: doSleep, delay: base, then: again, reported: true},
		{name: "context done", m: m, in: input{kind: inQuit}, do: doStop},
	})
}

// The ways in which a watch ends, at position 20.
func moved(in input) input {
	in.moved, in.heard = true, true
	return at(in)
}

func news(in input) input {
	in.news = true
	return moved(in)
}

func heard(in input) input {
	in.heard = true
	return at(in)
}

func event(c class) input { return at(input{kind: inEnded, failure: failure{class: c, event: true}}) }

func TestStepWatching(t *testing.T) {
	m := started(phaseWatching, plan{})
	silent, fresh := m, m
	silent.silent, fresh.fresh = 1, true
	failing := m
	failing.serverErrorsSince = epoch.Add(-5 * time.Minute)
	gap := func(in input) input {
		in.gap = true
		return news(in)
	}
	wants := func(w want) input { return at(input{kind: inEnded, want: w, elapsed: time.Minute}) }
	again := effect{do: doWatch}
	runRows(t, []row{
		{name: "clean end", m: m, in: at(watchEnd(classClean, time.Minute)), do: doWatch},
		{name: "clean end, short with news", m: fresh, in: news(watchEnd(classClean, 0)), do: doWatch},
		{name: "clean end, short with a bookmark", m: m, in: moved(watchEnd(classClean, 0)), do: doSleep, delay: base, then: again, reported: true},
		{name: "clean end, short and empty", m: m, in: at(watchEnd(classClean, time.Second-1)), do: doSleep, delay: base, then: again, reported: true},
		{name: "clean end, short and empty for a while", m: failing, in: at(watchEnd(classClean, 0)), do: doSleep, delay: base, then: effect{do: doList, list: notOlder}, reported: true},
		{name: "timeout of the source, short for a while", m: failing, in: at(watchEnd(classTimeout, 0)), do: doSleep, delay: base, then: effect{do: doList, list: notOlder}, reported: true},
		{name: "clean end after a while of errors", m: failing, in: at(watchEnd(classClean, time.Minute)), do: doWatch},
		{name: "clean end, short with old news", m: m, in: heard(watchEnd(classClean, 0)), do: doSleep, delay: base, then: again, reported: true},
		{name: "deadline", m: m, in: moved(watchEnd(classIdle, 3*time.Minute)), do: doWatch},
		{name: "timeout of the source", m: m, in: at(watchEnd(classTimeout, time.Second)), do: doWatch},
		{name: "timeout of the source, short", m: m, in: at(watchEnd(classTimeout, 0)), do: doSleep, delay: base, then: again, reported: true},
		{name: "gap at the end", m: m, in: gap(watchEnd(classClean, 0)), do: doList, list: notOlder},
		{name: "gap right after a list", m: fresh, in: gap(watchEnd(classClean, 0)), do: doSleep, delay: base, then: effect{do: doList, list: notOlder}, reported: true},
		{name: "silent twice", m: silent, in: at(watchEnd(classIdle, time.Minute)), do: doProbe},
		{name: "silent twice by the source's timeout", m: silent, in: at(watchEnd(classTimeout, time.Minute)), do: doProbe},
		{name: "silent, then a sign of life", m: silent, in: heard(watchEnd(classIdle, time.Minute)), do: doWatch},
		{name: "short is not silent", m: silent, in: at(watchEnd(classClean, 0)), do: doSleep, delay: base, then: again, reported: true},
		{name: "a list is wanted", m: m, in: wants(wantList), do: doList, list: notOlder},
		{name: "the latest list is wanted", m: m, in: wants(wantLatest), do: doList, list: latest},
		{name: "context done", m: m, in: input{kind: inQuit}, do: doStop},
	})
}

func TestStepWatchFailures(t *testing.T) {
	m := started(phaseWatching, plan{})
	fresh := m
	fresh.fresh = true
	badHere, badElsewhere := m, m
	badHere.badAt, badElsewhere.badAt = "20", "19"
	failing := m
	failing.serverErrorsSince = epoch.Add(-5 * time.Minute)
	forever := failing
	o := *forever.o
	o.ServerErrorsBeforeList = -1
	forever.o = &o
	again, list := effect{do: doWatch}, effect{do: doList, list: notOlder}
	busy := at(input{kind: inEnded, failure: failure{class: classBusy, hint: 5 * time.Second}})
	runRows(t, []row{
		{name: "reset", m: m, in: moved(watchEnd(classNetwork, time.Minute)), do: doSleep, delay: base, then: again, reported: true},
		{name: "busy with a hint", m: m, in: busy, do: doSleep, delay: 5 * time.Second, then: again, reported: true},
		{name: "busy without a hint", m: m, in: at(watchEnd(classBusy, 0)), do: doSleep, delay: base, then: again, reported: true},
		{name: "busy by an event", m: m, in: event(classBusy), do: doSleep, delay: base, then: again, reported: true},
		{name: "server error", m: m, in: at(watchEnd(classServer, 0)), do: doSleep, delay: base, then: again, reported: true},
		{name: "server errors for a while", m: failing, in: at(watchEnd(classServer, 0)), do: doSleep, delay: base, then: list, reported: true},
		{name: "server errors, never a list", m: forever, in: at(watchEnd(classServer, 0)), do: doSleep, delay: base, then: again, reported: true},
		{name: "server errors are over", m: failing, in: moved(watchEnd(classServer, time.Minute)), do: doSleep, delay: base, then: again, reported: true},
		{name: "another ERROR event", m: m, in: event(classServer), do: doSleep, delay: base, then: list, reported: true},
		{name: "expired", m: m, in: at(watchEnd(classExpired, 0)), do: doList, list: notOlder, reported: true},
		{name: "expired by an event", m: m, in: event(classExpired), do: doList, list: notOlder, reported: true},
		{name: "expired right after a list", m: fresh, in: event(classExpired), do: doSleep, delay: base, then: list, reported: true},
		{name: "expired right after a list, with news", m: fresh, in: news(watchEnd(classExpired, 0)), do: doSleep, delay: base, then: list, reported: true},
		{name: "expired a while after a list", m: fresh, in: news(watchEnd(classExpired, time.Second)), do: doList, list: notOlder, reported: true},
		{name: "too large", m: m, in: event(classTooNew), do: doList, list: latest, reported: true},
		{name: "too large right after a list", m: fresh, in: event(classTooNew), do: doSleep, delay: base, then: effect{do: doList, list: latest}, reported: true},
		{name: "denied", m: m, in: at(watchEnd(classDenied, 0)), do: doSleep, delay: base, then: again, reported: true},
		{name: "denied by an event", m: m, in: event(classDenied), do: doSleep, delay: base, then: again, reported: true},
		{name: "contradicted", m: m, in: at(watchEnd(classDrift, time.Minute)), do: doWatch, reported: true},
		{name: "contradicted in no time", m: m, in: at(watchEnd(classDrift, 0)), do: doSleep, delay: base, then: again, reported: true},
		{name: "cannot be taken", m: badElsewhere, in: at(watchEnd(classBad, 0)), do: doSleep, delay: base, then: again, reported: true},
		{name: "cannot be taken twice", m: badHere, in: at(watchEnd(classBad, 0)), do: doSleep, delay: base, then: list, reported: true},
		{name: "request refused twice", m: badHere, in: at(watchEnd(classUnsupported, 0)), do: doSleep, delay: base, then: list, reported: true},
	})
}

func TestStepProbing(t *testing.T) {
	m := started(phaseProbing, plan{})
	m.silent = 2
	again := effect{do: doWatch}
	runRows(t, []row{
		{name: "known", m: m, in: at(page("20", "C1", failure{})), do: doWatch},
		{name: "not offered", m: m, in: at(page("", "", because(classUnsupported))), do: doWatch},
		{name: "too large", m: m, in: at(page("", "", because(classTooNew))), do: doList, list: latest, reported: true},
		{name: "older", m: m, in: at(page("19", "", failure{})), do: doList, list: latest, reported: true},
		{name: "expired", m: m, in: at(page("", "", because(classExpired))), do: doList, list: notOlder, reported: true},
		{name: "failed", m: m, in: at(page("", "", because(classNetwork))), do: doSleep, delay: base, then: again, reported: true},
		{name: "context done", m: m, in: input{kind: inQuit}, do: doStop},
	})
}

func runRows(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			r.in.now = epoch
			before := r.m
			after, e := r.m.step(r.in)
			require.Empty(t, cmp.Diff(before, r.m, cmp.Comparer(sameMachine)), "step must not change its machine")
			e.fault = ""
			want := effect{do: r.do, list: r.list, delay: r.delay, failed: r.reported, version: r.version}
			require.Equal(t, want, e)
			if r.do != doSleep {
				return
			}
			_, then := after.step(input{kind: inSlept, now: epoch.Add(r.delay), position: r.in.position, floor: r.in.floor})
			require.Equal(t, r.then, then)
			_, stop := after.step(input{kind: inQuit})
			require.Equal(t, doStop, stop.do, "a pause must end with the context")
		})
	}
}

func sameMachine(a, b machine) bool { return a == b }

// Two watches without a sign of life bring a probe; one that is answered starts the count afresh.
func TestSilenceIsProbed(t *testing.T) {
	m := started(phaseWatching, plan{})
	var done []action
	for range 5 {
		in := at(watchEnd(classIdle, time.Minute))
		if m.phase == phaseProbing {
			in = at(page("20", "", failure{}))
		}
		in.now = epoch
		var e effect
		m, e = m.step(in)
		done = append(done, e.do)
	}
	require.Equal(t, []action{doWatch, doProbe, doWatch, doWatch, doProbe}, done)
}

// An expiry right after a list is paused for, since the list has led nowhere. When another failure was
// paused for in between, that was the pause.
func TestExpiryBehindAnotherFailure(t *testing.T) {
	m := started(phaseWatching, plan{})
	m.fresh = true
	m, e := m.step(at(watchEnd(classServer, 0)))
	require.Equal(t, doSleep, e.do)
	m, e = m.step(input{kind: inSlept, now: epoch, position: "20"})
	require.Equal(t, doWatch, e.do)
	_, e = m.step(event(classExpired))
	require.Equal(t, doList, e.do)
}

// Whatever comes, the machine never goes round without a pause: of the effects that send a
// request at once, no long run follows from inputs that bring no news in no time.
func TestNothingSpins(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 700 {
		m := started(phaseNone, plan{})
		m.o.FirstList = FirstList(random.IntN(3))
		m.o.PageSize = int64(random.IntN(2)) * 3
		in := input{kind: inStart, now: epoch}
		if random.IntN(2) == 0 {
			in.position, in.floor = "20", "20"
		}
		atOnce := 0
		for range 100 {
			var e effect
			m, e = m.step(in)
			position, now := in.position, in.now
			switch e.do {
			case doSleep:
				require.Positive(t, e.delay)
				atOnce, now = 0, now.Add(e.delay)
				in = input{kind: inSlept}
			case doCommit:
				in = input{kind: inCommitted}
				position = e.version
			case doList, doProbe:
				atOnce++
				in = page([]string{"", "19", "20", "x"}[random.IntN(4)], "", failure{class: class(random.IntN(int(classServer) + 1))})
				in.meta.Remaining = int64(random.IntN(2))
			case doStream, doWatch, doResume:
				atOnce++
				in = watchEnd(class(random.IntN(int(classServer)+1)), 0)
				in.event, in.heard, in.gap = random.IntN(2) == 0, random.IntN(2) == 0, random.IntN(2) == 0
				in.moved = in.heard && random.IntN(2) == 0 // by a bookmark
			default:
				t.Fatalf("effect %d", e.do)
			}
			in.position, in.floor, in.now = position, position, now
			require.Less(t, atOnce, 9, "requests without a pause")
		}
	}
}
