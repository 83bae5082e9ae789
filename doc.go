// Package listwatch keeps a local copy of a collection that lives on a server.
package listwatch
