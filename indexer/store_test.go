package indexer_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

func TestReads(t *testing.T) {
	x := strict(t)
	r := x.Reader()
	require.Same(t, r, x.Reader())
	require.Empty(t, r.List())
	require.Empty(t, r.Keys())
	require.Empty(t, r.Version())
	_, ok := r.Get(key("a/p"))
	require.False(t, ok)
	_, ok = r.Head(key("a/p"))
	require.False(t, ok)

	p, q := newPod("a/p", "1"), newPod("q", "2")
	p.UID = "u"
	x.Apply("2", []indexer.Write[*pod]{update(p), update(q)})

	got, ok := r.Get(key("a/p"))
	require.True(t, ok)
	require.Same(t, p, got)
	head, ok := r.Head(key("a/p"))
	require.True(t, ok)
	require.Equal(t, headOf(p), head)
	require.Equal(t, 2, r.Len())
	require.Equal(t, []*pod{p, q}, r.List())
	require.Equal(t, []listwatch.Key{key("a/p"), key("q")}, r.Keys())
	objects, version := r.Snapshot()
	require.Equal(t, []*pod{p, q}, objects)
	require.Equal(t, "2", version)
	for range r.All() {
		break
	}
}

func TestListBelongsToTheCaller(t *testing.T) {
	x := strict(t)
	ix := mustIndex(t, x, "label", labels)
	p := newPod("p", "1", "a")
	x.Put(p)
	x.Reader().List()[0] = nil
	ix.Get("a")[0] = nil
	require.Equal(t, []*pod{p}, x.Reader().List())
	require.Equal(t, []*pod{p}, ix.Get("a"))
}

func TestIterationMayWrite(t *testing.T) {
	x := strict(t)
	ix := mustIndex(t, x, "label", labels)
	x.Put(newPod("p", "1", "a"), newPod("q", "1", "a"))
	var seen []listwatch.Key
	for k, p := range x.Reader().All() {
		x.Delete(key("p"), key("q"))
		x.Put(newPod("r", "1", "a"))
		require.Equal(t, k, listwatch.KeyOf(p))
		seen = append(seen, k)
	}
	require.Equal(t, []listwatch.Key{key("p"), key("q")}, seen)
	for k := range ix.All("a") {
		x.Put(newPod("s", "1", "a"))
		x.Delete(k)
	}
	for v := range ix.Values() {
		x.Put(newPod("s", "2", v+"'"))
	}
	require.Equal(t, []listwatch.Key{key("s")}, ix.Keys("a'"))
}

func TestPutAndDelete(t *testing.T) {
	x := strict(t)
	x.Put(newPod("p", "5"))
	older := newPod("p", "4")
	older.UID = "u"
	x.Put(older)
	head, _ := x.Reader().Head(key("p"))
	require.Equal(t, headOf(older), head)
	x.Delete(key("p"), key("none"))
	require.Zero(t, x.Reader().Len())
}

// Scenario 84.
func TestReplaceIndexesWhatIsGiven(t *testing.T) {
	x := strict(t)
	ix := mustIndex(t, x, "label", labels)
	x.Put(newPod("a", "1", "va"), newPod("b", "1", "vb"))
	x.Replace("9", newPod("b", "2", "vb'"), newPod("c", "1", "vc"))

	rebuilt := strict(t)
	want := mustIndex(t, rebuilt, "label", labels)
	rebuilt.Put(newPod("b", "2", "vb'"), newPod("c", "1", "vc"))
	for _, v := range []string{"va", "vb", "vb'", "vc"} {
		require.Equal(t, want.Get(v), ix.Get(v))
	}
	require.Equal(t, []string{"b", "c"}, names(x.Reader().List()))
	require.Equal(t, "9", x.Reader().Version())
	require.NoError(t, x.Check())
}

func TestReplaceIsQuiet(t *testing.T) {
	x := strict(t)
	p, unversioned := newPod("p", "5"), newPod("u", "")
	x.Put(p, unversioned)
	restored := newPod("p", "5")
	restored.UID = "another"

	x.Replace("9", newPod("p", "5"), newPod("u", ""))
	got, _ := x.Get(key("p"))
	require.Same(t, p, got)
	got, _ = x.Get(key("u"))
	require.NotSame(t, unversioned, got)

	x.Replace("3", restored)
	require.Equal(t, []*pod{restored}, x.Reader().List())
	x.Replace("2", newPod("p", "2"))
	head, _ := x.Reader().Head(key("p"))
	require.Equal(t, "2", head.ResourceVersion)
	x.Replace("10")
	require.Zero(t, x.Reader().Len())
}

func TestReplaceWithOneKeyTwice(t *testing.T) {
	x := strict(t)
	newest, last := newPod("p", "10"), newPod("q", "b")
	x.Replace("10", newPod("p", "9"), newest, newPod("p", "8"), newPod("q", "a"), last)
	require.Equal(t, []*pod{newest, last}, x.Reader().List())
}

// row is an object by value, without identity.
type row struct{ name, version string }

func (r row) GetNamespace() string       { return "" }
func (r row) GetName() string            { return r.name }
func (r row) GetResourceVersion() string { return r.version }

func TestObjectsByValue(t *testing.T) {
	x := newStore[row](indexer.Options{})
	byVersion, err := indexer.AddIndex(x.Reader(), "version", indexer.One(row.GetResourceVersion))
	require.NoError(t, err)
	x.Put(row{"a", "1"}, row{"b", "1"})
	x.Replace("2", row{"a", "2"})
	require.Equal(t, []row{{"a", "2"}}, byVersion.Get("2"))
	require.Empty(t, byVersion.Get("1"))
	require.NoError(t, x.Check())
}

// logLines is a handler that keeps "message: error" of each record.
type logLines struct {
	slog.Handler
	lines *[]string
}

func (l logLines) Enabled(context.Context, slog.Level) bool { return true }

func (l logLines) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += ": " + a.Value.String(); return true })
	*l.lines = append(*l.lines, line)
	return nil
}

// captureLog sends the default logger's records to lines.
func captureLog(lines *[]string) (restore func()) {
	old := slog.Default()
	slog.SetDefault(slog.New(logLines{lines: lines}))
	return func() { slog.SetDefault(old) }
}
