package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
)

// api writes pods, and lists them without this library, by plain HTTP.
type api struct {
	url    string
	client *http.Client
}

// do sends a request and reads the answer into the result, when there is one to read into.
func (a *api) do(ctx context.Context, method, path string, body, result any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, a.url+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, result)
}

// load creates the pods of a list that was recorded elsewhere, and returns how many.
func (a *api) load(ctx context.Context, list []byte) (int, error) {
	var pods struct{ Items []map[string]any }
	if err := json.Unmarshal(list, &pods); err != nil {
		return 0, err
	}
	for _, pod := range pods.Items {
		metadata, ok := pod["metadata"].(map[string]any)
		if !ok {
			return 0, errors.New("a pod without metadata")
		}
		// The other server's view of the object; this one has its own.
		for _, field := range []string{
			"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
			"deletionTimestamp", "deletionGracePeriodSeconds",
		} {
			delete(metadata, field)
		}
		if err := a.do(ctx, http.MethodPost, "", pod, nil); err != nil {
			return 0, err
		}
		// Create takes no status.
		if err := a.do(ctx, http.MethodPut, fmt.Sprintf("/%s/status", metadata["name"]), pod, nil); err != nil {
			return 0, err
		}
	}
	return len(pods.Items), nil
}

// label sets a label on a pod and returns the pod's new version.
func (a *api) label(ctx context.Context, name string) (string, error) {
	var pod map[string]any
	if err := a.do(ctx, http.MethodGet, "/"+name, nil, &pod); err != nil {
		return "", err
	}
	metadata, ok := pod["metadata"].(map[string]any)
	if !ok {
		return "", errors.New("a pod without metadata")
	}
	metadata["labels"] = map[string]any{"example.com/quickstart": "seen"}
	var changed metav1.PartialObjectMetadata
	err := a.do(ctx, http.MethodPut, "/"+name, pod, &changed)
	return changed.ResourceVersion, err
}

// delete deletes a pod without giving it time to end.
func (a *api) delete(ctx context.Context, name string) error {
	now := int64(0)
	return a.do(ctx, http.MethodDelete, "/"+name, metav1.DeleteOptions{GracePeriodSeconds: &now}, nil)
}

// list returns the version of each pod, and that of the list.
func (a *api) list(ctx context.Context) (map[listwatch.Key]string, string, error) {
	var list metav1.PartialObjectMetadataList
	if err := a.do(ctx, http.MethodGet, "", nil, &list); err != nil {
		return nil, "", err
	}
	versions := make(map[listwatch.Key]string, len(list.Items))
	for i := range list.Items {
		versions[listwatch.KeyOf(&list.Items[i])] = list.Items[i].ResourceVersion
	}
	return versions, list.ResourceVersion, nil
}
