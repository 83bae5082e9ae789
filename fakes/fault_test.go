package fakes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
)

func TestFaultText(t *testing.T) {
	for text, want := range map[string]fakes.Fault{
		"cut":                            {Kind: fakes.FaultCut},
		"fail watch 429 n=2 for=5s":      {Kind: fakes.FaultFail, Verb: fakes.VerbWatch, Code: 429, N: 2, For: 5 * time.Second},
		"fail watch 410 event":           {Kind: fakes.FaultFail, Verb: fakes.VerbWatch, Code: 410, Event: true},
		"lag list n=3 for=1m0s":          {Kind: fakes.FaultLag, Verb: fakes.VerbList, N: 3, For: time.Minute},
		"jump for=-1h0m0s":               {Kind: fakes.FaultJump, For: -time.Hour},
		"fail delete 409":                {Kind: fakes.FaultFail, Verb: fakes.VerbDelete, Code: 409},
		"late-bookmark n=4":              {Kind: fakes.FaultLateBookmark, N: 4},
		"black-hole n=1 for=2m0.000003s": {Kind: fakes.FaultBlackHole, N: 1, For: 2*time.Minute + 3*time.Microsecond},
	} {
		got, err := fakes.ParseFault(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		require.Equal(t, text, want.String())
	}
	got, err := fakes.ParseFault("  fail   for=1m n=3 event 500\twatch ")
	require.NoError(t, err)
	require.Equal(t, "fail watch 500 event n=3 for=1m0s", got.String())
}

func TestFaultTextThatIsNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "an empty fault",
		"fale":              `fault "fale": no such kind`,
		"cut n=x":           `invalid syntax`,
		"cut for=1":         `missing unit`,
		"cut what":          `unknown word "what"; a verb (list, watch, get, create, update, delete), a code, event, n= or for=`,
		"cut n=1 n=2":       `"n=2" is one too many`,
		"cut for=1s for=2s": `"for=2s" is one too many`,
		"fail 500 501":      `"501" is one too many`,
		"fail list watch":   `"watch" is one too many`,
		"fail event event":  `"event" is one too many`,
		"fail event=1":      `"event=1" is one too many`,
		"fail list event":   "List has no events",
		"cut n=-1 for=-1s":  "n is -1, less than 0\nfor is -1s, less than 0",
		"fail -500":         "code -500 is not in 400..599",
		"fail watch 9999":   "code 9999 is not in 400..599",
		"fail 12":           "code 12 is not in 400..599",
		"error 200":         "code 200 is not in 400..599",
		"fail watch event":  "an event without a code",
		"fail patch":        `unknown word "patch"; a verb`,
		"drop wat=3":        `unknown word "wat=3"; a verb`,
		"drop 503":          "drop takes no code",
		"hang get":          "hang is for lists and watches alone",
		"FaultKind(9) n=1":  "no such kind",
	} {
		_, err := fakes.ParseFault(text)
		require.ErrorContains(t, err, want, text)
	}
	err := newSource(options{}).Inject(fakes.Fault{Kind: 250, Verb: 99})
	require.EqualError(t, err, "fault \"FaultKind(250) verb(99)\": no such kind\nno such verb: 99")
}

// A field that a kind does not speak of is refused; all that it speaks of is said by random faults.
func TestFaultTakes(t *testing.T) {
	seed := seedOf(t)
	for _, k := range fakes.FaultKinds() {
		rng := rand.New(rand.NewPCG(seed, uint64(k)))
		said := map[string]bool{}
		for range 500 {
			f := fakes.RandomFault(rng, k)
			said["verb"] = said["verb"] || f.Verb != 0
			said["code"] = said["code"] || f.Code != 0
			said["n"] = said["n"] || f.N != 0
			said["for"] = said["for"] || f.For != 0
			said["event"] = said["event"] || f.Event
		}
		said["event"] = said["event"] || k == fakes.FaultDown // which random faults leave out
		for name, f := range map[string]fakes.Fault{
			"verb": {Verb: fakes.VerbWatch}, "code": {Code: 500}, "n": {N: 1}, "for": {For: 1},
			"event": {Event: true, Code: 500},
		} {
			f.Kind = k
			if said[name] {
				require.NoError(t, f.Validate(), name)
			} else {
				require.ErrorContains(t, f.Validate(), k.String()+" takes no "+name)
			}
		}
	}
	require.NoError(t, fakes.Fault{Kind: fakes.FaultFail, Verb: fakes.VerbDelete, Code: 599}.Validate())
}

// Honest faults are all but those that lose data.
func TestHonestFaults(t *testing.T) {
	lost := slices.DeleteFunc(fakes.FaultKinds(), func(k fakes.FaultKind) bool { return slices.Contains(fakes.HonestFaults(), k) })
	require.Equal(t, []fakes.FaultKind{
		fakes.FaultDrop, fakes.FaultGarbage, fakes.FaultNameless, fakes.FaultWrongKind, fakes.FaultOversize,
		fakes.FaultUnknownEvent, fakes.FaultRestore, fakes.FaultGarbageBytes,
	}, lost)
}

// Each kind has a name of its own, and random faults of it can be read back and be done by one
// part alone.
func TestFaultKinds(t *testing.T) {
	seed := seedOf(t)
	names := map[string]bool{}
	s, clock := newSource(options{}), fakes.NewClock(nil)
	for _, k := range fakes.FaultKinds() {
		require.False(t, names[k.String()], k)
		names[k.String()] = true
		rng := rand.New(rand.NewPCG(seed, uint64(k)))
		for range 200 {
			f := fakes.RandomFault(rng, k)
			require.Equal(t, k, f.Kind)
			got, err := fakes.ParseFault(f.String())
			require.NoError(t, err)
			require.Equal(t, f, got)
			if err = s.Inject(f); k.OfSource() {
				require.NoError(t, err, f)
			} else {
				require.ErrorIs(t, err, listwatch.ErrUnsupported, f)
			}
			if err = clock.Inject(f); k == fakes.FaultJump {
				require.NoError(t, err, f)
			} else {
				require.ErrorIs(t, err, listwatch.ErrUnsupported, f)
			}
		}
	}
	s.Heal()
	require.Len(t, names, len(fakes.FaultKinds()))
	met := map[fakes.FaultKind]bool{}
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		met[fakes.RandomFault(rng).Kind] = true
	}
	for _, k := range fakes.FaultKinds() {
		require.Equal(t, k.OfSource(), met[k], k)
	}
}

// The table in the documentation has all kinds, in their order.
func TestFaultTable(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "what it must do\n")
	lines := strings.Split(table, "\n")
	for i, k := range fakes.FaultKinds() {
		require.True(t, strings.HasPrefix(lines[i], "//\t"+k.String()+" "), "%s: %s", k, lines[i])
	}
	require.Equal(t, "//", lines[len(fakes.FaultKinds())])
}

func TestScriptText(t *testing.T) {
	text := "at 0s cut\nat 1m30s fail watch 429 n=2\nat 1m30s drop n=1\n"
	s, err := fakes.ParseScript(text + "\n  # nothing\n at  2m0s   heal-not # no")
	require.ErrorContains(t, err, "line 6: fault \"heal-not\": no such kind")
	require.Nil(t, s)
	s, err = fakes.ParseScript("# what it is for\n\n" + text)
	require.NoError(t, err)
	require.Len(t, s, 3)
	require.Equal(t, text, s.String())
	_, err = fakes.ParseScript("cut\nat 5\nat x cut\nat -1s cut\nat 5s cut\nat 4s cut")
	require.EqualError(t, err, `line 1: "cut" is not "at <time> <fault>"
line 2: "at 5" is not "at <time> <fault>"
line 3: bad time "x"
line 4: bad time "-1s"
line 6: 4s is before the step above`)
}

func TestRandomScript(t *testing.T) {
	seed := seedOf(t)
	s := fakes.RandomScript(seed, 50, time.Hour)
	require.Len(t, s, 50)
	require.Equal(t, s, fakes.RandomScript(seed, 50, time.Hour))
	require.NotEqual(t, s, fakes.RandomScript(seed+1, 50, time.Hour))
	read, err := fakes.ParseScript(s.String())
	require.NoError(t, err)
	require.Equal(t, s, read)
	for _, step := range fakes.RandomScript(seed, 20, 0, fakes.FaultReset) {
		require.Equal(t, fakes.FaultReset, step.Fault.Kind)
		require.Zero(t, step.At)
	}
}

func TestPlay(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, s source) {
		clock := fakes.NewClock(nil)
		script, err := fakes.ParseScript("at 1s jump for=1h\nat 3s fail list 500\nat 3s fail watch 403\nat 4s reset")
		require.NoError(t, err)
		start := time.Now()
		err = script.Play(t.Context(), nil, s, clock)
		require.EqualError(t, err, `at 4s: not supported: nothing can do fault "reset"`)
		require.ErrorIs(t, err, listwatch.ErrUnsupported)
		require.Equal(t, 4*time.Second, time.Since(start))
		require.Equal(t, time.Hour+4*time.Second, clock.Since(start))
		_, _, err = list(t, s, listwatch.ListOptions{})
		require.ErrorContains(t, err, "status 500")
		require.ErrorIs(t, s.Watch(t.Context(), from("1"), nil), listwatch.ErrForbidden)

		own := errors.New("own")
		ctx, cancel := cancelAfter(t, 2*time.Second, own)
		defer cancel()
		require.Equal(t, own, script.Play(ctx, nil, s, clock))
		wrong := fakes.Script{{Fault: fakes.Fault{Kind: fakes.FaultCut, N: -1}}}
		require.ErrorContains(t, wrong.Play(t.Context(), nil, s), "less than 0")
	})
}

func TestClock(t *testing.T) {
	bubble(t, options{}, func(t *testing.T, _ source) {
		c := fakes.NewClock(nil)
		start := time.Now()
		rang := make(chan time.Time, 1)
		c.AfterFunc(time.Minute, func() { rang <- time.Now() })
		c.Jump(-2 * time.Hour)
		require.Equal(t, -2*time.Hour, c.Since(start))
		require.Equal(t, 2*time.Hour, c.Until(start))
		require.NoError(t, c.Inject(fakes.Fault{Kind: fakes.FaultJump, For: 5 * time.Hour}))
		require.True(t, c.Now().Equal(start.Add(3*time.Hour)))
		require.Equal(t, time.Minute, (<-rang).Sub(start), "timers go on")
		c.Heal()
		require.Equal(t, time.Minute, c.Since(start))
	})
}

func ExampleFault() {
	f, _ := fakes.ParseFault("fail watch 429 n=2 for=5s")
	fmt.Println(f.Kind, f.Verb, f.Code, f.N, f.For)

	server := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	_ = server.Inject(f)
	err := server.Watch(context.Background(), listwatch.WatchOptions{ResourceVersion: "1"}, nil)
	fmt.Println(err)
	server.Heal()
	// Output:
	// fail Watch 429 2 5s
	// status 429 TooManyRequests: fail (retry after 5s)
}

func ExampleScript() {
	script, _ := fakes.ParseScript(`
		at 0s   drop n=1            # only a list shows it
		at 10ms down 503 for=1m
	`)
	server := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	_ = script.Play(context.Background(), nil, server)
	_, err := server.List(context.Background(), listwatch.ListOptions{}, nil)
	fmt.Print(script)
	fmt.Println(err)
	server.Heal()
	// Output:
	// at 0s drop n=1
	// at 10ms down 503 for=1m0s
	// status 503: down
}

func ExampleClock() {
	c := fakes.NewClock(nil)
	before := c.Now()
	c.Jump(-time.Hour)
	fmt.Println(c.Now().Before(before))
	// Output: true
}

func ExampleSource_Inject() {
	server := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	_ = server.Inject(fakes.Fault{Kind: fakes.FaultPartialList, N: 1})
	for _, name := range []string{"a", "b"} {
		_, _ = server.Create(&fakes.Object{Meta: listwatch.Meta{Name: name}})
	}
	_, err := server.List(context.Background(), listwatch.ListOptions{}, func(objects ...*fakes.Object) error {
		fmt.Println(len(objects), objects[0].Name)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1 a
	// unavailable: partial-list: connection broken
}

func ExampleFaultKind() {
	fmt.Println(fakes.FaultLateBookmark, fakes.FaultLateBookmark.OfSource(), fakes.FaultBlackHole.OfSource())
	// Output: late-bookmark true false
}

func ExampleStep() {
	fmt.Println(fakes.Step{At: 90 * time.Second, Fault: fakes.Fault{Kind: fakes.FaultDrop, N: 3}})
	// Output: at 1m30s drop n=3
}

func ExampleFaulty() {
	server := fakes.New(fakes.StampObject, fakes.Options[*fakes.Object]{})
	for _, target := range []fakes.Faulty{server, fakes.NewClock(nil)} {
		fmt.Println(target.Inject(fakes.Fault{Kind: fakes.FaultJump, For: time.Hour}))
		target.Heal()
	}
	// Output:
	// not supported: fault "jump for=1h0m0s" does not happen here
	// <nil>
}
