package reflector_test

import (
	"context"
	"fmt"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
)

// printer is a sink that prints.
type printer struct{}

func (printer) Apply(_ context.Context, events ...listwatch.Event[*row]) error {
	for _, e := range events {
		fmt.Println(e.Type, e.Object.Name, "at", e.ResourceVersion)
	}
	return nil
}

func (p printer) Begin(m listwatch.Mode) listwatch.Snapshot[*row] {
	fmt.Println("begin", m)
	return p
}

func (printer) Lost(open bool) { fmt.Println("lost:", open) }

func (printer) Known(listwatch.Head) bool { return false }

func (printer) Put(_ context.Context, objects ...*row) error {
	for _, o := range objects {
		fmt.Println("listed", o.Name)
	}
	return nil
}

func (printer) Commit(version string) error {
	fmt.Println("complete at", version)
	return nil
}

func (printer) Abort() {}

func ExampleReflector() {
	ctx, cancel := context.WithCancel(context.Background())
	source := listwatch.Funcs[*row]{
		ListFunc: func(_ context.Context, _ listwatch.ListOptions, each func(...*row) error) (listwatch.ListMeta, error) {
			err := each(newRow("a", "3"), newRow("b", "7"))
			return listwatch.ListMeta{ResourceVersion: "10"}, err
		},
		WatchFunc: func(ctx context.Context, o listwatch.WatchOptions, each func(...listwatch.Event[*row]) error) error {
			fmt.Println("watch from", o.ResourceVersion)
			err := each(listwatch.Event[*row]{Type: listwatch.Added, Object: newRow("c", "11"), ResourceVersion: "11"})
			cancel() // the example ends here
			<-ctx.Done()
			return err
		},
	}
	r := reflector.New[*row](source, printer{}, reflector.Options{
		Name: "rows", Logger: quiet, FirstList: reflector.FirstPages,
	})
	fmt.Println(r.Run(ctx), r.Health().Position)
	// Output:
	// begin Rebuild
	// listed a
	// listed b
	// complete at 10
	// lost: false
	// watch from 10
	// Added c at 11
	// <nil> 11
}
