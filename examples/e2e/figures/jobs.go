package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// job is something to measure on a server that was just started.
type job struct {
	name string
	// fill is how many pods must be there before the server starts; 0: it does not matter.
	fill int
	// parts are measured one after the other.
	parts []part
}

// part is one figure.
type part struct {
	name, unit string
	// slow says that less is better.
	slow bool
	// measure returns the figure.
	measure func(ctx context.Context, s *server, round int) (float64, error)
}

func jobs(scale float64) []job {
	n := func(n int) int { return max(clients, int(float64(n)*scale)) }
	fan := job{name: "fan-out"}
	for _, f := range []struct{ watchers, events int }{{1, n(4000)}, {n(100), n(1000)}, {n(1000), n(200)}} {
		fan.parts = append(fan.parts, part{name: fmt.Sprintf("events to %d watchers", f.watchers), unit: "events/s",
			measure: func(ctx context.Context, s *server, round int) (float64, error) {
				return fanOut(ctx, s, f.watchers, f.events)
			}})
	}
	return []job{
		{name: "writes", parts: []part{
			creates("config maps", n(4000), configMaps, configMap), creates("pods", n(4000), pods, pod), updates(n(4000)),
		}},
		fan,
		lists("list-small", n(10_000)),
		lists("list-large", n(100_000)),
	}
}

const (
	configMaps = "/api/v1/namespaces/writes/configmaps"
	pods       = "/api/v1/namespaces/writes/pods"
	large      = "/api/v1/namespaces/large/pods"
	fans       = "/api/v1/namespaces/fan/configmaps"
)

var padding = strings.Repeat("x", 3500)

// configMap and pod are of about 4 KB with what the server adds.
func configMap(name string, n int) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"data":{"n":"%d","padding":%q}}`, name, n, padding)
}

func pod(name string, n int) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"app":"a"},"annotations":{"n":"%d","padding":%q}},`+
		`"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"E","value":"1"}],"ports":[{"containerPort":80}]}]}}`, name, n, padding[:2500])
}

func perSecond(n int, f func() error) (float64, error) {
	began := time.Now()
	err := f()
	return float64(n) / time.Since(began).Seconds(), err
}

func creates(what string, n int, path string, body func(string, int) string) part {
	return part{name: fmt.Sprintf("creates of %s", what), unit: "writes/s", measure: func(ctx context.Context, s *server, round int) (float64, error) {
		if err := s.namespace(ctx, "writes"); err != nil {
			return 0, err
		}
		return perSecond(n, func() error {
			return together(n, func(i int) error { return s.do(ctx, http.MethodPost, path, body(fmt.Sprintf("o-%d-%d", round, i), i)) })
		})
	}}
}

func updates(n int) part {
	return part{name: "updates of config maps", unit: "writes/s", measure: func(ctx context.Context, s *server, round int) (float64, error) {
		return perSecond(n, func() error {
			return together(n, func(i int) error {
				name := fmt.Sprintf("o-%d-%d", round, i)
				return s.do(ctx, http.MethodPut, configMaps+"/"+name, configMap(name, -i-1))
			})
		})
	}}
}

func lists(name string, n int) job {
	j := job{name: name, fill: n}
	what := fmt.Sprintf("list of %d pods", n)
	list := func(query string, header ...string) func(context.Context, *server, int) (float64, error) {
		return func(ctx context.Context, s *server, _ int) (float64, error) {
			var took []float64
			for range 3 {
				began := time.Now()
				if err := s.do(ctx, http.MethodGet, large+query, "", header...); err != nil {
					return 0, err
				}
				took = append(took, time.Since(began).Seconds()*1000)
			}
			return median(took), nil
		}
	}
	first := func(ctx context.Context, s *server, _ int) (float64, error) {
		err := s.do(ctx, http.MethodGet, large, "")
		return time.Since(s.started).Seconds() * 1000, err
	}
	for _, p := range []struct {
		name    string
		measure func(context.Context, *server, int) (float64, error)
	}{
		{"from the start of the process on", first},
		{"as JSON", list("")},
		{"as JSON, compressed", list("", "Accept-Encoding", "gzip")},
		{"as protobuf", list("", "Accept", "application/vnd.kubernetes.protobuf")},
		{"of metadata", list("", "Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")},
		{"with a label", list("?labelSelector=app%3Dnone")},
	} {
		j.parts = append(j.parts, part{name: what + ", " + p.name, unit: "ms", slow: true, measure: p.measure})
	}
	return j
}

// fanOut lets many read what few write: with as many objects as writers, until each watch has seen every event.
func fanOut(ctx context.Context, s *server, watchers, events int) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.namespace(ctx, "fan"); err != nil {
		return 0, err
	}
	var version string
	for i := range clients {
		name := fmt.Sprintf("f-%d", i)
		if s.do(ctx, http.MethodGet, fans+"/"+name, "") != nil {
			if err := s.do(ctx, http.MethodPost, fans, configMap(name, 0)); err != nil {
				return 0, err
			}
		}
		made, err := s.object(ctx, http.MethodPut, fans+"/"+name, configMap(name, int(time.Now().UnixNano())))
		if err != nil {
			return 0, err
		}
		version = made.ResourceVersion
	}
	errs := make([]error, watchers+1)
	var readers sync.WaitGroup
	for w := range watchers {
		response, err := s.ask(ctx, http.MethodGet, fans+"?watch=true&resourceVersion="+version, "")
		if err != nil {
			cancel()
			readers.Wait()
			return 0, err
		}
		readers.Go(func() {
			defer response.Body.Close()
			errs[w] = readLines(bufio.NewReaderSize(response.Body, 8<<10), events)
		})
	}
	began := time.Now()
	errs[watchers] = together(events, func(i int) error {
		name := fmt.Sprintf("f-%d", i%clients)
		return s.do(ctx, http.MethodPut, fans+"/"+name, configMap(name, i+1))
	})
	readers.Wait()
	return float64(events*watchers) / time.Since(began).Seconds(), errors.Join(errs...)
}

// readLines reads so many lines without looking.
func readLines(from *bufio.Reader, n int) error {
	for n > 0 {
		_, err := from.ReadSlice('\n')
		switch {
		case err == nil:
			n--
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
	return nil
}

// prepare fills a server's part of etcd with pods: one that it has made itself, and copies of it.
func (j job) prepare(ctx context.Context, s *server) error {
	if j.fill == 0 {
		return nil
	}
	if err := s.process.Start(ctx, s.more...); err != nil {
		return err
	}
	defer func() { _ = s.process.Term() }() // what it has written is in etcd
	if err := s.namespace(ctx, "large"); err != nil {
		return err
	}
	name := func(i int) string { return fmt.Sprintf("pod-%06d", i) }
	first, err := s.object(ctx, http.MethodGet, large+"/"+name(0), "")
	if err != nil {
		first, err = s.object(ctx, http.MethodPost, large, pod(name(0), 0))
	}
	if err != nil {
		return err
	}
	all, err := s.etcd.Get(ctx, s.prefix+"/pods/large/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	stored, err := s.etcd.Get(ctx, s.prefix+"/pods/large/"+name(0))
	if err != nil || len(stored.Kvs) != 1 {
		return fmt.Errorf("%s is not in etcd: %v", name(0), err)
	}
	there := len(all.Kvs)
	return together(j.fill-there, func(i int) error { // a write each, as if by a server: history counts writes
		i += there
		uid := first.UID[:len(first.UID)-12] + fmt.Sprintf("%012d", i)
		value := bytes.ReplaceAll(stored.Kvs[0].Value, []byte(name(0)), []byte(name(i)))
		value = bytes.ReplaceAll(value, []byte(first.UID), []byte(uid))
		_, err := s.etcd.Put(ctx, s.prefix+"/pods/large/"+name(i), string(value))
		return err
	})
}

// measured starts the server, measures one round of a job, and ends it.
func (s *server) measured(ctx context.Context, j job, round int, r *report) (err error) {
	s.started = time.Now()
	if err := s.process.Start(ctx, s.more...); err != nil {
		return err
	}
	defer func() {
		s.client.CloseIdleConnections()
		err = errors.Join(err, s.process.Term())
	}()
	for _, p := range j.parts {
		before, err := s.usage()
		if err != nil {
			return err
		}
		if err := s.forgetPeak(); err != nil {
			return err
		}
		figure, err := p.measure(ctx, s, round)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		after, err := s.usage()
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s: %.0f %s, %.0f MB, CPU %s\n", s.name, p.name, figure, p.unit, after.peak, after.cpu-before.cpu)
		r.add(round, p, s.name, sample{Figure: figure, Peak: after.peak, CPU: (after.cpu - before.cpu).Seconds()})
	}
	return nil
}

// median returns the middle one, and the lower of two.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
