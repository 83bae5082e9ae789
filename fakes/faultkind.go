package fakes

import (
	"slices"
	"strconv"
)

// FaultKind names what goes wrong. Its text form is one lower-case word with dashes. The zero
// value is none of them.
//
// The comment of each says what a client sees, and what the right client does. "N" and "For" are
// fields of [Fault]; a count of 0 is one, unless something else is said. A fault that lasts for
// a For of 0 lasts until it is healed. Fields that the comment does not speak of have to be zero.
type FaultKind uint8

// Faults of the server.
const (
	// FaultFail: the next N calls of Verb fail before anything is sent, with the status Code, or
	// with a broken connection when it is 0. For is the hint when to come back. With Event, a
	// watch begins and the failure is its first event. Try again where it was met, after the
	// hint or a pause that grows; 410 brings a list.
	FaultFail FaultKind = iota + 1
	// FaultError: each running watch (the next to begin if none runs) breaks behind N more object
	// events; 0: at once. It is an ERROR event of Code, with For as hint, or a broken connection
	// when Code is 0. Go on from the last version; after an ERROR event it can't be relied on,
	// so list.
	FaultError
	// FaultCut: each running watch (the next to begin if none runs) ends cleanly behind N more
	// object events; 0: at once. It is no failure: watch again from the last version.
	FaultCut
	// FaultDown: for For every call of Verb fails as by FaultFail, and those that run break. A
	// flapping server is several of them.
	FaultDown
	// FaultHang: for For no call of Verb is sent anything. Timeouts go on, and whatever happened
	// meanwhile is sent then. Give up what makes no progress.
	FaultHang
	// FaultHalfOpen: the calls of Verb that run now get nothing any more, not even an end; new
	// ones are fine. Only a deadline of the client's own ends them.
	FaultHalfOpen
	// FaultSlow: the next N batches of calls of Verb come For later. Nothing is lost: wait.
	FaultSlow
)

// Faults of the data.
const (
	// FaultDrop: the next N changes are shown to no watch, now or later. Only a list shows what
	// was lost: list from time to time beside the watch, and repair.
	FaultDrop FaultKind = iota + 20
	// FaultGarbage: the body of the next N objects that calls of Verb send cannot be decoded
	// ([listwatch.ErrDecode]). Take the others, keep what is held under that key, list again.
	FaultGarbage
	// FaultNameless: the next N objects that calls of Verb send do not even tell their key. As
	// FaultGarbage; and believe of no object that such a list lacks it.
	FaultNameless
	// FaultWrongKind: the next N objects that calls of Verb send are of another kind
	// ([listwatch.ErrWrongKind]). As FaultGarbage.
	FaultWrongKind
	// FaultOversize: the next N objects that calls of Verb send are over the client's size limit
	// ([listwatch.ErrTooLarge]). As FaultGarbage.
	FaultOversize
	// FaultUnknownEvent: the next N object events are of a type that nobody knows
	// ([listwatch.ErrProtocol]). What happened is not known: list again.
	FaultUnknownEvent
)

// Faults of bookmarks and pages.
const (
	// FaultNoBookmarks: for For no watch sends a bookmark. Versions that a quiet watch never
	// learns of expire: list then.
	FaultNoBookmarks FaultKind = iota + 40
	// FaultLateBookmark: each running watch (the next to begin if none runs) sends a bookmark of
	// N versions before the one it has come to. Never go back.
	FaultLateBookmark
	// FaultRepeatBookmark: each running watch (the next to begin if none runs) sends N bookmarks
	// of the version it has come to. They are no news.
	FaultRepeatBookmark
	// FaultPartialList: the next list, or page, breaks behind N objects, with the status Code, or
	// with a broken connection when it is 0. Nothing may be concluded from what is missing.
	FaultPartialList
	// FaultRepeatPage: the next N lists, or pages, bring their objects twice. Once is enough.
	FaultRepeatPage
	// FaultShortPages: for For, lists with a limit get pages of at most N objects, 0: of half as
	// many as were asked for, and each second page is empty. Only a missing token is the end.
	FaultShortPages
	// FaultExpireTokens: all continue tokens given out so far are too old (410). List anew.
	FaultExpireTokens
)

// Faults of history and time.
const (
	// FaultCompact: everything older than N versions ago is forgotten; 0: than now. Watches and
	// lists of what is forgotten answer 410: list not older than the last version.
	FaultCompact FaultKind = iota + 60
	// FaultRestore: the server goes back N versions, as far as it remembers, and all watches end.
	// New states get versions that were used before. Find out, and believe the server.
	FaultRestore
	// FaultLag: for For, calls of Verb are answered by a replica that stands still N versions
	// ago. What asks for more is answered 504 too large, or waits. Ask for what is not older
	// than what was seen, and come again; never go back.
	FaultLag
	// FaultJump: the wall clock jumps by For, back when that is negative. It is for a [Clock]. No
	// timeout may depend on it.
	FaultJump
)

// Faults of the wire, of the server and the proxy in package wire.
const (
	// FaultCutBytes: the next answer to a call of Verb breaks after N bytes of the body. Half an
	// object is none; a list without its end is none.
	FaultCutBytes FaultKind = iota + 80
	// FaultGarbageBytes: after N bytes of the body the next answer to a call of Verb goes on
	// with bytes that mean nothing. Take what was whole before; try again from there.
	FaultGarbageBytes
	// FaultLateHeaders: the headers of the next N answers to calls of Verb come For later; 0:
	// with the first bytes of the body. It is no failure.
	FaultLateHeaders
	// FaultGoAway: the next N answers to calls of Verb are the last to begin on their connections:
	// HTTP/2 says GOAWAY, HTTP/1.1 closes behind the answer. It is no failure: connect anew.
	FaultGoAway
	// FaultBlackHole: for For nothing passes on the connections of the proxy, and none is closed;
	// new ones are fine when N is 0. Only a deadline or a ping of the client's finds out.
	FaultBlackHole
	// FaultReset: all connections of the proxy are reset behind N more bytes to the client. Go on
	// from the last version.
	FaultReset
	// FaultRefuse: all connections of the proxy are reset, and for For new ones are refused.
	FaultRefuse
	// FaultThrottle: for For the proxy passes on N bytes a second to each client. Wait.
	FaultThrottle
)

// layer is who can do a fault.
type layer uint8

const (
	ofSource layer = iota + 1
	ofClock
	ofServer
	ofProxy
)

// fields are those of a Fault that a kind speaks of.
type fields uint8

const (
	aVerb   fields = 1 << iota // of a list or a watch
	anyVerb                    // of writes too
	aCode
	anEvent
	aNumber
	aTime
)

// kindFacts are what is known of a kind.
type kindFacts struct {
	kind  FaultKind
	name  string
	layer layer
	takes fields
	// hides: the server tells of less than there is, or of what is not so.
	hides bool
}

var kinds = []kindFacts{
	{FaultFail, "fail", ofSource, anyVerb | aCode | anEvent | aNumber | aTime, false},
	{FaultError, "error", ofSource, aCode | aNumber | aTime, false},
	{FaultCut, "cut", ofSource, aNumber, false},
	{FaultDown, "down", ofSource, anyVerb | aCode | anEvent | aTime, false},
	{FaultHang, "hang", ofSource, aVerb | aTime, false},
	{FaultHalfOpen, "half-open", ofSource, aVerb, false},
	{FaultSlow, "slow", ofSource, aVerb | aNumber | aTime, false},

	{FaultDrop, "drop", ofSource, aNumber, true},
	{FaultGarbage, "garbage", ofSource, aVerb | aNumber, true},
	{FaultNameless, "nameless", ofSource, aVerb | aNumber, true},
	{FaultWrongKind, "wrong-kind", ofSource, aVerb | aNumber, true},
	{FaultOversize, "oversize", ofSource, aVerb | aNumber, true},
	{FaultUnknownEvent, "unknown-event", ofSource, aNumber, true},

	{FaultNoBookmarks, "no-bookmarks", ofSource, aTime, false},
	{FaultLateBookmark, "late-bookmark", ofSource, aNumber, false},
	{FaultRepeatBookmark, "repeat-bookmark", ofSource, aNumber, false},
	{FaultPartialList, "partial-list", ofSource, aCode | aNumber, false},
	{FaultRepeatPage, "repeat-page", ofSource, aNumber, false},
	{FaultShortPages, "short-pages", ofSource, aNumber | aTime, false},
	{FaultExpireTokens, "expire-tokens", ofSource, 0, false},

	{FaultCompact, "compact", ofSource, aNumber, false},
	{FaultRestore, "restore", ofSource, aNumber, true},
	{FaultLag, "lag", ofSource, aVerb | aNumber | aTime, false},
	{FaultJump, "jump", ofClock, aTime, false},

	{FaultCutBytes, "cut-bytes", ofServer, aVerb | aNumber, false},
	{FaultGarbageBytes, "garbage-bytes", ofServer, aVerb | aNumber, true},
	{FaultLateHeaders, "late-headers", ofServer, aVerb | aNumber | aTime, false},
	{FaultGoAway, "goaway", ofServer, aVerb | aNumber, false},
	{FaultBlackHole, "black-hole", ofProxy, aNumber | aTime, false},
	{FaultReset, "reset", ofProxy, aNumber, false},
	{FaultRefuse, "refuse", ofProxy, aTime, false},
	{FaultThrottle, "throttle", ofProxy, aNumber | aTime, false},
}

func (k FaultKind) facts() kindFacts {
	if i := slices.IndexFunc(kinds, func(f kindFacts) bool { return f.kind == k }); i >= 0 {
		return kinds[i]
	}
	return kindFacts{}
}

// String returns the name of the kind, such as "late-bookmark".
func (k FaultKind) String() string {
	if name := k.facts().name; name != "" {
		return name
	}
	return "FaultKind(" + strconv.Itoa(int(k)) + ")"
}

// OfSource reports whether a [Source] can do it; else it takes a [Clock], or the server or the
// proxy of package wire.
func (k FaultKind) OfSource() bool { return k.facts().layer == ofSource }

// FaultKinds returns all kinds.
func FaultKinds() []FaultKind {
	all := make([]FaultKind, len(kinds))
	for i, f := range kinds {
		all[i] = f.kind
	}
	return all
}

// HonestFaults returns the kinds under which the server, late or in pieces, still tells nothing but
// what is so, and all of it: neither drop, garbage, nameless, wrong-kind, oversize, unknown-event,
// restore nor garbage-bytes. They are for a promise about a controller's own writes. Under the others
// no controller whose objects get generated names can keep "never more than N": of what it is not
// shown, or what a restored server has forgotten, it cannot know that it has made it.
func HonestFaults() []FaultKind {
	return slices.DeleteFunc(FaultKinds(), func(k FaultKind) bool { return k.facts().hides })
}
