package apiserver

import (
	"net/http"
	"slices"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// The things that can be made of objects for a client that asks for them.
const (
	asTable    = "Table"
	asMetadata = "PartialObjectMetadata"
	asList     = "PartialObjectMetadataList"
)

// view is how a client wants to see objects.
type view struct {
	// media is the encoding.
	media string
	// as is what to make of the objects, and version of which version; "" are the objects themselves.
	as, version string
	// include is how much of an object goes with a row of a table.
	include metav1.IncludeObjectPolicy
}

// apiVersion is that of what is made of the objects.
func (v view) apiVersion() string { return metav1.GroupName + "/" + v.version }

// viewOf returns the first form of those that the client accepts which the server offers:
// an encoding of those named, the one to prefer first, or JSON when none is.
func viewOf(r *http.Request, encodings ...string) (view, error) {
	if len(encodings) == 0 {
		encodings = []string{jsonType}
	}
	known := false
	for _, accept := range accepted(r) {
		media, ok := offered(accept, encodings)
		known = known || ok
		v := view{media: media, as: accept.Params["as"], version: accept.Params["v"]}
		switch {
		case !ok, v.as != "" && media == kinds.Protobuf:
		case v.as == "":
			return v, nil
		case !slices.Contains([]string{asTable, asMetadata, asList}, v.as):
		case accept.Params["g"] == metav1.GroupName && (v.version == "v1" || v.version == "v1beta1"):
			return v.including(r)
		}
	}
	types := strings.Join(encodings, ", ")
	if known {
		err := failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"only the following media types are accepted: "+types)
		err.ErrStatus.Details = nil
		return view{}, err
	}
	return view{}, failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: "+types)
}

// accepted returns what the client accepts, best first.
func accepted(r *http.Request) []goautoneg.Accept {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if header == "" {
		header = "*/*"
	}
	return goautoneg.ParseAccept(header)
}

// offered returns the encoding that a client gets who accepts something.
func offered(accept goautoneg.Accept, encodings []string) (string, bool) {
	for _, media := range encodings {
		kind, sub, _ := strings.Cut(media, "/")
		if (accept.Type == "*" || accept.Type == kind) && (accept.SubType == "*" || accept.SubType == sub) {
			return media, true
		}
	}
	return "", false
}

func (v view) including(r *http.Request) (view, error) {
	v.include = metav1.IncludeObjectPolicy(r.URL.Query().Get("includeObject"))
	switch v.include {
	case "":
		v.include = metav1.IncludeMetadata
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
	default:
		if v.as == asTable {
			return view{}, badRequest("Unable to convert to Table as requested: %v", field.Invalid(field.NewPath("includeObject"),
				string(v.include), "must be 'Metadata', 'Object', 'None', or empty"))
		}
	}
	return v, nil
}
