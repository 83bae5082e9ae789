package conformance_test

import (
	"context"
	"fmt"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/conformance"
)

// printer is a test that prints what is reported.
type printer struct{ failed bool }

func (*printer) Helper()                  {}
func (*printer) Context() context.Context { return context.Background() }
func (*printer) Logf(string, ...any)      {}
func (p *printer) FailNow()               { panic("ended") }
func (p *printer) Errorf(format string, args ...any) {
	p.failed = true
	fmt.Printf("  "+format+"\n", args...)
}

// forgetful describes a source that does not tell the version of its lists.
func forgetful(conformance.TB) conformance.Fixture[*fakes.Object] {
	s := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	return conformance.Fixture[*fakes.Object]{
		Source: listwatch.Funcs[*fakes.Object]{
			ListFunc: func(ctx context.Context, o listwatch.ListOptions, each func(...*fakes.Object) error) (listwatch.ListMeta, error) {
				meta, err := s.List(ctx, o, each)
				meta.ResourceVersion = "0"
				return meta, err
			},
			WatchFunc: s.Watch,
		},
		Read:   read,
		Create: verb(s.Create),
		Update: verb(s.Update),
		Delete: func(_ context.Context, d conformance.State) error {
			_, err := s.Delete(d.Key, fakes.Preconditions{})
			return err
		},
	}
}

// In a test the loop is one of subtests, and each case gets its *testing.T.
func ExampleCases() {
	for _, c := range conformance.Cases(forgetful)[1:2] {
		p := &printer{}
		fmt.Println(c.Name)
		c.Run(p)
		fmt.Println("  failed:", p.failed)
	}
	// Output:
	// ListAll
	//   the version of a list is "0", which means something else in requests
	//   default/a has version 2, the list as a whole 0
	//   default/b has version 5, the list as a whole 0
	//   failed: true
}

// The rules of writes are run in the same way, over servers that have them.
func ExampleRules() {
	for _, c := range conformance.Rules(forgetful)[:4] {
		fmt.Println(c.Name)
	}
	// Output:
	// CreateAssigns
	// CreateTwice
	// CreateWithVersion
	// UpdateConflicts
}

// A state is written to the collection and read back from what the source delivers.
func ExampleFixture() {
	f := forgetful(nil)
	stored, _ := f.Create(context.Background(), conformance.State{Key: listwatch.Key{Name: "a"}, Value: "1"})
	fmt.Println(stored.Key, stored.Value, stored.ResourceVersion, stored.UID)
	// Output: a 1 2 uid-1
}
