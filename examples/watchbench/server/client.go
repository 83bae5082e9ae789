package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Session is a client's end of a session. Make it with Address.Open.
type Session struct {
	// Path is what stands between the server's address and that of a collection.
	Path string

	address Address
}

// Open returns a new session, once the server has its pods ready.
func (a Address) Open(ctx context.Context, spec Spec) (*Session, error) {
	id, err := call(ctx, http.MethodPost, a.HTTP+"/session", spec)
	return &Session{Path: "/s/" + string(id), address: a}, err
}

// Do tells the server what its watch is to send. It doesn't wait for that.
func (s *Session) Do(ctx context.Context, c Command) error {
	_, err := call(ctx, http.MethodPost, s.address.HTTP+s.Path+"/do", c)
	return err
}

// Close ends the session.
func (s *Session) Close(ctx context.Context) error {
	_, err := call(ctx, http.MethodDelete, s.address.HTTP+s.Path, nil)
	return err
}

// CPU returns the CPU time that the server has taken so far, in seconds.
func (s *Session) CPU(ctx context.Context) (float64, error) {
	answer, err := call(ctx, http.MethodGet, s.address.HTTP+"/usage", nil)
	if err != nil {
		return 0, err
	}
	var cpu float64
	return cpu, json.Unmarshal(answer, &cpu)
}

// client keeps no connection, so that what is measured has the process to itself.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func call(ctx context.Context, method, url string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, url, answer.Status, text)
	}
	return text, err
}
