package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// WriteTable writes the verdicts as a table in Markdown.
func WriteTable(w io.Writer, verdicts []Verdict) error {
	out := &printer{w: w}
	out.line("| workload | metric | side | measured | peer | measured | ratio | must | aim | |")
	out.line("|---|---|---|---|---|---|---|---|---|---|")
	for _, v := range verdicts {
		peer, ratio := "–", "–"
		if v.Peer != "" {
			peer, ratio = v.Other.String(), factor(v.Value)
		}
		out.line("| %s %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |", v.Workload, v.Name, v.Metric, v.Side,
			v.Own, v.peerName(), peer, ratio, v.bound(v.Bound), v.bound(v.Aim), v.word())
	}
	return out.err
}

// WriteAll writes all that was measured.
func WriteAll(w io.Writer, s *Summary) error {
	out := &printer{w: w}
	out.line("| workload | side | metric | median (min–max) |")
	out.line("|---|---|---|---|")
	for _, p := range s.places {
		out.line("| %s %s | %s | %s | %s |", p.Workload, p.Name, p.Side, p.Metric, s.stats[p])
	}
	return out.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// String returns the median, and the extremes where they differ.
func (s Stat) String() string {
	switch {
	case s.Runs == 0:
		return "–"
	case s.Min == s.Max:
		return number(s.Median)
	}
	return number(s.Median) + " (" + number(s.Min) + "–" + number(s.Max) + ")"
}

func (v Verdict) peerName() string {
	switch {
	case v.Peer == "":
		return "–"
	case v.PeerName != "":
		return v.Peer + " " + v.PeerName
	}
	return v.Peer
}

func (v Verdict) word() string {
	switch {
	case v.Missing:
		return "not measured"
	case !v.Met():
		return "**missed**"
	case v.Aimed():
		return "aim"
	case math.IsNaN(v.Bound):
		return ""
	}
	return "met"
}

func (v Verdict) bound(b float64) string {
	switch {
	case math.IsNaN(b):
		return "–"
	case v.Peer == "":
		return v.Direction.String() + " " + number(b)
	}
	return v.Direction.String() + " " + factor(b)
}

// factor writes a ratio; one below a half as a fraction.
func factor(x float64) string {
	if x > 0 && x < 0.5 {
		return "1/" + number(1/x)
	}
	return number(x)
}

// number writes three digits, with k and M.
func number(x float64) string {
	unit := ""
	switch {
	case math.Abs(x) >= 1e6:
		x, unit = x/1e6, "M"
	case math.Abs(x) >= 1e4:
		x, unit = x/1e3, "k"
	}
	if math.Abs(x) >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64) + unit
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + unit
}
