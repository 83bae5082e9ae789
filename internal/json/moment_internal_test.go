package json

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parsed does what the UnmarshalJSON of a Kubernetes time does.
func parsed(text []byte) (time.Time, error) {
	var s string
	if err := stdjson.Unmarshal(text, &s); err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339, s)
	return t.Local(), err
}

// moment gives what time.Parse gives, or leaves a text alone; it leaves no time alone that has the
// form, but for a change of any one byte.
func TestMoment(t *testing.T) {
	check := func(text []byte) (right, ok bool) {
		want, err := parsed(text)
		got, ok := moment(text)
		if ok && (err != nil || got != want) {
			require.Fail(t, "a wrong time", "%s: %v, %v, %v", text, got, want, err)
		}
		return err == nil, ok
	}
	for _, year := range []int{0, 1, 1900, 1969, 1970, 2000, 2023, 2024, 2100, 9999} {
		for month := range 14 {
			for day := range 33 {
				right, ok := check(fmt.Appendf(nil, `"%04d-%02d-%02dT%02d:%02d:%02dZ"`, year, month, day, month+10, 2*day, day+28))
				require.Equal(t, right, ok)
			}
		}
	}
	for _, text := range []string{probe, `"1999-12-31T23:59:59Z"`, `"2024-02-29T00:00:00Z"`, `"2026-03-01T08:00:00.5Z"`, `"2026-03-01T08:00:00+02:00"`, `"2026-03-01T8:00:00Z"`, `null`, `""`} {
		for i := range text {
			for c := range 256 {
				changed := []byte(text)
				changed[i] = byte(c)
				check(changed)
			}
			check([]byte(text[:i]))
		}
	}
}

type (
	local    struct{ time.Time }
	hourly   struct{ time.Time }
	utc      struct{ time.Time }
	broken   struct{ time.Time }
	valued   struct{ Value time.Time }
	two      struct{ A, B time.Time }
	notATime string
)

func (l *local) UnmarshalJSON(b []byte) (err error) { l.Time, err = parsed(b); return err }
func (h *hourly) UnmarshalJSON(b []byte) error {
	t, err := parsed(b)
	h.Time = t.Truncate(time.Hour)
	return err
}
func (u *utc) UnmarshalJSON(b []byte) error {
	t, err := parsed(b)
	u.Time = t.UTC()
	return err
}
func (*broken) UnmarshalJSON([]byte) error { return errors.New("broken") }
func (v *valued) UnmarshalJSON(b []byte) (err error) {
	v.Value, err = parsed(b)
	return err
}

// A type is read by moment when it has the name and the memory, and does the same with a text.
func TestReadsTime(t *testing.T) {
	named := func(t reflect.Type) bool { return readsTime(t, t.PkgPath()+"."+t.Name()) }
	require.True(t, named(reflect.TypeFor[local]()))
	require.True(t, named(reflect.TypeFor[valued]()))
	require.False(t, readsTime(reflect.TypeFor[local](), kubernetesTime), "another name")
	require.False(t, named(reflect.TypeFor[hourly]()), "another result")
	require.False(t, named(reflect.TypeFor[utc]()), "another place")
	require.False(t, named(reflect.TypeFor[broken]()), "an error")
	require.False(t, named(reflect.TypeFor[two]()), "two times")
	require.False(t, named(reflect.TypeFor[notATime]()), "no struct")
	require.False(t, named(reflect.TypeFor[time.Time]()), "other fields")

	var into struct{ At local }
	p := plans.of(reflect.TypeFor[*local]())
	p.moment = true
	defer func() { p.moment = false }()
	for _, text := range []string{probe, `"2026-03-01T08:00:00.5+02:00"`, `"2024-02-30T00:00:00Z"`, `"2024-02-03"`} {
		want, wrong := parsed([]byte(text))
		err := Unmarshal([]byte(`{"At":`+text+`}`), &into)
		require.Equal(t, wrong == nil, err == nil)
		if err == nil {
			require.Equal(t, want, into.At.Time)
		}
	}
}
