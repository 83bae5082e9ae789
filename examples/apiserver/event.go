package apiserver

import (
	"encoding/binary"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// append appends an event as the client wants to see it.
func (s *stream) append(to []byte, e registry.Event) ([]byte, error) {
	switch {
	case s.view.media == kinds.Protobuf:
		object, err := e.Protobuf()
		if err != nil {
			return to, err
		}
		return appendMessage(to, e.Type, object)
	case s.view.as == "":
		item, err := e.Object.JSON()
		if err != nil {
			return to, err
		}
		return appendFrame(to, e.Type, s.target.Kind.Head(), item[1:]), nil
	}
	object, err := e.Object.Object()
	if err != nil {
		return to, err
	}
	data, err := s.encode(object)
	if err != nil {
		return to, err
	}
	return appendFrame(to, e.Type, "", data), nil
}

// appendFrame appends one line: head and rest make up the object.
func appendFrame(to []byte, t watch.EventType, head string, rest []byte) []byte {
	to = append(to, `{"type":"`...)
	to = append(to, t...)
	to = append(to, `","object":`...)
	to = append(to, head...)
	to = append(to, rest...)
	return append(to, "}\n"...)
}

// appendMessage appends one event in protobuf, with its length before it.
func appendMessage(to []byte, t watch.EventType, object []byte) ([]byte, error) {
	event := metav1.WatchEvent{Type: string(t), Object: runtime.RawExtension{Raw: object}}
	data, err := event.Marshal()
	to = binary.BigEndian.AppendUint32(to, uint32(len(data)))
	return append(to, data...), err
}

// encode writes an object as the client wants to see it. A list of metadata cannot be made of an
// event: as with the real server such a watch has no events, and ends with the first.
func (s *stream) encode(o kinds.Object) ([]byte, error) {
	switch s.view.as {
	case asList:
		return nil, errPlannedEnd
	case asTable:
		named := s.named
		s.named = true
		return s.view.table(s.target.Kind, []kinds.Object{o}, metav1.ListMeta{ResourceVersion: o.GetResourceVersion()}, !named, s.now())
	}
	return s.view.encode(s.target.Kind, o, s.now())
}

func (s *stream) sendStatus(status metav1.Status) error {
	frame, err := s.failure(status)
	if err == nil {
		err = s.write(frame)
	}
	if err == nil {
		err = s.flush()
	}
	return err
}

// failure is the last event of a watch that fails.
func (s *stream) failure(status metav1.Status) ([]byte, error) {
	if s.view.media == kinds.Protobuf {
		data, err := s.target.Kind.EncodeProtobuf(&status)
		if err != nil {
			return nil, err
		}
		return appendMessage(nil, watch.Error, data)
	}
	data, err := json.Marshal(status)
	return appendFrame(nil, watch.Error, "", data), err
}
