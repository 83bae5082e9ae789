package json

import (
	stdjson "encoding/json"
	"reflect"
	"time"
)

// kubernetesTime is the type that nearly all times of Kubernetes objects have. Its UnmarshalJSON
// parses RFC 3339 and takes the time over into time.Local, by way of encoding/json, which takes a
// tenth of the decoding of a pod.
const kubernetesTime = "k8s.io/apimachinery/pkg/apis/meta/v1.Time"

// probe is a time as it mostly stands in data: in seconds, and UTC.
const probe = `"2006-01-02T15:04:05Z"`

// readsTime reports whether a type is the one that name says, and does with a text what moment does.
func readsTime(t reflect.Type, name string) bool {
	if t.PkgPath()+"."+t.Name() != name || t.Kind() != reflect.Struct || t.NumField() != 1 || t.Field(0).Type != reflect.TypeFor[time.Time]() {
		return false
	}
	v := reflect.New(t)
	want, _ := moment([]byte(probe))
	u, ok := v.Interface().(stdjson.Unmarshaler)
	return ok && u.UnmarshalJSON([]byte(probe)) == nil && *as[time.Time](v.UnsafePointer()) == want
}

// moment returns the time that a text of the form of probe stands for, in time.Local. Any other text,
// right or wrong, is not ok.
func moment(text []byte) (t time.Time, ok bool) {
	if len(text) != len(probe) || text[0] != '"' || text[5] != '-' || text[8] != '-' || text[11] != 'T' ||
		text[14] != ':' || text[17] != ':' || string(text[20:]) != probe[20:] {
		return t, false
	}
	century, year, month, day := twoDigits(text[1:]), twoDigits(text[3:]), twoDigits(text[6:]), twoDigits(text[9:])
	hour, minute, second := twoDigits(text[12:]), twoDigits(text[15:]), twoDigits(text[18:])
	if century|year|month|day|hour|minute|second < 0 || month == 0 || month > 12 || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(100*century+year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	// Another day is one that the month has not.
	return t.Local(), t.Day() == day
}

// twoDigits returns the number that begins b, or -1.
func twoDigits(b []byte) int {
	tens, ones := b[0]-'0', b[1]-'0'
	if tens > 9 || ones > 9 {
		return -1
	}
	return 10*int(tens) + int(ones)
}
