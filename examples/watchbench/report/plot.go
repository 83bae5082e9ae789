package report

import (
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var (
	blue  = color.RGBA{0x1f, 0x77, 0xb4, 0xff}
	red   = color.RGBA{0xd6, 0x27, 0x28, 0xff}
	green = color.RGBA{0x2c, 0xa0, 0x2c, 0xff}
)

// Plot writes pictures into a directory, which it makes, of what was measured: "ratios.svg" has all
// ratios, "growth.svg" what one costs among more and more (G), "parallel.svg" what more handlers (P) and
// more workers (Q) change.
func Plot(dir string, s *Summary, verdicts []Verdict) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := plotRatios(filepath.Join(dir, "ratios.svg"), verdicts); err != nil {
		return err
	}
	for file, sheet := range sheets {
		if err := sheet.save(filepath.Join(dir, file), s); err != nil {
			return err
		}
	}
	return nil
}

// plotRatios shows how many times better each ratio is, with its bounds.
func plotRatios(file string, verdicts []Verdict) error {
	p := plot.New()
	p.Title.Text = "How many times better than the peer"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	var names []string
	var measured, must, aim plotter.XYs
	for _, v := range slices.Backward(verdicts) {
		x, ok := better(v, v.Value)
		if v.Peer == "" || v.Missing || !ok {
			continue
		}
		y := float64(len(names))
		names = append(names, v.Workload+" "+v.Name+": "+v.Metric+" against "+v.peerName())
		measured = append(measured, plotter.XY{X: x, Y: y})
		if x, ok := better(v, v.Bound); ok {
			must = append(must, plotter.XY{X: x, Y: y})
		}
		if x, ok := better(v, v.Aim); ok {
			aim = append(aim, plotter.XY{X: x, Y: y})
		}
	}
	if len(names) == 0 {
		return nil
	}
	p.NominalY(names...)
	p.Add(plotter.NewGrid())
	for _, dots := range []struct {
		name  string
		at    plotter.XYs
		style draw.GlyphStyle
	}{
		{"must", must, draw.GlyphStyle{Color: red, Radius: vg.Points(4), Shape: draw.CrossGlyph{}}},
		{"aim", aim, draw.GlyphStyle{Color: green, Radius: vg.Points(4), Shape: draw.RingGlyph{}}},
		{"measured", measured, draw.GlyphStyle{Color: blue, Radius: vg.Points(4), Shape: draw.CircleGlyph{}}},
	} {
		if len(dots.at) == 0 {
			continue
		}
		s, err := plotter.NewScatter(dots.at)
		if err != nil {
			return err
		}
		s.GlyphStyle = dots.style
		p.Add(s)
		p.Legend.Add(dots.name, s)
	}
	p.X.Min = min(p.X.Min, 0.9)
	return p.Save(26*vg.Centimeter, vg.Length(len(names)+6)*0.6*vg.Centimeter, file)
}

// better returns a ratio such that more is better. ok is false where there is none.
func better(v Verdict, ratio float64) (x float64, ok bool) {
	if v.Direction == AtMost {
		ratio = 1 / ratio
	}
	return ratio, ratio > 0 && !math.IsInf(ratio, 0)
}
