package conformance

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

const protobufType = "application/vnd.kubernetes.protobuf"

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func codec() *protobuf.Serializer {
	s := runtime.NewScheme()
	// Both lists of types are known to be without conflicts.
	_ = scheme.AddToScheme(s)
	_ = metav1.AddMetaToScheme(s)
	return protobuf.NewSerializer(s, s)
}

// encode returns the body to send: that of a script is JSON.
func encode(contentType, body string) (string, error) {
	if contentType != protobufType || !strings.HasPrefix(body, "{") {
		return body, nil
	}
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(body), nil, nil)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = codec().Encode(o, &out)
	return out.String(), err
}

// decode reads a body: JSON as it is, protobuf as the JSON that it stands for, and else text.
func decode(contentType string, data []byte) (any, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || len(data) == 0 {
		return string(data), nil
	}
	switch media {
	case "application/json":
		return decodeJSON(data)
	case protobufType:
		return decodeProtobuf(data)
	}
	return string(data), nil
}

func decodeJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w in %.200q", err, data)
	}
	return v, nil
}

func decodeProtobuf(data []byte) (any, error) {
	o, gvk, err := codec().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(*gvk)
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return decodeJSON(text)
}

// events reads so many events of a watch, or until it ends.
func (r *run) events(response *http.Response, most int) ([]any, error) {
	next := jsonEvents(response.Body)
	if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == protobufType {
		next = func() (any, error) { return protobufEvent(response.Body) }
	}
	events := []any{}
	for len(events) < most {
		v, err := next()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		if e, ok := v.(map[string]any); ok && e["type"] == "BOOKMARK" {
			unversion(v) // how far the server has come
		}
		events = append(events, r.normal.body(v))
	}
	return events, nil
}

// unversion takes all versions out of what was decoded.
func unversion(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["resourceVersion"]; ok {
			v["resourceVersion"] = "VERSION"
		}
		for _, inner := range v {
			unversion(inner)
		}
	case []any:
		for _, inner := range v {
			unversion(inner)
		}
	}
}

func jsonEvents(from io.Reader) func() (any, error) {
	d := json.NewDecoder(from)
	d.UseNumber()
	return func() (v any, err error) { return v, d.Decode(&v) }
}

// protobufEvent reads a length of four bytes and so much of an event.
func protobufEvent(from io.Reader) (any, error) {
	var size uint32
	if err := binary.Read(from, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(from, data); err != nil {
		return nil, err
	}
	var e metav1.WatchEvent
	if err := e.Unmarshal(data); err != nil {
		return nil, err
	}
	object, err := decodeProtobuf(e.Object.Raw)
	return map[string]any{"type": e.Type, "object": object}, err
}
