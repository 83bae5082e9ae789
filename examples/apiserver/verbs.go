package apiserver

import (
	"net/http"

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

// writeList sends a list in the form that the client prefers.
func (s *Server) writeList(w http.ResponseWriter, r *http.Request, k *kinds.Kind, list registry.List) error {
	v, err := viewOf(r, formsOf(k)...)
	switch {
	case err != nil:
		return err
	case v.as == "" && v.media != kinds.Protobuf:
		return sendList(w, r, formOf(k), list, v.media)
	case v.as == asList && !k.Custom:
		return sendList(w, r, v.metadataForm(), list, v.media)
	case v.media == kinds.Protobuf:
		return sendProtobufList(w, k, list)
	}
	objects, err := list.Decode()
	if err != nil {
		return err
	}
	data, err := v.encodeList(k, objects, list.Meta, s.options.Clock.Now())
	if err != nil {
		return err
	}
	return writeEncoded(w, r, http.StatusOK, v.media, data)
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
