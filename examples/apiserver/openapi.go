package apiserver

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/openapi"
)

// openapiPath is where the index of the descriptions is.
const openapiPath = "/openapi/v3"

// described is the description of a group and version, and its hash, which stands in its address.
type described struct {
	data []byte
	hash string
}

func (d described) url(name string) string { return openapiPath + "/" + name + "?hash=" + d.hash }

// describe makes the descriptions of some groups and versions, by name. It takes a moment, and is done when they are
// first asked for.
func describe(table kinds.Kinds, gvs []schema.GroupVersion) (map[string]described, error) {
	all := make(map[string]described)
	for _, gv := range gvs {
		data, err := openapi.Document(table, gv)
		if err != nil {
			return nil, err
		}
		all[openapi.Name(gv)] = described{data, fmt.Sprintf("%X", sha512.Sum512(data))}
	}
	return all, nil
}

// serveOpenAPI answers for the index and for each description, which by its hash never changes.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet {
		return errMethod()
	}
	all, err := s.table.Load().descriptions()
	if err != nil {
		return err
	}
	name := strings.Trim(strings.TrimPrefix(r.URL.Path, openapiPath), "/")
	if name == "" {
		return writeIndex(w, all)
	}
	d, ok := all[name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return nil
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Etag", `"`+d.hash+`"`)
	switch r.URL.Query().Get("hash") {
	case "":
	case d.hash:
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", s.options.Clock.Now().AddDate(1, 0, 0).UTC().Format(time.RFC1123))
	default:
		w.Header().Set("Location", d.url((&url.URL{Path: name}).EscapedPath()))
		w.WriteHeader(http.StatusMovedPermanently)
		return nil
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(d.data))
	return nil
}

func writeIndex(w http.ResponseWriter, all map[string]described) error {
	type address struct {
		URL string `json:"serverRelativeURL"`
	}
	index := struct {
		Paths map[string]address `json:"paths"`
	}{make(map[string]address)}
	for name, d := range all {
		index.Paths[name] = address{d.url(name)}
	}
	data, err := json.Marshal(index)
	if err == nil {
		// So it is labelled, for clients that know.
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		writeBody(w, http.StatusOK, data)
	}
	return err
}
