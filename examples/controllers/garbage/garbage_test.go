package garbage_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/controllers/controltest"
	"github.com/seed3bce33ad/listwatch/examples/controllers/garbage"
	"github.com/seed3bce33ad/listwatch/examples/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a world of config maps, which own each other.
type rig struct {
	*controltest.World
	maps *controltest.View[*corev1.ConfigMap]
}

func start(t *testing.T) rig {
	w := controltest.New(t, garbage.New)
	return rig{w, controltest.Watch[*corev1.ConfigMap](w)}
}

// refTo is a reference to an owner, which it blocks.
func refTo(owner kube.Object, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: ptr.To(true)}
}

// owned makes a config map with owners.
func (r rig) owned(name string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
	var refs []metav1.OwnerReference
	for _, o := range owners {
		refs = append(refs, refTo(o, "ConfigMap"))
	}
	return r.with(name, refs...)
}

func (r rig) with(name string, refs ...metav1.OwnerReference) *corev1.ConfigMap {
	return controltest.Create(r.World, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: refs}})
}

// end deletes a config map.
func (r rig) end(name string, policy metav1.DeletionPropagation) {
	err := kube.For[*corev1.ConfigMap](r.Cluster).Delete(r.T.Context(), listwatch.Key{Namespace: "default", Name: name}, metav1.DeleteOptions{PropagationPolicy: &policy})
	require.NoError(r.T, err)
}

// untilLeft waits until there are just those config maps.
func (r rig) untilLeft(names ...string) []*corev1.ConfigMap {
	r.T.Helper()
	return r.maps.Until(func(all []*corev1.ConfigMap) bool { return slices.Equal(namesOf(all), names) })
}

func namesOf(all []*corev1.ConfigMap) []string {
	names := []string{}
	for _, o := range all {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return names
}

// settled waits until the controller has done what it was to do so far: it deletes one that it is given last.
func (r rig) settled() {
	r.T.Helper()
	mark := r.with("mark", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "nobody", UID: "none"})
	r.maps.UntilGone(mark)
}

func TestCascade(t *testing.T) {
	r := start(t)
	a := r.owned("a")
	b := r.owned("b", a)
	r.owned("c", b)
	r.owned("other")
	secret := controltest.Create(r.World, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", OwnerReferences: []metav1.OwnerReference{refTo(b, "ConfigMap")}}})
	r.untilLeft("a", "b", "c", "other")
	r.end("a", metav1.DeletePropagationBackground)
	r.untilLeft("other")
	secrets := controltest.Watch[*corev1.Secret](r.World)
	secrets.Until(func(all []*corev1.Secret) bool { return len(all) == 0 })
	require.NotEmpty(t, secret.UID)
}

func TestOwnerIsThere(t *testing.T) {
	r := start(t)
	a := r.owned("a")
	space, err := kube.For[*corev1.Namespace](r.Cluster).Get(t.Context(), listwatch.Key{Name: "default"})
	require.NoError(t, err)
	r.owned("b", a)
	r.with("in", refTo(space, "Namespace")) // an owner in no namespace
	r.settled()
	r.untilLeft("a", "b", "in")
	wrong := refTo(a, "Secret") // the UID is right, the kind isn't
	r.with("wrong", wrong)
	r.untilLeft("a", "b", "in")
	r.end("a", metav1.DeletePropagationBackground)
	a = r.owned("a") // somebody else
	r.untilLeft("a", "in")
	r.owned("b", a)
	r.settled()
	r.untilLeft("a", "b", "in")
}

func TestOwnersThatCannotBe(t *testing.T) {
	r := start(t)
	a := r.owned("a")
	_, err := kube.For[*corev1.Node](r.Cluster).Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", OwnerReferences: []metav1.OwnerReference{refTo(a, "ConfigMap")}}})
	require.NoError(t, err)
	events := controltest.Watch[*corev1.Event](r.World)
	events.Until(func(all []*corev1.Event) bool {
		return slices.ContainsFunc(all, func(e *corev1.Event) bool {
			return e.Reason == "OwnerRefInvalidNamespace" && e.InvolvedObject.Name == "n"
		})
	})
	r.end("a", metav1.DeletePropagationBackground)
	r.untilLeft()
	r.settled()
	_, err = kube.For[*corev1.Node](r.Cluster).Get(t.Context(), listwatch.Key{Name: "n"})
	require.NoError(t, err)
}

func TestUnknownKind(t *testing.T) {
	r := start(t)
	r.with("a", metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Gadget", Name: "g", UID: "u"})
	r.settled()
	r.untilLeft("a")
	client, base := r.Cluster.HTTP()
	response, err := client.Post(base.JoinPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").String(), "application/json", strings.NewReader(
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusCreated, response.StatusCode)
	r.maps.After(31*time.Second, func(all []*corev1.ConfigMap) bool { return len(all) == 0 })
}

func TestAdopted(t *testing.T) {
	r := start(t)
	r.Flow()
	for i := range 20 {
		a, b := r.owned(fmt.Sprint("a", i)), r.owned(fmt.Sprint("b", i))
		c := r.owned(fmt.Sprint("c", i), a)
		controltest.Merge[*corev1.ConfigMap](r.World, c.Name, "", map[string]any{"metadata": map[string]any{
			"ownerReferences": []metav1.OwnerReference{refTo(b, "ConfigMap")}}})
		r.end(a.Name, metav1.DeletePropagationBackground)
	}
	r.settled()
	require.Len(t, r.maps.Until(func(all []*corev1.ConfigMap) bool { return len(all) <= 40 }), 40)
}

func TestOneOfTwoOwners(t *testing.T) {
	r := start(t)
	a, b := r.owned("a"), r.owned("b")
	r.owned("c", a, b)
	r.end("a", metav1.DeletePropagationBackground)
	r.maps.One("c", func(c *corev1.ConfigMap) bool {
		return len(c.OwnerReferences) == 1 && c.OwnerReferences[0].UID == b.UID
	})
	r.end("b", metav1.DeletePropagationBackground)
	r.untilLeft()
}

func TestForeground(t *testing.T) {
	r := start(t)
	a := r.owned("a")
	b := r.owned("b", a)
	c := r.owned("c", b)
	controltest.Merge[*corev1.ConfigMap](r.World, c.Name, "", map[string]any{"metadata": map[string]any{"finalizers": []string{"example.com/hold"}}})
	loose := refTo(a, "ConfigMap")
	loose.BlockOwnerDeletion = nil
	r.with("loose", loose)
	r.end("a", metav1.DeletePropagationForeground)
	r.maps.One("c", func(c *corev1.ConfigMap) bool { return c.DeletionTimestamp != nil })
	r.untilLeft("a", "b", "c")
	controltest.Merge[*corev1.ConfigMap](r.World, c.Name, "", map[string]any{"metadata": map[string]any{"finalizers": nil}})
	r.untilLeft()
}

func TestOrphan(t *testing.T) {
	r := start(t)
	a, x := r.owned("a"), r.owned("x")
	r.owned("b", a, x)
	r.owned("c", a)
	r.untilLeft("a", "b", "c", "x")
	r.end("a", metav1.DeletePropagationOrphan)
	for _, o := range r.untilLeft("b", "c", "x") {
		require.Len(t, o.OwnerReferences, map[string]int{"b": 1}[o.Name])
	}
}

func TestCircle(t *testing.T) {
	r := start(t)
	a := r.owned("a")
	b := r.owned("b", a)
	controltest.Merge[*corev1.ConfigMap](r.World, "a", "", map[string]any{"metadata": map[string]any{"ownerReferences": []metav1.OwnerReference{refTo(b, "ConfigMap")}}})
	r.settled()
	r.untilLeft("a", "b")
	r.end("a", metav1.DeletePropagationForeground)
	r.untilLeft()
}

func TestRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r := start(t)
	r.Flow()
	there, owner := map[string]*corev1.ConfigMap{}, map[string]string{} // what there should be
	var drop func(name string)
	drop = func(name string) {
		delete(there, name)
		for o, of := range owner {
			if of == name {
				delete(owner, o)
				drop(o)
			}
		}
	}
	for i := range 120 {
		names := make([]string, 0, len(there))
		for name := range there {
			names = append(names, name)
		}
		slices.Sort(names)
		if len(names) == 0 || random.IntN(3) > 0 {
			name := fmt.Sprint("o", i)
			if len(names) > 0 && random.IntN(4) > 0 {
				of := names[random.IntN(len(names))]
				owner[name] = of
				there[name] = r.owned(name, there[of])
			} else {
				there[name] = r.owned(name)
			}
			continue
		}
		name := names[random.IntN(len(names))]
		policy := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground}[random.IntN(2)]
		r.end(name, policy)
		drop(name)
		if i%20 == 0 {
			r.Server.CutConnections()
		}
	}
	want := []string{}
	for name := range there {
		want = append(want, name)
	}
	slices.Sort(want)
	r.untilLeft(want...)
	r.settled()
	r.untilLeft(want...)
}
