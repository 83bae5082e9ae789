package json_test

import (
	"errors"
	"fmt"
	"io"

	"github.com/seed3bce33ad/listwatch/internal/json"
)

func ExampleUnmarshal() {
	var object struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	err := json.Unmarshal([]byte(`{"kind":"Pod","metadata":{"name":"web","labels":{"app":"web"}}}`), &object)
	fmt.Println(object, err)
	// Output: {Pod {web map[app:web]}} <nil>
}

func ExampleDecoder() {
	decoder, err := json.New(json.Options{Skip: []string{"metadata.managedFields"}, Integers: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	var object map[string]any
	err = decoder.Unmarshal([]byte(`{"metadata":{"generation":9007199254740993,"managedFields":[{"manager":"kubectl"}]}}`), &object)
	fmt.Println(object, err)
	// Output: map[metadata:map[generation:9007199254740993]] <nil>
}

func ExampleOptions() {
	_, err := json.New(json.Options{Skip: []string{"metadata."}})
	fmt.Println(err)
	// Output: json: skip path "metadata." has an empty key
}

func ExampleSyntaxError() {
	var object map[string]any
	err := json.Unmarshal([]byte(`{"kind":"Po`), &object)
	var syntax *json.SyntaxError
	fmt.Println(errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), err)
	// Output: true true json: unexpected end of data at offset 11
}
