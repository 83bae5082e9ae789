package serviceaccount

import (
	"context"
	"errors"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/indexer"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// lifetime is that of tokens in secrets, in seconds: a hundred years, as they are to end with their secret and not before.
const lifetime = 100 * 365 * 24 * 3600

type tokens struct {
	env       control.Env
	secrets   *informer.Informer[*corev1.Secret]
	accounts  *informer.Informer[*corev1.ServiceAccount]
	byAccount *indexer.Index[*corev1.Secret, listwatch.Key]
	writer    kube.Client[*corev1.Secret]
}

// NewTokens makes the controller of secrets with tokens: those of type kubernetes.io/service-account-token, which name an
// account by an annotation, get a token of it and what belongs to that, and go with the account.
func NewTokens(env control.Env) (control.Controller, error) {
	t := &tokens{env: env, writer: kube.For[*corev1.Secret](env.Cluster)}
	var err1, err2, err error
	t.secrets, err1 = kube.Follow[*corev1.Secret](env.Cluster, env.Factory, kube.Select{Fields: "type=" + string(corev1.SecretTypeServiceAccountToken)})
	t.accounts, err2 = kube.Follow[*corev1.ServiceAccount](env.Cluster, env.Factory, kube.Select{})
	if err := errors.Join(err1, err2); err != nil {
		return control.Controller{}, err
	}
	t.byAccount, err = indexer.AddIndex(t.secrets.Indexer(), "token: account", indexer.One(accountOf))
	if err != nil {
		return control.Controller{}, err
	}
	return control.Loop(control.NewQueue(env, "serviceaccount-token"), t.step, control.Of(t.secrets, nil),
		control.Of(t.accounts, func(a *corev1.ServiceAccount) []listwatch.Key { return t.byAccount.Keys(listwatch.KeyOf(a)) })), nil
}

// accountOf is whose token a secret is to hold.
func accountOf(s *corev1.Secret) listwatch.Key {
	return listwatch.Key{Namespace: s.Namespace, Name: s.Annotations[corev1.ServiceAccountNameKey]}
}

// step fills a secret, or deletes one whose account is no more.
func (t *tokens) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	s, found := t.secrets.Indexer().Get(key)
	if !found || s.DeletionTimestamp != nil || s.Annotations[corev1.ServiceAccountNameKey] == "" {
		return workqueue.Result{}, nil
	}
	a, found := t.accounts.Indexer().Get(accountOf(s))
	if !found || !of(s, a) {
		return workqueue.Result{}, t.remove(ctx, s)
	}
	next := s.DeepCopy()
	next.Annotations[corev1.ServiceAccountUIDKey] = string(a.UID)
	if next.Data == nil {
		next.Data = map[string][]byte{}
	}
	if ca := t.env.Cluster.CA(); ca != nil {
		next.Data[corev1.ServiceAccountRootCAKey] = ca
	}
	next.Data[corev1.ServiceAccountNamespaceKey] = []byte(s.Namespace)
	if len(next.Data[corev1.ServiceAccountTokenKey]) == 0 {
		token, err := t.token(ctx, s, a)
		if err != nil {
			return workqueue.Result{}, kube.UnlessBehind(err)
		}
		next.Data[corev1.ServiceAccountTokenKey] = []byte(token)
	}
	if len(next.Data) == len(s.Data) && s.Annotations[corev1.ServiceAccountUIDKey] != "" &&
		string(s.Data[corev1.ServiceAccountRootCAKey]) == string(next.Data[corev1.ServiceAccountRootCAKey]) {
		return workqueue.Result{}, nil
	}
	written, err := t.writer.Update(ctx, next)
	if err != nil {
		return workqueue.Result{}, kube.UnlessBehind(err)
	}
	t.env.Logger.Info("gave token", "secret", key.String(), "account", a.Name)
	return workqueue.Result{Await: t.secrets.Reached(written.ResourceVersion)}, nil
}

// of tells whether a secret is an account's, and not that of another that had the name.
func of(s *corev1.Secret, a *corev1.ServiceAccount) bool {
	uid := s.Annotations[corev1.ServiceAccountUIDKey]
	return uid == "" || uid == string(a.UID)
}

// token asks for a token that is good for as long as the secret is there.
func (t *tokens) token(ctx context.Context, s *corev1.Secret, a *corev1.ServiceAccount) (string, error) {
	in := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To[int64](lifetime),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: s.Name, UID: s.UID},
	}}
	in.SetGroupVersionKind(authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"))
	into := &authenticationv1.TokenRequest{}
	err := kube.For[*corev1.ServiceAccount](t.env.Cluster).Post(ctx, listwatch.KeyOf(a), "token", in, into)
	return into.Status.Token, err
}

// remove deletes a secret whose account is no more. The server is asked whether it is so: the cache may be behind.
func (t *tokens) remove(ctx context.Context, s *corev1.Secret) error {
	now, err := kube.For[*corev1.ServiceAccount](t.env.Cluster).Get(ctx, accountOf(s))
	if err == nil && of(s, now) {
		return nil // the account will come
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return kube.UnlessBehind(t.writer.Delete(ctx, listwatch.KeyOf(s), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.UID))}))
}
