package listwatch

import (
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
	if !isDecimal(a) || !isDecimal(b) {
		return 0, fmt.Errorf("%w: %q and %q", ErrIncomparable, a, b)
	}
	return compareDecimals(a, b), nil
}

// Newer reports whether version a is known to be newer than b. Versions that cannot be
// ordered are not: see [CompareVersions].
func Newer(a, b string) bool {
	return a != b && isDecimal(a) && isDecimal(b) && compareDecimals(a, b) > 0
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
