package rest

import (
	"fmt"
	"strings"

	"github.com/seed3bce33ad/listwatch"
)

const partialKind = "PartialObjectMetadata"

// kinds tells the objects that were asked for from others. What it does not know it learns
// from the first that it is shown.
type kinds struct {
	want    string // of an object; "" until known
	list    string // of a list, when that is not want with "List" behind
	partial bool   // partial metadata is what was asked for
}

// wireKind is the kind of the objects on the wire, as far as it is known beforehand.
func wireKind(o Options) string {
	if o.MetadataOnly {
		return partialKind
	}
	return o.Kind
}

// checkList checks the kind of a list.
func (k *kinds) checkList(kind string) error {
	if k.list != "" && !k.partial {
		if kind != k.list {
			return fmt.Errorf("%w: %q, not a %s", listwatch.ErrWrongKind, kind, k.list)
		}
		return nil
	}
	item, ok := strings.CutSuffix(kind, "List")
	if !ok || item == "" {
		return fmt.Errorf("%w: %q, not a list", listwatch.ErrWrongKind, kind)
	}
	return k.check(item)
}

// check checks the kind of an object.
func (k *kinds) check(kind string) error {
	if k.want == "" {
		switch kind {
		case "", "Table", "Status", partialKind:
			return fmt.Errorf("%w: %q", listwatch.ErrWrongKind, kind)
		}
		k.want = kind
	}
	if kind != k.want {
		return fmt.Errorf("%w: %q, not %q", listwatch.ErrWrongKind, kind, k.want)
	}
	return nil
}
