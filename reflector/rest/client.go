package rest

import (
	"net"
	"net/http"
	"time"
)

// newClient returns the client of a source that was given none. A peer that has gone silent
// is found by pings where the protocol has them, and by TCP keep-alives elsewhere.
func newClient(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       o.TLS.Clone(),
		TLSHandshakeTimeout:   10 * time.Second,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: o.PingIdle, PingTimeout: o.PingTimeout},
		MaxIdleConnsPerHost:   25,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}}
}
