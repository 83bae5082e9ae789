package serviceaccount_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/serviceaccount"
)

// secret is one that wants a token of the account "robot".
func secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"kubernetes.io/service-account.name": "robot"}},
		Type: corev1.SecretTypeServiceAccountToken}
}

func robot() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
}

func full(s *corev1.Secret) bool { return len(s.Data["token"]) > 0 }

func TestTokens(t *testing.T) {
	w := controltest.New(t, serviceaccount.NewTokens)
	secrets := controltest.Watch[*corev1.Secret](w)
	account := controltest.Create(w, robot())
	controltest.Create(w, secret("a"))
	controltest.Create(w, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	s := secrets.One("a", full)
	require.Equal(t, string(account.UID), s.Annotations["kubernetes.io/service-account.uid"])
	require.Equal(t, "default", string(s.Data["namespace"]))
	controltest.Merge[*corev1.Secret](w, "a", "", map[string]any{"data": map[string]any{"token": nil}})
	again := secrets.One("a", func(now *corev1.Secret) bool { return full(now) && now.ResourceVersion != s.ResourceVersion })
	require.Equal(t, s.UID, again.UID)
	controltest.Delete[*corev1.ServiceAccount](w, "robot")
	left := secrets.Until(func(all []*corev1.Secret) bool { return len(all) == 1 })
	require.Equal(t, "other", left[0].Name)
}

// The secret of an account goes, though there is another of the name.
func TestTokensOfTheDead(t *testing.T) {
	w := controltest.New(t, serviceaccount.NewTokens)
	secrets := controltest.Watch[*corev1.Secret](w)
	controltest.Create(w, robot())
	controltest.Create(w, secret("a"))
	secrets.One("a", full)
	controltest.Delete[*corev1.ServiceAccount](w, "robot")
	controltest.Create(w, robot())
	secrets.Until(func(all []*corev1.Secret) bool { return len(all) == 0 })
	controltest.Create(w, secret("b"))
	secrets.One("b", full)
}

// One that comes before its account is refused nothing for good.
func TestTokenBeforeAccount(t *testing.T) {
	w := controltest.New(t, serviceaccount.NewTokens)
	secrets := controltest.Watch[*corev1.Secret](w)
	controltest.Create(w, secret("early"))
	secrets.Until(func(all []*corev1.Secret) bool { return secrets.Made() == 1 && len(all) == 0 }) // as with the real one
	controltest.Create(w, robot())
	controltest.Create(w, secret("early"))
	secrets.One("early", full)
}
