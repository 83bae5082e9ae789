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

// listForm is how a list is written: what stands around its items, and what is sent of each.
type listForm struct {
	kind, version string
	// alphabetical lists have their metadata behind the items, and always a continue.
	alphabetical bool
	// before and after stand around what part returns of an item, which is shared.
	before, after string
	part          func(registry.Item) ([]byte, error)
}

// formOf returns how lists of a kind are written.
func formOf(k *kinds.Kind) listForm {
	return listForm{
		kind: k.ListName(), version: k.GroupVersionKind().GroupVersion().String(), alphabetical: k.Custom,
		part: registry.Item.JSON,
	}
}

// metadataForm returns how lists of metadata alone are written: cut out of the objects, which are not decoded.
func (v view) metadataForm() listForm {
	return listForm{
		kind: asList, version: v.apiVersion(), before: `{"kind":"` + asMetadata + `","apiVersion":"` + v.apiVersion() + `","metadata":`,
		after: "}", part: registry.Item.Metadata,
	}
}

// sendList sends a list piece by piece, so that it is never in memory as a whole unless a person reads it.
func sendList(w http.ResponseWriter, r *http.Request, f listForm, list registry.List, form string) error {
	size := 0
	for _, o := range list.Objects {
		item, err := f.part(o)
		if err != nil {
			return err
		}
		size += len(f.before) + len(item) + len(f.after) + 1
	}
	if form == kinds.YAML || pretty(r) {
		var whole bytes.Buffer
		if err := f.encode(&whole, list); err != nil {
			return err
		}
		return writeEncoded(w, r, http.StatusOK, form, bytes.TrimSuffix(whole.Bytes(), []byte{'\n'}))
	}
	w.Header().Set("Content-Type", jsonType)
	if size < gzipFrom || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(http.StatusOK)
		return aborted(f.encode(w, list))
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Vary", "Accept-Encoding")
	w.WriteHeader(http.StatusOK)
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	return aborted(errors.Join(f.encode(z, list), z.Close()))
}

// aborted ends an answer that has been begun and cannot be finished, so that nobody takes it for whole.
func aborted(err error) error {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// encode writes a list, in its form's order of fields.
func (f listForm) encode(to io.Writer, list registry.List) error {
	var whole []byte
	var err error
	if f.alphabetical {
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
		}{f.version, []int{}, f.kind, meta{list.Meta.Continue, list.Meta.RemainingItemCount, list.Meta.ResourceVersion}})
	} else {
		whole, err = json.Marshal(struct {
			Kind       string          `json:"kind"`
			APIVersion string          `json:"apiVersion"`
			Metadata   metav1.ListMeta `json:"metadata"`
			Items      []int           `json:"items"`
		}{f.kind, f.version, list.Meta, []int{}})
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
		item, err := f.part(o)
		if err != nil {
			return err
		}
		_, _ = out.WriteString(f.before)
		_, _ = out.Write(item)
		_, _ = out.WriteString(f.after)
	}
	_ = out.WriteByte(']')
	_, _ = out.Write(tail)
	_ = out.WriteByte('\n')
	return out.Flush()
}
