package conformance

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// longest is the size from which a text is shortened: large bodies come back in messages.
const longest = 4 << 10

// near is how far from now a time may be that the server has set.
const near = 2 * time.Hour

var (
	identities = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	moments    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	positions  = regexp.MustCompile(`(current: |in object meta: |in record \()\d+`)
	versions   = regexp.MustCompile(`(resourceVersion: |"resourceVersion":)"\d+"`)
	beginnings = regexp.MustCompile(`"generateName":"([^"]+)"`)
	age        = regexp.MustCompile(`^(\d+[smh])+$`)
	ipv4       = regexp.MustCompile(`^10\.\d+\.\d+\.\d+$`)
)

// normal replaces what can't be equal on two servers. It is for one case.
type normal struct {
	now      time.Time
	host     string
	step     int // that is being answered, from 1
	in       int // how many values have got a name in it
	ids      map[string]string
	versions map[string]string
	// names match those that the server made up, prefixes stand for them.
	names    []*regexp.Regexp
	prefixes []string
}

func newNormal(now time.Time, server string) *normal {
	n := &normal{now: now, ids: map[string]string{}, versions: map[string]string{}}
	if u, err := url.Parse(server); err == nil {
		n.host = u.Host
	}
	return n
}

// next begins the next step.
func (n *normal) next() { n.step, n.in = n.step+1, 0 }

// name returns what stands for a value: the step in which it appeared first, and its place among those that did.
func (n *normal) name(known map[string]string, kind, value string) string {
	if _, ok := known[value]; !ok {
		n.in++
		known[value] = fmt.Sprintf("%s-%d.%d", kind, n.step, n.in)
	}
	return known[value]
}

func (n *normal) text(s string) string {
	s = identities.ReplaceAllStringFunc(s, func(id string) string { return n.name(n.ids, "uid", id) })
	s = moments.ReplaceAllStringFunc(s, func(m string) string {
		t, err := time.Parse(time.RFC3339, m)
		if d := t.Sub(n.now); err != nil || d > near || d < -near {
			return m
		}
		if strings.Contains(m, ".") {
			return "MICROTIME"
		}
		return "TIME"
	})
	s = positions.ReplaceAllString(s, "${1}N")
	s = versions.ReplaceAllString(s, "${1}VERSION")
	if n.host != "" {
		s = strings.ReplaceAll(s, n.host, "HOST")
	}
	for i, name := range n.names {
		s = name.ReplaceAllString(s, n.prefixes[i])
	}
	if len(s) > longest {
		s = fmt.Sprintf("%s… (%d bytes)", s[:longest/8], len(s))
	}
	return s
}

// body replaces in what was decoded from JSON.
func (n *normal) body(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		kind, _ := v["kind"].(string)
		for _, key := range sorted(v) {
			value := v[key]
			if meta, ok := value.(map[string]any); ok && key == "metadata" && (strings.HasSuffix(kind, "List") || kind == "Table") {
				value = n.listMeta(meta)
			}
			out[key] = n.field(key, value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = n.body(v[i])
		}
		return out
	case string:
		return n.text(v)
	}
	return v
}

// listMeta replaces a list's version: it is that of the whole store.
func (n *normal) listMeta(meta map[string]any) map[string]any {
	out := make(map[string]any, len(meta))
	for k, v := range meta {
		if s, ok := v.(string); ok && s != "" && k == "resourceVersion" {
			v = "VERSION"
		}
		out[k] = v
	}
	return out
}

func (n *normal) field(key string, v any) any {
	s, isString := v.(string)
	switch {
	case key == "resourceVersion" && isString && s != "" && s != "VERSION":
		return n.name(n.versions, "version", s)
	case key == "serverAddress":
		return "HOST"
	case key == "continue" && isString && s != "":
		return "CONTINUE"
	case (key == "clusterIP" || key == "clusterIPs") && v != nil:
		return address(v)
	case (key == "nodePort" || key == "healthCheckNodePort") && v != nil:
		return "PORT"
	case key == "cells":
		if cells, ok := v.([]any); ok {
			out := n.body(cells).([]any)
			for i, c := range out {
				if s, ok := c.(string); ok && age.MatchString(s) {
					out[i] = "AGE"
				} else if ok && ipv4.MatchString(s) {
					out[i] = "ADDRESS"
				}
			}
			return out
		}
	}
	return n.body(v)
}

func address(v any) any {
	switch v := v.(type) {
	case string:
		if ipv4.MatchString(v) {
			return "ADDRESS"
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = address(v[i])
		}
		return out
	}
	return v
}

// generated takes note of the beginnings of names that a request lets the server make up.
func (n *normal) generated(body string) {
	for _, m := range beginnings.FindAllStringSubmatch(body, -1) {
		n.names = append(n.names, regexp.MustCompile(regexp.QuoteMeta(m[1])+`[bcdfghjklmnpqrstvwxz2456789]{5}\b`))
		n.prefixes = append(n.prefixes, m[1]+"XXXXX")
	}
}
