package apiserver

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// sendList sends a list piece by piece, so that it is never in memory as a whole unless a person reads it.
func sendList(w http.ResponseWriter, r *http.Request, k *kinds.Kind, list registry.List, form string) error {
	size := 0
	for _, o := range list.Objects {
		item, err := o.JSON()
		if err != nil {
			return err
		}
		size += len(item) + 1
	}
	if form == kinds.YAML || pretty(r) {
		var whole bytes.Buffer
		if err := encodeList(&whole, k, list); err != nil {
			return err
		}
		return writeEncoded(w, r, http.StatusOK, form, bytes.TrimSuffix(whole.Bytes(), []byte{'\n'}))
	}
	w.Header().Set("Content-Type", jsonType)
	if size < gzipFrom || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(http.StatusOK)
		return aborted(encodeList(w, k, list))
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Vary", "Accept-Encoding")
	w.WriteHeader(http.StatusOK)
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	return aborted(errors.Join(encodeList(z, k, list), z.Close()))
}

// aborted ends an answer that has been begun and cannot be finished, so that nobody takes it for whole.
func aborted(err error) error {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// encodeList writes a list in the order of fields that its kind has: a custom one's metadata
// comes after the items, and always has a continue.
func encodeList(to io.Writer, k *kinds.Kind, list registry.List) error {
	version, kind := k.GroupVersionKind().GroupVersion().String(), k.ListName()
	var whole []byte
	var err error
	if k.Custom {
		type meta struct {
			Continue           string `json:"continue"`
			RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
			ResourceVersion    string `json:"resourceVersion"`
		}
		whole, err = json.Marshal(struct {
			APIVersion string `json:"apiVersion"`
			Items      []int  `json:"items"`
			Kind       string `json:"kind"`
			Metadata   meta   `json:"metadata"`
		}{version, []int{}, kind, meta{list.Meta.Continue, list.Meta.RemainingItemCount, list.Meta.ResourceVersion}})
	} else {
		whole, err = json.Marshal(struct {
			Kind       string          `json:"kind"`
			APIVersion string          `json:"apiVersion"`
			Metadata   metav1.ListMeta `json:"metadata"`
			Items      []int           `json:"items"`
		}{kind, version, list.Meta, []int{}})
	}
	if err != nil {
		return err
	}
	// Names and tokens hold no quotes, so this stands there once.
	head, tail, _ := bytes.Cut(whole, []byte(`"items":[]`))
	out := bufio.NewWriterSize(to, 32<<10)
	// The writer remembers the first failure for Flush.
	_, _ = out.Write(head)
	_, _ = out.WriteString(`"items":[`)
	for i, o := range list.Objects {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		item, err := o.JSON()
		if err != nil {
			return err
		}
		_, _ = out.Write(item)
	}
	_ = out.WriteByte(']')
	_, _ = out.Write(tail)
	_ = out.WriteByte('\n')
	return out.Flush()
}
