package jsonstream

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Text returns the string that a JSON string stands for, read as encoding/json does: invalid
// UTF-8 becomes U+FFFD. ok is false when quoted is not a JSON string.
func Text(quoted []byte) (text string, ok bool) {
	if len(quoted) < 2 || quoted[0] != '"' {
		return "", false
	}
	if inner := quoted[1 : len(quoted)-1]; plain(inner) {
		return string(inner), true
	}
	return escaped(quoted)
}

// escaped is apart so that the usual case needs no variable on the heap.
func escaped(quoted []byte) (text string, ok bool) {
	err := json.Unmarshal(quoted, &text)
	return text, err == nil
}

// plain reports that the inside of a JSON string stands for itself.
func plain(inner []byte) bool {
	if bytes.IndexByte(inner, '\\') >= 0 || !utf8.Valid(inner) {
		return false
	}
	for _, c := range inner {
		if c < ' ' {
			return false
		}
	}
	return true
}

// lend returns what a quoted key stands for; the bytes are good until the next read.
func lend(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	text, _ := Text(quoted)
	return []byte(text)
}
