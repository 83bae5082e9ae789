package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type uid string

// objectMeta is like the metadata of the Kubernetes API types: a field, and a method that
// returns a named string.
type objectMeta struct {
	Name string
	UID  uid
}

func (m *objectMeta) GetUID() uid { return m.UID }

type typeMeta struct{ Kind string }

type promoted struct {
	typeMeta
	objectMeta
}

type deeper struct {
	N int
	promoted
}

// byValue has the method on the value.
type byValue struct{ UID uid }

func (v byValue) GetUID() uid { return v.UID }

// behindPointer embeds a pointer, which may be nil in a zero value.
type behindPointer struct{ *objectMeta }

// deepBehindPointer has the pointer further down.
type deepBehindPointer struct{ behindPointer }

// noField has a method but no field.
type noField struct{ id string }

func (o *noField) GetUID() uid { return uid(o.id) }

// otherField has a field of the name that is no string.
type otherField struct{ UID int }

func (o otherField) GetUID() uid { return "method" }

// misleading has a field that its method does not return.
type misleading struct {
	UID   uid
	right uid
}

func (m *misleading) GetUID() uid { return m.right }

// fragile has a method that does not work on every value.
type fragile struct {
	UID  uid
	more *objectMeta
}

func (f *fragile) GetUID() uid { return f.more.UID }

// mapObject is an object that is a map.
type mapObject map[string]string

func (m mapObject) GetUID() uid { return uid(m["uid"]) }

type named interface{ GetUID() uid }

type plain interface{ GetUID() string }

type none struct{ UID string }

type withArgument struct{ UID string }

func (withArgument) GetUID(int) string { return "" }

type twoResults struct{ UID string }

func (twoResults) GetUID() (string, error) { return "", nil }

type notString struct{ UID string }

func (notString) GetUID() int { return 0 }

func TestOf(t *testing.T) {
	meta := objectMeta{UID: "u"}
	for name, got := range map[string]string{
		"string method, by value":         identity.Of[listwatch.Meta]()(listwatch.Meta{UID: "u"}),
		"string method, by pointer":       identity.Of[*listwatch.Meta]()(&listwatch.Meta{UID: "u"}),
		"string method, interface":        identity.Of[plain]()(listwatch.Meta{UID: "u"}),
		"own field":                       identity.Of[*objectMeta]()(&meta),
		"promoted field":                  identity.Of[*promoted]()(&promoted{objectMeta: meta}),
		"promoted twice":                  identity.Of[*deeper]()(&deeper{promoted: promoted{objectMeta: meta}}),
		"field of a struct by value":      identity.Of[byValue]()(byValue{UID: "u"}),
		"field, method on the value":      identity.Of[*byValue]()(&byValue{UID: "u"}),
		"method, field behind a pointer":  identity.Of[*behindPointer]()(&behindPointer{&meta}),
		"method, field behind one deeper": identity.Of[*deepBehindPointer]()(&deepBehindPointer{behindPointer{&meta}}),
		"method, no field":                identity.Of[*noField]()(&noField{id: "u"}),
		"method, field says otherwise":    identity.Of[*misleading]()(&misleading{UID: "x", right: "u"}),
		"method that may panic":           identity.Of[*fragile]()(&fragile{UID: "x", more: &meta}),
		"method, map":                     identity.Of[mapObject]()(mapObject{"uid": "u"}),
		"method, interface":               identity.Of[named]()(&promoted{objectMeta: meta}),
	} {
		require.Equal(t, "u", got, name)
	}
	require.Equal(t, "method", identity.Of[otherField]()(otherField{}))
}

func TestOfTypesWithoutIdentity(t *testing.T) {
	for name, got := range map[string]string{
		"no method":              identity.Of[*none]()(&none{UID: "u"}),
		"method by pointer only": identity.Of[promoted]()(promoted{objectMeta: objectMeta{UID: "u"}}),
		"an argument":            identity.Of[withArgument]()(withArgument{UID: "u"}),
		"two results":            identity.Of[twoResults]()(twoResults{UID: "u"}),
		"no string":              identity.Of[*notString]()(&notString{UID: "u"}),
		"interface":              identity.Of[any]()("u"),
	} {
		require.Empty(t, got, name)
	}
}

// The usual ways allocate nothing: the objects of a large list are all asked.
func TestOfAllocatesNothing(t *testing.T) {
	fromField, fromMethod := identity.Of[*promoted](), identity.Of[*listwatch.Meta]()
	object, meta := &promoted{objectMeta: objectMeta{UID: "u"}}, &listwatch.Meta{UID: "u"}
	require.Zero(t, testing.AllocsPerRun(100, func() { fromField(object); fromMethod(meta) }))
}
