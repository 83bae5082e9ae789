package auth_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// says is an authorizer that always says the same.
type says struct {
	allowed bool
	reason  string
	err     error
}

func (s says) Authorize(context.Context, auth.Attributes) (bool, string, error) {
	return s.allowed, s.reason, s.err
}

func TestFirst(t *testing.T) {
	failure := errors.New("failure")
	for _, c := range []struct {
		ask  auth.First
		want says
	}{
		{nil, says{}},
		{auth.First{says{}, says{allowed: true, reason: "yes"}, says{err: failure}}, says{allowed: true, reason: "yes"}},
		{auth.First{says{reason: "one"}, says{}, says{reason: "two"}}, says{reason: "one\ntwo"}},
		{auth.First{says{reason: "one"}, says{err: failure}, says{allowed: true}}, says{err: failure}},
	} {
		allowed, reason, err := c.ask.Authorize(t.Context(), auth.Attributes{})
		require.Equal(t, c.want, says{allowed, reason, err})
	}
}
