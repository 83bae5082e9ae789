package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"
	utilexec "k8s.io/utils/exec"

	"github.com/seed3bce33ad/listwatch/examples/runtime"
)

const (
	// idleWait is how long nothing may go through a connection before it is closed.
	idleWait = 4 * time.Hour
	// streamsWait is how long a client may take to open its streams.
	streamsWait = 30 * time.Second
)

// exec runs a command in a container.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	f, err := s.find(r, false)
	if err == nil && f.State != runtime.Running {
		err = apierrors.NewBadRequest(fmt.Sprintf("container not found (%q)", f.Config.Name))
	}
	command := r.URL.Query()["command"]
	if err == nil && len(command) == 0 {
		err = apierrors.NewBadRequest("you must specify at least 1 command")
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	o, err := remotecommand.NewOptions(r)
	if err != nil {
		s.fail(w, r, apierrors.NewBadRequest(err.Error()))
		return
	}
	ctx, cancel := whileConnected(r.Context())
	defer cancel()
	// The command is left out: it may hold what nobody should read.
	s.options.Logger.Info("exec", "pod", f.Pod.Namespace+"/"+f.Pod.Name, "container", f.Config.Name)
	run := executor{s.options.Host.Runtime(), f.ID}
	if wsstream.IsWebSocketRequest(r) {
		run.serve(w, r.WithContext(ctx), command, o)
		return
	}
	remotecommand.ServeExec(w, r.WithContext(ctx), run, f.Pod.Name, string(f.Pod.UID), f.Config.Name, command, o,
		idleWait, streamsWait, remotecommand.SupportedStreamingProtocols)
}

// executor runs commands in one container.
type executor struct {
	runtime   runtime.Service
	container string
}

// ExecInContainer is for SPDY, whose streams the library makes.
func (e executor) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, errs io.WriteCloser,
	tty bool, sizes <-chan remotecommand.TerminalSize, _ time.Duration) error {
	x := runtime.Exec{Command: command, Stdin: in, TTY: tty}
	// A nil stream must be nil as a writer too.
	if out != nil {
		x.Stdout = out
	}
	if errs != nil && !tty {
		x.Stderr = errs
	}
	var resizing sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel(); resizing.Wait() }()
	resize := make(chan runtime.Size)
	x.Resize = resize
	resizing.Go(func() {
		for {
			select {
			case size, ok := <-sizes:
				if !ok || !send(ctx, resize, runtime.Size(size)) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	code, err := e.runtime.Exec(ctx, e.container, x)
	if err == nil && code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("exit status %d", code), Code: code}
	}
	return err
}

// send sends a size, unless ctx is done before anybody takes it.
func send(ctx context.Context, to chan<- runtime.Size, size runtime.Size) bool {
	select {
	case to <- size:
		return true
	case <-ctx.Done():
		return false
	}
}

// Channels of a command that is run by WebSocket.
const (
	stdinChannel = iota
	stdoutChannel
	stderrChannel
	statusChannel
	resizeChannel
	channels
)

// serve runs a command by WebSocket.
func (e executor) serve(w http.ResponseWriter, r *http.Request, command []string, o *remotecommand.Options) {
	used := make([]wsstream.ChannelType, channels)
	used[statusChannel], used[resizeChannel] = wsstream.WriteChannel, wsstream.ReadChannel
	for channel, is := range map[int]bool{stdinChannel: o.Stdin, stdoutChannel: o.Stdout, stderrChannel: o.Stderr} {
		switch {
		case !is:
			used[channel] = wsstream.IgnoreChannel
		case channel == stdinChannel:
			used[channel] = wsstream.ReadChannel
		default:
			used[channel] = wsstream.WriteChannel
		}
	}
	protocol := wsstream.ChannelProtocolConfig{Binary: true, Channels: used}
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		remotecommand.StreamProtocolV5Name: protocol, remotecommand.StreamProtocolV4Name: protocol,
	})
	conn.SetIdleTimeout(idleWait)
	_, streams, err := conn.Open(w, r)
	if err != nil {
		return // the client has been told
	}
	x := runtime.Exec{Command: command, TTY: o.TTY}
	if o.Stdin {
		x.Stdin = streams[stdinChannel]
	}
	if o.Stdout {
		x.Stdout = streams[stdoutChannel]
	}
	if o.Stderr {
		x.Stderr = streams[stderrChannel]
	}
	var resizing sync.WaitGroup
	ctx, cancel := context.WithCancel(r.Context())
	defer func() { cancel(); _ = conn.Close(); resizing.Wait() }()
	sizes := make(chan runtime.Size)
	x.Resize = sizes
	resizing.Go(func() { readSizes(ctx, streams[resizeChannel], sizes) })
	code, err := e.runtime.Exec(ctx, e.container, x)
	status, err := json.Marshal(statusOf(code, err))
	if err == nil {
		_, _ = streams[statusChannel].Write(status) // who has gone need not know
	}
}

// readSizes reads what a client says of its terminal until the connection is closed.
func readSizes(ctx context.Context, from io.Reader, to chan<- runtime.Size) {
	for decoder := json.NewDecoder(from); ; {
		var size runtime.Size
		if decoder.Decode(&size) != nil || !send(ctx, to, size) {
			break
		}
	}
	_, _ = io.Copy(io.Discard, from) // what nobody reads would hold up the other channels
}

// statusOf tells how a command has ended.
func statusOf(code int, err error) metav1.Status {
	switch {
	case err != nil:
		return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError,
			Message: fmt.Sprintf("Internal error occurred: error executing command in container: %v", err)}
	case code != 0:
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason,
			Message: fmt.Sprintf("command terminated with non-zero exit code: exit status %d", code),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(code)}}},
		}
	}
	return metav1.Status{Status: metav1.StatusSuccess}
}
