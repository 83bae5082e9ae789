package rest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch"
)

// tokenAge is how long a token is used before its file is looked at again.
const tokenAge = 10 * time.Second

// token is a bearer token, a fixed one or one in a file that is replaced from time to time.
type token struct {
	file  string
	clock clock.Clock

	mu    sync.Mutex
	value string    // guarded by mu
	read  time.Time // guarded by mu: when value was read; zero: it is to be read again
}

// get returns the value of the Authorization header, or "" without a token.
func (t *token) get() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != "" && (t.read.IsZero() || t.clock.Since(t.read) >= tokenAge) {
		if err := t.readLocked(); err != nil {
			return "", err
		}
	}
	if t.value == "" {
		return "", nil
	}
	return "Bearer " + t.value, nil
}

// readLocked reads the file. When that fails an older token is kept: it may still be good.
func (t *token) readLocked() error {
	data, err := os.ReadFile(t.file)
	value := strings.TrimSpace(string(data))
	if err == nil && value == "" {
		err = errors.New("the token file is empty")
	}
	switch {
	case err == nil:
		t.value = value
	case t.value == "":
		return fmt.Errorf("%w: %w", listwatch.ErrUnauthorized, err)
	}
	t.read = t.clock.Now()
	return nil
}

// reject notes that the server did not accept the header that get has returned.
func (t *token) reject(header string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if header == "Bearer "+t.value {
		t.read = time.Time{}
	}
}
