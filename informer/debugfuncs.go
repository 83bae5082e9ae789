package informer

import (
	"html/template"
	"net/url"
	"strconv"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// shownText bounds what is shown of a name or a message that somebody else made.
const shownText = 500

// debugFuncs are the functions of the page. They are made by a call, so that nothing of it is in a
// program that does not show the page.
func debugFuncs() template.FuncMap {
	return template.FuncMap{
		"ago": func(now, t time.Time) string {
			if t.IsZero() {
				return "never"
			}
			return relative(t, now)
		},
		"clip":     clip,
		"duration": func(s float64) string { return rounded(time.Duration(s * float64(time.Second))).String() },
		"keyLink":  keyLink,
		"link":     func(what, name string) string { return "?" + url.Values{what: {name}}.Encode() },
		"mood":     mood,
		"orNone":   orNone,
		"pair":     func(a, b any) debugPair { return debugPair{a, b} },
		"style":    func() template.CSS { return template.CSS(debugStyle) },
		"utc":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"work":     workMood,
	}
}

// debugPair is what a part of the page is about, and what it needs beside it.
type debugPair struct{ A, B any }

// clip shortens a text that is too long to be shown.
func clip(s string) string {
	runes := []rune(s)
	if len(runes) <= shownText {
		return s
	}
	return string(runes[:shownText]) + "… (" + strconv.Itoa(len(runes)) + " characters)"
}

func keyLink(informer string, k listwatch.Key) string {
	q := url.Values{"informer": {informer}}
	if read, err := listwatch.ParseKey(k.String()); err == nil && read == k {
		q.Set("key", k.String())
	} else {
		q.Set("namespace", k.Namespace)
		q.Set("name", k.Name)
	}
	return "?" + q.Encode()
}

// mood is the class of a state on the page.
func mood(s reflector.State, synced bool, failures int) string {
	switch {
	case s == reflector.Idle || s == reflector.Stopped:
		return "off"
	case s == reflector.Waiting || failures > 0:
		return "bad"
	case !synced || s == reflector.Listing:
		return "busy"
	}
	return "good"
}

func workMood(s workqueue.State, failures int) string {
	switch {
	case failures > 0:
		return "bad"
	case s == workqueue.Working:
		return "good"
	case s == workqueue.Ready:
		return "busy"
	}
	return "off"
}
