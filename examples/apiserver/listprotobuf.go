package apiserver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"net/http"
	"runtime"
	"sync"

	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/registry"
)

// The tags of the fields of bytes with the numbers 1 to 4: the number and, in three bits, that a length follows. Every
// list has its metadata as field 1, and its items as fields 2.
const (
	tagMetadata = 1<<3 | 2
	tagItem     = 2<<3 | 2
)

// sendProtobufList sends a list of a built-in kind. Objects are decoded and encoded by as many goroutines as there are CPUs,
// and dropped at once: what stays until all is sent are the encoded ones, since the length of all comes first.
func sendProtobufList(w http.ResponseWriter, k *kinds.Kind, list registry.List) error {
	items, err := protobufItems(list)
	if err != nil {
		return err
	}
	meta, err := list.Meta.Marshal()
	if err != nil {
		return err
	}
	size := sizeOfField(len(meta))
	for _, item := range items {
		size += sizeOfField(len(item))
	}
	head, tail, err := envelope(k, size)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kinds.Protobuf)
	w.WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(w, 32<<10)
	// The writer remembers the first failure for Flush.
	_, _ = out.Write(head)
	writeField(out, tagMetadata, meta)
	for _, item := range items {
		writeField(out, tagItem, item)
	}
	_, _ = out.Write(tail)
	return aborted(out.Flush())
}

// envelope returns what stands before and behind a list of so many bytes: the names of its type, and nothing else.
func envelope(k *kinds.Kind, size int) (head, tail []byte, err error) {
	u := apiruntime.Unknown{TypeMeta: apiruntime.TypeMeta{
		APIVersion: k.GroupVersionKind().GroupVersion().String(), Kind: k.ListName(),
	}}
	// Without contents it is the type, then two empty strings: the encoding and type of the contents.
	const empty = 4
	all, err := u.Marshal()
	if err != nil {
		return nil, nil, err
	}
	head = append([]byte("k8s\x00"), all[:len(all)-empty]...)
	head = append(head, tagItem) // of the envelope, the contents are field 2, too
	return binary.AppendUvarint(head, uint64(size)), all[len(all)-empty:], nil
}

// protobufItems encodes the objects of a list.
func protobufItems(list registry.List) ([][]byte, error) {
	items := make([][]byte, len(list.Objects))
	workers := min(runtime.GOMAXPROCS(0), len(items)/64+1)
	errs := make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < len(items) && errs[worker] == nil; i += workers {
				items[i], errs[worker] = protobufItem(list.Objects[i])
			}
		})
	}
	group.Wait()
	return items, errors.Join(errs...)
}

func protobufItem(item registry.Item) ([]byte, error) {
	o, err := item.Object()
	if err != nil {
		return nil, err
	}
	return o.(interface{ Marshal() ([]byte, error) }).Marshal()
}

func sizeOfField(length int) int {
	return 1 + len(binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64), uint64(length))) + length
}

// writeField writes one field of bytes; the writer remembers its failures.
func writeField(out *bufio.Writer, tag byte, data []byte) {
	_ = out.WriteByte(tag)
	_, _ = out.Write(binary.AppendUvarint(out.AvailableBuffer(), uint64(len(data))))
	_, _ = out.Write(data)
}
