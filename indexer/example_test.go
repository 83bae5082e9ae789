package indexer_test

import (
	"fmt"
	"slices"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/indexer"
)

type server struct {
	listwatch.Meta
	Zone  string
	Roles []string
}

func ExampleIndexer() {
	x := indexer.New[*server](indexer.Options{Name: "servers"})
	x.Put(&server{Meta: listwatch.Meta{Namespace: "shop", Name: "web", ResourceVersion: "7"}})

	web, ok := x.Get(listwatch.Key{Namespace: "shop", Name: "web"})
	fmt.Println(web.ResourceVersion, ok)
	// Output: 7 true
}

func ExampleReader() {
	x := indexer.New[*server](indexer.Options{})
	x.Replace("12",
		&server{Meta: listwatch.Meta{Namespace: "shop", Name: "web", ResourceVersion: "7"}},
		&server{Meta: listwatch.Meta{Namespace: "shop", Name: "db", ResourceVersion: "9"}},
		&server{Meta: listwatch.Meta{Namespace: "lab", Name: "test", ResourceVersion: "8"}},
	)

	r := x.Reader()
	for key, s := range r.All() {
		fmt.Println(key, "at", s.ResourceVersion)
	}
	fmt.Println(r.Len(), "as of", r.Version(), "of them in shop:", len(r.Namespace("shop")))
	// Output:
	// shop/web at 7
	// shop/db at 9
	// lab/test at 8
	// 3 as of 12 of them in shop: 2
}

func ExampleIndex() {
	x := indexer.New[*server](indexer.Options{})
	byRole, err := indexer.AddIndex(x.Reader(), "role", func(s *server) []string { return s.Roles })
	if err != nil {
		fmt.Println(err)
		return
	}
	x.Put(
		&server{Meta: listwatch.Meta{Name: "a"}, Roles: []string{"web", "cache"}},
		&server{Meta: listwatch.Meta{Name: "b"}, Roles: []string{"web"}},
	)

	fmt.Println(byRole.Keys("web"), byRole.Len("cache"))
	fmt.Println(slices.Sorted(byRole.Values()))
	// Output:
	// [a b] 1
	// [cache web]
}

func ExampleAddIndex() {
	x := indexer.New[*server](indexer.Options{})
	x.Put(&server{Meta: listwatch.Meta{Name: "a"}, Zone: "north"})

	byZone, err := indexer.AddIndex(x.Reader(), "zone", indexer.One(func(s *server) string { return s.Zone }))
	fmt.Println(byZone.Keys("north"), err)
	_, err = indexer.AddIndex(x.Reader(), "zone", indexer.One(func(s *server) string { return s.Zone }))
	fmt.Println(err)
	// Output:
	// [a] <nil>
	// indexer : index "zone": index exists
}

func ExampleAddIndexFunc() {
	x := indexer.New[*server](indexer.Options{})
	byZone, err := indexer.AddIndexFunc(x.Reader(), "zone", func(s *server, zones []string) []string {
		if s.Zone == "" {
			return zones
		}
		return append(zones, s.Zone)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	x.Put(&server{Meta: listwatch.Meta{Name: "a"}, Zone: "north"}, &server{Meta: listwatch.Meta{Name: "b"}})
	fmt.Println(slices.Collect(byZone.Values()))
	// Output: [north]
}

func ExampleWrite() {
	x := indexer.New[*server](indexer.Options{})
	state := func(version string) indexer.Write[*server] {
		s := &server{Meta: listwatch.Meta{Name: "a", ResourceVersion: version}}
		return indexer.Write[*server]{
			Head:   listwatch.Head{Key: listwatch.KeyOf(s), ResourceVersion: version},
			Object: s,
		}
	}
	writes := []indexer.Write[*server]{state("5"), state("4"), state("6")}
	x.Apply("6", writes)
	for _, w := range writes {
		fmt.Printf("%s over %q: %v\n", w.Head.ResourceVersion, w.OldHead.ResourceVersion, w.Applied)
	}
	// Output:
	// 5 over "": true
	// 4 over "5": false
	// 6 over "5": true
}

func ExampleStats() {
	x := indexer.New[*server](indexer.Options{})
	if _, err := indexer.AddIndex(x.Reader(), "zone", indexer.One(func(s *server) string { return s.Zone })); err != nil {
		fmt.Println(err)
	}
	x.Put(&server{Meta: listwatch.Meta{Name: "a"}, Zone: "north"})
	fmt.Printf("%+v\n", x.Reader().Stats())
	// Output: {Objects:1 Plain:0 Indexes:[{Name:zone Values:1 Faults:0}]}
}

func ExampleFault() {
	x := indexer.New[*server](indexer.Options{Name: "servers", OnError: func(err error) { fmt.Println(err) }})
	_, err := indexer.AddIndex(x.Reader(), "first role", indexer.One(func(s *server) string { return s.Roles[0] }))
	if err != nil {
		fmt.Println(err)
	}
	x.Put(&server{Meta: listwatch.Meta{Name: "a"}})
	fmt.Println(x.Reader().Len())
	// Output:
	// indexer servers: index first role: object a: panic: runtime error: index out of range [0] with length 0
	// 1
}

func ExampleCompact() {
	x := indexer.New[*server](indexer.Options{Compact: &indexer.Compact{Recent: 100}})
	for n := range 1000 {
		x.Put(&server{Meta: listwatch.Meta{Name: fmt.Sprint("s", n)}, Zone: "north", Roles: []string{"web", "cache"}})
	}
	first, _ := x.Get(listwatch.Key{Name: "s0"}) // decoded, and kept for the next who asks
	again, _ := x.Get(listwatch.Key{Name: "s0"})
	fmt.Println(first.Roles, first == again, x.Reader().Stats().Plain)
	// Output: [web cache] true 0
}

func ExampleState() {
	x := indexer.New[*server](indexer.Options{Compact: &indexer.Compact{}})
	x.Put(
		&server{Meta: listwatch.Meta{Name: "a", ResourceVersion: "7"}, Zone: "north"},
		&server{Meta: listwatch.Meta{Name: "b", ResourceVersion: "9"}, Zone: "south"},
	)
	for _, s := range x.Reader().States() {
		if listwatch.Newer(s.Head.ResourceVersion, "8") { // only these are decoded
			fmt.Println(s.Head.Key, s.Object().Zone)
		}
	}
	// Output: b south
}
