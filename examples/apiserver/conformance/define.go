package conformance

import (
	"context"
	_ "embed" // for the definition
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

//go:embed widgets.json
var widgets string

// served is where the custom kind of the cases is.
const served = "/apis/wire.example.com/v1/namespaces/default/widgets"

// Define sees to it that a server has the custom kind that some cases are about. It blocks until the kind is served, for a
// minute at most.
func Define(ctx context.Context, t Target) error {
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	for first := true; ; first = false {
		code, body, err := t.ask(ctx, http.MethodGet, served, "")
		if err != nil || code == http.StatusOK {
			return err
		}
		if first {
			if code, body, err = t.ask(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgets); err != nil {
				return err
			}
			if code != http.StatusCreated {
				return fmt.Errorf("conformance: the custom kind is not taken: %d %s", code, body)
			}
		}
		// Nothing tells that a kind is served but a request that succeeds.
		select {
		case <-ctx.Done():
			return fmt.Errorf("conformance: the custom kind is not served: %w: %d %s", ctx.Err(), code, body)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (t Target) ask(ctx context.Context, method, path, body string) (code int, answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, t.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	response, err := t.Client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(data), err
}
