package fakes

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// Fault is one thing that goes wrong, as data. It is comparable, and is written as one line of
// text that [ParseFault] reads. What the fields mean is said by the kind; those that it does
// not speak of have to be zero. The zero value is no fault.
type Fault struct {
	// Kind is what goes wrong.
	Kind FaultKind
	// Verb is the calls that are affected; 0: lists and watches. Others can but fail.
	Verb Verb
	// Code is an HTTP status code, 400 to 599; 0: a broken connection.
	Code int
	// Event makes a failure of a watch an ERROR event, which comes behind the HTTP status 200.
	Event bool
	// N is how many.
	N int
	// For is how long.
	For time.Duration
}

// Faulty is what faults can be ordered from: a [Source], a [Clock], and the server and the
// proxy of package wire.
type Faulty interface {
	// Inject lets a fault happen, now or as soon as it can. It returns at once. A kind that is
	// not of this part is an error that wraps [listwatch.ErrUnsupported].
	Inject(f Fault) error
	// Heal ends all faults that last, and forgets those that wait.
	Heal()
}

// String returns the fault as one line, such as "fail watch 429 n=2 for=5s".
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Kind.String())
	if f.Verb != 0 {
		b.WriteString(" " + strings.ToLower(f.Verb.String()))
	}
	if f.Code != 0 {
		b.WriteString(" " + strconv.Itoa(f.Code))
	}
	if f.Event {
		b.WriteString(" event")
	}
	if f.N != 0 {
		b.WriteString(" n=" + strconv.Itoa(f.N))
	}
	if f.For != 0 {
		b.WriteString(" for=" + f.For.String())
	}
	return b.String()
}

// ParseFault reads what [Fault.String] writes, the words behind the kind in any order.
func ParseFault(s string) (Fault, error) {
	var f Fault
	words := strings.Fields(s)
	if len(words) == 0 {
		return f, errors.New("an empty fault")
	}
	for _, k := range kinds {
		if k.name == words[0] {
			f.Kind = k.kind
		}
	}
	if f.Kind == 0 {
		return f, fmt.Errorf("fault %q: no such kind", s)
	}
	for _, word := range words[1:] {
		if err := f.read(word); err != nil {
			return Fault{}, fmt.Errorf("fault %q: %w", s, err)
		}
	}
	return f, f.Validate()
}

// read takes one word of a fault's text.
func (f *Fault) read(word string) (err error) {
	name, value, _ := strings.Cut(word, "=")
	again := false
	switch name {
	case "n":
		again = f.N != 0
		f.N, err = strconv.Atoi(value)
	case "for":
		again = f.For != 0
		f.For, err = time.ParseDuration(value)
	case "event":
		again = f.Event || word != name
		f.Event = true
	default:
		if verb := parseVerb(word); verb != 0 {
			again = f.Verb != 0
			f.Verb = verb
			break
		}
		again = f.Code != 0
		if f.Code, err = strconv.Atoi(word); err != nil {
			err = fmt.Errorf("unknown word %q; a verb (list, watch, get, create, update, delete), a code, event, n= or for=", word)
		}
	}
	if again {
		err = fmt.Errorf("%q is one too many", word)
	}
	return err
}

func parseVerb(word string) Verb {
	for v := VerbList; v <= VerbDelete; v++ {
		if strings.ToLower(v.String()) == word {
			return v
		}
	}
	return 0
}

// Validate reports all that is wrong with f, whatever it is for.
func (f Fault) Validate() error {
	var wrong []error
	if f.Kind.facts().layer == 0 {
		wrong = append(wrong, errors.New("no such kind"))
	} else {
		wrong = append(wrong, f.ignored()...)
	}
	if f.Verb > VerbDelete {
		wrong = append(wrong, fmt.Errorf("no such verb: %d", f.Verb))
	}
	if f.Event && f.Verb != 0 && f.Verb != VerbWatch {
		wrong = append(wrong, fmt.Errorf("%s has no events", f.Verb))
	}
	if f.Event && f.Code == 0 {
		wrong = append(wrong, errors.New("an event without a code"))
	}
	if f.Code != 0 && (f.Code < 400 || f.Code > 599) {
		wrong = append(wrong, fmt.Errorf("code %d is not in 400..599", f.Code))
	}
	if f.N < 0 {
		wrong = append(wrong, fmt.Errorf("n is %d, less than 0", f.N))
	}
	if f.For < 0 && f.Kind != FaultJump {
		wrong = append(wrong, fmt.Errorf("for is %s, less than 0", f.For))
	}
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("fault %q: %w", f, err)
	}
	return nil
}

// ignored reports what f says that its kind does not speak of.
func (f Fault) ignored() (wrong []error) {
	takes := f.Kind.facts().takes
	for _, field := range []struct {
		name  string
		said  bool
		taken fields
	}{
		{"verb", f.Verb != 0, aVerb | anyVerb}, {"code", f.Code != 0, aCode}, {"event", f.Event, anEvent},
		{"n", f.N != 0, aNumber}, {"for", f.For != 0, aTime},
	} {
		if field.said && takes&field.taken == 0 {
			wrong = append(wrong, fmt.Errorf("%s takes no %s", f.Kind, field.name))
		}
	}
	if takes&aVerb != 0 && f.Verb > VerbWatch && f.Verb <= VerbDelete {
		wrong = append(wrong, fmt.Errorf("%s is for lists and watches alone", f.Kind))
	}
	return wrong
}

// check makes sure that a part of that layer can do f.
func (f Fault) check(l layer) error {
	if err := f.Validate(); err != nil {
		return err
	}
	if f.Kind.facts().layer != l {
		return fmt.Errorf("%w: fault %q does not happen here", listwatch.ErrUnsupported, f)
	}
	return nil
}

// Affects reports whether calls of a verb are meant.
func (f Fault) Affects(v Verb) bool {
	if f.Event && v != VerbWatch {
		return false
	}
	return f.Verb == v || f.Verb == 0 && (v == VerbList || v == VerbWatch)
}

// failure is what a call that meets f returns.
func (f Fault) failure() error {
	if f.Code == 0 {
		return fmt.Errorf("%w: %s: connection broken", listwatch.ErrUnavailable, f.Kind)
	}
	e := Status(f.Code, f.Kind.String())
	if e.Event = f.Event; f.Kind != FaultDown {
		e.RetryAfter = f.For
	}
	return e
}
