package conformance

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

//go:embed cases/*.txt
var scripts embed.FS

// Group is the cases of one script. It may be read by many goroutines.
type Group struct {
	// Name is that of the script.
	Name string
	// Cases are in the order of the script.
	Cases []Case
}

// Case is a few requests that build on each other. It may be read by many goroutines.
type Case struct {
	// Name is unique among all cases.
	Name string
	// Steps are its requests, in their order.
	Steps []Step
}

// Step is one request.
type Step struct {
	// Name is what later steps call the answer. "": they don't.
	Name string
	// Method is that of HTTP, or WATCH.
	Method string
	// Events is how many events of a watch are read.
	Events int
	// Path, Header and Body are sent as they are, but for what stands in braces. Path begins with / or ~.
	Path, Body string
	Header     [][2]string
}

// String returns the first line of the step in its script.
func (s Step) String() string {
	line := s.Method + " " + s.Path
	if s.Method == "WATCH" {
		line = fmt.Sprintf("WATCH %d %s", s.Events, s.Path)
	}
	return line
}

// Groups reads all scripts.
func Groups() ([]Group, error) {
	entries, err := scripts.ReadDir("cases")
	if err != nil {
		return nil, err
	}
	var groups []Group
	seen := map[string]bool{}
	for _, e := range entries {
		text, err := scripts.ReadFile(path.Join("cases", e.Name()))
		if err != nil {
			return nil, err
		}
		g := Group{Name: strings.TrimSuffix(e.Name(), ".txt")}
		if g.Cases, err = parse(string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		for _, c := range g.Cases {
			if seen[c.namespace()] {
				return nil, fmt.Errorf("%s: there is more than one case %q", e.Name(), c.Name)
			}
			seen[c.namespace()] = true
		}
		groups = append(groups, g)
	}
	return groups, nil
}

var stepLine = regexp.MustCompile(`^> (?:(\w+): )?([A-Z]+) (?:(\d+) )?(\S+)$`)

func parse(text string) ([]Case, error) {
	var cases []Case
	for i, line := range strings.Split(text, "\n") {
		fail := func() ([]Case, error) { return nil, fmt.Errorf("line %d: %q", i+1, line) }
		if name, ok := strings.CutPrefix(line, "== "); ok {
			cases = append(cases, Case{Name: name})
			continue
		}
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if len(cases) == 0 {
			return fail()
		}
		c := &cases[len(cases)-1]
		if strings.HasPrefix(line, "> ") {
			m := stepLine.FindStringSubmatch(line)
			if m == nil {
				return fail()
			}
			events, _ := strconv.Atoi(m[3]) // the pattern has digits alone
			c.Steps = append(c.Steps, Step{Name: m[1], Method: m[2], Events: events, Path: m[4]})
			continue
		}
		if len(c.Steps) == 0 {
			return fail()
		}
		s := &c.Steps[len(c.Steps)-1]
		if header, ok := strings.CutPrefix(line, "+ "); ok {
			key, value, _ := strings.Cut(header, ":")
			s.Header = append(s.Header, [2]string{key, strings.TrimSpace(value)})
			continue
		}
		if s.Body != "" {
			s.Body += "\n"
		}
		s.Body += line
	}
	return cases, nil
}

var noName = regexp.MustCompile(`[^a-z0-9]+`)

// namespace returns the name of the case's own.
func (c Case) namespace() string {
	s := strings.Trim(noName.ReplaceAllString(strings.ToLower(c.Name), "-"), "-")
	return strings.Trim(s[:min(len(s), 60)], "-")
}
