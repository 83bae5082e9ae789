package apiserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// encode writes an object as the client wants to see it.
func (v view) encode(k *kinds.Kind, o kinds.Object, now time.Time) ([]byte, error) {
	switch v.as {
	case asTable:
		return v.table(k, []kinds.Object{o}, metav1.ListMeta{ResourceVersion: o.GetResourceVersion()}, true, now)
	case asMetadata:
		return json.Marshal(v.metadata(o))
	case asList:
		return nil, notAcceptable(v, "not a list", k, "")
	}
	return k.Encode(o)
}

// encodeList writes what the client wants to see made of a list.
func (v view) encodeList(k *kinds.Kind, objects []kinds.Object, list metav1.ListMeta, now time.Time) ([]byte, error) {
	switch v.as {
	case asTable:
		return v.table(k, objects, list, true, now)
	case asMetadata:
		return nil, notAcceptable(v, "a list", k, "List")
	default:
		all := metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{Kind: asList, APIVersion: v.apiVersion()}, ListMeta: list,
			Items: make([]metav1.PartialObjectMetadata, 0, len(objects)),
		}
		for _, o := range objects {
			all.Items = append(all.Items, *v.metadata(o))
		}
		return json.Marshal(all)
	}
}

func (v view) metadata(o kinds.Object) *metav1.PartialObjectMetadata {
	m := meta.AsPartialObjectMetadata(o)
	m.TypeMeta = metav1.TypeMeta{Kind: asMetadata, APIVersion: v.apiVersion()}
	return m
}

// table shows objects as rows. A watch names the columns in its first event only.
func (v view) table(k *kinds.Kind, objects []kinds.Object, list metav1.ListMeta, named bool, now time.Time) ([]byte, error) {
	t := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: asTable, APIVersion: v.apiVersion()}, ListMeta: list,
		Rows: make([]metav1.TableRow, 0, len(objects)),
	}
	columns := k.TableColumns()
	if named {
		for _, c := range columns {
			t.ColumnDefinitions = append(t.ColumnDefinitions, c.TableColumnDefinition)
		}
	}
	for _, o := range objects {
		row := metav1.TableRow{Cells: make([]any, 0, len(columns))}
		for _, c := range columns {
			row.Cells = append(row.Cells, c.Cell(o, now))
		}
		if k.RowConditions != nil {
			row.Conditions = k.RowConditions(o)
		}
		var err error
		if row.Object, err = v.rowObject(k, o); err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, row)
	}
	return json.Marshal(t)
}

func (v view) rowObject(k *kinds.Kind, o kinds.Object) (raw runtime.RawExtension, err error) {
	switch v.include {
	case metav1.IncludeObject:
		raw.Raw, err = k.Encode(o)
	case metav1.IncludeMetadata:
		raw.Raw, err = json.Marshal(v.metadata(o))
	}
	return raw, err
}

// notAcceptable is the answer to one who wants to see one object as many, or many as one.
func notAcceptable(v view, is string, k *kinds.Kind, suffix string) error {
	group, _, _ := strings.Cut(k.Group, ".")
	if group == "" {
		group = "core"
	}
	name := group + "." + k.Kind
	if k.Custom {
		name = "unstructured.Unstructured"
	}
	err := failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"you requested "+v.as+", but the requested object is "+is+" (*"+name+suffix+")")
	err.ErrStatus.Details = nil
	return err
}
