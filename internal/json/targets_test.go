package json_test

import (
	stdjson "encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/internal/json"
)

// shout is a string that reads itself from text, also as a key.
type shout string

func (s *shout) UnmarshalText(b []byte) error {
	if string(b) == "bad" {
		return errors.New("shout: bad")
	}
	*s = shout(strings.ToUpper(string(b)))
	return nil
}

// list is a slice that reads itself from text, and null by its kind.
type list []string

func (l *list) UnmarshalText(b []byte) error {
	*l = strings.Split(string(b), ",")
	return nil
}

// count reads itself from JSON, null too.
type count int

func (c *count) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return errors.New("count: an array")
	}
	*c = count(len(b))
	return nil
}

type rank int8

type Base struct {
	Same  string
	Lower string `json:"lower"`
	Deep  int    `json:"deep"`
}

type Left struct {
	Base
	Both  int
	First string `json:"first"`
}

type Right struct {
	Both   int
	First  string `json:"First"`
	Second string `json:"lower"`
}

type hiddenPart struct {
	Seen string
	Same string
}

type plainHidden struct{ Inside int }

type untagged struct {
	time.Time
}

type odd struct {
	Left
	*Right
	hiddenPart
	plainHidden `json:"tagged"`

	Skipped  string `json:"-"`
	Dash     string `json:"-,"`
	BadTag   string `json:"a\"b"`
	private  string
	Bool     bool
	I8       int8
	I16      int16
	I32      int32
	I64      int64
	Int      int
	U8       uint8
	U16      uint16
	U32      uint32
	U64      uint64
	F32      float32
	F64      float64
	Text     string
	Rank     rank
	Number   stdjson.Number
	Raw      stdjson.RawMessage
	RawPtr   *stdjson.RawMessage
	Bytes    []byte
	Named    []rank
	Ranks    []uint8
	Ints     []int
	Strings  []string
	Matrix   [][]int
	Pair     [2]int
	Triples  [3]Base
	Bases    []Base
	BasePtrs []*Base
	Ptr      *int
	PtrPtr   **string
	Self     *odd
	Selves   []odd
	Any      any
	Anys     []any
	Object   map[string]any
	Labels   map[string]string
	NamedMap map[phase]string
	Nested   map[string]map[string]Base
	PtrMap   map[string]*Base
	IntMap   map[int8]string
	UintMap  map[uint16]string
	TextMap  map[shout]string
	BadMap   map[bool]string
	Shout    shout
	ShoutPtr *shout
	Shouts   []shout
	List     list
	Count    count
	CountPtr *count
	Counts   map[string]count
	When     time.Time
	Addr     netip.Addr
	Big      *big.Int
	Stringer interface{ String() string }
	Func     func()
	Chan     chan int
	Complex  complex128
	Unnamed  struct{ untagged }
	UnnamedP *struct{ untagged }
	QBool    bool           `json:",string"`
	QInt     int            `json:",string"`
	QIntPtr  *int8          `json:",string"`
	QUint    uint8          `json:",string"`
	QFloat   float32        `json:",string"`
	QText    string         `json:"qtext,string"`
	QNumber  stdjson.Number `json:",string"`
	QShout   shout          `json:",string"`
	QCount   count          `json:",string"`
	QSlice   []int          `json:",string"`
	Kelvin   string         `json:"kelvin"`
	Long     string         `json:"ſtraße"`
}

// ring contains itself in all ways.
type ring struct {
	Next  *ring
	Rings []ring
	ByKey map[string]ring
	*Inner
}

type Inner struct{ Ring *ring }

// targets makes fresh values to decode into.
var targets = []func() any{
	func() any { return new(any) },
	func() any { return new(map[string]any) },
	func() any { return new(odd) },
	func() any { return new(ring) },
	func() any { return new(pod) },
	func() any { return new(*odd) },
	func() any { return new([]odd) },
	func() any { return new([]any) },
	func() any { return new([]string) },
	func() any { return new([2][]int) },
	func() any { return new(map[string]string) },
	func() any { return new(map[string][]Base) },
	func() any { return new(map[shout]int) },
	func() any { return new(map[int]any) },
	func() any { return new(string) },
	func() any { return new(*int) },
	func() any { return new(float32) },
	func() any { return new(uint8) },
	func() any { return new(bool) },
	func() any { return new([]byte) },
	func() any { return new(shout) },
	func() any { return new(list) },
	func() any { return new(count) },
	func() any { return new(stdjson.Number) },
	func() any { return new(stdjson.RawMessage) },
	func() any { return new(struct{ untagged }) },
	func() any { return new(error) },
}

// same decodes data by both into what fresh returns, twice over, and requires equal results or
// an error from both.
func same(tb testing.TB, data []byte, fresh func() any) {
	tb.Helper()
	got, want := fresh(), fresh()
	for range 2 {
		wantErr := stdjson.Unmarshal(data, want)
		gotErr := json.Unmarshal(data, got)
		if wantErr != nil {
			require.Error(tb, gotErr, "%T of %.300q: encoding/json says %v", got, data, wantErr)
			return
		}
		require.NoError(tb, gotErr, "%T of %.300q", got, data)
		if !reflect.DeepEqual(want, got) {
			require.Equal(tb, want, got, "%T of %.300q", got, data)
			tb.Fatalf("%T of %.300q differs", got, data)
		}
	}
}
