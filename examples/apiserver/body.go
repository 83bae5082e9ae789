package apiserver

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

const jsonType = kinds.JSON

// gzipFrom is the size in bytes from which the API compresses an answer.
const gzipFrom = 128 << 10

// formsOf returns the forms in which a kind is answered.
func formsOf(k *kinds.Kind) []string {
	if k.Custom {
		return []string{kinds.JSON, kinds.YAML}
	}
	return []string{kinds.JSON, kinds.YAML, kinds.Protobuf}
}

// streamsOf returns the forms in which events of a kind are answered.
func streamsOf(k *kinds.Kind) []string {
	return slices.DeleteFunc(formsOf(k), func(form string) bool { return form == kinds.YAML })
}

// readBody reads what a client sent, and in which form.
func readBody(r *http.Request) (form string, data []byte, err error) {
	form = kinds.JSON
	if t := r.Header.Get("Content-Type"); t != "" {
		if form, _, err = mime.ParseMediaType(t); err != nil {
			return "", nil, errMediaType(kinds.JSON, kinds.YAML, kinds.Protobuf)
		}
	}
	data, err = io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return "", nil, apierrors.NewRequestEntityTooLargeError("limit is 3145728")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "", nil, errTimeout
	}
	if err == nil {
		bodyRead(r.Context())
	}
	return form, data, err
}

func errMediaType(forms ...string) error {
	status := failure(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+strings.Join(forms, ", "))
	status.ErrStatus.Details = nil
	return status
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	writeBody(w, code, []byte(text))
}

func writeBody(w http.ResponseWriter, code int, body []byte) {
	w.WriteHeader(code)
	// A client that has gone is noticed by net/http, which ends the connection.
	_, _ = w.Write(body)
}

func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, code int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeEncoded(w, r, code, kinds.JSON, data)
}

// writeEncoded sends what is given as JSON: as YAML when that is the form, indented when the
// client is a person's tool, and compressed when it is large and the client takes that.
func writeEncoded(w http.ResponseWriter, r *http.Request, code int, form string, data []byte) error {
	if form == kinds.YAML {
		data, err := yaml.JSONToYAML(data)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", kinds.YAML)
		writeBody(w, code, data)
		return nil
	}
	if pretty(r) {
		var indented bytes.Buffer
		if err := json.Indent(&indented, data, "", "  "); err != nil {
			return err
		}
		data = indented.Bytes()
	} else {
		data = append(data, '\n')
	}
	w.Header().Set("Content-Type", form)
	if len(data) < gzipFrom || r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		writeBody(w, code, data)
		return nil
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Vary", "Accept-Encoding")
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	_, err := z.Write(data)
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}
	writeBody(w, code, compressed.Bytes())
	return nil
}

func pretty(r *http.Request) bool {
	if q := r.URL.Query(); q.Has("pretty") {
		return isTrue(q, "pretty")
	}
	agent := r.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}
