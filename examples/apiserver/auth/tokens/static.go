package tokens

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
)

// Static are tokens that were read from a file. They are for the server, and never expire.
type Static struct {
	// users are known by the hash of the token: how long a search takes tells nothing of those that there are.
	users     map[[sha256.Size]byte]*auth.User
	audiences []string
}

// ReadStatic reads a file of tokens, a line each: token, name and UID of the user, and optionally the groups, in quotes
// and with commas between them. They are good for the audiences.
func ReadStatic(file io.Reader, audiences []string) (*Static, error) {
	s := &Static{users: make(map[[sha256.Size]byte]*auth.User), audiences: audiences}
	reader := csv.NewReader(file)
	reader.FieldsPerRecord = -1
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, fmt.Errorf("tokens: %w", err)
		}
		line, _ := reader.FieldPos(0)
		if len(fields) < 3 || fields[0] == "" || fields[1] == "" {
			return nil, fmt.Errorf("tokens: line %d: there must be a token, a user's name and its UID, which may be empty", line)
		}
		key := sha256.Sum256([]byte(fields[0]))
		if s.users[key] != nil {
			return nil, fmt.Errorf("tokens: line %d: the token is there twice", line)
		}
		u := &auth.User{Name: fields[1], UID: fields[2]}
		if len(fields) > 3 && fields[3] != "" {
			u.Groups = strings.Split(fields[3], ",")
		}
		s.users[key] = u
	}
}

// AuthenticateToken implements [Authenticator].
func (s *Static) AuthenticateToken(_ context.Context, token string, audiences []string) (*auth.User, []string, error) {
	u := s.users[sha256.Sum256([]byte(token))]
	of := common(audiences, s.audiences)
	if u == nil || len(of) == 0 {
		return nil, nil, errInvalid
	}
	return u, of, nil
}
