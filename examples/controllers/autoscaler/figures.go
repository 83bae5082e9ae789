package autoscaler

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch/examples/kube"
)

// Figure is what a pod had used at one time.
type Figure struct {
	// At is the time. CPU is all the time of a processor that was used until then.
	At  time.Time
	CPU time.Duration
}

// Figures tell what pods use.
type Figures interface {
	// Pods returns the newest figures of the pods on a node, by their UID. It may block for a request, and must be
	// safe for concurrent use.
	Pods(ctx context.Context, node string) (map[types.UID]Figure, error)
}

// summaryLimit is the size of the largest summary that is read.
const summaryLimit = 16 << 20

// Kubelets returns the figures that kubelets give at /stats/summary, read through the API server.
func Kubelets(c *kube.Cluster) Figures { return kubelets{c} }

type kubelets struct{ cluster *kube.Cluster }

// summary is the part that is read of what a kubelet says.
type summary struct {
	Pods []struct {
		PodRef struct {
			UID types.UID `json:"uid"`
		} `json:"podRef"`
		CPU *struct {
			Time time.Time `json:"time"`
			Used *uint64   `json:"usageCoreNanoSeconds"`
		} `json:"cpu"`
	} `json:"pods"`
}

// Pods implements Figures. Pods of which the kubelet says nothing are left out.
func (k kubelets) Pods(ctx context.Context, node string) (map[types.UID]Figure, error) {
	client, base := k.cluster.HTTP()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("api/v1/nodes", node, "proxy/stats/summary").String(), nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, summaryLimit))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("summary of node %s: %s", node, response.Status)
	}
	var s summary
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, fmt.Errorf("summary of node %s: %w", node, err)
	}
	figures := make(map[types.UID]Figure, len(s.Pods))
	for _, p := range s.Pods {
		if p.CPU != nil && p.CPU.Used != nil {
			figures[p.PodRef.UID] = Figure{p.CPU.Time, time.Duration(*p.CPU.Used)}
		}
	}
	return figures, nil
}

// sampler makes rates of figures.
type sampler struct {
	figures Figures
	clock   clock.Clock
	mu      sync.Mutex
	// nodes is what was read last. Guarded by mu.
	nodes map[string]*samples
}

// samples is what was read of one node.
type samples struct {
	mu sync.Mutex
	// at is when it was read last; the others are the last figures, and the rates until them in processors. Guarded by mu.
	at    time.Time
	last  map[types.UID]Figure
	rates map[types.UID]float64
}

// rates returns how many processors the pods of a node use, those that have been seen twice. A node isn't asked more often
// than once a period.
func (s *sampler) rates(ctx context.Context, node string) (map[types.UID]float64, error) {
	s.mu.Lock()
	of := s.nodes[node]
	if of == nil {
		of = &samples{}
		s.nodes[node] = of
	}
	s.mu.Unlock()
	of.mu.Lock()
	defer of.mu.Unlock()
	now := s.clock.Now()
	if !of.at.IsZero() && now.Sub(of.at) < period/2 {
		return of.rates, nil
	}
	figures, err := s.figures.Pods(ctx, node)
	if err != nil {
		return nil, err
	}
	rates := map[types.UID]float64{}
	for uid, f := range figures {
		before, ok := of.last[uid]
		switch {
		case ok && f.At.After(before.At) && f.CPU >= before.CPU:
			rates[uid] = float64(f.CPU-before.CPU) / float64(f.At.Sub(before.At))
		case ok && f.At.Equal(before.At): // nothing new
			if rate, ok := of.rates[uid]; ok {
				rates[uid] = rate
			}
		}
	}
	of.at, of.last, of.rates = now, figures, rates
	return rates, nil
}
