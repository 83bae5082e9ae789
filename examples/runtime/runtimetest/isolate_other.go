//go:build !linux

package runtimetest

func isolate() error { return nil }
