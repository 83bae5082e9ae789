package logs

import (
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Parse reads what a client wants of a log from the query of its request, with the names that the API and kubelets have
// for it, and returns what is wrong with that. What the query does not know it leaves out.
func Parse(q url.Values) (corev1.PodLogOptions, field.ErrorList) {
	o := corev1.PodLogOptions{Container: q.Get("container")}
	var problems field.ErrorList
	for name, into := range map[string]*bool{"follow": &o.Follow, "previous": &o.Previous, "timestamps": &o.Timestamps} {
		*into = q.Has(name) && q.Get(name) != "false" && q.Get(name) != "0"
	}
	for _, n := range []struct {
		name  string
		into  **int64
		least int64
	}{{"sinceSeconds", &o.SinceSeconds, 1}, {"tailLines", &o.TailLines, 0}, {"limitBytes", &o.LimitBytes, 1}} {
		if q.Get(n.name) == "" {
			continue
		}
		value, err := strconv.ParseInt(q.Get(n.name), 10, 64)
		switch {
		case err != nil:
			problems = append(problems, field.Invalid(field.NewPath(n.name), q.Get(n.name), "must be an integer"))
		case value < n.least && n.least == 0:
			problems = append(problems, field.Invalid(field.NewPath(n.name), value, "must be greater than or equal to 0"))
		case value < n.least:
			problems = append(problems, field.Invalid(field.NewPath(n.name), value, "must be greater than 0"))
		default:
			*n.into = &value
		}
	}
	if text := q.Get("sinceTime"); text != "" {
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			problems = append(problems, field.Invalid(field.NewPath("sinceTime"), text, "must be a time of RFC 3339"))
		} else {
			o.SinceTime = &metav1.Time{Time: since}
		}
	}
	if o.SinceTime != nil && o.SinceSeconds != nil {
		problems = append(problems, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	}
	return o, problems
}

// Query is the query that [Parse] reads, without the container.
func Query(o corev1.PodLogOptions) url.Values {
	q := url.Values{}
	for name, is := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if is {
			q.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"sinceSeconds": o.SinceSeconds, "tailLines": o.TailLines, "limitBytes": o.LimitBytes} {
		if n != nil {
			q.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if o.SinceTime != nil {
		q.Set("sinceTime", o.SinceTime.Format(time.RFC3339))
	}
	return q
}
