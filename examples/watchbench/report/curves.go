package report

import (
	"cmp"
	"errors"
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// panel shows a metric by the number at the end of the name of its cases, one line for each side.
type panel struct {
	title            string
	workload, prefix string // the names are the prefix and a number
	metric, axis     string
}

// sheet is panels in rows.
type sheet [][]panel

var sheets = map[string]sheet{
	"growth.svg": {
		{
			{"First list, ns per object", "G", "objects-", "sync_ns_per_object", "objects"},
			{"Update, ns", "G", "objects-", "update_ns", "objects"},
			{"Memory beside the object, bytes", "G", "objects-", "B_per_object", "objects"},
		},
		{
			{"First list, ns per handler and object", "G", "handlers-", "sync_ns_per_handler_object", "handlers"},
			{"Delivery, ns", "G", "handlers-", "ns_per_delivery", "handlers"},
			{"Memory of a handler, bytes", "G", "handlers-", "B_per_handler", "handlers"},
		},
		{
			{"First list, µs per informer", "G", "informers-", "sync_us_per_informer", "informers"},
			{"Update, µs per informer", "G", "informers-", "update_us_per_informer", "informers"},
			{"Memory of an informer, bytes", "G", "informers-", "B_per_informer", "informers"},
		},
	},
	"parallel.svg": {
		{
			{"P: events per second", "P", "", "events_per_s", "handlers"},
			{"P: CPU, ns per event", "P", "", "cpu_ns_per_event", "handlers"},
			{"Q: ns per key", "Q", "distinct-", "ns_per_key", "workers"},
		},
	},
}

// save draws the panels of which something was measured, and writes no file when there are none.
func (s sheet) save(file string, of *Summary) error {
	const width, height, pad = 11 * vg.Centimeter, 8 * vg.Centimeter, vg.Centimeter / 2
	var rows [][]*plot.Plot
	for _, row := range s {
		var plots []*plot.Plot
		for _, panel := range row {
			p, err := panel.plot(of)
			if err != nil {
				return err
			}
			if p != nil {
				plots = append(plots, p)
			}
		}
		if len(plots) == len(row) {
			rows = append(rows, plots)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	picture := vgsvg.New(width*vg.Length(len(rows[0])), height*vg.Length(len(rows)))
	tiles := draw.Tiles{Rows: len(rows), Cols: len(rows[0]), PadX: pad, PadY: pad, PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad}
	for r, canvases := range plot.Align(rows, tiles, draw.New(picture)) {
		for c, canvas := range canvases {
			rows[r][c].Draw(canvas)
		}
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = picture.WriteTo(f)
	return errors.Join(err, f.Close())
}

// curve are the points of one side, by number, with their extremes.
type curve struct {
	plotter.XYs
	plotter.YErrors
}

// curves returns those of all sides. What is not above zero has no place on its axes.
func (p panel) curves(of *Summary) map[string]*curve {
	out := make(map[string]*curve)
	add := func(at Place, n int) {
		s, ok := of.Get(at)
		if !ok || n <= 0 || s.Min <= 0 {
			return
		}
		if out[at.Side] == nil {
			out[at.Side] = new(curve)
		}
		c := out[at.Side]
		c.XYs = append(c.XYs, plotter.XY{X: float64(n), Y: s.Median})
		c.YErrors = append(c.YErrors, struct{ Low, High float64 }{s.Median - s.Min, s.Max - s.Median})
	}
	places := slices.Clone(of.places)
	number := func(at Place) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(at.Name, p.prefix))
		return n
	}
	slices.SortStableFunc(places, func(a, b Place) int { return cmp.Compare(number(a), number(b)) })
	for _, at := range places {
		if at.Workload == p.workload && at.Metric == p.metric && strings.HasPrefix(at.Name, p.prefix) {
			add(at, number(at))
		}
	}
	return out
}

// plot returns nil when nothing was measured.
func (p panel) plot(of *Summary) (*plot.Plot, error) {
	curves := p.curves(of)
	if len(curves) == 0 {
		return nil, nil
	}
	out := plot.New()
	out.Title.Text, out.X.Label.Text = p.title, p.axis
	out.X.Scale, out.Y.Scale, out.Y.Tick.Marker = plot.LogScale{}, plot.LogScale{}, plot.LogTicks{Prec: -1}
	out.Add(plotter.NewGrid())
	least, most := math.Inf(1), 0.0
	ticks := make(map[float64]plot.Tick)
	for _, side := range []struct {
		name  string
		color color.Color
	}{{ours, blue}, {peer, red}, {compact, green}} {
		c := curves[side.name]
		if c == nil {
			continue
		}
		line, dots, err := plotter.NewLinePoints(c.XYs)
		if err != nil {
			return nil, err
		}
		bars, err := plotter.NewYErrorBars(c)
		if err != nil {
			return nil, err
		}
		line.Color, dots.Color, bars.Color = side.color, side.color, side.color
		dots.Shape = draw.CircleGlyph{}
		out.Add(line, dots, bars)
		out.Legend.Add(side.name, line, dots)
		for i, at := range c.XYs {
			least, most = min(least, at.Y-c.YErrors[i].Low), max(most, at.Y+c.YErrors[i].High)
			ticks[at.X] = plot.Tick{Value: at.X, Label: number(at.X)}
		}
	}
	var marks plot.ConstantTicks
	for _, t := range ticks {
		marks = append(marks, t)
	}
	out.X.Tick.Marker = marks
	// Whole powers of ten, so that there are numbers at the axis.
	out.Y.Min, out.Y.Max = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(most)+0.01))
	out.Legend.Top = true
	return out, nil
}
