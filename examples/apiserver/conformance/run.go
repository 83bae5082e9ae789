package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// stepWait is how long a request may take.
const stepWait = time.Minute

// Target is the server that is asked.
type Target struct {
	// URL is its address, without a slash at the end.
	URL string
	// Client sends the requests. It must be allowed to do everything.
	Client *http.Client
}

// Answer is what came back, with what can't be equal on two servers replaced.
type Answer struct {
	// Case and Request tell what was asked.
	Case    string `json:"case"`
	Request string `json:"request"`
	// Status is the code of HTTP.
	Status int `json:"status"`
	// Header are those of Headers that came, each with its values.
	Header map[string][]string `json:"header"`
	// Body is JSON, or else text as a string. Of a watch that was answered with 200: its events.
	Body any `json:"body,omitempty"`
}

// Headers are the headers of answers that are compared. A request for "+ Audit-ID" has that one compared too.
var Headers = []string{
	"Allow", "Cache-Control", "Content-Encoding", "Content-Type", "Etag", "Expires", "Location", "Retry-After", "Vary", "Warning",
	"X-Content-Type-Options",
}

// run is a case that is being run.
type run struct {
	target Target
	c      Case
	normal *normal
	number int            // of the step
	bodies map[string]any // of named steps, as they came
}

// Run asks a server for everything in the case, in its own namespace, which must not be there yet. It blocks until all is
// answered; a server that doesn't answer in a minute is an error.
func (c Case) Run(ctx context.Context, t Target) ([]Answer, error) {
	r := &run{target: t, c: c, normal: newNormal(time.Now(), t.URL), bodies: map[string]any{}}
	own := Step{Method: http.MethodPost, Path: "/api/v1/namespaces", Body: fmt.Sprintf(`{"metadata":{"name":%q}}`, c.namespace())}
	if a, err := r.step(ctx, own); err != nil || a.Status != http.StatusCreated {
		return nil, fmt.Errorf("conformance: %s: its namespace: %v %v", c.Name, a, err)
	}
	r.normal = newNormal(time.Now(), t.URL)
	var answers []Answer
	for i, s := range c.Steps {
		r.number = i + 1
		r.normal.next()
		a, err := r.step(ctx, s)
		if err != nil {
			return answers, fmt.Errorf("conformance: %s: %s: %w", c.Name, s, err)
		}
		answers = append(answers, a)
	}
	return answers, nil
}

func (r *run) step(ctx context.Context, s Step) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	request, err := r.request(ctx, s)
	if err != nil {
		return Answer{}, err
	}
	response, err := r.target.Client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	a := Answer{Case: r.c.Name, Request: s.String(), Status: response.StatusCode, Header: r.header(request, response)}
	if s.Method == "WATCH" && response.StatusCode == http.StatusOK {
		a.Body, err = r.events(response, s.Events)
		return a, err
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return a, err
	}
	body, err := decode(response.Header.Get("Content-Type"), data)
	if err != nil {
		return a, err
	}
	if s.Name != "" {
		r.bodies[s.Name] = body
	}
	a.Body = r.normal.body(body)
	return a, nil
}

func (r *run) header(request *http.Request, response *http.Response) map[string][]string {
	got := map[string][]string{}
	names := Headers
	if request.Header.Get("Audit-Id") != "" {
		names = append(names[:len(names):len(names)], "Audit-Id")
	}
	for _, name := range names {
		if values := response.Header.Values(name); len(values) > 0 {
			for _, v := range values {
				if name == "Etag" || name == "Expires" {
					v = strings.ToUpper(name)
				}
				got[name] = append(got[name], r.normal.text(v))
			}
		}
	}
	return got
}

func (r *run) request(ctx context.Context, s Step) (*http.Request, error) {
	body, err := r.fill(s.Body)
	if err != nil {
		return nil, err
	}
	where, err := r.fill(s.Path)
	if err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(where, "~"); ok {
		where = "/api/v1/namespaces/" + r.c.namespace() + rest
		if i := strings.LastIndex(beforeName(rest), "/"); i > 0 {
			where = "/apis/" + rest[:i] + "/namespaces/" + r.c.namespace() + rest[i:]
		}
	}
	r.normal.generated(body)
	method := s.Method
	if method == "WATCH" {
		method = http.MethodGet
	}
	h := http.Header{"User-Agent": {"conformance"}}
	for _, kv := range s.Header {
		value, err := r.fill(kv[1])
		if err != nil {
			return nil, err
		}
		h.Add(kv[0], value)
	}
	if body, err = encode(h.Get("Content-Type"), body); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, r.target.URL+where, strings.NewReader(body))
	if err == nil {
		request.Header = h
	}
	return request, err
}

// beforeName returns GROUP/VERSION/RESOURCE of what begins so, and "" of what begins with a slash.
func beforeName(s string) string {
	if strings.HasPrefix(s, "/") {
		return ""
	}
	parts := strings.SplitN(s, "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}

var (
	braces = regexp.MustCompile(`\{(\w+)((?:\.\w+)+)\}`)
	repeat = regexp.MustCompile(`\{(\w)\*(\d+)\}`)
)

// fill replaces what stands in braces: {ns} by the case's namespace, {n} by the number of the step, {x*100} by so many of them, {step.field} by what was
// answered.
func (r *run) fill(s string) (string, error) {
	s = strings.ReplaceAll(s, "{ns}", r.c.namespace())
	s = strings.ReplaceAll(s, "{n}", strconv.Itoa(r.number))
	s = repeat.ReplaceAllStringFunc(s, func(m string) string {
		parts := repeat.FindStringSubmatch(m)
		n, _ := strconv.Atoi(parts[2]) // the pattern has digits alone
		return strings.Repeat(parts[1], n)
	})
	var failed error
	s = braces.ReplaceAllStringFunc(s, func(m string) string {
		parts := braces.FindStringSubmatch(m)
		v := r.bodies[parts[1]]
		for _, key := range strings.Split(parts[2], ".")[1:] {
			switch at := v.(type) {
			case map[string]any:
				v = at[key]
			case []any:
				i, err := strconv.Atoi(key)
				if err != nil || i >= len(at) {
					failed = fmt.Errorf("%s: no such element", m)
					return ""
				}
				v = at[i]
			}
		}
		switch v := v.(type) {
		case string:
			return v
		case json.Number:
			return v.String()
		case map[string]any, []any:
			data, err := json.Marshal(v)
			if err != nil {
				failed = err
			}
			return string(data)
		}
		failed = fmt.Errorf("%s is not in the answer", m)
		return ""
	})
	return s, failed
}
