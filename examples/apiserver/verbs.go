package apiserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

func (s *Server) get(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	o, err := s.registry.Get(r.Context(), t, r.URL.Query().Get("resourceVersion"))
	if err != nil {
		return err
	}
	return s.writeObject(w, r, http.StatusOK, t.Kind, o)
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
	v, err := viewOf(r)
	if err != nil {
		return err
	}
	data, err := v.encodeList(t.Kind, list, s.options.Clock.Now())
	if err != nil {
		return err
	}
	return writeEncoded(w, r, http.StatusOK, data)
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

func (s *Server) create(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	o, err := readObject(r, t.Kind)
	if err != nil {
		return err
	}
	created, err := s.registry.Create(r.Context(), t, o)
	if err != nil {
		return err
	}
	return s.writeObject(w, r, http.StatusCreated, t.Kind, created)
}

func (s *Server) update(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	o, err := readObject(r, t.Kind)
	if err != nil {
		return err
	}
	updated, err := s.registry.Update(r.Context(), t, o)
	if err != nil {
		return err
	}
	return s.writeObject(w, r, http.StatusOK, t.Kind, updated)
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request, t registry.Target) error {
	o, err := deleteOptions(r)
	if err != nil {
		return err
	}
	last, gone, err := s.registry.Delete(r.Context(), t, o)
	if err != nil {
		return err
	}
	if !gone {
		return s.writeObject(w, r, http.StatusOK, t.Kind, last)
	}
	return s.writeJSON(w, r, http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name: t.Name, Group: t.Kind.Group, Kind: t.Kind.Resource, UID: last.GetUID(),
		},
	})
}

// deleteOptions reads the options of a delete, which stand in the body or in the query.
func deleteOptions(r *http.Request) (metav1.DeleteOptions, error) {
	var o metav1.DeleteOptions
	data, err := readBody(r)
	if err != nil {
		return o, err
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &o); err != nil {
			return o, badRequest("%v", err)
		}
	} else if g := r.URL.Query().Get("gracePeriodSeconds"); g != "" {
		grace, err := strconv.ParseInt(g, 10, 64)
		if err != nil {
			return o, badRequest("%v", err)
		}
		o.GracePeriodSeconds = &grace
	}
	if len(o.DryRun) > 0 {
		return o, errDryRun()
	}
	return o, refuseDryRun(r)
}

// refuseDryRun refuses what this server would otherwise really do.
func refuseDryRun(r *http.Request) error {
	if r.URL.Query().Has("dryRun") {
		return errDryRun()
	}
	return nil
}

func errDryRun() error { return badRequest("this server does not offer dryRun") }

func readObject(r *http.Request, k *kinds.Kind) (kinds.Object, error) {
	if err := refuseDryRun(r); err != nil {
		return nil, err
	}
	data, err := readBody(r)
	if err != nil {
		return nil, err
	}
	o, err := k.Decode(data)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return o, nil
}

func (s *Server) writeObject(w http.ResponseWriter, r *http.Request, code int, k *kinds.Kind, o kinds.Object) error {
	v, err := viewOf(r)
	if err != nil {
		return err
	}
	data, err := v.encode(k, o, s.options.Clock.Now())
	if err != nil {
		return err
	}
	return writeEncoded(w, r, code, data)
}
