package fakes_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
)

// kubeUID and kubeTime are shaped like the types of Kubernetes' metadata.
type kubeUID string

type kubeTime struct {
	time.Time `protobuf:"-"`
}

// kubePod has the methods that every Kubernetes API type has.
type kubePod struct {
	name, version string
	uid           kubeUID
	created       kubeTime
	deleted       *kubeTime
	labels        map[string]string
}

func (p *kubePod) GetNamespace() string             { return "ns" }
func (p *kubePod) GetName() string                  { return p.name }
func (p *kubePod) GetUID() kubeUID                  { return p.uid }
func (p *kubePod) GetResourceVersion() string       { return p.version }
func (p *kubePod) SetResourceVersion(v string)      { p.version = v }
func (p *kubePod) SetUID(u kubeUID)                 { p.uid = u }
func (p *kubePod) SetCreationTimestamp(t kubeTime)  { p.created = t }
func (p *kubePod) SetDeletionTimestamp(t *kubeTime) { p.deleted = t }
func (p *kubePod) GetFinalizers() (finalizers []string) {
	if p.labels["keep"] != "" {
		finalizers = []string{"keep"}
	}
	return finalizers
}

func (p *kubePod) DeepCopy() *kubePod {
	c := *p
	c.labels = map[string]string{}
	for k, v := range p.labels {
		c.labels[k] = v
	}
	return &c
}

func TestStampKubernetes(t *testing.T) {
	t.Parallel()
	source := fakes.New(fakes.StampKubernetes[*kubePod], fakes.Options[*kubePod]{Finalizers: (*kubePod).GetFinalizers})
	given := &kubePod{name: "a", labels: map[string]string{"keep": "yes"}}
	created, err := source.Create(given)
	require.NoError(t, err)
	require.NotSame(t, given, created)
	require.Empty(t, given.uid)
	require.NotEmpty(t, created.uid)
	require.Equal(t, source.Version(), created.version)
	require.False(t, created.created.IsZero())
	require.Nil(t, created.deleted)
	gone, err := source.Delete(listwatch.KeyOf(created), fakes.Preconditions{})
	require.NoError(t, err)
	require.False(t, gone.deleted.IsZero(), "its finalizer keeps it")
	require.Equal(t, created.uid, gone.uid)
}

func ExampleStampKubernetes() {
	pods := fakes.New(fakes.StampKubernetes[*kubePod], fakes.Options[*kubePod]{})
	pod, err := pods.Create(&kubePod{name: "web"})
	fmt.Println(listwatch.KeyOf(pod), pod.uid, pod.version, err)
	// Output: ns/web uid-1 2 <nil>
}
