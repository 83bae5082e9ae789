package apiserver

import (
	"bytes"
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

func (s *Server) get(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	o, err := s.registry.Get(r.Context(), t, r.URL.Query().Get("resourceVersion"))
	if err != nil {
		return err
	}
	return s.writeObject(w, r, http.StatusOK, t.Shown(), o)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	o, err := listOptions(r, path{})
	if err != nil {
		return err
	}
	list, err := s.registry.List(r.Context(), t, o)
	if err != nil {
		return err
	}
	return s.writeList(w, r, t.Kind, list)
}

func (s *Server) writeList(w http.ResponseWriter, r *http.Request, k *kinds.Kind, list registry.List) error {
	v, err := viewOf(r, formsOf(k)...)
	if err != nil {
		return err
	}
	if v.media == kinds.Protobuf {
		o, err := k.List(list.Objects, list.Meta)
		if err != nil {
			return err
		}
		return writeProtobuf(w, http.StatusOK, k, o)
	}
	data, err := v.encodeList(k, list, s.options.Clock.Now())
	if err != nil {
		return err
	}
	return writeEncoded(w, r, http.StatusOK, v.media, data)
}

// encodeList writes a list in the order of fields that its kind has: a custom one's metadata
// comes after the items, and always has a continue.
func encodeList(k *kinds.Kind, list registry.List) ([]byte, error) {
	var items bytes.Buffer
	items.WriteByte('[')
	for i, o := range list.Objects {
		if i > 0 {
			items.WriteByte(',')
		}
		data, err := k.EncodeItem(o)
		if err != nil {
			return nil, err
		}
		items.Write(data)
	}
	items.WriteByte(']')
	version, kind := k.GroupVersionKind().GroupVersion().String(), k.Kind+"List"
	if k.Custom {
		type meta struct {
			Continue           string `json:"continue"`
			RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
			ResourceVersion    string `json:"resourceVersion"`
		}
		return json.Marshal(struct {
			APIVersion string          `json:"apiVersion"`
			Items      json.RawMessage `json:"items"`
			Kind       string          `json:"kind"`
			Metadata   meta            `json:"metadata"`
		}{version, items.Bytes(), kind, meta{list.Meta.Continue, list.Meta.RemainingItemCount, list.Meta.ResourceVersion}})
	}
	return json.Marshal(struct {
		Kind       string          `json:"kind"`
		APIVersion string          `json:"apiVersion"`
		Metadata   metav1.ListMeta `json:"metadata"`
		Items      json.RawMessage `json:"items"`
	}{kind, version, list.Meta, items.Bytes()})
}

// writeObject sends an object of a kind in the form that the client prefers.
func (s *Server) writeObject(w http.ResponseWriter, r *http.Request, code int, k *kinds.Kind, o kinds.Object) error {
	v, err := viewOf(r, formsOf(k)...)
	if err != nil {
		return err
	}
	if v.media == kinds.Protobuf {
		o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind())
		return writeProtobuf(w, code, k, o)
	}
	data, err := v.encode(k, o, s.options.Clock.Now())
	if err != nil {
		return err
	}
	return writeEncoded(w, r, code, v.media, data)
}

func writeProtobuf(w http.ResponseWriter, code int, k *kinds.Kind, o runtime.Object) error {
	data, err := k.EncodeProtobuf(o)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kinds.Protobuf)
	writeBody(w, code, data)
	return nil
}
