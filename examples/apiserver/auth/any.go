package auth

import (
	"errors"
	"net/http"
	"slices"
)

// Any asks each Authenticator in turn: the first that knows who sends a request decides, whatever the others would say.
// When none does, the credentials that some refused are its error. Who is known is in the group [Authenticated] too.
// It is safe for concurrent use when all of them are.
type Any []Authenticator

// Authenticate implements [Authenticator].
func (all Any) Authenticate(r *http.Request) (*User, error) {
	var errs []error
	for _, one := range all {
		u, err := one.Authenticate(r)
		if u != nil && err == nil {
			return InGroups(u, Authenticated), nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// InGroups returns a user that is in some more groups: a copy.
func InGroups(u *User, groups ...string) *User {
	more := *u
	more.Groups = slices.Clip(u.Groups)
	for _, g := range groups {
		if !slices.Contains(more.Groups, g) {
			more.Groups = append(more.Groups, g)
		}
	}
	return &more
}
