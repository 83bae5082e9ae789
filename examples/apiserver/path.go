package apiserver

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// path is the path of a request for a resource.
type path struct {
	group, version, namespace, resource, name, subresource string
	// watch is true for the old form of watch, which stands in the path.
	watch bool
	// rest is what follows a subresource that has paths of its own: "/" or more. It is "" without one.
	rest string
}

// parsePath takes a path apart: /api/VERSION or /apis/GROUP/VERSION, then [/watch]
// [/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]]. An empty namespace means all. Anything may follow the
// subresource proxy.
func parsePath(s string) (path, bool) {
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(s, "/"), "/"), "/")
	var p path
	switch {
	case parts[0] == "api" && len(parts) > 2:
		p.version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		p.group, p.version, parts = parts[1], parts[2], parts[3:]
	default:
		return path{}, false
	}
	if parts[0] == "watch" && len(parts) > 1 {
		p.watch, parts = true, parts[1:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		p.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 2 && parts[2] == "proxy" && !p.watch {
		p.rest = "/" + strings.Join(parts[3:], "/")
		if len(parts) > 3 && strings.HasSuffix(s, "/") {
			p.rest += "/"
		}
		parts = parts[:3]
	}
	if len(parts) > 3 {
		return path{}, false
	}
	for i, to := range []*string{&p.resource, &p.name, &p.subresource} {
		if i < len(parts) {
			*to = parts[i]
		}
	}
	if p.subresource != "" && (p.watch || p.name == "") {
		return path{}, false
	}
	return p, p.resource != ""
}

// listOptions reads the options of a list or a watch from the query. In the old form of watch
// a name becomes a field selector.
func listOptions(r *http.Request, p path) (metav1.ListOptions, error) {
	q := r.URL.Query()
	o := metav1.ListOptions{
		LabelSelector: q.Get("labelSelector"), FieldSelector: q.Get("fieldSelector"),
		ResourceVersion: q.Get("resourceVersion"), Continue: q.Get("continue"),
		ResourceVersionMatch: metav1.ResourceVersionMatch(q.Get("resourceVersionMatch")),
		Watch:                p.watch || isTrue(q, "watch"), AllowWatchBookmarks: isTrue(q, "allowWatchBookmarks"),
	}
	if q.Has("sendInitialEvents") {
		send := isTrue(q, "sendInitialEvents")
		o.SendInitialEvents = &send
	}
	if s := q.Get("limit"); s != "" {
		limit, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return o, badRequest("%v", err)
		}
		o.Limit = limit
	}
	if s := q.Get("timeoutSeconds"); s != "" {
		timeout, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return o, badRequest("%v", err)
		}
		o.TimeoutSeconds = &timeout
	}
	if p.watch && p.name != "" {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, p.name).String()
	}
	return o, nil
}

// isTrue reads a parameter as the API does: everything but "0" and "false" is true.
func isTrue(q url.Values, name string) bool {
	return q.Has(name) && q.Get(name) != "0" && q.Get(name) != "false"
}
