package auth_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// always is an Authenticator that says the same of every request.
type always struct {
	user *auth.User
	err  error
}

func (a always) Authenticate(*http.Request) (*auth.User, error) { return a.user, a.err }

func TestAny(t *testing.T) {
	bob, carol, bad := always{user: &auth.User{Name: "bob", Groups: []string{"g"}}}, always{user: &auth.User{Name: "carol"}}, always{err: errors.New("bad")}
	for _, c := range []struct {
		all   auth.Any
		name  string
		fails bool
	}{
		{auth.Any{}, "", false},
		{auth.Any{always{}, always{}}, "", false},
		{auth.Any{bob, carol}, "bob", false},
		{auth.Any{always{}, carol}, "carol", false},
		{auth.Any{bad, carol}, "carol", false},
		{auth.Any{carol, bad}, "carol", false},
		{auth.Any{bad, always{}}, "", true},
		{auth.Any{always{}, bad}, "", true},
	} {
		u, err := c.all.Authenticate(nil)
		require.Equal(t, c.fails, err != nil)
		if c.name == "" {
			require.Nil(t, u)
			continue
		}
		require.Equal(t, c.name, u.Name)
		require.Contains(t, u.Groups, auth.Authenticated)
	}
	require.Equal(t, []string{"g"}, bob.user.Groups, "what others share is not changed")
}

func TestInGroups(t *testing.T) {
	u := &auth.User{Name: "bob", Groups: make([]string, 1, 10)}
	u.Groups[0] = "a"
	more, other := auth.InGroups(u, "a", "b"), auth.InGroups(u, "c")
	require.Equal(t, []string{"a", "b"}, more.Groups)
	require.Equal(t, []string{"a", "c"}, other.Groups)
	require.Equal(t, []string{"a"}, u.Groups)
}

func TestServiceAccountNames(t *testing.T) {
	u := auth.ServiceAccount("ns", "robot")
	require.Equal(t, "system:serviceaccount:ns:robot", u.Name)
	require.Equal(t, []string{"system:serviceaccounts", "system:serviceaccounts:ns"}, u.Groups)
	namespace, name, ok := auth.SplitServiceAccount(u.Name)
	require.Equal(t, []any{"ns", "robot", true}, []any{namespace, name, ok})
	for _, other := range []string{"", "bob", "system:serviceaccount:", "system:serviceaccount:a", "system:serviceaccount:a:", "system:serviceaccount::b",
		"system:serviceaccount:a:b:c", "system:serviceaccounts:a:b"} {
		_, _, ok := auth.SplitServiceAccount(other)
		require.False(t, ok, other)
	}
	require.Equal(t, &auth.User{Name: "system:node:n1", Groups: []string{"system:nodes"}}, auth.Node("n1"))
}
