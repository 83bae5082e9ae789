package apiserver

import (
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
	return writeObject(w, r, http.StatusOK, t.Kind, o)
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
	return writeList(w, r, t.Kind, list)
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
	return writeObject(w, r, http.StatusCreated, t.Kind, created)
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
	return writeObject(w, r, http.StatusOK, t.Kind, updated)
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
		return writeObject(w, r, http.StatusOK, t.Kind, last)
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

func writeObject(w http.ResponseWriter, r *http.Request, code int, k *kinds.Kind, o kinds.Object) error {
	data, err := k.Encode(o)
	if err != nil {
		return err
	}
	return writeEncoded(w, r, code, data)
}
