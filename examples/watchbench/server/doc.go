// Package server answers lists and watches of pods from memory: what it sends is encoded before
// anybody asks, so that it is never what a client waits for.
//
// Each client opens a session with a [Spec], and finds its collection under the address that it
// gets. A watch is silent until the client sends a [Command].
package server
