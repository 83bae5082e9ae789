package commands

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// host returns the address to listen at: all, or, where the pod has no network of its own, its address of the loopback.
func host() string {
	if a, err := netip.ParseAddr(os.Getenv("POD_IP")); err == nil && a.IsLoopback() {
		return a.String()
	}
	return ""
}

// web answers HTTP: / with the name of the pod, /env with the environment, /healthz with ok until somebody has asked for
// /fail, and for /heal later. When it is asked to end it answers what it was asked before.
func web(args []string, s streams) int {
	set := flag.NewFlagSet("web", flag.ContinueOnError)
	listen := set.String("listen", net.JoinHostPort(host(), "8080"), "address to listen at")
	text := set.String("text", "", "what to answer instead of the name of the pod")
	delay := set.Duration("delay", 0, "how long to wait before listening")
	if err := s.flags(set, args); err != nil {
		return 2
	}
	end := ended()
	select {
	case <-end:
		return 0
	case <-time.After(*delay):
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return s.fail(err)
	}
	fmt.Fprintln(s.out, "listening at", listener.Addr())
	if *text == "" {
		*text = name()
	}
	server := &http.Server{Handler: site(*text, s.out), ReadHeaderTimeout: time.Minute}
	var wg sync.WaitGroup
	wg.Go(func() { err = server.Serve(listener) })
	<-end
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	shut := server.Shutdown(ctx)
	wg.Wait()
	if !errors.Is(err, http.ErrServerClosed) || shut != nil {
		return s.fail(errors.Join(err, shut))
	}
	fmt.Fprintln(s.out, "ended")
	return 0
}

func site(text string, log io.Writer) http.Handler {
	var sick atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(log, r.Method, r.URL.Path)
		fmt.Fprintln(w, text)
	})
	mux.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) {
		for _, e := range sortedEnv() {
			fmt.Fprintln(w, e)
		}
	})
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if sick.Load() {
			http.Error(w, "made to fail", http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	for path, becomes := range map[string]bool{"/fail": true, "/heal": false} {
		mux.HandleFunc(path, func(http.ResponseWriter, *http.Request) { sick.Store(becomes) })
	}
	return mux
}

// fetch writes what is at a URL. It fails when that does not answer with a 2xx.
func fetch(args []string, s streams) int {
	set := flag.NewFlagSet("fetch", flag.ContinueOnError)
	timeout := set.Duration("timeout", 5*time.Second, "how long to wait")
	if err := s.flags(set, args); err != nil {
		return 2
	}
	if set.NArg() != 1 {
		return s.usage("fetch [-timeout DURATION] URL")
	}
	client := http.Client{Timeout: *timeout}
	answer, err := client.Get(set.Arg(0))
	if err != nil {
		return s.fail(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(s.out, answer.Body); err != nil {
		return s.fail(err)
	}
	if answer.StatusCode/100 != 2 {
		return s.fail(errors.New(answer.Status))
	}
	return 0
}

// tcp accepts connections and sends back what comes, until it is asked to end.
func tcp(args []string, s streams) int {
	set := flag.NewFlagSet("tcp", flag.ContinueOnError)
	listen := set.String("listen", net.JoinHostPort(host(), "8080"), "address to listen at")
	if err := s.flags(set, args); err != nil {
		return 2
	}
	end := ended()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return s.fail(err)
	}
	fmt.Fprintln(s.out, "listening at", listener.Addr())
	var wg sync.WaitGroup
	wg.Go(func() {
		<-end
		listener.Close()
	})
	for {
		conn, err := listener.Accept()
		if err != nil {
			break
		}
		wg.Go(func() {
			_, _ = io.Copy(conn, conn)
			conn.Close()
		})
	}
	return 0
}
