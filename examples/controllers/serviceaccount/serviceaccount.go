// Package serviceaccount is the controller that gives each namespace what its pods need to reach the API server: the
// service account "default", and the certificates to believe in the config map "kube-root-ca.crt".
//
// # Guarantees
//
//  1. Each namespace that is not on its way out has both, soon after it came and soon after somebody took or changed one.
//     (TestEachNamespace, TestTakenAway)
//  2. Secrets that ask for a token of an account get one that is good for as long as they are there, and go with the account,
//     though another may have its name by now. (TestTokens, TestTokensOfTheDead)
//
// # Concurrency
//
// Two of it at once harm nothing: the second finds done what the first has done.
package serviceaccount

import (
	"context"
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/control"
	"github.com/seed3bce33ad/listwatch/examples/kube"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// Names of what each namespace has.
const (
	account = "default"
	roots   = "kube-root-ca.crt"
)

type controller struct {
	namespaces *informer.Informer[*corev1.Namespace]
	accounts   *informer.Informer[*corev1.ServiceAccount]
	maps       *informer.Informer[*corev1.ConfigMap]
	env        control.Env
	ca         string
}

// New makes the controller. Without certificates in the connection of env there are no config maps.
func New(env control.Env) (control.Controller, error) {
	c := &controller{env: env, ca: string(env.Cluster.CA())}
	var err1, err2, err3 error
	c.namespaces, err1 = kube.Follow[*corev1.Namespace](env.Cluster, env.Factory, kube.Select{})
	c.accounts, err2 = kube.Follow[*corev1.ServiceAccount](env.Cluster, env.Factory, kube.Select{})
	c.maps, err3 = kube.Follow[*corev1.ConfigMap](env.Cluster, env.Factory, kube.Select{Fields: "metadata.name=" + roots})
	if err := errors.Join(err1, err2, err3); err != nil {
		return control.Controller{}, err
	}
	return control.Loop(control.NewQueue(env, "serviceaccount"), c.step, control.Of(c.namespaces, nil),
		control.Of(c.accounts, func(a *corev1.ServiceAccount) []listwatch.Key { return []listwatch.Key{{Name: a.Namespace}} }),
		control.Of(c.maps, func(m *corev1.ConfigMap) []listwatch.Key { return []listwatch.Key{{Name: m.Namespace}} })), nil
}

// step gives a namespace what it lacks. What a write brings about adds the key again.
func (c *controller) step(ctx context.Context, key listwatch.Key) (workqueue.Result, error) {
	namespace, found := c.namespaces.Indexer().Get(key)
	if !found || namespace.DeletionTimestamp != nil || namespace.Status.Phase == corev1.NamespaceTerminating {
		return workqueue.Result{}, nil
	}
	return workqueue.Result{}, errors.Join(c.haveAccount(ctx, key.Name), c.haveRoots(ctx, key.Name))
}

func (c *controller) haveAccount(ctx context.Context, namespace string) error {
	at := listwatch.Key{Namespace: namespace, Name: account}
	if _, found := c.accounts.Indexer().Get(at); found {
		return nil
	}
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	_, err := kube.For[*corev1.ServiceAccount](c.env.Cluster).Create(ctx, made)
	if err == nil {
		c.env.Logger.Info("made service account", "account", at.String())
	}
	return kube.UnlessBehind(err)
}

func (c *controller) haveRoots(ctx context.Context, namespace string) error {
	if c.ca == "" {
		return nil
	}
	writer, want := kube.For[*corev1.ConfigMap](c.env.Cluster), map[string]string{"ca.crt": c.ca}
	held, found := c.maps.Indexer().Get(listwatch.Key{Namespace: namespace, Name: roots})
	if !found {
		_, err := writer.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: roots}, Data: want})
		return kube.UnlessBehind(err)
	}
	if maps.Equal(held.Data, want) {
		return nil
	}
	changed := held.DeepCopy()
	changed.Data = want
	_, err := writer.Update(ctx, changed)
	return kube.UnlessBehind(err)
}
