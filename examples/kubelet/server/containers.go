package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/seed3bce33ad/listwatch/examples/kubelet"
	"github.com/seed3bce33ad/listwatch/examples/kubelet/logs"
	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

// fail answers a request that failed, with the message as text.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusInternalServerError
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		code = int(known.Status().Code)
	} else {
		s.options.Logger.Error("request failed", "path", r.URL.Path, "error", err)
	}
	http.Error(w, err.Error(), code)
}

// find finds the container that a path names.
func (s *Server) find(r *http.Request, previous bool) (kubelet.Found, error) {
	return s.options.Host.Container(r.Context(), kubelet.Ref{
		Namespace: r.PathValue("namespace"), Name: r.PathValue("pod"), Container: r.PathValue("container"), Previous: previous,
	})
}

// logs answers with the log of a container.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	o, problems := logs.Parse(r.URL.Query())
	if len(problems) > 0 {
		http.Error(w, problems.ToAggregate().Error(), http.StatusBadRequest)
		return
	}
	f, err := s.find(r, o.Previous)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	answer := &flusher{w, http.NewResponseController(w), o.Follow}
	if answer.follow {
		w.WriteHeader(http.StatusOK)
		_ = answer.control.Flush() // who follows is to know that he does
	}
	source := logs.Source{Clock: s.options.Clock, Running: func() bool { return s.runs(r.Context(), f.ID) }}
	if err := logs.Read(r.Context(), f.LogPath, o, source, answer); err != nil || s.ctx.Err() != nil {
		s.options.Logger.Info("log broken off", "path", r.URL.Path, "error", err)
		panic(http.ErrAbortHandler) // what was begun must not look complete
	}
}

// runs reports whether a container may still write.
func (s *Server) runs(ctx context.Context, id string) bool {
	containers, err := s.options.Host.Runtime().ListContainers(ctx)
	return err == nil && slices.ContainsFunc(containers, func(c runtime.Container) bool {
		return c.ID == id && c.State != runtime.Exited
	})
}

// flusher sends what is written at once to who follows.
type flusher struct {
	to      http.ResponseWriter
	control *http.ResponseController
	follow  bool
}

// Write sends a line.
func (f *flusher) Write(data []byte) (int, error) {
	n, err := f.to.Write(data)
	if err == nil && f.follow {
		err = f.control.Flush()
	}
	return n, err
}

// pods answers with the pods of the node.
func (s *Server) pods(w http.ResponseWriter, r *http.Request) {
	list := corev1.PodList{Items: []corev1.Pod{}}
	list.Kind, list.APIVersion = "PodList", "v1"
	for _, p := range s.options.Host.Pods() {
		list.Items = append(list.Items, *p)
	}
	s.answer(w, r, list)
}

// summary answers with what the pods of the node use.
func (s *Server) summary(w http.ResponseWriter, r *http.Request) {
	used, err := s.options.Host.Summary(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, r, used)
}

// answer sends JSON.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // who has gone needs no answer
}
