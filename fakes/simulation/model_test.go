package simulation_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
)

type object = fakes.Object

// moment is one state of a key on the server: an object, or that there is none.
type moment struct {
	exists  bool
	value   string // unique for each write that changed something
	uid     string
	version uint64
}

// model is what the server's collection was and is: kept by the writers, not read from the
// server.
type model struct {
	mu     sync.Mutex
	server *fakes.Source[*object]
	// line is all states of each key in order. A restore adds the states that it brings back.
	line map[listwatch.Key][]moment
	// log is the history as the server has it: a restore cuts it.
	log []entry
	// ids are the values that a state of one key, identity and version had: more than one after a
	// restore, when versions are used again. Nobody can tell those apart.
	ids map[string][]string
	// writes counts the writes, versions what the server's version was raised by since the last rest.
	writes   int
	versions uint64
	restores int
	history  int // how many changes the server keeps
	// lossy: a watch may have missed something that only a list brings back, or a client may take
	// versions of the server for those from before a restore.
	lossy bool
	// shaken: the server was restored since the last rest. A client that has not found out may
	// take what a list of the old history lacked for deleted in the new one.
	shaken bool
	// unruly counts the faults since the last rest after which a list is in order.
	unruly int
}

type entry struct {
	key listwatch.Key
	moment
}

func newModel() *model {
	return &model{line: make(map[listwatch.Key][]moment), ids: make(map[string][]string)}
}

func key(n int) listwatch.Key {
	return listwatch.Key{Namespace: "ns" + strconv.Itoa(n%2), Name: "k" + strconv.Itoa(n)}
}

// class is the part of a value that is not unique.
func class(o *object) string {
	c, _, _ := strings.Cut(o.Value, "#")
	return c
}

func number(version string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(version, opaquePrefix), 10, 64)
	return n
}

// put writes a value of a class.
func (m *model) put(k listwatch.Key, class string) *object {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.putLocked(k, class)
}

func (m *model) putLocked(k listwatch.Key, class string) *object {
	m.writes++
	value := class + "#" + strconv.Itoa(m.writes)
	o, err := m.server.Put(&object{Meta: listwatch.Meta{Namespace: k.Namespace, Name: k.Name}, Value: value})
	if err != nil {
		panic(err) // the server is wrong
	}
	m.noteLocked(k, moment{exists: true, value: value, uid: o.UID, version: number(o.ResourceVersion)})
	return o
}

// touch writes what is there already.
func (m *model) touch(k listwatch.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.nowLocked(k); now.exists {
		o, err := m.server.Put(&object{Meta: listwatch.Meta{Namespace: k.Namespace, Name: k.Name}, Value: now.value})
		if err != nil || number(o.ResourceVersion) != now.version {
			panic(fmt.Sprintf("a write of nothing: %v, %v", o, err))
		}
	}
}

func (m *model) delete(k listwatch.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deleteLocked(k)
}

func (m *model) deleteLocked(k listwatch.Key) {
	if now := m.nowLocked(k); now.exists {
		o, err := m.server.Delete(k, fakes.Preconditions{})
		if err != nil {
			panic(err)
		}
		m.noteLocked(k, moment{value: now.value, uid: o.UID, version: number(o.ResourceVersion)})
	}
}

func (m *model) recreate(k listwatch.Key, class string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deleteLocked(k)
	m.putLocked(k, class)
}

func (m *model) advance(n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.server.Advance(n)
	m.versions += n
}

func (m *model) noteLocked(k listwatch.Key, now moment) {
	m.line[k] = append(m.line[k], now)
	m.log = append(m.log, entry{k, now})
	m.versions++
	id := fmt.Sprint(k, now.uid, now.version)
	if !slices.Contains(m.ids[id], now.value) {
		m.ids[id] = append(m.ids[id], now.value)
	}
}

func (m *model) nowLocked(k listwatch.Key) moment {
	if l := m.line[k]; len(l) > 0 {
		return l[len(l)-1]
	}
	return moment{}
}

// inject passes a fault on to the server and follows what it does to the history.
func (m *model) inject(f fakes.Fault) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := number(m.server.Version())
	if err := m.server.Inject(f); err != nil {
		return err
	}
	m.followLocked(f)
	if after := number(m.server.Version()); after < before {
		m.restoreLocked(after)
	}
	return nil
}

// follow notes what a fault may lead to.
func (m *model) follow(f fakes.Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followLocked(f)
}

func (m *model) followLocked(f fakes.Fault) {
	switch f.Kind {
	case fakes.FaultDrop, fakes.FaultGarbage, fakes.FaultNameless, fakes.FaultWrongKind, fakes.FaultOversize, fakes.FaultUnknownEvent,
		fakes.FaultGarbageBytes:
		m.lossy = true
	}
	if !benign(f) {
		m.unruly++
	}
}

// benign reports whether a fault is none that a client may answer with a list, but for the
// periodic one.
func benign(f fakes.Fault) bool {
	switch f.Kind {
	case fakes.FaultCut, fakes.FaultHalfOpen, fakes.FaultSlow, fakes.FaultNoBookmarks, fakes.FaultRepeatBookmark,
		fakes.FaultPartialList, fakes.FaultRepeatPage, fakes.FaultShortPages, fakes.FaultExpireTokens, fakes.FaultHang,
		fakes.FaultLateHeaders, fakes.FaultGoAway, fakes.FaultBlackHole, fakes.FaultReset, fakes.FaultThrottle:
		return true
	case fakes.FaultError:
		return f.Code == 0 || f.Code == 429
	case fakes.FaultFail:
		return f.Code == 0 || f.Code == 429 || !f.Event && f.Code != 410 && f.Code < 500
	case fakes.FaultDown:
		return f.Code == 0 || f.Code == 429 || f.Code != 410 && f.Code < 500
	}
	return false
}

// restoreLocked follows the server back to a version.
func (m *model) restoreLocked(version uint64) {
	m.restores++
	m.lossy, m.shaken = true, true
	touched := map[listwatch.Key]bool{}
	for len(m.log) > 0 && m.log[len(m.log)-1].version > version {
		touched[m.log[len(m.log)-1].key] = true
		m.log = m.log[:len(m.log)-1]
	}
	for k := range touched {
		back := moment{}
		for _, e := range m.log {
			if e.key == k {
				back = e.moment
			}
		}
		m.line[k] = append(m.line[k], back)
	}
}

// view is what a client of the server sees of the model: all of it, or what match selects.
type view struct {
	*model
	match func(value string) bool
}

func (v view) shows(m moment) bool { return m.exists && (v.match == nil || v.match(m.value)) }

// findLocked returns where the line of a key has such a state, from a place on; -1: nowhere.
func (v view) findLocked(k listwatch.Key, from int, is func(moment) bool) int {
	line := v.line[k]
	for i := max(from, 0); i < len(line); i++ {
		if is(line[i]) {
			return i
		}
	}
	return -1
}

// see takes what somebody sees of a key after place last of its line, nil for nothing, and
// returns the place of that. A reason says why it can't be.
func (v view) see(k listwatch.Key, last int, o *object) (place int, reason string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if o == nil {
		if last < 0 || !v.shows(v.line[k][last]) {
			return last, ""
		}
		place = v.findLocked(k, last, func(m moment) bool { return !v.shows(m) })
		switch {
		case place < 0 && v.shaken:
			return last, ""
		case place < 0:
			return last, fmt.Sprintf("%s is gone, though it was not deleted since %v", k, v.line[k][last])
		}
		return place, ""
	}
	place = v.findLocked(k, last, func(m moment) bool { return v.shows(m) && m.value == o.Value })
	if place < 0 {
		return last, fmt.Sprintf("%s is %s (version %s), which it was not after place %d of %v", k, o.Value, o.ResourceVersion, last, v.line[k])
	}
	return place, ""
}

// again reports whether a key has come back to a value after a place of its line, by a restore:
// then somebody may have seen another state in between.
func (v view) again(k listwatch.Key, place int, value string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.findLocked(k, place+1, func(m moment) bool { return m.exists && m.value == value }) >= 0
}

// seeDeleted is see for a delete that was told with the version of the deletion.
func (v view) seeDeleted(k listwatch.Key, last int, o *object) (place int, reason string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	version := number(o.ResourceVersion)
	place = v.findLocked(k, last, func(m moment) bool { return !v.shows(m) && m.version == version })
	if place < 0 {
		return last, fmt.Sprintf("%s was deleted at version %d, but not after place %d of %v", k, version, last, v.line[k])
	}
	return place, ""
}

// seeGone is see for a delete that nobody saw: the object is gone, or a restore has put another
// one in its place.
func (v view) seeGone(k listwatch.Key, last int, o *object) (place int, reason string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	place = v.findLocked(k, last, func(m moment) bool { return !v.shows(m) || m.uid != o.UID })
	switch {
	case place < 0 && v.shaken:
		return last, ""
	case place < 0:
		return last, fmt.Sprintf("%s is gone, though it was not deleted after place %d of %v", k, last, v.line[k])
	}
	return place, ""
}

// now returns what the server shows.
func (v view) now() map[listwatch.Key]moment {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := make(map[listwatch.Key]moment)
	for k := range v.line {
		if m := v.nowLocked(k); v.shows(m) {
			now[k] = m
		}
	}
	return now
}

// differs says how objects differ from what the server shows; "" when they don't. A state that
// has the key, identity and version of the right one can't be told from it.
func (v view) differs(objects map[listwatch.Key]*object) string {
	now := v.now()
	v.mu.Lock()
	defer v.mu.Unlock()
	for k, m := range now {
		o, ok := objects[k]
		if !ok {
			return fmt.Sprintf("%s is missing, the server has %v", k, m)
		}
		id := fmt.Sprint(k, o.UID, number(o.ResourceVersion))
		if o.Value != m.value && (o.UID != m.uid || number(o.ResourceVersion) != m.version || !slices.Contains(v.ids[id], o.Value)) {
			return fmt.Sprintf("%s is %s (%s, version %s), the server has %v", k, o.Value, o.UID, o.ResourceVersion, m)
		}
	}
	for k, o := range objects {
		if _, ok := now[k]; !ok {
			return fmt.Sprintf("%s is %s (version %s), the server has none", k, o.Value, o.ResourceVersion)
		}
	}
	return ""
}

// places returns the newest place of each key, and a mark of the history it belongs to.
func (v view) places() (places map[listwatch.Key]int, restores int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	places = make(map[listwatch.Key]int)
	for k, line := range v.line {
		places[k] = len(line) - 1
	}
	return places, v.restores
}

// calm reports whether nothing has happened since the last rest that a list is an answer to: no
// such fault, and not so many writes that a version may have expired.
func (m *model) calm() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unruly == 0 && m.versions < uint64(m.history)/2
}

// rested notes that all that was lost has been found.
func (m *model) rested() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lossy, m.shaken, m.unruly, m.versions = false, false, 0, 0
}

// restored reports whether the server has gone back at some time.
func (m *model) restored() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.restores > 0
}

// state tells whether something may be hidden from watches, and which history this is.
func (m *model) state() (lossy bool, history int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lossy, m.restores
}
