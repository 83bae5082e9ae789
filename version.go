package listwatch

import (
	"cmp"
	"fmt"
	"strings"
)

// CompareVersions orders two resource versions: -1 when a is older than b, 0 when they are
// the same, +1 when a is newer.
//
// Decimal strings of any length compare as numbers, leading zeros ignored, as the Kubernetes
// API has defined since 1.35 (KEP-5504). Anything else, the empty string too, is opaque: two
// equal strings are the same version, two different ones can't be ordered, and the error
// wraps [ErrIncomparable]. It allocates nothing unless it fails.
func CompareVersions(a, b string) (int, error) {
	if a == b {
		return 0, nil
	}
	c, ok := order(a, b)
	if !ok {
		return 0, incomparable{a, b}
	}
	return c, nil
}

// incomparable is made for each state of a source whose versions are opaque, so its text is not made
// before it is read.
type incomparable struct{ a, b string }

func (e incomparable) Error() string { return fmt.Sprintf("%v: %q and %q", ErrIncomparable, e.a, e.b) }

func (e incomparable) Unwrap() error { return ErrIncomparable }

// Newer reports whether version a is known to be newer than b. Versions that cannot be
// ordered are not: see [CompareVersions].
func Newer(a, b string) bool {
	c, ok := order(a, b)
	return ok && c > 0
}

// order is CompareVersions of decimal strings; ok is false when one of them is none.
func order(a, b string) (c int, ok bool) {
	if n := len(a); n != len(b) {
		if !isDecimal(a) || !isDecimal(b) {
			return 0, false
		}
		return compareDecimals(a, b), true
	}
	// Two versions of one server most often have the same length: one pass then, for each event.
	for i := range len(a) {
		if a[i]-'0' > 9 || b[i]-'0' > 9 {
			return 0, false
		}
		if c == 0 {
			c = cmp.Compare(a[i], b[i])
		}
	}
	return c, a != ""
}

func isDecimal(s string) bool {
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return false
		}
	}
	return s != ""
}

func compareDecimals(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		if len(a) < len(b) {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}
