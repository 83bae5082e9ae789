package apiserver

import (
	"context"
	"errors"
	"time"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

const (
	// bookmarkWait is how long watches may take to end with a bookmark before they are ended without.
	bookmarkWait = 3 * time.Second
	// closeWait is how long Close then waits for requests that are being answered.
	closeWait = 5 * time.Second
)

// errShutdown is why a server that is being closed is not ready.
var errShutdown = errors.New("the server is being closed")

// drain has the server stop answering: from now on it is not ready, after a delay it takes nothing new and watches end,
// and when what was begun is done the connections are closed.
func (s *Server) drain() error {
	s.stopping.Store(true)
	// The context is never done.
	_ = timing.Sleep(context.Background(), s.options.Clock, s.options.ShutdownDelay)
	empty := s.gate.close()
	s.cancel()
	within(bookmarkWait, empty)
	s.end()
	within(closeWait, empty)
	waiting, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := s.http.Shutdown(waiting); err != nil {
		return s.http.Close()
	}
	return nil
}

// within blocks until the channel is closed, or for so long.
func within(d time.Duration, done <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}
