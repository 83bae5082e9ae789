// Package tokens knows users by bearer tokens: those of a file, and the signed ones that it gives to service accounts.
//
// # Usage
//
//	static, err := tokens.ReadStatic(file)
//	issuer := tokens.NewIssuer(tokens.IssuerOptions{Key: key, Find: find})
//	verifier := tokens.Verifier{All: []tokens.Authenticator{static, issuer}, Audiences: issuer.Audiences()}
//	user, err := verifier.Authenticate(request)
//	err = issuer.Complete(ctx, types.NamespacedName{Namespace: "default", Name: "robot"}, tokenRequest)
//
// # Guarantees
//
//  1. A signed token is good for its audiences, from the second in which it was issued until it expires, as long as its
//     service account, and the object that it is bound to, are there with the same UID. (TestIssued, TestBoundTokens)
//  2. What was changed, signed by another key or not at all, or was issued by somebody else, is refused. (TestForged)
//  3. Whatever is given for a token or a file of tokens, the answer is a user or an error, never a panic, and the error
//     does not tell the token. (FuzzToken, FuzzStatic)
//
// # Concurrency
//
// All are safe for concurrent use.
//
// # Testing
//
// IssuerOptions.Clock is the time, and Find stands for the cluster.
package tokens

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// DefaultIssuer is who issues tokens, and for whom they are, when nothing else is said.
const DefaultIssuer = "https://kubernetes.default.svc.cluster.local"

// errInvalid is all that is said of a token that nobody knows.
var errInvalid = errors.New("invalid bearer token")

// Authenticator finds out whose a token is. It returns the audiences of those asked for that the token is good for, of
// which there is one at least, or an error.
type Authenticator interface {
	AuthenticateToken(ctx context.Context, token string, audiences []string) (*auth.User, []string, error)
}

// Verifier asks each Authenticator whose a token is; the first that knows decides.
type Verifier struct {
	// All are asked in this order.
	All []Authenticator
	// Audiences are those of the server: a request's token must be for one of them, and so must a review's that names none.
	Audiences []string
}

// Review returns whose a token is, and for which of the audiences it is good; none means those of the server.
func (v Verifier) Review(ctx context.Context, token string, audiences []string) (*auth.User, []string, error) {
	if len(audiences) == 0 {
		audiences = v.Audiences
	}
	errs := []error{}
	for _, one := range v.All {
		u, of, err := one.AuthenticateToken(ctx, token, audiences)
		if err == nil {
			return auth.InGroups(u, auth.Authenticated), of, nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		errs = append(errs, errInvalid)
	}
	return nil, nil, errors.Join(errs...)
}

// Authenticate implements [auth.Authenticator]: it looks at the token that an Authorization header bears. The header
// is taken away from the request once it is known whose it is, so that it comes no further.
func (v Verifier) Authenticate(r *http.Request) (*auth.User, error) {
	token, ok := bearer(r.Header.Get("Authorization"))
	if !ok {
		return nil, nil
	}
	u, _, err := v.Review(r.Context(), token, nil)
	if err == nil {
		r.Header.Del("Authorization")
	}
	return u, err
}

// bearer returns the token that a header bears; false when it bears none. What follows the token is not looked at.
func bearer(header string) (string, bool) {
	parts := strings.SplitN(strings.TrimSpace(header), " ", 3)
	if len(parts) < 2 || !strings.EqualFold(parts[0], "bearer") || parts[1] == "" {
		return "", false
	}
	return parts[1], true
}

// common returns those of the wanted that are offered.
func common(wanted, offered []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(s string) bool { return !slices.Contains(offered, s) })
}
