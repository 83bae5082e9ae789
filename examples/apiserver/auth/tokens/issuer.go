package tokens

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/golang-jwt/jwt/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/auth"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// maxToken is the size in bytes from which on nothing is taken for a token.
const maxToken = 16 << 10

// afterlife is how long a token is good after the time at which what it is bound to was to be gone: as with the real
// server, for what ends with it.
const afterlife = time.Minute

// Kinds of the objects that [IssuerOptions.Find] is asked for.
const (
	serviceAccountKind = "ServiceAccount"
	podKind            = "Pod"
	secretKind         = "Secret"
	nodeKind           = "Node"
)

// IssuerOptions say how an [Issuer] works. Key and Find must be given.
type IssuerOptions struct {
	// Key signs tokens. It must be of the curve P-256.
	Key *ecdsa.PrivateKey
	// Issuer is the name of who signs. Defaults to DefaultIssuer.
	Issuer string
	// Audiences are those of the server, for which tokens are when their request names none. Defaults to Issuer.
	Audiences []string
	// Find returns an object of a kind: ServiceAccount, Pod, Secret or Node. Its errors are answers of the API.
	Find func(ctx context.Context, kind string, of types.NamespacedName) (metav1.Object, error)
	// Clock is the time. Defaults to the real one.
	Clock clock.Clock
}

// Issuer signs tokens for service accounts and knows those that it has signed. See [NewIssuer].
type Issuer struct {
	options IssuerOptions
	parser  *jwt.Parser
}

// NewIssuer returns an issuer.
func NewIssuer(o IssuerOptions) *Issuer {
	if o.Issuer == "" {
		o.Issuer = DefaultIssuer
	}
	if len(o.Audiences) == 0 {
		o.Audiences = []string{o.Issuer}
	}
	o.Clock = timing.Or(o.Clock)
	return &Issuer{options: o, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodES256.Alg()}), jwt.WithStrictDecoding(), jwt.WithExpirationRequired(),
		jwt.WithIssuer(o.Issuer), jwt.WithTimeFunc(o.Clock.Now),
	)}
}

// Audiences returns those of the server. They must not be changed.
func (i *Issuer) Audiences() []string { return i.options.Audiences }

// claims are what a token says.
type claims struct {
	jwt.RegisteredClaims
	Cluster inCluster `json:"kubernetes.io"`
}

// inCluster is whose a token is, and what it is bound to.
type inCluster struct {
	Namespace      string     `json:"namespace"`
	Node           *reference `json:"node,omitempty"`
	Pod            *reference `json:"pod,omitempty"`
	Secret         *reference `json:"secret,omitempty"`
	ServiceAccount reference  `json:"serviceaccount"`
}

// reference is an object and which of those that had its name.
type reference struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// AuthenticateToken implements [Authenticator]. It looks up the service account, and what the token is bound to.
func (i *Issuer) AuthenticateToken(ctx context.Context, token string, audiences []string) (*auth.User, []string, error) {
	if len(token) > maxToken {
		return nil, nil, errInvalid
	}
	var c claims
	if _, err := i.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return &i.options.Key.PublicKey, nil }); err != nil {
		return nil, nil, err
	}
	of := common(audiences, c.Audience)
	if len(of) == 0 {
		return nil, nil, fmt.Errorf("the token is for other audiences: %q", []string(c.Audience))
	}
	in := c.Cluster
	u := auth.ServiceAccount(in.Namespace, in.ServiceAccount.Name)
	if c.Subject != u.Name {
		return nil, nil, errors.New("the subject of the token is not its service account")
	}
	u.UID = string(in.ServiceAccount.UID)
	if err := i.alive(ctx, in); err != nil {
		return nil, nil, err
	}
	u.Extra = in.extra(c.ID)
	return u, of, nil
}

// alive says what of what a token stands for is gone.
func (i *Issuer) alive(ctx context.Context, in inCluster) error {
	if err := i.check(ctx, serviceAccountKind, in.Namespace, &in.ServiceAccount); err != nil {
		return err
	}
	node := in.Node
	if in.Pod != nil {
		node = nil // where the pod runs is told, and nothing that the token is bound to
	}
	return errors.Join(i.check(ctx, podKind, in.Namespace, in.Pod), i.check(ctx, secretKind, in.Namespace, in.Secret),
		i.check(ctx, nodeKind, "", node))
}

func (i *Issuer) check(ctx context.Context, kind, namespace string, r *reference) error {
	if r == nil {
		return nil
	}
	o, err := i.options.Find(ctx, kind, types.NamespacedName{Namespace: namespace, Name: r.Name})
	if err != nil {
		return err
	}
	if o.GetUID() != r.UID {
		return fmt.Errorf("the %s %s of the token is gone: there is another one of its name", kind, r.Name)
	}
	if gone := o.GetDeletionTimestamp(); gone != nil && gone.Add(afterlife).Before(i.options.Clock.Now()) {
		return fmt.Errorf("the %s %s of the token was deleted", kind, r.Name)
	}
	return nil
}

// extra is what is said of a user beside name and groups.
func (in inCluster) extra(id string) map[string][]string {
	all := map[string][]string{auth.CredentialID: {"JTI=" + id}}
	for what, r := range map[string]*reference{"pod": in.Pod, "node": in.Node} {
		if r != nil {
			all["authentication.kubernetes.io/"+what+"-name"] = []string{r.Name}
			all["authentication.kubernetes.io/"+what+"-uid"] = []string{string(r.UID)}
		}
	}
	return all
}

// sign returns the token that says something.
func (i *Issuer) sign(c claims) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodES256, c).SignedString(i.options.Key)
}

// audiencesOr returns what a request names, or those of the server.
func (i *Issuer) audiencesOr(named []string) []string {
	if len(named) > 0 {
		return named
	}
	return slices.Clone(i.options.Audiences)
}
